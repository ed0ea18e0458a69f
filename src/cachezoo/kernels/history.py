"""Access-history counts: how often a segment or a block was read and written in the last logical windows.

Time is the request's rank, cut into aligned buckets. A window of w buckets is the current bucket and the w -
1 before it. Counts are read before the request is counted, so no request sees itself. One kernel serves
training and serving: its state is arrays that carry on from call to call. Source: Baleen post, "Training
Baleen to imitate OPT" (counts of the last 1 to 6 hours); logical windows in multiples of the eviction age are
ours, for short traces.
"""

import numpy as np

from cachezoo.arrays import F32, I32, I64, U16, Bool
from cachezoo.kernels.jit import njit

KINDS = 2
READ, WRITE = 0, 1
MAX_COUNT = 65_535
MAX_FEATURE = float(1 << 22)


@njit
def _settle(key: int, bucket: int, counts: U16, newest: I64) -> None:
    """Clear the ring's buckets that passed since the key was last counted."""
    depth = counts.shape[2]
    gap = bucket - newest[key]
    if gap <= 0:
        return
    for back in range(min(gap, depth)):
        slot = (bucket - back) % depth
        counts[key, 0, slot] = 0
        counts[key, 1, slot] = 0
    newest[key] = bucket


@njit
def _add_windows(key: int, bucket: int, counts: U16, newest: I64, windows: I64, row: F32) -> None:
    """Add the key's counts to row[kind * windows + window]."""
    depth = counts.shape[2]
    width = len(windows)
    # Since the key was last counted its buckets hold nothing, whatever their places in the ring held before.
    idle = max(0, bucket - newest[key])
    if idle >= depth:
        return
    for kind in range(counts.shape[1]):
        total = np.int64(0)  # a plain 0 would become uint16 where numba is absent, and wrap
        back = idle
        slot = (bucket - idle) % depth
        for w in range(width):
            while back < windows[w]:
                total += counts[key, kind, slot]
                slot = slot - 1 if slot > 0 else depth - 1
                back += 1
            row[kind * width + w] += total


@njit
def _count(key: int, kind: int, bucket: int, counts: U16) -> None:
    slot = bucket % counts.shape[2]
    if counts[key, kind, slot] < MAX_COUNT:
        counts[key, kind, slot] += 1


@njit
def update_history(
    start: I64,
    ids: I32,
    read: Bool,
    rank: int,
    bucket_width: int,
    windows: I64,
    state: tuple[U16, I64],
    out: F32,
) -> None:
    """Read, then count, the history of each request's keys.

    Args:
        start: int64[n + 1]; request i has the keys ids[start[i]:start[i + 1]].
        ids: int32[m] dense ids, rows of the state.
        read: bool[n], True where the request reads.
        rank: requests counted before this call.
        bucket_width: requests in a bucket, at least 1.
        windows: int64[w] window lengths in buckets, rising; the last is the depth of the state's rings.
        state: counts uint16[keys, 2, depth] (reads, writes; they stop at 65,535) and newest int64[keys], the
            bucket each key was last counted in. Changed in place.
        out: float32[n, 2 * w], zeros; filled with sums over the request's keys, reads first. Sums stop at
            2**22, so that every value and every half between two values is exact in float32.
    """
    counts, newest = state
    for i in range(len(read)):
        bucket = (rank + i) // bucket_width
        kind = READ if read[i] else WRITE
        for j in range(start[i], start[i + 1]):
            _add_windows(ids[j], bucket, counts, newest, windows, out[i])
        for j in range(start[i], start[i + 1]):
            _settle(ids[j], bucket, counts, newest)
            _count(ids[j], kind, bucket, counts)
        for f in range(out.shape[1]):
            out[i, f] = min(out[i, f], MAX_FEATURE)
