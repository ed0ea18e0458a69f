"""What counts of a stream whose workload changes: before a change an operator chooses, after it all are judged.

A change ends where the next one begins. For the first `SETTLING` capacities of page accesses after it no cache can know
the new workload, so that they do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cachezoo.arrays import U8
from cachezoo.contest.counting import AUTO, Count, first_access
from cachezoo.errors import TraceError
from cachezoo.kernels.outcome import HIT
from cachezoo.traces.mixing import sources
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

SETTLING, EARLY = 2, 10
"""Capacities of page accesses after a change: those that do not count, and those that are shown apart."""


@dataclass(frozen=True)
class Hits:
    """Page hits per access around a change."""

    before: float  # from a full cache up to the change
    settled: float  # from `SETTLING` capacities after it to its end
    early: float  # for `EARLY` capacities after it


@dataclass(frozen=True)
class Change:
    """A change of workload, by the page accesses of its stream."""

    full: int  # the one from which on the cache is full
    at: int  # the first of the new workload
    settled: int  # the first that counts
    early: int  # the first that is no longer shown apart
    end: int  # the one behind the last

    def hits(self, outcome: U8) -> Hits:
        """Hit ratios of a cache, given what happened at each access of the stream, uint8[m]."""
        spans = (self.full, self.at), (self.settled, self.end), (self.at, self.early)
        return Hits(*(float((outcome[first:end] == HIT).mean()) for first, end in spans))


def changes_of(pages: PageAccesses, at: Sequence[int], capacity: int) -> list[Change]:
    """The changes of a stream.

    Args:
        pages: its page accesses.
        at: requests that changes begin with, rising.
        capacity: pages of the cache.

    Raises:
        TraceError: a workload runs for fewer than `SETTLING` capacities of page accesses.
    """
    found = []
    for begins, ends in pairwise([*at, pages.n_requests]):
        first, end = (int(pages.request_start[request]) for request in (begins, ends))
        if first + SETTLING * capacity >= end:
            raise TraceError(f"a workload runs for {end - first} page accesses, with a cache of {capacity} pages")
        past = PageAccesses(pages.request_start[: begins + 1], pages.page_ids[:first], pages.n_pages)
        full = first_access(past, Count(AUTO), capacity)
        early = min(first + EARLY * capacity, end)
        found.append(Change(full, first, first + SETTLING * capacity, early, end))
    return found


def shared_pages(trace: Trace, pages: PageAccesses) -> float:
    """Share of the distinct pages of two joined traces that both access."""
    source = np.repeat(sources(trace).codes, np.diff(pages.request_start))
    seen = np.zeros((2, pages.n_pages), bool)
    seen[source, pages.page_ids] = True
    return float(seen.all(axis=0).mean())
