"""A cache that knows each page's worth: on a miss the least worthy page makes room, or the access is bypassed.

With RC-RNN's benefit as the worth it is the paper's Oracle Cache (Sec. 4.1); with the negated next use it is
Belady's optimum with bypass. The tags a model learns from are read off its run, in three passes over spans of requests:
forwards what the cache does and which page leaves; backwards what comes of each access, which only the future says;
forwards the tags, which need where a page's stay began. So the state is of pages (up to 17 bytes each, and 12 of those
held), and of an access a byte and a number are kept between the passes, however long the trace is.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.following import width_of
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, BYPASSED, HIT, NONE

LATE_CAPACITIES = 5
# Bits that `Fates` adds to an access's outcome.
AGAIN = 64  # the page is used again before it leaves, and within reach
SURE = 128  # a longer trace says the same of that
CODE = 63  # the outcome itself


@dataclass(frozen=True)
class OracleRun:
    """What the oracle did at each page access.

    Attributes:
        outcome: uint8[m], `BYPASSED`, `ADMITTED` (in place of another page), `HIT`, or `ADMITTED_FREE` (into
            free space).
        victim: of `width_of(m)`[m], the page that left for this access's, or `NONE`. What left for a request as a whole
            is listed at the accesses that it admits.
        contested: the last access that found the cache full of pages worth more than -inf; -1 if none did.
        hits: page hits.
    """

    outcome: U8
    victim: I32 | I64
    contested: int
    hits: int


class Cache(NamedTuple):
    """A binary heap of resident pages, the least worthy on top, and where they are in it."""

    heap: I32  # int32[capacity] pages
    worth: F64  # float64[capacity] of them, in the same order
    slot: I32  # int32[n_pages] a page's place in the heap, -1 where it is not resident
    last: I64  # int64[n_pages] a resident page's last access
    numbers: I64  # int64[3]: `USED`, `CONTESTED` and `HITS`

    def run(self, outcome: U8, victim: I32 | I64) -> OracleRun:
        """The cache's run, from what it did at all accesses."""
        return OracleRun(outcome, victim, int(self.numbers[CONTESTED]), int(self.numbers[HITS]))


USED, CONTESTED, HITS = 0, 1, 2


def empty_cache(n_pages: int, capacity: int) -> Cache:
    """A cache with nothing in it.

    Raises:
        ConfigError: capacity below 1.
    """
    check_capacity(capacity)
    held = min(capacity, n_pages)
    return Cache(
        np.empty(held, np.int32), np.empty(held, np.float64), np.full(n_pages, -1, np.int32),
        np.zeros(n_pages, np.int64), np.array([0, -1, 0], np.int64),
    )  # fmt: skip


@njit
def settle(k: int, used: int, heap: I32, worth: F64, slot: I32, last: I64) -> None:
    """Restore the heap around position k, whose page or worth changed.

    A binary heap of pages with their worth beside them, so that most steps read nothing of a page's own. Less worth
    is higher up; among equals the page used longest ago.
    """
    page, own = heap[k], worth[k]
    while k > 0:
        up = (k - 1) // 2
        if own > worth[up] or (own == worth[up] and last[page] > last[heap[up]]):
            break
        heap[k], worth[k] = heap[up], worth[up]
        slot[heap[k]] = k
        k = up
    while 2 * k + 1 < used:
        child, other = 2 * k + 1, 2 * k + 2
        if other < used and (
            worth[other] < worth[child] or (worth[other] == worth[child] and last[heap[other]] < last[heap[child]])
        ):
            child = other
        if own < worth[child] or (own == worth[child] and last[page] < last[heap[child]]):
            break
        heap[k], worth[k] = heap[child], worth[child]
        slot[heap[k]] = k
        k = child
    heap[k], worth[k] = page, own
    slot[page] = k


