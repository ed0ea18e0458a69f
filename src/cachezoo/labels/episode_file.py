"""The file of episode labels: one row a request, and figures of the trace beside them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.config.baleen import EpisodeLabel, FlashPolicy
from cachezoo.errors import TraceError
from cachezoo.kernels.segments import I32, Geometry, expand_segments
from cachezoo.labels.episodes import (
    NO_PREFETCH,
    OPT_RANGE,
    EpisodeLabels,
    Scores,
    label_problem,
    opt_range,
    score_episodes,
)
from cachezoo.labels.flash_problem import FlashProblem, flash_problem
from cachezoo.traces.table import OP_READ, Trace

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
METADATA_KEY = "cachezoo.episodes"
RULE_SEGMENT_BYTES = tuple(4096 << shift for shift in (5, 4, 3, 2, 1, 0))
RULE_BLOCKS = 1000
RULE_INFLATION = 1.1


def choose_geometry(trace: Trace) -> Geometry:
    """The largest 64:1 geometry with at least 1,000 read blocks and footprint inflation at most 1.1.

    Returns:
        Between 8 MiB / 128 KiB and the floor, 256 KiB / 4 KiB.
    """
    for segment_bytes in RULE_SEGMENT_BYTES[:-1]:
        geometry = Geometry(segment_bytes * 64, segment_bytes)
        blocks, inflation = footprint(trace, geometry)
        if blocks >= RULE_BLOCKS and inflation <= RULE_INFLATION:
            return geometry
    return Geometry()


def footprint(trace: Trace, geometry: Geometry) -> tuple[int, float]:
    """Read blocks of a geometry, and the bytes its segments cover over the bytes 4 KiB segments cover."""
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, geometry)
    fine = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
    blocks = len(np.unique(accesses.block[trace.op == OP_READ]))
    return blocks, accesses.n_segments * geometry.segment_bytes / (fine.n_segments * Geometry().segment_bytes)


def describe(trace: Trace, problem: FlashProblem, labels: EpisodeLabels) -> dict[str, Any]:
    """The figures that travel in the label file's metadata; plain JSON values."""
    blocks, inflation = footprint(trace, problem.geometry)
    rule = choose_geometry(trace)
    run = problem.accept_all
    dt = float(problem.dt_seconds(run).sum())
    seeks = problem.cost.seek_ms / 1e3 * int(np.count_nonzero(run.io_segments))
    return {
        "age_found": labels.age_found,
        "analytic_eviction_age": labels.analytic_age,
        "block_bytes": problem.geometry.block_bytes,
        "blocks": blocks,
        "budget_reached": labels.choice.calibration.reached,
        "budget_writes": problem.budget,
        "accept_all_writes": run.segment_writes,
        "capacity_segments": problem.capacity,
        "episodes": len(labels.episodes),
        "episodes_admitted": int(labels.choice.admitted.sum()),
        "episodes_open": int(labels.episodes.open.sum()),
        "eviction_age": labels.episodes.age,
        "footprint_inflation": inflation,
        "horizon": labels.horizon,
        "opt_writes": labels.choice.run.segment_writes,
        "requests": len(problem),
        "rounds": [[age, simulated] for age, simulated in labels.rounds],
        "rule_block_bytes": rule.block_bytes,
        "rule_segment_bytes": rule.segment_bytes,
        "segment_bytes": problem.geometry.segment_bytes,
        "segments": problem.accesses.n_segments,
        "simulated_eviction_age": labels.choice.run.mean_eviction_age,
        "transfer_share": (dt - seeks) / dt if dt > 0 else 0.0,
    }


def write_episode_labels(trace: Trace, label: EpisodeLabel, flash: FlashPolicy, path: Path) -> dict[str, Any]:
    """Label a whole trace file and write one row per request, in the requests' order.

    Columns: `episode` (-1 writes), `access_index` within the episode, `accesses` n of the episode, `fetched`
    segments the read would fetch were the episode admitted, `range_low` and `range_high` the episode's OPT-Range within
    its block (segments, the end excluded; 0 and 0 for writes), `score` seconds saved per segment written,
    `prefetch_score` the same where a miss fetches the whole OPT-Range, `prefetch_gain` the seconds that this saves the
    episode beyond admission alone, `opt` admitted by OPT with the prefetch of `label.opt_prefetch`, `settled` (see
    `EpisodeLabels.settled`), `open` (the trace ended within an eviction age of its last read). Figures stand as JSON
    text in the metadata.

    Returns:
        The figures.
    """
    import pyarrow as pa

    from cachezoo.io import dump_json, write_table

    problem = flash_problem(trace, label, flash)
    labels = label_problem(problem, label, label.opt_prefetch)
    episodes = labels.episodes
    row = episodes.episode
    ranges = opt_range(episodes, problem.geometry)
    plain, ranged = (score_episodes(problem, episodes, mode) for mode in (NO_PREFETCH, OPT_RANGE))
    gain = _saved(ranged) - _saved(plain)
    table = pa.table(
        {
            "episode": pa.array(row, pa.int32()),
            "access_index": pa.array(episodes.index, pa.int32()),
            "accesses": pa.array(np.append(episodes.accesses, 0)[row], pa.int32()),
            "fetched": pa.array(episodes.fetched, pa.int32()),
            "range_low": pa.array(ranges.low, pa.int32()),
            "range_high": pa.array(ranges.high, pa.int32()),
            "score": pa.array(np.append(plain.score, 0.0)[row], pa.float64()),
            "prefetch_score": pa.array(np.append(ranged.score, 0.0)[row], pa.float64()),
            "prefetch_gain": pa.array(np.append(gain, 0.0)[row], pa.float64()),
            "opt": pa.array(labels.opt(), pa.bool_()),
            "settled": pa.array(labels.settled(), pa.bool_()),
            "open": pa.array(np.append(episodes.open, False)[row], pa.bool_()),
        }
    )
    figures = describe(trace, problem, labels)
    write_table(path, table, {METADATA_KEY: dump_json(figures), "cachezoo.trace_id": trace.meta.trace_id})
    return figures


def _saved(scores: Scores) -> F64:
    return scores.score * scores.written


@dataclass(frozen=True)
class EpisodeRows:
    """Labels as read from a file: one entry a request, columns as in `write_episode_labels`."""

    episode: I32
    access_index: I32
    opt: Bool
    settled: Bool
    range_low: I32
    range_high: I32
    prefetch_gain: F64
    figures: dict[str, Any]


def read_episode_labels(path: Path, requests: int | None = None) -> EpisodeRows:
    """Read what `write_episode_labels` wrote.

    Raises:
        TraceError: the file is missing, damaged, or holds no episode labels, or not one for each of the `requests`.
    """
    import json

    from cachezoo.io import read_rows

    names = ["episode", "access_index", "opt", "settled", "range_low", "range_high", "prefetch_gain"]
    table, metadata = read_rows(path, "label_episodes", requests, names)
    if METADATA_KEY not in metadata:
        message = f"{path}: holds no episode labels; run the stage label_episodes"
        raise TraceError(message)
    columns = {name: table.column(name).to_numpy() for name in names}
    return EpisodeRows(**columns, figures=json.loads(metadata[METADATA_KEY]))
