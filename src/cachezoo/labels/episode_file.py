"""The file of episode labels: one row a request, and figures of the trace as metadata."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.flash_cache.problem import FlashProblem, flash_problem
from cachezoo.kernels.segments import SEGMENT_BITS, Geometry
from cachezoo.labels.episode_rows import COLUMNS as READ
from cachezoo.labels.episode_rows import METADATA_KEY, EpisodeRows
from cachezoo.labels.episodes import (
    EpisodeLabels,
    label_problem,
    score_episodes,
    worth,
)
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.metrics.episodes import EpisodeFigures
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
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
    read, volume = trace.op == OP_READ, trace.volume.codes.astype(np.int64) << SEGMENT_BITS
    blocks = len(np.unique((volume + trace.offset // geometry.block_bytes)[read]))
    return blocks, _covered(trace, geometry.segment_bytes) / _covered(trace, Geometry().segment_bytes)


def _covered(trace: Trace, unit: int) -> int:
    """Bytes of the distinct units that requests touch, whose number may be beyond what ids are made for."""
    volume = trace.volume.codes.astype(np.int64) << SEGMENT_BITS
    first, end = volume + trace.offset // unit, volume + (trace.offset + trace.size - 1) // unit + 1
    order = np.argsort(first)
    first, reached = first[order], np.maximum.accumulate(end[order])
    before = np.append(first[:1], reached[:-1])
    return int((reached - np.maximum(first, before)).clip(0).sum()) * unit


def describe(trace: Trace, problem: FlashProblem, labels: EpisodeLabels) -> EpisodeFigures:
    """The figures that travel in the label file's metadata."""
    blocks, inflation = footprint(trace, problem.geometry)
    run = problem.accept_all
    dt, transfer = (float(own[problem.read].sum()) for own in problem.disk_times(run))
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


def _values(problem: FlashProblem, labels: EpisodeLabels, label: EpisodeLabel) -> dict[str, npt.NDArray[Any]]:
    """`COLUMNS` of a labelled trace."""
    episodes = labels.episodes
    row = episodes.episode
    worths = worth(problem, episodes, label.opt_prefetch, label.first_accesses, label.budgets)
    return {
        "episode": row,
        "access_index": episodes.index,
        "accesses": np.append(episodes.accesses, 0)[row],
        "fetched": episodes.fetched,
        "score": np.append(score_episodes(problem, episodes).score, 0.0)[row],
        "opt": labels.opt(),
        "worth": worths.astype(np.float32),
        "settled": labels.settled(),
        "open": np.append(episodes.open, False)[row],
    }


def episode_rows(problem: FlashProblem, label: EpisodeLabel) -> EpisodeRows:
    """The labels of a trace without a file: at the capacity and the budget of the problem."""
    labels = label_problem(problem, label, label.opt_prefetch)
    values = _values(problem, labels, label)
    return EpisodeRows(**{name: values[name] for name in READ}, eviction_age=labels.episodes.age)


def write_episode_labels(trace: Trace, label: EpisodeLabel, flash: FlashPolicy, path: Path) -> EpisodeFigures:
    """Label a trace and write one row per request, in the requests' order, and its figures as metadata."""
    from cachezoo.io import dump_json, table_of, write_table

    problem = flash_problem(trace, label, flash)
    labels = label_problem(problem, label, label.opt_prefetch)
    figures = describe(trace, problem, labels)
    metadata = {METADATA_KEY: dump_json(figures.model_dump(mode="json")), "cachezoo.trace_id": trace.meta.trace_id}
    write_table(path, table_of(_values(problem, labels, label), COLUMNS), metadata)
    return figures