@njit
def _serve(page_ids: I32, value: F64, first: int, capacity: int, cache: Cache, outcome: U8, victim: I32 | I64) -> None:
    heap, worth, slot, last, numbers = cache
    used, contested, hits = numbers
    for k in range(outcome.size):
        p = first + k
        page = page_ids[p]
        place = slot[page]
        outcome[k] = BYPASSED
        victim[k] = NONE
        if used == capacity and worth[0] > -np.inf:
            contested = p
        if place >= 0:
            outcome[k] = HIT
            hits += 1
        elif used < capacity:
            outcome[k] = ADMITTED_FREE
            place = used
            used += 1
        elif value[k] > worth[0]:
            outcome[k] = ADMITTED
            place = 0
            victim[k] = heap[0]
            slot[heap[0]] = -1
        else:
            continue
        heap[place] = page
        worth[place] = value[k]
        last[page] = p
        settle(place, used, heap, worth, slot, last)
    numbers[USED], numbers[CONTESTED], numbers[HITS] = used, contested, hits


class OracleCache:
    """The cache at work on page accesses: on a miss it admits iff there is free space or the worth exceeds the lowest.

    Source: RC-RNN, Sec. 4.1. The stored worth is renewed at every access, hits included; among equals the page used
    longest ago leaves. A page worth no more than the lowest is bypassed, so worth 0 is not admitted once the cache
    is full.
    """

    def __init__(self, page_ids: I32, n_pages: int, capacity: int) -> None:
        """Start empty.

        Args:
            page_ids: int32[m], values in [0, n_pages).
            n_pages: distinct pages.
            capacity: pages.

        Raises:
            ConfigError: capacity below 1.
        """
        self._page_ids, self._capacity = page_ids, capacity
        self._cache = empty_cache(n_pages, capacity)

    def run(self, outcome: U8, victim: I32 | I64) -> OracleRun:
        """What was served, of all accesses in order."""
        return self._cache.run(outcome, victim)

    def serve(self, start: I64, value: F64, outcome: U8, victim: I32 | I64) -> None:
        """Serve the next requests.

        Args:
            start: int64[k + 1] bounds of the page accesses of each of them.
            value: float64, one a page access: the page's worth as of that access; not NaN.
            outcome: uint8, one a page access, written, as `OracleRun`'s.
            victim: written likewise.
        """
        _serve(self._page_ids, value, int(start[0]), self._capacity, self._cache, outcome, victim)


def oracle_cache(page_ids: I32, value: F64, n_pages: int, capacity: int) -> OracleRun:
    """The run of `OracleCache` on all accesses at once; arguments as there.

    Raises:
        ConfigError: capacity below 1.
    """
    m = len(page_ids)
    cache, outcome = OracleCache(page_ids, n_pages, capacity), np.empty(m, np.uint8)
    victim: Any = np.empty(m, width_of(m))
    cache.serve(np.array([0, m]), value, outcome, victim)
    return cache.run(outcome, victim)


def check_capacity(capacity: int) -> None:
    """Refuse a cache without a page.

    Raises:
        ConfigError: capacity below 1.
    """
    if capacity < 1:
        raise ConfigError(f"capacity {capacity}: a cache has at least one page")


class Ends(NamedTuple):
    """What lies after the accesses that a backward pass has not seen yet, by page."""

    upcoming: I64  # int64[n_pages] its next access
    hits: Bool  # bool[n_pages] whether that hits
    end: I64  # int64[n_pages] where its stay ends


@njit
def _fates(
    start: I64, page_ids: I32, outcome: U8, victim: I32 | I64, ends: Ends, by_request: bool, useful: bool, reach: int,
    settled: int
) -> None:  # fmt: skip
    upcoming, hits, end = ends
    base = start[0]
    for i in range(start.size - 2, -1, -1):
        low, high = start[i], start[i + 1]
        if by_request and not useful:
            for p in range(low, high):
                if victim[p - base] != NONE:
                    end[victim[p - base]] = high - 1
        for p in range(high - 1, low - 1, -1):
            k = p - base
            if victim[k] != NONE and not by_request and not useful:
                end[victim[k]] = p
            page, code = page_ids[p], outcome[k]
            again = hits[page] and upcoming[page] - p <= reach
            if useful:
                if not again:
                    end[page] = p
                if code != HIT:
                    outcome[k] = ADMITTED if again else BYPASSED
            gone = end[page] if code != BYPASSED or useful else NONE
            sure = p < settled and (gone < settled or (again and upcoming[page] < settled))
            victim[k] = gone
            outcome[k] += (AGAIN if again else 0) + (SURE if sure else 0)
            upcoming[page] = p
            hits[page] = code == HIT


