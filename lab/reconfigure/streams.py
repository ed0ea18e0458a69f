"""Streams whose workload changes: traces of several categories in turns, with their responses and their phases.

RC-RNN's Sec. 5.4 and Fig. 17: 50,000 requests of one workload, then 50,000 of another. Each trace keeps its volume, so
that pages of two workloads never meet, and the gaps between its turns are closed (`cachezoo.traces.mixing.in_turns`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I32
from cachezoo.contest.counting import AUTO, Count, first_access
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import ConfigError
from cachezoo.traces.mixing import Turn, in_turns, sources
from cachezoo.traces.pages import PageAccesses, capacity_pages, expand_pages
from cachezoo.traces.table import Trace


@dataclass(frozen=True)
class Part:
    """A workload of a stream.

    Attributes:
        key: its trace in the matrix.
        category: the trace's.
        trace: its requests.
        hdd_us, ssd_us: float64[n] their service times.
    """

    key: str
    category: str
    trace: Trace
    hdd_us: F64
    ssd_us: F64


@dataclass(frozen=True)
class Phase:
    """A stretch in which one workload alone runs: requests `first` to `end` - 1."""

    key: str
    category: str
    first: int
    end: int


@dataclass(frozen=True)
class Changing:
    """A stream, and the cache that all policies have on it.

    Attributes:
        name: its id.
        trace: its requests.
        pages: their page accesses.
        times: their service times.
        phases: in order; each but the first begins with a change.
        capacity: pages.
        warmup: page accesses before counting.
    """

    name: str
    trace: Trace
    pages: PageAccesses
    times: ServiceTimes
    phases: tuple[Phase, ...]
    capacity: int
    warmup: int

    @property
    def categories(self) -> list[str]:
        """Those that occur, in the order of their first phases."""
        return list(dict.fromkeys(phase.category for phase in self.phases))

    @property
    def first_counted(self) -> int:
        """The first request that begins after the warm-up."""
        return int(np.searchsorted(self.pages.request_start[:-1], self.warmup))

    def codes(self, classes: Sequence[str]) -> I32:
        """int32[n]: the category of each request, by its place among the classes.

        Raises:
            ConfigError: a phase is of a category that is not among them.
        """
        for phase in self.phases:
            if phase.category not in classes:
                message = f"{self.name}: {phase.key} is of {phase.category}; the classes are {', '.join(classes)}"
                raise ConfigError(message)
        each = [np.full(phase.end - phase.first, classes.index(phase.category), np.int32) for phase in self.phases]
        return np.concatenate(each)


def changing(name: str, parts: Sequence[Part], requests: int, periods: int, fraction: float) -> Changing:
    """Let workloads take turns.

    Args:
        name: the stream's id.
        parts: the workloads in the order of their turns, two or more.
        requests: of a turn, at least 1; fewer where the shortest trace has no more.
        periods: how many times each has its turn, at least 1.
        fraction: the cache's size as a part of the distinct pages of one workload, in the mean of them; of a stream's
            pages it would rise with the number of its workloads, of which one alone is running.

    Raises:
        ConfigError: fewer than two workloads, two of one trace, or a number below 1.
        TraceError: a trace is too short for so many turns.
    """
    if requests < 1 or periods < 1:
        raise ConfigError(f"{name}: turns of {requests} requests, {periods} periods; give at least 1 of each")
    turn = min([requests, *(max(1, len(part.trace) // periods) for part in parts)])
    ids = [part.trace.meta.trace_id for part in parts]
    trace = in_turns([part.trace for part in parts], name, [Turn(own, turn) for own in ids], periods)
    order = [*range(len(parts))] * periods
    phases = tuple(
        Phase(parts[k].key, parts[k].category, at * turn, (at + 1) * turn) for at, k in enumerate(order)
    )  # fmt: skip
    rows = [slice(at // len(parts) * turn, (at // len(parts) + 1) * turn) for at in range(len(order))]
    hdd_us, ssd_us = (
        np.concatenate([getattr(parts[k], column)[own] for k, own in zip(order, rows, strict=True)])
        for column in ("hdd_us", "ssd_us")
    )
    pages = expand_pages(trace)
    capacity = capacity_pages(fraction, round(_own_pages(trace, pages) / len(parts)))
    times = ServiceTimes.of(trace, hdd_us, ssd_us)
    return Changing(name, trace, pages, times, phases, capacity, first_access(pages, Count(AUTO), capacity))


def _own_pages(trace: Trace, pages: PageAccesses) -> int:
    """Distinct pages of each workload, added up; workloads have none in common."""
    source = np.repeat(sources(trace).codes.astype(np.int64), np.diff(pages.request_start))
    return len(np.unique(source * pages.n_pages + pages.page_ids))
