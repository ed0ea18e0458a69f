"""A cache that knows each page's worth: on a miss the least worthy page makes room, or the access is bypassed.

With RC-RNN's benefit as the worth it is the paper's Oracle Cache (Sec. 4.1); with the negated next use it is
Belady's optimum with bypass. The tags a model learns from are read off its run.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, BYPASSED, HIT

LATE_CAPACITIES = 5


@dataclass(frozen=True)
class OracleRun:
    """What the oracle did at each page access.

    Attributes:
        outcome: uint8[m], `BYPASSED`, `ADMITTED` (in place of another page), `HIT`, or `ADMITTED_FREE` (into
            free space).
        entry: int64[m], the access at which the page's stay in the cache began, -1 where bypassed.
        left: int64[m], for an access that admits, the access that evicted the page, m if it stayed to the end; -1
            for the others.
        reuse: int64[m], accesses until the page is used again, 0 where it leaves before or is not used again.
        contested: the last access that found the cache full of pages worth more than -inf; -1 if none did.
    """

    outcome: U8
    entry: I64
    left: I64
    reuse: I64
    contested: int

    @property
    def hits(self) -> int:
        """Page hits."""
        return int((self.outcome == HIT).sum())


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
def _simulate(page_ids: I32, value: F64, n_pages: int, capacity: int) -> tuple[U8, I64, I64, I64, int]:
    m = page_ids.size
    outcome = np.zeros(m, np.uint8)
    entry = np.full(m, -1, np.int64)
    left = np.full(m, -1, np.int64)
    reuse = np.zeros(m, np.int64)
    contested = -1
    heap = np.empty(min(capacity, n_pages), np.int32)
    worth = np.empty(heap.size, np.float64)
    slot = np.full(n_pages, -1, np.int32)
    last = np.zeros(n_pages, np.int64)
    began = np.zeros(n_pages, np.int64)
    used = 0
    for p in range(m):
        page = page_ids[p]
        place = slot[page]
        if used == capacity and worth[0] > -np.inf:
            contested = p
        if place >= 0:
            outcome[p] = HIT
            reuse[last[page]] = p - last[page]
        elif used < capacity:
            outcome[p] = ADMITTED_FREE
            began[page] = p
            place = used
            used += 1
        elif value[p] > worth[0]:
            outcome[p] = ADMITTED
            began[page] = p
            place = 0
            left[began[heap[0]]] = p
            slot[heap[0]] = -1
        else:
            continue
        entry[p] = began[page]
        heap[place] = page
        worth[place] = value[p]
        last[page] = p
        settle(place, used, heap, worth, slot, last)
    for k in range(used):
        left[began[heap[k]]] = m
    return outcome, entry, left, reuse, contested


def oracle_cache(page_ids: I32, value: F64, n_pages: int, capacity: int) -> OracleRun:
    """Simulate page accesses: admit on a miss iff there is free space or the page's worth exceeds the lowest.

    Source: RC-RNN, Sec. 4.1. The stored worth is renewed at every access, hits included; among equals the page used
    longest ago leaves. A page worth no more than the lowest is bypassed, so worth 0 is not admitted once the cache
    is full.

    Args:
        page_ids: int32[m], values in [0, n_pages).
        value: float64[m], the page's worth as of that access; not NaN.
        n_pages: distinct pages.
        capacity: pages.

    Raises:
        ConfigError: capacity below 1.
    """
    check_capacity(capacity)
    outcome, entry, left, reuse, contested = _simulate(page_ids, value, n_pages, capacity)
    return OracleRun(outcome, entry, left, reuse, int(contested))


def check_capacity(capacity: int) -> None:
    """Refuse a cache without a page.

    Raises:
        ConfigError: capacity below 1.
    """
    if capacity < 1:
        raise ConfigError(f"capacity {capacity}: a cache has at least one page")


@njit
def _useful(page_ids: I32, outcome: U8, reuse: I64, reach: int, n_pages: int) -> tuple[U8, I64, I64, I64]:
    m = page_ids.size
    earned = np.zeros(m, np.uint8)
    entry = np.arange(m)
    left = np.full(m, -1, np.int64)
    within = np.zeros(m, np.int64)
    last = np.full(n_pages, -1, np.int64)
    for p in range(m):
        page = page_ids[p]
        if last[page] >= 0 and within[last[page]] > 0:
            entry[p] = entry[last[page]]
        if 0 < reuse[p] <= reach:
            within[p] = reuse[p]
        else:
            left[entry[p]] = p
        if outcome[p] == HIT:
            earned[p] = HIT
        elif within[p] > 0:
            earned[p] = ADMITTED
        last[page] = p
    return earned, entry, left, within


def useful_stays(page_ids: I32, run: OracleRun, reach: int, n_pages: int) -> OracleRun:
    """The run with a page's stay ending where it stops earning hits, instead of where room is needed.

    An access earns if the page is used again within `reach` accesses before it leaves. A miss that does not earn
    counts as bypassed, whether or not free space let it in; a stay ends at its first access that does not earn. So
    what a run says of an access does not depend on which of several useless pages is evicted first.

    Args:
        page_ids: int32[m].
        run: of these accesses.
        reach: page accesses; a use further away is none.
        n_pages: distinct pages.
    """
    earned, entry, left, within = _useful(page_ids, run.outcome, run.reuse, reach, n_pages)
    return OracleRun(earned, entry, left, within, run.contested)


@njit
def _decided(request_start: I64, page_ids: I32, value: F64, decision: U8, n_pages: int, capacity: int) -> U8:
    hits = np.zeros(page_ids.size, np.uint8)
    heap = np.empty(min(capacity, n_pages), np.int32)
    worth = np.empty(heap.size, np.float64)
    slot = np.full(n_pages, -1, np.int32)
    last = np.zeros(n_pages, np.int64)
    used = 0
    for i in range(request_start.size - 1):
        for p in range(request_start[i], request_start[i + 1]):
            page = page_ids[p]
            place = slot[page]
            if place >= 0:
                hits[p] = 1
            elif used < capacity:
                place = used
                used += 1
            elif decision[i]:
                place = 0
                slot[heap[0]] = -1
            else:
                continue
            heap[place] = page
            worth[place] = value[p]
            last[page] = p
            settle(place, used, heap, worth, slot, last)
    return hits


def decided_cache(request_start: I64, page_ids: I32, value: F64, decision: U8, n_pages: int, capacity: int) -> U8:
    """Hits of the same cache when one decision admits or bypasses all of a request's missing pages.

    Args:
        request_start: int64[n + 1] bounds of each request's page accesses.
        page_ids: int32[m].
        value: float64[m] worth, which still chooses the victim.
        decision: uint8[n], 1 admits; free space is filled whatever it says.
        n_pages: distinct pages.
        capacity: pages.

    Returns:
        uint8[m], 1 for a hit.

    Raises:
        ConfigError: capacity below 1.
    """
    check_capacity(capacity)
    hits: U8 = _decided(request_start, page_ids, value, decision, n_pages, capacity)
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
    request_start: I64, outcome: U8, entry: I64, left: I64, reuse: I64, settled_end: int, kept_end: int, capacity: int
) -> U8:
    tags = np.zeros(request_start.size - 1, np.uint8)
    shortest = np.zeros(4, np.int64)
    longest = np.zeros(4, np.int64)
    for i in range(request_start.size - 1):
        low, high = request_start[i], request_start[i + 1]
        missing = 0
        reused = 0
        for p in range(low, high):
            missing += outcome[p] != HIT
            reused += reuse[p] > 0
        shortest[:] = 0
        longest[:] = 0
        admitted = 0
        forced = False
        for p in range(low, high):
            if outcome[p] == BYPASSED or (missing > 0 and outcome[p] == HIT):
                continue
            admitted += 1
            forced = forced or outcome[p] == ADMITTED_FREE
            end = left[entry[p]]
            length = _duration_class(min(end, settled_end) - entry[p], capacity)
            shortest[length] += 1
            longest[length if end < settled_end else LATE] += 1
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
        if high <= kept_end:
            tag += KEPT_SETTLED
        tags[i] = tag
    return tags


def request_tags(request_start: I64, run: OracleRun, settled_end: int, kept_end: int, capacity: int) -> U8:
    """Tags of each request (RC-RNN, Sec. 4.1 and Table 2), as bits.

    Args:
        request_start: int64[n + 1] bounds of each request's page accesses.
        run: the oracle's.
        settled_end: what the oracle did at accesses before this one is the same in any longer trace.
        kept_end: the same for whether the page is used again before it leaves.
        capacity: pages.

    Returns:
        uint8[n]: `CACHED` (at least half of the missing pages admitted, or nothing missing), `CONSULTED` (something
        missing), `SETTLED` (a longer trace has the same tag), `FORCED` (free space decided), `KEPT` (at least half
        of all its pages are used again before they leave), `KEPT_SETTLED` (a longer trace has the same `KEPT`), and
        the duration class shifted by `DURATION_SHIFT`: the median of the admitted pages, on a hit of the pages'
        stays; `UNKNOWN` where the class depends on how a longer trace goes on.
    """
    tags: U8 = _tags(request_start, run.outcome, run.entry, run.left, run.reuse, settled_end, kept_end, capacity)
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
