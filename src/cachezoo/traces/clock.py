"""Whether a trace's times are times: formats without a clock number their rows instead."""

from collections.abc import Mapping

import numpy as np

from cachezoo.traces.table import I64, Trace

ROW_NUMBER_US = 1  # formats without a clock number their rows, one microsecond apart
NUMBERED = "row numbers"  # how readers' notes on times begin where a format has no clock
ROWS = "time=row"  # as `--columns` says it
FEWEST = 3  # requests, one microsecond apart, that are taken for numbered rows


def are_numbered(notes: Mapping[str, str]) -> bool:
    """Whether a reader noted that it numbered the rows.

    Args:
        notes: of a `Reading`, or the metadata that they went into.
    """
    return notes.get("time", "").startswith(NUMBERED) or ROWS in notes.get("columns", "")


class Clock:
    """Watches consecutive pieces of a trace for times that differ otherwise than row numbers do."""

    def __init__(self) -> None:
        self._requests = 0
        self._first_us = self._last_us = 0
        self._same = self._steps = True

    def add(self, time_us: I64) -> None:
        """Look at the next requests' times, in microseconds."""
        if not len(time_us):
            return
        if not self._requests:
            self._first_us, self._last_us = int(time_us[0]), int(time_us[0]) - ROW_NUMBER_US
        self._same = self._same and bool((time_us == self._first_us).all())
        steps = int(time_us[0]) - self._last_us == ROW_NUMBER_US and bool((np.diff(time_us) == ROW_NUMBER_US).all())
        self._steps = self._steps and steps
        self._requests += len(time_us)
        self._last_us = int(time_us[-1])

    def ticks(self, notes: Mapping[str, str]) -> bool:
        """Whether there is a clock: rows are not said to be numbered, and times neither all equal nor such numbers.

        Args:
            notes: as in `are_numbered`.
        """
        numbers = self._steps and self._requests >= FEWEST
        return not (self._same or numbers or are_numbered(notes))


def has_clock(trace: Trace) -> bool:
    """Whether a trace's times are times, see `Clock.ticks`."""
    clock = Clock()
    clock.add(trace.time_us)
    return clock.ticks(trace.meta.extra)
