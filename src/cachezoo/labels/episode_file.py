"""The file of episode labels: one row a request, and figures of the trace as metadata."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import EVERY, F64, I64, MOST_NUMBERED, Room, in_memory, stretches
from cachezoo.errors import TraceError
from cachezoo.flash_cache.problem import FlashProblem, flash_problem
from cachezoo.io import dump_json, read_extent
from cachezoo.kernels.segments import SEGMENT_BITS, Geometry, IdTable
from cachezoo.labels.episode_rows import COLUMNS as READ
from cachezoo.labels.episode_rows import METADATA_KEY, EpisodeRows
from cachezoo.labels.episodes import (
    EpisodeLabels,
    label_problem,
    of_episodes,
    score_episodes,
    worth,
)
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.metrics.episodes import EpisodeFigures
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.traces.rows import is_read_in_pieces, row_writer, trace_in
from cachezoo.traces.spill import InFiles
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ, Trace

PER_SEGMENT = "s/segment"
COLUMNS = {
    "episode": Column("int32", Means("the request's episode, -1 for writes")),
    "access_index": Column("int32", Means("its place within the episode", "reads")),
    "accesses": Column("int32", Means("reads of the episode", "reads")),
    "fetched": Column("int32", Means("what the read would fetch were the episode admitted", "segments")),
    "score": Column("float64", Means("disk-head time that the episode saves for each segment written", PER_SEGMENT)),
    "opt": Column("bool", Means("OPT, with the prefetch of label.episodes.opt_prefetch, admits the episode")),
    "worth": Column(
        "float32",
        Means(
            "share of label.episodes.budgets at whose price of a flash write it pays to admit the episode from this "
            "read on; of its first label.episodes.first_accesses reads, 0 elsewhere",
            "share",
        ),
    ),
    "settled": Column("bool", Means("the episode began early enough for its label to count")),
    "open": Column("bool", Means("the trace ended within an eviction age of its last read")),
}
LABELS = Table(
    Each("one request", "row number, as in data/requests", text="Baleen's episodes and what OPT admits"),
    COLUMNS,
    {
        "cachezoo.trace_id": Column("text", Means("the trace")),
        METADATA_KEY: Column(
            "text",
            Means(
                "JSON: figures of the trace (eviction age, geometry, budget …); keys as traces.<trace>.figures of the "
                "flash metrics"
            ),
        ),
    },
)


def footprint(trace: Trace, geometry: Geometry) -> tuple[int, float]:
    """Read blocks of a geometry, and the bytes its segments cover over the bytes 4 KiB segments cover."""
    blocks = IdTable()
    for rows in stretches(len(trace)):
        volume = trace.volume.codes[rows].astype(np.int64) << SEGMENT_BITS
        blocks.lookup((volume + trace.offset[rows] // geometry.block_bytes)[trace.op[rows] == OP_READ])
    return blocks.count, _covered(trace, geometry.segment_bytes) / _covered(trace, Geometry().segment_bytes)


def _covered(trace: Trace, unit: int) -> int:
    """Bytes of the distinct units that requests touch, whose number may be beyond what ids are made for."""
    found, waiting, many = (np.zeros(0, np.int64), np.zeros(0, np.int64)), [], 0
    for rows in stretches(len(trace)):
        volume, offset = trace.volume.codes[rows].astype(np.int64) << SEGMENT_BITS, trace.offset[rows]
        waiting.append((volume + offset // unit, volume + (offset + trace.size[rows] - 1) // unit + 1))
        many += len(offset)
        if many >= len(found[0]) or rows.stop == len(trace):  # so that what was found is not sorted for little
            found, waiting, many = _joined([found, *waiting]), [], 0
    first, end = found
    return int((end - first).sum()) * unit


def _joined(parts: list[tuple[I64, I64]]) -> tuple[I64, I64]:
    """First and end of the stretches that others make together, which do not touch, in rising order."""
    first, end = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    order = np.argsort(first)
    first, reached = first[order], np.maximum.accumulate(end[order])
    begins = np.flatnonzero(np.append(True, first[1:] > reached[:-1]))
    return first[begins], reached[np.append(begins[1:], len(first)) - 1]


def _of_reads(problem: FlashProblem, seconds: F64) -> float:
    """Seconds of all reads, which are summed where they lie together."""
    reads: F64 = problem.accesses.room(np.float64, int(np.count_nonzero(problem.read)))
    end = 0
    for rows in stretches(len(problem)):
        own = seconds[rows][problem.read[rows]]
        reads[end : end + len(own)] = own
        end += len(own)
    return float(reads.sum())


def describe(trace: Trace, problem: FlashProblem, labels: EpisodeLabels) -> EpisodeFigures:
    """The figures that travel in the label file's metadata."""
    blocks, inflation = footprint(trace, problem.geometry)
    run = problem.accept_all
    dt, transfer = (_of_reads(problem, own) for own in problem.disk_times(run))
    return EpisodeFigures(
        age_found=labels.age_found,
        analytic_eviction_age=labels.analytic_age,
        block_bytes=problem.geometry.block_bytes,
        blocks=blocks,
        budget_reached=labels.choice.calibration.reached,
        budget_writes=problem.budget,
        accept_all_writes=run.segment_writes,
        capacity_segments=problem.capacity,
        episodes=len(labels.episodes),
        episodes_admitted=int(labels.choice.admitted.sum()),
        episodes_open=int(labels.episodes.open.sum()),
        eviction_age=labels.episodes.age,
        footprint_inflation=inflation,
        horizon=labels.horizon,
        opt_writes=labels.choice.run.segment_writes,
        requests=len(problem),
        rounds=list(labels.rounds),
        segment_bytes=problem.geometry.segment_bytes,
        segments=problem.accesses.n_segments,
        simulated_eviction_age=labels.choice.run.mean_eviction_age,
        transfer_share=transfer / dt if dt > 0 else 0.0,
    )


