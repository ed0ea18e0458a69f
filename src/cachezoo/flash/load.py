"""Load of the backend disk over time: what a flash cache's run costs, in disk-head seconds per second.

Source: Baleen post, "Bulk storage limited by disk-head time": the peak is what is provisioned for. Windows
and their shortest length are as `policy.flash` in params.yaml says.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.errors import TraceError
from cachezoo.flash.problem import FlashProblem
from cachezoo.settings.flash import FlashPolicy
from cachezoo.traces.table import Trace

MAX_WINDOWS = 100
DAY_S = 86_400
TIME_SCALE_KEY = "time_scale"


@dataclass(frozen=True)
class LoadWindows:
    """Equal windows of time over the requests after the warm-up.

    Attributes:
        first: request at which the first window begins.
        of: int64[n - first] window of each request.
        count: windows.
        seconds: length of a window, in the trace's own seconds.
        reads: mean reads in a window.
        days: length of the whole trace in recorded days.
    """

    first: int
    of: I64
    count: int
    seconds: float
    reads: float
    days: float


def time_scale(trace: Trace) -> float:
    """Seconds of the recorded day that one second of the trace stands for: metadata `time_scale`, or 1.

    Raises:
        TraceError: the metadata hold something that is no positive number.
    """
    text = trace.meta.extra.get(TIME_SCALE_KEY, "1")
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        name = trace.meta.trace_id
        raise TraceError(f"{name}: {TIME_SCALE_KEY} is {text!r}; write the seconds that one second stands for")
    return value


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
    span = max(float(times[-1]), 1e-6)
    reads = int(np.count_nonzero(problem.read[warmup:]))
    shortest = flash.window_min_s / scale
    most = min(MAX_WINDOWS, int(span // shortest), reads // flash.window_min_reads)
    count = max(flash.min_windows, most)
    of = np.minimum((times / span * count).astype(np.int64), count - 1)
    days = float(time_us[-1] - time_us[0]) / 1e6 * scale / DAY_S
    return LoadWindows(warmup, of, count, span / count, reads / count, days)


def load_curve(dt: F64, windows: LoadWindows) -> F64:
    """Disk-head seconds per second in each window.

    Args:
        dt: float64[n] disk-head seconds of each request.
        windows: the cut.
    """
    total = np.bincount(windows.of, dt[windows.first :], minlength=windows.count)
    return total.astype(np.float64) / windows.seconds
