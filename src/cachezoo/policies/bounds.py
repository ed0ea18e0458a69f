"""Offline bounds as policies that have seen the whole stream: what a cache could reach, at the same capacity.

A bound serves what the trace asks of the cache, a page at a time; accesses that go around the cache and prefetches are
no part of it, and are `BYPASSED` in its run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.benefit import page_benefit
from cachezoo.kernels.bounds import belady as min_kernel
from cachezoo.kernels.bounds import relaxed, static
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.bounds.pfoo import Bounds, pfoo
from cachezoo.kernels.oracle_cache import oracle_cache
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, AROUND, BYPASSED, NONE, PREFETCH, WRITE
from cachezoo.policies.engine import Run, Span, check_capacity, pauses
from cachezoo.policies.stream import LongStream, Stream, dense_ids

HORIZON = 3


@dataclass(frozen=True)
class Bound:
    """A policy with hindsight.

    Attributes:
        id: lower case; words are set apart by an underscore.
        title: one line for people.
        simulate: (stream, capacity in pages) to what it does at each access; ConfigError where the capacity is below 1.
        kernel: (page ids, next accesses, capacity) to outcome and victim, for one that can leave the victims out.
    """

    id: str
    title: str
    simulate: Callable[[Stream, int], Run]
    kernel: Callable[[I32, I32 | I64, int, U8, I32], None] | None = None
    # (stream, capacity, accesses at a time) to its spans, for a stream whose columns lie in files
    spans: Callable[[LongStream, int, int], Iterator[Span]] | None = None

    def hits(self, page_ids: I32, n_pages: int, capacity: int) -> U8:
        """Outcomes uint8[m] of single page reads, by the fastest way there is.

        Args:
            page_ids: int32[m] in [0, n_pages).
            n_pages: distinct pages.
            capacity: pages.

        Raises:
            ConfigError: a capacity below 1, or page ids outside [0, n_pages).
        """
        if self.kernel is None:
            return self.simulate(Stream.of_pages(page_ids, n_pages), capacity).outcome
        check_capacity(capacity)
        page_ids = dense_ids(page_ids, n_pages)
        outcome = np.empty(len(page_ids), np.uint8)
        self.kernel(page_ids, next_access(page_ids, n_pages), capacity, outcome, np.empty(0, np.int32))
        return outcome


def _served(stream: Stream) -> Bool:
    """bool[m]: accesses that a bound serves."""
    served: Bool = stream.flags & (PREFETCH | AROUND) == 0
    return served


def _over_served(stream: Stream, capacity: int, serve: Callable[[I32, U8, I32], None]) -> Run:
    """Serve those accesses alone: `serve` reads their page ids and writes their outcome and victim."""
    check_capacity(capacity)
    served = _served(stream)
    page_ids = stream.page_ids if served.all() else stream.page_ids[served]
    outcome, victim = np.empty(len(page_ids), np.uint8), np.full(len(page_ids), NONE, np.int32)
    serve(page_ids, outcome, victim)
    if len(page_ids) == len(stream):
        return Run(outcome, victim)
    run = Run(np.full(len(stream), BYPASSED, np.uint8), np.full(len(stream), NONE, np.int32))
    run.outcome[served], run.victim[served] = outcome, victim
    return run


def belady(stream: Stream, capacity: int) -> Run:
    """MIN that always inserts; see `cachezoo.kernels.bounds.belady`."""

    def serve(page_ids: I32, outcome: U8, victim: I32) -> None:
        min_kernel.belady(page_ids, next_access(page_ids, stream.n_pages), capacity, outcome, victim)

    return _over_served(stream, capacity, serve)


def belady_bypass(stream: Stream, capacity: int) -> Run:
    """MIN with bypass, the optimum of page hits; see `cachezoo.kernels.bounds.belady`."""

    def serve(page_ids: I32, outcome: U8, victim: I32) -> None:
        min_kernel.belady_bypass(page_ids, next_access(page_ids, stream.n_pages), capacity, outcome, victim)

    return _over_served(stream, capacity, serve)


def static_hindsight(stream: Stream, capacity: int) -> Run:
    """The most accessed pages stay; see `cachezoo.kernels.bounds.static`."""

    def serve(page_ids: I32, outcome: U8, victim: I32) -> None:
        static.static_hindsight(page_ids, stream.n_pages, capacity, outcome)

    return _over_served(stream, capacity, serve)


def relaxed_belady(stream: Stream, capacity: int) -> Run:
    """Relaxed Belady at the boundary of MIN on the same stream; see `cachezoo.kernels.bounds.relaxed`."""

    def serve(page_ids: I32, outcome: U8, victim: I32) -> None:
        following = next_access(page_ids, stream.n_pages)
        boundary = max(1, relaxed.belady_boundary(page_ids, following, stream.n_pages, capacity))
        relaxed.relaxed_belady(page_ids, following, capacity, boundary, outcome, victim)

    return _over_served(stream, capacity, serve)


def benefit(
    stream: Stream,
    capacity: int,
    t_hdd_us: F64 | None = None,
    t_ssd_us: F64 | None = None,
    horizon: int = HORIZON,
) -> Run:
    """The benefit oracle: on a miss the page of least benefit makes room, or the access is bypassed.

    Source: RC-RNN, Sec. 4.1, Eq. 3. It weighs pages by what they save, so it is no upper bound of hits.

    Args:
        stream: what is asked.
        capacity: pages, at least 1.
        t_hdd_us: float64[requests] service times of the stream's requests on the hard disk; by default all requests
            cost the same, so that a page's uses and the request's size decide.
        t_ssd_us: the same on the SSD.
        horizon: how far a page's uses are looked for, in capacities of page accesses.

    Raises:
        ConfigError: a capacity or a horizon below 1; service times of another number of requests, or not above 0.
    """
    served = _served(stream)
    number = stream.request_of[served]
    first = np.flatnonzero(np.diff(number, prepend=-1))
    hdd, ssd = (_costs(times, stream)[number[first]] for times in (t_hdd_us, t_ssd_us))
    op = (stream.flags[served][first] & WRITE != 0).astype(np.uint8)
    bounds = np.append(first, len(number)).astype(np.int64)

    def serve(page_ids: I32, outcome: U8, victim: I32) -> None:
        worth = page_benefit(bounds, page_ids, op, hdd, ssd, stream.n_pages, horizon * capacity)
        run = oracle_cache(page_ids, worth, stream.n_pages, capacity)
        outcome[:] = np.where(run.outcome == ADMITTED_FREE, ADMITTED, run.outcome)
        victim[:] = run.victim

    return _over_served(stream, capacity, serve)


def _costs(times: F64 | None, stream: Stream) -> F64:
    """float64[requests]: the service times, or ones."""
    requests = int(stream.request_of[-1]) + 1 if len(stream) else 0
    if times is None:
        return np.ones(requests, np.float64)
    if len(times) != requests:
        raise ConfigError(f"{len(times)} service times for {requests} requests: replay the trace again")
    return times


def _min_spans(stream: LongStream, capacity: int, every: int, bypass: bool) -> Iterator[Span]:
    """MIN over spans; what is accessed next lies in a file."""
    check_capacity(capacity)
    cache = min_kernel.Min(stream.page_ids, stream.following(), capacity, bypass)
    low = 0
    for high in pauses(stream, every):
        run = Run(np.empty(high - low, np.uint8), np.empty(high - low, np.int32))
        cache.serve(run.outcome, run.victim)
        yield low, high, run
        low = high


def _static_spans(stream: LongStream, capacity: int, every: int) -> Iterator[Span]:
    """Static hindsight over spans."""
    check_capacity(capacity)
    state = static.held(stream.page_ids, stream.n_pages, capacity)
    low = 0
    for high in pauses(stream, every):
        run = Run.of_outcomes(np.empty(high - low, np.uint8))
        static.serve(stream.page_ids[low:high], state, run.outcome)
        yield low, high, replace(run, says_who_left=True)
        low = high


BELADY = Bound(
    "belady", "MIN that always inserts", belady, min_kernel.belady,
    lambda stream, capacity, every: _min_spans(stream, capacity, every, False),
)  # fmt: skip
BELADY_BYPASS = Bound(
    "belady_bypass", "MIN with bypass: the optimum of page hits", belady_bypass, min_kernel.belady_bypass,
    lambda stream, capacity, every: _min_spans(stream, capacity, every, True),
)  # fmt: skip
STATIC_HINDSIGHT = Bound(
    "static_hindsight", "the most accessed pages of the whole trace", static_hindsight, spans=_static_spans
)
RELAXED_BELADY = Bound(
    "relaxed_belady", "the page used longest ago of those beyond the Belady boundary", relaxed_belady
)
BENEFIT = Bound("benefit", "the benefit oracle of RC-RNN, all requests at the same cost", benefit)
BOUNDS = (BELADY, BELADY_BYPASS, RELAXED_BELADY, STATIC_HINDSIGHT, BENEFIT)


def weighted_bounds(stream: Stream, weights: F64, capacity: int) -> Bounds:
    """Between what the best cache's hits lie when they are worth different amounts; see `cachezoo.kernels.bounds.pfoo`.

    Args:
        stream: what is asked.
        weights: float64[m], what a hit at each access is worth, e.g. `stream.page_bytes`; 0 before a warm-up ends.
        capacity: pages, at least 1.

    Raises:
        ConfigError: as `pfoo`.
    """
    served = _served(stream)
    return pfoo(stream.page_ids[served], weights[served], capacity)