class Fates:
    """What came of each access of a run, found backwards: whether its page is used again, and when it leaves.

    Where only useful stays count, a page's stay ends where it stops earning hits, instead of where room is needed. An
    access earns if the page is used again within reach before it leaves. A miss that does not earn counts as bypassed,
    whether or not free space let it in; a stay ends at its first access that does not earn. So what a run says of an
    access does not depend on which of several useless pages is evicted first.
    """

    def __init__(
        self, page_ids: I32, n_pages: int, reach: int, settled: int, *, by_request: bool = False, useful: bool = False
    ) -> None:
        """Begin.

        Args:
            page_ids: int32[m], values in [0, n_pages).
            n_pages: distinct pages.
            reach: page accesses; a use further away is none.
            settled: what the oracle did at accesses before this one is the same in any longer trace.
            by_request: pages leave at the last access of the request that takes their place, as
                `cachezoo.kernels.request_oracle` has it.
            useful: whether only useful stays count.
        """
        m = len(page_ids)
        self._page_ids, self._how = page_ids, (by_request, useful, reach, settled)
        self._ends = Ends(np.full(n_pages, m, np.int64), np.zeros(n_pages, np.bool_), np.full(n_pages, m, np.int64))

    def serve(self, start: I64, outcome: U8, victim: I32 | I64) -> None:
        """Of the requests before those served last.

        Args:
            start: int64[k + 1] bounds of the page accesses of each of them.
            outcome: uint8, one a page access, as `OracleRun`'s; bits `AGAIN` and `SURE` are added, and of useful stays
                it is the outcome of these.
            victim: likewise; written over with where the page's stay ends: the access that evicts it, m where none
                does, -1 of an access that is bypassed.
        """
        _fates(start, self._page_ids, outcome, victim, self._ends, *self._how)


@njit
def _decided(
    start: I64, page_ids: I32, value: F64, decision: U8, capacity: int, cache: Cache, hits: U8
) -> None:  # fmt: skip
    heap, worth, slot, last, numbers = cache
    used = numbers[USED]
    for i in range(start.size - 1):
        for p in range(start[i], start[i + 1]):
            page, k = page_ids[p], p - start[0]
            place = slot[page]
            hits[k] = place >= 0
            if place >= 0:
                pass
            elif used < capacity:
                place = used
                used += 1
            elif decision[i]:
                place = 0
                slot[heap[0]] = -1
            else:
                continue
            heap[place] = page
            worth[place] = value[k]
            last[page] = p
            settle(place, used, heap, worth, slot, last)
    numbers[USED] = used


class DecidedCache:
    """The same cache where one decision admits or bypasses all of a request's missing pages."""

    def __init__(self, page_ids: I32, n_pages: int, capacity: int) -> None:
        """Start empty; arguments and errors as of `OracleCache`."""
        self._page_ids, self._capacity = page_ids, capacity
        self._cache = empty_cache(n_pages, capacity)

    def serve(self, start: I64, value: F64, decision: U8) -> U8:
        """Serve the next requests.

        Args:
            start: int64[k + 1] bounds of the page accesses of each of them.
            value: float64, one a page access: worth, which still chooses the victim.
            decision: uint8[k], 1 admits; free space is filled whatever it says.

        Returns:
            uint8, one a page access, 1 for a hit.
        """
        hits = np.empty(len(value), np.uint8)
        _decided(start, self._page_ids, value, decision, self._capacity, self._cache, hits)
        return hits


@njit
def _duration_class(stay: int, capacity: int) -> int:
    if stay < capacity:
        return SOON
    return MEAN if stay <= LATE_CAPACITIES * capacity else LATE


@njit
def _median_class(classes: I64) -> int:
    """Median class of some stays, the longer one of two middles; `UNKNOWN` of none."""
    middle = classes.sum() // 2
    if middle < classes[SOON]:
        return SOON
    if middle < classes[SOON] + classes[MEAN]:
        return MEAN
    return LATE if classes[LATE] > 0 else UNKNOWN


