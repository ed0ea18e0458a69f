"""Episodes of objects, and what a request knows of its object's past: the rows from which an admission learns.

An episode is a stay of an object in an LRU cache that admits everything and evicts what was not asked for during an
assumed eviction age. Source: Baleen post, "Introducing episodes", by object instead of block: an object is written
whole, so that its first access is the only miss, and what it writes is its bytes and those of writes that hit.
"""

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, U8
from cachezoo.kernels.history import MAX_FEATURE
from cachezoo.kernels.jit import njit
from cachezoo.kernels.sized.loop import DELETE, WRITE

NONE = -1
GAPS = 4
READS, CHANGES, SINCE_FIRST, SINCE_GAPS = 0, 1, 2, 3
PAST = SINCE_GAPS + GAPS
"""Columns of `past`: reads and changes of the object so far, requests since its first, and between its last ones."""


@njit
def object_episodes(
    ids: I32, size: I64, op: U8, lives: tuple[I64, I64], rules: tuple[int, int, bool], cost: tuple[float, float],
    n_objects: int,
) -> tuple[I32, I32, I64, F64]:  # fmt: skip
    """Cut the requests of each object into episodes.

    An object's episode ends with a delete, with its time to live, with a request that makes it larger than the cache,
    and, where writes pass by, with a write.

    Args:
        ids: int32[n] dense.
        size: int64[n] bytes; 0 unknown.
        op: uint8[n].
        lives: time and expires int64[n], as `cachezoo.sized.requests.Requests`; both empty where nothing expires.
        rules: eviction age in requests; capacity in bytes; whether writes pass by.
        cost: seconds of a disk's head for an I/O, and for a byte.
        n_objects: distinct objects.

    Returns:
        episode int32[n] of each request, `NONE` of one that no cache could hold; place int32[n] within it, from 0;
        figures int64[e, 4]: first request, last request, bytes held, bytes written; saved float64[e] seconds of a
        disk's head that reads but the first request's would have taken.
    """
    age, capacity, around = rules
    n = ids.size
    episode, place = np.full(n, NONE, np.int32), np.zeros(n, np.int32)
    figures, saved = np.zeros((n, 4), np.int64), np.zeros(n)
    current = np.full(n_objects, NONE, np.int32)
    count = np.zeros(n_objects, np.int32)
    expires = bool(lives[0].size)
    void_at = np.zeros(n_objects if expires else 0, np.int64)
    e = 0
    for i in range(n):
        key, kind = ids[i], op[i]
        own = current[key]
        if own >= 0 and (i - figures[own, 1] > age or (expires and lives[0][i] >= void_at[key])):
            own = NONE
        if kind == DELETE or (kind == WRITE and around) or size[i] > capacity or (size[i] <= 0 and own < 0):
            current[key] = NONE
            continue
        if own < 0:
            own = e
            e += 1
            current[key] = own
            count[key] = 0
            figures[own, 0] = i
            figures[own, 2] = size[i]
            figures[own, 3] = size[i]
            if expires:
                void_at[key] = lives[1][i]
        elif kind == WRITE:
            figures[own, 3] += size[i]
            if expires:
                void_at[key] = lives[1][i]
        else:
            saved[own] += cost[0] + size[i] * cost[1]
        figures[own, 1] = i
        episode[i] = own
        place[i] = count[key]
        count[key] += 1
    return episode, place, figures[:e].copy(), saved[:e].copy()


@njit
def past(ids: I32, read: U8, n_objects: int) -> F32:
    """What a request knows of its object's requests before it, in requests; `MAX_FEATURE` where there was none.

    Args:
        ids: int32[n] dense.
        read: uint8[n] 1 where the request reads; all others change the object.
        n_objects: distinct objects.

    Returns:
        float32[n, PAST]: reads, changes, requests since the first one, since the last one, and between the last
        `GAPS`; none above `MAX_FEATURE`.
    """
    n = ids.size
    out = np.full((n, PAST), MAX_FEATURE, np.float32)
    counts = np.zeros((n_objects, 2), np.int64)
    first = np.full(n_objects, NONE, np.int64)
    last = np.full((n_objects, GAPS), NONE, np.int64)
    for i in range(n):
        key = ids[i]
        for kind in range(2):
            out[i, READS + kind] = min(float(counts[key, kind]), MAX_FEATURE)
        if first[key] == NONE:
            first[key] = i
        else:
            out[i, SINCE_FIRST] = min(float(i - first[key]), MAX_FEATURE)
        since = i
        for k in range(GAPS):
            if last[key, k] == NONE:
                break
            out[i, SINCE_GAPS + k] = min(float(since - last[key, k]), MAX_FEATURE)
            since = last[key, k]
        for k in range(GAPS - 1, 0, -1):
            last[key, k] = last[key, k - 1]
        last[key, 0] = i
        counts[key, READS if read[i] else CHANGES] += 1
    return out
