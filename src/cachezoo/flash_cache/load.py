"""Load of the backend disk over time: what a flash cache's run costs, in disk-head seconds per second.

Source: Baleen post, "Bulk storage limited by disk-head time": the peak is what is provisioned for. Windows
and their shortest length are as `policy.flash` in params.yaml says.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.contest.lead import mean_of
from cachezoo.flash_cache.problem import FlashProblem
from cachezoo.kernels.flash import FlashRun
from cachezoo.metrics.flash import Load, Statistic, Statistics
from cachezoo.settings.flash import FlashPolicy

MAX_WINDOWS = 100
DAY_S = 86_400
STATISTICS: dict[Statistic, Callable[[F64], np.floating[Any]]] = {
    "peak": np.max,
    "p95": lambda curve: np.quantile(curve, 0.95),
    "mean": np.mean,
    "median": np.median,
}


@dataclass(frozen=True)
class LoadWindows:
    """Equal windows of time over the requests after the warm-up."""

    first: int  # request at which the first window begins
    of: I64  # [n - first] window of each request
    count: int  # windows
    seconds: float  # of a window, in the trace's own seconds
    reads: float  # mean of a window
    days: float  # of the whole trace, as recorded


def load_windows(time_us: I64, problem: FlashProblem, flash: FlashPolicy, scale: float = 1.0) -> LoadWindows:
    """Cut the time after the warm-up into windows.

    A window is the longer of `window_min_s` and a hundredth of the time, widened until it holds
    `window_min_reads` reads on average. A trace too short for `min_windows` of these gets `min_windows`
    shorter ones.

    Args:
        time_us: int64[n].
        problem: for its reads and warm-up.
        flash: `policy.flash`.
        scale: `time_scale` of the trace.
    """
    warmup = problem.first
    times = (time_us[warmup:] - time_us[warmup]) / 1e6
    first_us, last_us = problem.ends(time_us)
    span = max(float(last_us - time_us[warmup]) / 1e6, 1e-6)
    reads = problem.requests(slice(warmup, None), reads=True)
    shortest = flash.window_min_s / scale
    most = min(MAX_WINDOWS, int(span // shortest), reads // flash.window_min_reads)
    count = max(flash.min_windows, most)
    of = np.minimum((times / span * count).astype(np.int64), count - 1)
    days = float(last_us - first_us) / 1e6 * scale / DAY_S
    return LoadWindows(warmup, of, count, span / count, reads / count, days)


def load_curve(dt: F64, windows: LoadWindows) -> F64:
    """Disk-head seconds per second in each window.

    Args:
        dt: float64[n] disk-head seconds of each request.
        windows: the cut.
    """
    total = np.bincount(windows.of, dt[windows.first :], minlength=windows.count)
    return total.astype(np.float64) / windows.seconds


def measure(problem: FlashProblem, run: FlashRun, windows: LoadWindows, disks: int | None = None) -> Load:
    """A policy's figures after the warm-up; flash writes count from the first request.

    Args:
        problem: the cache and the requests.
        run: the policy's run.
        windows: the cut.
        disks: backend disks, None where none are configured.
    """
    after = slice(windows.first, None)
    seconds, transfer = problem.disk_times(run)
    dt, write_dt = seconds * problem.read, seconds * ~problem.read
    read = problem.read[after]
    begun = read if problem.whole is None else read & problem.whole.begins[after]
    ios = run.io_segments[after][begun]
    curve, write_curve = load_curve(dt, windows), load_curve(write_dt, windows)
    read_s, write_s = float(dt[after].sum()), float(write_dt[after].sum())
    prefetched = int(run.prefetched.sum(dtype=np.int64))
    written = problem.flash_segments(run.segment_writes)
    return Load(
        read_dt=_statistics(curve),
        read_dt_mean_interval=mean_of(curve).ends,
        read_dt_constants=_statistics(load_curve(problem.constant_seconds(run) * problem.read, windows)),
        write_dt=_statistics(write_curve),
        total_dt=_statistics(curve + write_curve),
        io_hit_ratio=1.0 - float(np.count_nonzero(ios)) / max(1, int(begun.sum())),
        byte_hit_ratio=float(run.hits[after].sum()) / max(1, int(problem.accesses.sizes[after][read].sum())),
        segment_writes=written,
        writes_of_accept_all=run.segment_writes / max(1, problem.accept_all.segment_writes),
        prefetched_segments=problem.flash_segments(prefetched),
        prefetch_accuracy=run.prefetched_used / prefetched if prefetched else None,
        dwpd=written / problem.whole_capacity / windows.days if windows.days >= 1 else None,
        read_dt_s=read_s,
        write_dt_s=write_s,
        total_dt_s=read_s + write_s,
        transfer_share=float(transfer[after][read].sum()) / read_s if read_s > 0 else 0.0,
        utilisation=None if disks is None else _statistics((curve + write_curve) / disks),
        evictions=problem.flash_segments(run.evictions),
        mean_eviction_age=run.mean_eviction_age,
    )


def _statistics(curve: F64) -> Statistics:
    return Statistics(**{name: float(statistic(curve)) for name, statistic in STATISTICS.items()})
