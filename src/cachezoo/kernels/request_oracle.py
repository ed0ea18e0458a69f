"""A cache that knows what each page saves, and takes all missing pages of a request or none of them.

A request waits for the disk unless all its pages are in the cache, so half a request in the cache saves nothing. Which
requests to hold so that most time is saved is a knapsack in every moment; this rule is greedy. It is a bound in the
sense that a cache with such foresight reaches it, and no optimum.
"""

from typing import Any

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.following import width_of
from cachezoo.kernels.jit import njit
from cachezoo.kernels.oracle_cache import CONTESTED, HITS, USED, Cache, OracleRun, empty_cache, settle
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, BYPASSED, HIT, NONE


@njit
def _push(page: int, own: float, used: int, heap: I32, worth: F64, slot: I32, last: I64) -> None:
    """Put a page behind the heap's `used` ones, and restore the heap."""
    heap[used] = page
    worth[used] = own
    settle(used, used + 1, heap, worth, slot, last)


@njit
def _pop(used: int, heap: I32, worth: F64, slot: I32, last: I64) -> None:
    """Take the least worthy of the heap's `used` pages out."""
    slot[heap[0]] = -1
    if used > 1:
        heap[0], worth[0] = heap[used - 1], worth[used - 1]
        settle(0, used - 1, heap, worth, slot, last)


@njit
def _serve(
    start: I64, page_ids: I32, value: F64, capacity: int, cache: Cache, aside: tuple[I32, F64], outcome: U8,
    victim: I32 | I64
) -> None:  # fmt: skip
    heap, worth, slot, last, numbers = cache
    taken, taken_worth = aside
    used, contested, hits = numbers
    base = start[0]
    for i in range(start.size - 1):
        low, high = start[i], start[i + 1]
        if used == capacity:
            contested = high - 1
        missing, gain = 0, 0.0
        for p in range(low, high):
            page, k = page_ids[p], p - base
            outcome[k] = BYPASSED
            victim[k] = NONE
            if slot[page] < 0:
                missing += 1
                gain += value[k]
                continue
            outcome[k] = HIT
            hits += 1
            last[page] = p
            worth[slot[page]] = value[k]
            settle(slot[page], used, heap, worth, slot, last)
        needed = missing - (capacity - used)
        if missing > capacity or (needed > 0 and gain <= 0.0):
            continue
        out, loss = 0, 0.0
        while out < needed and loss < gain:
            taken[out], taken_worth[out] = heap[0], worth[0]
            loss += worth[0]
            out += 1
            _pop(used, heap, worth, slot, last)
            used -= 1
        if needed > 0 and loss >= gain:
            for k in range(out):
                _push(taken[k], taken_worth[k], used, heap, worth, slot, last)
                used += 1
            continue
        listed = 0  # of the pages that leave, no more than enter
        for p in range(low, high):
            k = p - base
            if outcome[k] != HIT:
                page = page_ids[p]
                outcome[k] = ADMITTED if needed > 0 else ADMITTED_FREE
                if listed < out:
                    victim[k] = taken[listed]
                    listed += 1
                last[page] = p
                _push(page, value[k], used, heap, worth, slot, last)
                used += 1
    numbers[USED], numbers[CONTESTED], numbers[HITS] = used, contested, hits


class RequestOracle:
    """The cache at work on requests: all missing pages enter, or none does.

    They enter where there is room for all, or where they are worth more together than the pages that would have to
    leave: the least worthy ones, among equals those used longest ago. A page's worth is renewed at every access, hits
    included, before its request's missing pages are weighed; so a request may cost one of its own pages its place.
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
        self._aside = np.empty_like(self._cache.heap), np.empty_like(self._cache.worth)

    def run(self, outcome: U8, victim: I32 | I64) -> OracleRun:
        """What was served, of all accesses in order."""
        return self._cache.run(outcome, victim)

    def serve(self, start: I64, value: F64, outcome: U8, victim: I32 | I64) -> None:
        """Serve the next requests.

        Args:
            start: int64[k + 1] bounds of the page accesses of each of them, each page at most once in a request.
            value: float64, one a page access: the page's worth as of that access, finite and not negative.
            outcome: uint8, one a page access, written, as `OracleRun`'s.
            victim: written likewise; these pages leave at the last access of the request.

        Raises:
            ConfigError: a worth below 0 or not finite.
        """
        if not (np.isfinite(value) & (value >= 0)).all():
            place = int(np.argmin(np.isfinite(value) & (value >= 0)))
            message = f"page access {int(start[0]) + place + 1}: worth {value[place]} is no finite number from 0 on"
            raise ConfigError(message)
        _serve(start, self._page_ids, value, self._capacity, self._cache, self._aside, outcome, victim)


def request_oracle(request_start: I64, page_ids: I32, value: F64, n_pages: int, capacity: int) -> OracleRun:
    """The run of `RequestOracle` on all requests at once; arguments as there.

    Raises:
        ConfigError: capacity below 1, or a worth below 0 or not finite.
    """
    m = len(page_ids)
    cache, outcome = RequestOracle(page_ids, n_pages, capacity), np.empty(m, np.uint8)
    victim: Any = np.empty(m, width_of(m))
    cache.serve(request_start, value, outcome, victim)
    return cache.run(outcome, victim)
