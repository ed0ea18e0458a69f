"""Access-history counts: how often a segment or a block was read and written in the last logical windows.

Time is the request's rank, cut into aligned buckets. A window of w buckets is the current bucket and the w - 1 before
it. Counts are read before the request is counted, so no request sees itself. One kernel serves training and serving:
its state is a log that carries on from call to call. A key has an entry for each bucket that it is counted in, which
for most keys are few. Source: Baleen post, "Training Baleen to imitate OPT" (counts of the last 1 to 6 hours); logical
windows in multiples of the eviction age are ours, for short traces.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, I32, I64, U16, Bool
from cachezoo.kernels.jit import njit

KINDS = 2
READ, WRITE = 0, 1
MAX_COUNT = 65_535
MAX_FEATURE = float(1 << 22)
NONE = -1


class Log(NamedTuple):
    """Counts of keys by bucket; k keys, room for e entries.

    Attributes:
        newest: int32[k] each key's latest entry, `NONE` where it has none.
        older: int32[e] the same key's entry before this one, `NONE` where there is none.
        bucket: int64[e] of each entry; falling from a key's latest on.
        counts: uint16[e, 2] of reads and writes; they stop at 65,535.
        used: int64[1] entries taken.
    """

    newest: I32
    older: I32
    bucket: I64
    counts: U16
    used: I64


def empty_log(keys: int, entries: int) -> Log:
    """Nothing counted yet; room for so many entries, of which a request takes at most one for each of its keys."""
    newest, older, bucket = np.full(keys, NONE, np.int32), np.empty(entries, np.int32), np.empty(entries, np.int64)
    return Log(newest, older, bucket, np.empty((entries, KINDS), np.uint16), np.zeros(1, np.int64))


@njit
def _add_windows(key: int, bucket: int, log: Log, windows: I64, row: F32) -> None:
    """Add the key's counts to row[kind * windows + window]."""
    width = len(windows)
    entry = log.newest[key]
    while entry != NONE:
        back = bucket - log.bucket[entry]
        if back >= windows[width - 1]:
            return
        for kind in range(KINDS):
            count = np.float32(log.counts[entry, kind])
            w = width - 1
            while w >= 0 and back < windows[w]:
                row[kind * width + w] += count
                w -= 1
        entry = log.older[entry]


@njit
def _count(key: int, kind: int, bucket: int, log: Log) -> None:
    entry = log.newest[key]
    if entry == NONE or log.bucket[entry] != bucket:
        entry = np.int32(log.used[0])
        log.used[0] += 1
        log.older[entry], log.bucket[entry] = log.newest[key], bucket
        log.counts[entry, READ], log.counts[entry, WRITE] = 0, 0
        log.newest[key] = entry
    if log.counts[entry, kind] < MAX_COUNT:
        log.counts[entry, kind] += 1


@njit
def update_history(
    start: I64, ids: I32, read: Bool, rank: int, bucket_width: int, windows: I64, log: Log, out: F32
) -> None:
    """Read, then count, the history of each request's keys.

    Args:
        start: int64[n + 1]; request i has the keys ids[start[i]:start[i + 1]].
        ids: int32[m] dense ids, keys of the log.
        read: bool[n], True where the request reads.
        rank: requests counted before this call.
        bucket_width: requests in a bucket, at least 1.
        windows: int64[w] window lengths in buckets, rising.
        log: of what was counted before, with room for m entries more. Changed in place.
        out: float32[n, 2 * w], zeros; filled with sums over the request's keys, reads first. Sums stop at
            2**22, so that every value and every half between two values is exact in float32.
    """
    for i in range(len(read)):
        bucket = (rank + i) // bucket_width
        kind = READ if read[i] else WRITE
        for j in range(start[i], start[i + 1]):
            _add_windows(ids[j], bucket, log, windows, out[i])
        for j in range(start[i], start[i + 1]):
            _count(ids[j], kind, bucket, log)
        for f in range(out.shape[1]):
            out[i, f] = min(out[i, f], MAX_FEATURE)


@njit
def _copy(source: Log, since: int, alive: Bool, target: Log) -> None:
    key = 0
    for own in range(len(alive)):
        if not alive[own]:
            continue
        entry, before = source.newest[own], NONE
        while entry != NONE and source.bucket[entry] >= since:
            made = np.int32(target.used[0])
            target.used[0] += 1
            if before == NONE:
                target.newest[key] = made
            else:
                target.older[before] = made
            target.older[made], target.bucket[made] = NONE, source.bucket[entry]
            target.counts[made] = source.counts[entry]
            entry, before = source.older[entry], int(made)
        key += 1


def forget(log: Log, since: int, room: int) -> tuple[Log, Bool]:
    """Drop the entries of buckets before `since`, and the keys that have no other.

    Args:
        log: of k keys.
        since: the first bucket that is kept.
        room: entries that can be added at least.

    Returns:
        The log of the keys that are left, in their order, and which these are, bool[k].
    """
    known = log.newest != NONE
    alive: Bool = known.copy()
    alive[known] = log.bucket[log.newest[known]] >= since
    left = int(np.count_nonzero(log.bucket[: int(log.used[0])] >= since))
    made = empty_log(int(np.count_nonzero(alive)), 2 * left + room)
    _copy(log, since, alive, made)
    return made, alive
