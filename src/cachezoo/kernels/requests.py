"""What the size of a request says of its accesses."""

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import PREFETCH, REQUEST


@njit
def request_pages(flags: U8) -> I32:
    """int32[m]: the pages of each access's request, prefetches not counted; of prefetches those of their request.

    Args:
        flags: uint8[m] a stream's.
    """
    found = np.empty(flags.size, np.int32)
    low = 0
    while low < flags.size:
        pages = 0
        high = low
        while high < flags.size and (high == low or not flags[high] & REQUEST):
            pages += not flags[high] & PREFETCH
            high += 1
        found[low:high] = pages
        low = high
    return found


def by_size(pages: I32, table: U8) -> U8:
    """uint8[m]: the code of each access by its request's pages, int32[m].

    Args:
        pages: of `request_pages`.
        table: uint8[k] the code of a request of 0 to k - 1 pages, larger ones as the last.
    """
    codes: U8 = table[np.minimum(pages, table.size - 1)]
    return codes


@njit
def version_ids(page_ids: I32, write: Bool, n_pages: int) -> tuple[I32, int]:
    """Dense ids of (page, version), by first appearance; a write begins a new version of its page.

    A cache that voids what a write overwrites never hits an older version again, and forgets what it knew of the page;
    so a policy over these ids is that cache. What it holds of an old version takes up room until it is evicted.

    Args:
        page_ids: int32[m].
        write: bool[m].
        n_pages: distinct pages.

    Returns:
        int32[m] and how many ids there are.
    """
    current = np.full(n_pages, -1, np.int32)
    ids = np.empty(page_ids.size, np.int32)
    count = 0
    for i in range(page_ids.size):
        page = page_ids[i]
        if write[i] or current[page] < 0:
            current[page] = count
            count += 1
        ids[i] = current[page]
    return ids, count


@njit
def weave(page_ids: I32, flags: U8, page_bytes: I32, start: I64, fetched: I32) -> tuple[I32, U8, I32]:
    """The accesses with the prefetches among them.

    Args:
        page_ids: int32[m] of n requests.
        flags: uint8[m], `REQUEST` at the first access of each request.
        page_bytes: int32[m].
        start: int64[n + 1]; request r is followed by fetched[start[r]:start[r + 1]].
        fetched: int32[k] page ids.

    Returns:
        page_ids int32[m + k], flags uint8[m + k] (`PREFETCH` and no other bit on what is fetched), page_bytes
        int32[m + k] (0 of what is fetched).
    """
    size = page_ids.size + fetched.size
    ids, bits, n_bytes = np.empty(size, np.int32), np.full(size, PREFETCH, np.uint8), np.zeros(size, np.int32)
    to, request = 0, -1
    for i in range(page_ids.size):
        if flags[i] & REQUEST:
            if request >= 0:
                for k in range(start[request], start[request + 1]):
                    ids[to] = fetched[k]
                    to += 1
            request += 1
        ids[to] = page_ids[i]
        bits[to] = flags[i]
        n_bytes[to] = page_bytes[i]
        to += 1
    if request >= 0:
        for k in range(start[request], start[request + 1]):
            ids[to] = fetched[k]
            to += 1
    return ids, bits, n_bytes
