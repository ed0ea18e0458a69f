"""Whether traces can be ordered by their times: each has a clock, and the clocks cover times that overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachezoo.errors import ConfigError
from cachezoo.flash.load import time_scale
from cachezoo.traces.table import Trace

MOST_RATIO = 10  # of the longest trace's time to the shortest's: above it one runs nearly always without the other
LADDER = (("days", 86_400), ("h", 3600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class Clocked:
    """A trace among several that are to be ordered.

    Attributes:
        name: for people.
        trace: its requests.
        ticks: whether its times are times.
    """

    name: str
    trace: Trace
    ticks: bool

    @property
    def seconds(self) -> float:
        """From time 0, at which all begin, to its last request."""
        return float(self.trace.time_us[-1]) / 1e6 if len(self.trace) else 0.0


def lasting(seconds: float) -> str:
    """A length of time for people, in the largest unit that it has at least two of: `7 days`, `49 h`, `8.2 min`."""
    unit, size = next(((unit, size) for unit, size in LADDER if seconds >= 2 * size), LADDER[-1])
    return f"{seconds / size:.3g} {unit}"


def apart_in_time(traces: Sequence[Clocked]) -> str:
    """What is wrong with an order by clocks where one trace lasts much longer than another; empty where none does."""
    longest, shortest = max(traces, key=lambda one: one.seconds), min(traces, key=lambda one: one.seconds)
    if longest.seconds <= MOST_RATIO * shortest.seconds:
        return ""
    return (
        f"{longest.name} lasts {lasting(longest.seconds)}, {shortest.name} {lasting(shortest.seconds)}: by the clock, "
        "from 0 on, they hardly ever run at the same time"
    )


def check_overlap(traces: Sequence[Clocked]) -> None:
    """Refuse an order by clocks that nobody asked for and that means little.

    Raises:
        ConfigError: one trace lasts much longer than another.
    """
    if said := apart_in_time(traces):
        raise ConfigError(f"{said}; use --order lockstep, or --order clock if that is meant")


def paces(traces: Sequence[Clocked]) -> str:
    """What to know where a second of one trace stands for another time than a second of another; empty otherwise."""
    scales = {one.name: time_scale(one.trace) for one in traces}
    slow, fast = min(scales, key=lambda name: scales[name]), max(scales, key=lambda name: scales[name])
    if scales[slow] == scales[fast]:
        return ""
    return (
        f"a second of {slow} stands for {scales[slow]:g} s of its day, one of {fast} for {scales[fast]:g} s: by the "
        "clock their days pass at different paces"
    )
