"""Whether a trace's times are times, as formats without a clock number their rows, and what a second stands for."""

from collections.abc import Mapping

import numpy as np

from cachezoo.arrays import F64, I64, stretches
from cachezoo.errors import TraceError
from cachezoo.traces.table import Trace

NUMBERED = "row numbers"  # how readers' notes on times begin where a format has no clock
ROWS = "time=row"  # as `--columns` says it
FEWEST = 3  # requests, one microsecond apart, that are taken for numbered rows
MODULUS = 1 << 64
TIME_SCALE_KEY = "time_scale"


def are_numbered(notes: Mapping[str, str]) -> bool:
    """Whether a reader noted that it numbered the rows.

    Args:
        notes: of a `Reading`, or the metadata that they went into.
    """
    return notes.get("time", "").startswith(NUMBERED) or ROWS in notes.get("columns", "")


class Clock:
    """Watches consecutive pieces of a trace, in any order, for times that differ otherwise than row numbers do.

    Attributes:
        first_us: the earliest time so far.
        last_us: the latest.
    """

    def __init__(self) -> None:
        self._requests = self._sum = self._squares = 0
        self._origin_us = self.first_us = self.last_us = 0

    def add(self, time_us: I64) -> None:
        """Look at the next requests' times, in microseconds."""
        if not len(time_us):
            return
        first, last = int(time_us.min()), int(time_us.max())
        if not self._requests:
            self._origin_us = self.first_us = self.last_us = first
        since = (time_us - self._origin_us).view(np.uint64)  # sums are taken modulo 2**64
        self._sum = (self._sum + int(since.sum())) % MODULUS
        self._squares = (self._squares + int((since * since).sum())) % MODULUS
        self.first_us, self.last_us = min(first, self.first_us), max(last, self.last_us)
        self._requests += len(time_us)

    @property
    def _numbers(self) -> bool:
        """Whether the times are as many whole numbers one after another, as their ends and sums tell."""
        count, first = self._requests, self.first_us - self._origin_us
        if count < FEWEST or self.last_us - self.first_us != count - 1:
            return False
        total = count * first + count * (count - 1) // 2
        squares = count * first * first + first * count * (count - 1) + (count - 1) * count * (2 * count - 1) // 6
        return (self._sum, self._squares) == (total % MODULUS, squares % MODULUS)

    def ticks(self, notes: Mapping[str, str]) -> bool:
        """Whether there is a clock: rows are not said to be numbered, and times neither all equal nor such numbers.

        Args:
            notes: as in `are_numbered`.
        """
        return not (self.first_us == self.last_us or self._numbers or are_numbered(notes))


def has_clock(trace: Trace) -> bool:
    """Whether a trace's times are times, see `Clock.ticks`."""
    clock = Clock()
    for rows in stretches(len(trace)):
        clock.add(trace.time_us[rows])
    return clock.ticks(trace.meta.extra)


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


class Outstanding:
    """How many requests were outstanding on average while any was; requests come in pieces, by time.

    Requests of unknown latency count as if there were none.
    """

    def __init__(self) -> None:
        self._lasted = self._busy = 0.0
        self._reached = -np.inf
        self._known = False

    def add(self, time_us: I64, latency_us: I64) -> None:
        """The next requests: when each was issued, and how long it took, µs, below 0 where that is unknown."""
        known = np.flatnonzero(latency_us >= 0)
        if not known.size:
            return
        start, lasted = time_us[known].astype(np.float64), latency_us[known].astype(np.float64)
        self._known = True
        self._lasted += float(lasted.sum())
        self._busy += covered_us(start, start + lasted, self._reached)
        self._reached = max(self._reached, float((start + lasted).max()))

    @property
    def mean(self) -> float | None:
        """The number; None where no latency is known."""
        if not self._known:
            return None
        return self._lasted / self._busy if self._busy > 0 else 1.0


def covered_us(start: F64, end: F64, reached: float = -np.inf) -> float:
    """How much time a set of intervals covers from a time on; `start` is in rising order."""
    if start.size == 0:
        return 0.0
    before = np.maximum.accumulate(np.concatenate([[reached], end[:-1]]))
    return float(np.maximum(np.maximum(end, before) - np.maximum(start, before), 0.0).sum())