@njit
def _tags(
    start: I64, page_ids: I32, fate: U8, end: I32 | I64, stays: tuple[I64, I64], reach: int, ends: tuple[int, int],
    capacity: int, by_sure: bool, tags: U8
) -> None:  # fmt: skip
    began, last = stays
    settled_end, kept_end = ends
    base = start[0]
    shortest = np.zeros(4, np.int64)
    longest = np.zeros(4, np.int64)
    for i in range(start.size - 1):
        low, high = start[i], start[i + 1]
        missing = 0
        reused = 0
        sure = by_sure
        for p in range(low, high):
            missing += (fate[p - base] & CODE) != HIT
            reused += (fate[p - base] & AGAIN) != 0
            sure = sure and (fate[p - base] & SURE) != 0
        shortest[:] = 0
        longest[:] = 0
        admitted = 0
        forced = False
        for p in range(low, high):
            page, outcome = page_ids[p], fate[p - base] & CODE
            if outcome != HIT or p - last[page] > reach:
                began[page] = p
            last[page] = p
            if outcome == BYPASSED or (missing > 0 and outcome == HIT):
                continue
            admitted += 1
            forced = forced or outcome == ADMITTED_FREE
            gone = end[p - base]
            length = _duration_class(min(gone, settled_end) - began[page], capacity)
            shortest[length] += 1
            longest[length if gone < settled_end else LATE] += 1
        tag = 0
        if 2 * admitted >= missing:
            duration = _median_class(shortest)
            tag += CACHED + ((duration if duration == _median_class(longest) else UNKNOWN) << DURATION_SHIFT)
        if missing > 0:
            tag += CONSULTED
        if high <= settled_end:
            tag += SETTLED
        if forced:
            tag += FORCED
        if 2 * reused >= high - low:
            tag += KEPT
        if high <= kept_end or sure:
            tag += KEPT_SETTLED
        tags[i] = tag


class RequestTags:
    """Tags of each request (RC-RNN, Sec. 4.1 and Table 2), as bits, a span of requests after the other.

    `CACHED` (at least half of the missing pages admitted, or nothing missing), `CONSULTED` (something missing),
    `SETTLED` (a longer trace has the same tag), `FORCED` (free space decided), `KEPT` (at least half of all its pages
    are used again before they leave), `KEPT_SETTLED` (a longer trace has the same `KEPT`), and the duration class
    shifted by `DURATION_SHIFT`: the median of the admitted pages, on a hit of the pages' stays; `UNKNOWN` where the
    class depends on how a longer trace goes on.
    """

    def __init__(
        self, page_ids: I32, n_pages: int, capacity: int, settled_end: int, kept_end: int, reach: int | None = None,
        *, by_sure: bool = False
    ) -> None:  # fmt: skip
        """Begin.

        Args:
            page_ids: int32[m], values in [0, n_pages).
            n_pages: distinct pages.
            capacity: pages.
            settled_end: what the oracle did at accesses before this one is the same in any longer trace.
            kept_end: the same for whether the page is used again before it leaves.
            reach: page accesses; of useful stays, which a use further away does not go on. None of others.
            by_sure: a request of whose every access `SURE` says so has settled `KEPT`, too.
        """
        self._page_ids, self._ends = page_ids, (settled_end, kept_end)
        self._stays: Any = np.zeros(n_pages, np.int64), np.zeros(n_pages, np.int64)
        self._how = len(page_ids) if reach is None else reach
        self._capacity, self._by_sure = capacity, by_sure

    def serve(self, start: I64, fate: U8, end: I32 | I64) -> U8:
        """uint8[k]: the next requests' tags.

        Args:
            start: int64[k + 1] bounds of the page accesses of each of them.
            fate: uint8, one a page access: outcomes with their bits, as `Fates` leaves them.
            end: likewise, where stays end.
        """
        tags = np.empty(len(start) - 1, np.uint8)
        how = self._stays, self._how, self._ends, self._capacity, self._by_sure
        _tags(start, self._page_ids, fate, end, *how, tags)
        return tags


CACHED = 1
CONSULTED = 2
SETTLED = 4
FORCED = 8
KEPT = 16
DURATION_SHIFT = 5
DURATION_MASK = 3
KEPT_SETTLED = 128
UNKNOWN, SOON, MEAN, LATE = 0, 1, 2, 3
