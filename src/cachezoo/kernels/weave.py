"""Prefetches woven into a stream: after each request's own accesses, what is fetched with it."""

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import PREFETCH, REQUEST


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
