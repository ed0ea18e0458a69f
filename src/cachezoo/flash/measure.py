"""A run of the flash cache in figures."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cachezoo.arrays import F64
from cachezoo.contest.lead import mean_of
from cachezoo.flash.load import LoadWindows, load_curve
from cachezoo.flash.problem import FlashProblem
from cachezoo.kernels.flash import FlashRun
from cachezoo.metrics.flash import Load, Statistic, Statistics

STATISTICS: dict[Statistic, Callable[[F64], np.floating[Any]]] = {
    "peak": np.max,
    "p95": lambda curve: np.quantile(curve, 0.95),
    "mean": np.mean,
    "median": np.median,
}


def measure(problem: FlashProblem, run: FlashRun, windows: LoadWindows, disks: int | None = None) -> Load:
    """A policy's figures after the warm-up; flash writes count from the first request.

    Args:
        problem: the cache and the requests.
        run: the policy's run.
        windows: the cut.
        disks: backend disks, None where none are configured.
    """
    after = slice(windows.first, None)
    dt, write_dt = problem.dt_seconds(run), problem.write_dt_seconds()
    read, ios = problem.read[after], run.io_segments[after]
    curve, write_curve = load_curve(dt, windows), load_curve(write_dt, windows)
    read_s, write_s = float(dt[after].sum()), float(write_dt[after].sum())
    seek = float(np.count_nonzero(ios)) * problem.cost.seek_ms / 1e3
    prefetched = int(run.prefetched.sum(dtype=np.int64))
    return Load(
        read_dt=_statistics(curve),
        read_dt_mean_interval=mean_of(curve).ends,
        write_dt=_statistics(write_curve),
        total_dt=_statistics(curve + write_curve),
        io_hit_ratio=1.0 - float(np.count_nonzero(ios)) / max(1, int(read.sum())),
        byte_hit_ratio=float(run.hits[after].sum()) / max(1, int(problem.accesses.sizes[after][read].sum())),
        segment_writes=run.segment_writes,
        writes_of_accept_all=run.segment_writes / max(1, problem.accept_all.segment_writes),
        prefetched_segments=prefetched,
        prefetch_accuracy=run.prefetched_used / prefetched if prefetched else None,
        dwpd=run.segment_writes / problem.capacity / windows.days if windows.days >= 1 else None,
        read_dt_s=read_s,
        write_dt_s=write_s,
        total_dt_s=read_s + write_s,
        transfer_share=(read_s - seek) / read_s if read_s > 0 else 0.0,
        utilisation=None if disks is None else _statistics((curve + write_curve) / disks),
        evictions=run.evictions,
        mean_eviction_age=run.mean_eviction_age,
    )


def _statistics(curve: F64) -> Statistics:
    return Statistics(**{name: float(statistic(curve)) for name, statistic in STATISTICS.items()})