def _values(
    problem: FlashProblem, labels: EpisodeLabels, label: EpisodeLabel
) -> Callable[[slice], dict[str, npt.NDArray[Any]]]:
    """`COLUMNS` of a labelled trace, of some requests."""
    episodes = labels.episodes
    worths = worth(problem, episodes, label.opt_prefetch, label.first_accesses, label.budgets)
    score = score_episodes(problem, episodes).score

    def values(rows: slice) -> dict[str, npt.NDArray[Any]]:
        row = episodes.episode[rows]
        return {
            "episode": row,
            "access_index": episodes.index[rows],
            "accesses": of_episodes(episodes.accesses, row, 0),
            "fetched": episodes.fetched[rows],
            "score": of_episodes(score, row, 0.0),
            "opt": labels.opt(rows),
            "worth": worths[rows].astype(np.float32),
            "settled": labels.settled(rows),
            "open": of_episodes(episodes.open, row, False),
        }

    return values


def episode_rows(problem: FlashProblem, label: EpisodeLabel) -> EpisodeRows:
    """The labels of a trace without a file: at the capacity and the budget of the problem."""
    labels = label_problem(problem, label, label.opt_prefetch)
    values = _values(problem, labels, label)(EVERY)
    return EpisodeRows(**{name: values[name] for name in READ}, eviction_age=labels.episodes.age)


def label_requests(requests: Path, label: EpisodeLabel, flash: FlashPolicy, path: Path) -> None:
    """Label a canonical trace, a long one in files, and write the table.

    Args:
        requests: the trace, with page ids.
        label: `label.episodes`.
        flash: `policy.flash`.
        path: the table.

    Raises:
        TraceError: the trace cannot be read, has more than `MOST_NUMBERED` requests, or there is no room.
    """
    if (count := read_extent(requests).get("offset", 0)) > MOST_NUMBERED:
        raise TraceError(f"{requests}: {count} requests, at most {MOST_NUMBERED} can have episodes: cut the trace")
    if is_read_in_pieces(requests):
        room = InFiles(str(requests))
        write_episode_labels(trace_in(room, requests), label, flash, path, room)
    else:
        write_episode_labels(read_trace(requests), label, flash, path)


def write_episode_labels(
    trace: Trace, label: EpisodeLabel, flash: FlashPolicy, path: Path, room: Room = in_memory
) -> EpisodeFigures:
    """Label a trace and write one row per request, in the requests' order, and its figures as metadata.

    What is as long as the trace lies in `room`.
    """
    problem = flash_problem(trace, label, flash, room)
    labels = label_problem(problem, label, label.opt_prefetch)
    figures, values = describe(trace, problem, labels), _values(problem, labels, label)
    with row_writer(path, COLUMNS) as writer:
        for rows in stretches(len(trace)):
            writer.add(values(rows))
        writer.close(
            {METADATA_KEY: dump_json(figures.model_dump(mode="json")), "cachezoo.trace_id": trace.meta.trace_id}
        )
    return figures
