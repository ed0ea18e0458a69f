"""A cache that knows what each page saves, and takes all missing pages of a request or none of them.

A request waits for the disk unless all its pages are in the cache, so half a request in the cache saves nothing. Which
requests to hold so that most time is saved is a knapsack in every moment; this rule is greedy. It is a bound in the
sense that a cache with such foresight reaches it, and no optimum.
"""

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.oracle_cache import OracleRun, check_capacity, settle
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, HIT


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
def _simulate(
    request_start: I64, page_ids: I32, value: F64, n_pages: int, capacity: int
) -> tuple[U8, I64, I64, I64, int]:
    m = page_ids.size
    outcome = np.zeros(m, np.uint8)
    entry = np.full(m, -1, np.int64)
    left = np.full(m, -1, np.int64)
    reuse = np.zeros(m, np.int64)
    contested = -1
    heap = np.empty(min(capacity, n_pages), np.int32)
    worth = np.empty(heap.size, np.float64)
    taken, taken_worth = np.empty_like(heap), np.empty_like(worth)
    slot = np.full(n_pages, -1, np.int32)
    last = np.zeros(n_pages, np.int64)
    began = np.zeros(n_pages, np.int64)
    used = 0
    for i in range(request_start.size - 1):
        low, high = request_start[i], request_start[i + 1]
        if used == capacity:
            contested = high - 1
        missing, gain = 0, 0.0
        for p in range(low, high):
            page = page_ids[p]
            if slot[page] < 0:
                missing += 1
                gain += value[p]
                continue
            outcome[p] = HIT
            reuse[last[page]] = p - last[page]
            entry[p] = began[page]
            last[page] = p
            worth[slot[page]] = value[p]
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
        for k in range(out):
            left[began[taken[k]]] = high - 1
        for p in range(low, high):
            if outcome[p] != HIT:
                page = page_ids[p]
                outcome[p] = ADMITTED if needed > 0 else ADMITTED_FREE
                entry[p] = began[page] = last[page] = p
                _push(page, value[p], used, heap, worth, slot, last)
                used += 1
    for k in range(used):
        left[began[heap[k]]] = m
    return outcome, entry, left, reuse, contested


def request_oracle(request_start: I64, page_ids: I32, value: F64, n_pages: int, capacity: int) -> OracleRun:
    """Simulate requests: all missing pages enter, or none does.

    They enter where there is room for all, or where they are worth more together than the pages that would have to
    leave: the least worthy ones, among equals those used longest ago. A page's worth is renewed at every access, hits
    included, before its request's missing pages are weighed; so a request may cost one of its own pages its place.

    Args:
        request_start: int64[n + 1] bounds of each request's page accesses, each page at most once in a request.
        page_ids: int32[m], values in [0, n_pages).
        value: float64[m], the page's worth as of that access, finite and not negative.
        n_pages: distinct pages.
        capacity: pages.

    Returns:
        As `oracle_cache`; a page that leaves does so at the last access of the request that takes its place.

    Raises:
        ConfigError: capacity below 1, or a worth below 0 or not finite.
    """
    check_capacity(capacity)
    if not (np.isfinite(value) & (value >= 0)).all():
        place = int(np.argmin(np.isfinite(value) & (value >= 0)))
        raise ConfigError(f"page access {place + 1}: worth {value[place]} is no finite number from 0 on")
    outcome, entry, left, reuse, contested = _simulate(request_start, page_ids, value, n_pages, capacity)
    return OracleRun(outcome, entry, left, reuse, int(contested))
