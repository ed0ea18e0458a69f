"""Joins block events: which completion ends which issue.

What the device owes is kept in a hash table by (device, sector) of linked lists, first in first out; an entry whose
list runs empty is taken out, so that the table stays as small as the queue of the device.
"""

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit

ISSUE = 0
COMPLETE = 1
REQUEUE = 2
QUEUE = 3  # a step before the issue, for those who join requests from there
REQUEUED = 0
FAILED = 1
UNMATCHED_COMPLETE = 2
NO_ROOM = 3
SLOT_BYTES = 60  # of a table's slot, and half of one of the table that it grew from
_DEVICE = 0
_SECTOR = 1
_LENGTH = 2
_HEAD = 3
_TAIL = 4
_FIRST_SLOTS = 1024


@njit
def _home(device: int, sector: int, length: int, mask: int) -> int:
    mixed = sector + device * 7919 + length * 104729
    mixed ^= mixed >> 31
    # The product of 31 and 32 bits stays below 2^63.
    return (((mixed & 0x7FFFFFFF) * 0x9E3779B1) >> 24) & mask


@njit
def _slot(table: I64, device: int, sector: int, length: int) -> int:
    """The slot of a key, or the empty one where it belongs."""
    mask = len(table) - 1
    at = _home(device, sector, length, mask)
    while table[at, _HEAD] >= 0 and not (
        table[at, _SECTOR] == sector and table[at, _DEVICE] == device and table[at, _LENGTH] == length
    ):
        at = (at + 1) & mask
    return at


@njit
def _grown(table: I64) -> I64:
    larger = np.full((2 * len(table), 5), -1, np.int64)
    for i in range(len(table)):
        if table[i, _HEAD] >= 0:
            larger[_slot(larger, table[i, _DEVICE], table[i, _SECTOR], table[i, _LENGTH])] = table[i]
    return larger


@njit
def _free(table: I64, hole: int) -> None:
    """Empty a slot and move up what had to pass over it."""
    mask = len(table) - 1
    at = hole
    while True:
        at = (at + 1) & mask
        if table[at, _HEAD] < 0:
            break
        home = _home(table[at, _DEVICE], table[at, _SECTOR], table[at, _LENGTH], mask)
        if ((at - home) & mask) >= ((at - hole) & mask):
            table[hole] = table[at]
            hole = at
    table[hole, _HEAD] = -1


@njit
def _append(table: I64, after: I32, entry: int, device: int, sector: int, length: int) -> int:
    """Put an entry at the end of a key's list; returns how many keys are new."""
    at = _slot(table, device, sector, length)
    after[entry] = -1
    if table[at, _HEAD] >= 0:
        after[table[at, _TAIL]] = entry
        table[at, _TAIL] = entry
        return 0
    table[at, _DEVICE] = device
    table[at, _SECTOR] = sector
    table[at, _LENGTH] = length
    table[at, _HEAD] = entry
    table[at, _TAIL] = entry
    return 1


@njit
def _unlink(table: I64, after: I32, at: int, before: int, entry: int) -> int:
    """Take an entry out of the list of a slot; returns how many keys that removes."""
    if before >= 0:
        after[before] = after[entry]
    else:
        table[at, _HEAD] = after[entry]
    if table[at, _TAIL] == entry:
        table[at, _TAIL] = before
    if table[at, _HEAD] >= 0:
        return 0
    # The slot counts as taken until its neighbours have moved.
    _free(table, at)
    return 1


@njit
def _oldest(table: I64, after: I32, left: I32, at: int, sectors: int) -> tuple[int, int]:
    """The oldest entry of exactly this length, else the oldest longer one, and the entry before it; -1 none."""
    found = -1
    found_before = -1
    before = -1
    entry = table[at, _HEAD]
    while entry >= 0:
        if left[entry] == sectors:
            return entry, before
        if found < 0 and left[entry] > sectors:
            found, found_before = entry, before
        before, entry = entry, after[entry]
    return found, found_before


@njit
def join(
    kind: U8, device: I32, sector: I64, sectors: I32, error: I32, most_slots: int = 1 << 62
) -> tuple[I64, I64, I64]:
    """Join issues with completions.

    A completion, or a requeue, takes the oldest request at its address of exactly its length, else the oldest longer
    one; of that, the rest is owed from the address after it. The next issue of a requeued request's address and
    length is the same request again.

    Args:
        kind: uint8[n] `ISSUE`, `COMPLETE` or `REQUEUE`, in the order of time; all of reads and writes.
        device: int32[n] number of the device.
        sector: int64[n] address.
        sectors: int32[n] length, at least 1.
        error: int32[n] 0 but for failed completions.
        most_slots: how many slots, at least twice as many as requests are under way at once, the tables may have.

    Returns:
        int64[r] the event of each request's first issue; int64[r] the event that completed its last part, -1 none;
        int64[4] counts by `REQUEUED`, `FAILED`, `UNMATCHED_COMPLETE`, and `NO_ROOM`, 1 where it stopped for want of
        slots.
    """
    n = len(kind)
    first = np.empty(n, np.int64)
    last = np.empty(n, np.int64)
    counts = np.zeros(4, np.int64)
    pending = np.full((_FIRST_SLOTS, 5), -1, np.int64)
    waiting = np.full((_FIRST_SLOTS, 5), -1, np.int64)
    pending_keys = 0
    waiting_keys = 0
    rows = 0
    # Entry i is what event i put into a list.
    after = np.empty(n, np.int32)
    owner = np.empty(n, np.int32)
    left = np.empty(n, np.int32)
    for i in range(n):
        grow_pending = 2 * pending_keys >= len(pending)
        grow_waiting = 2 * waiting_keys >= len(waiting)
        slots = len(pending) * (1 + grow_pending) + len(waiting) * (1 + grow_waiting)
        if (grow_pending or grow_waiting) and slots > most_slots:
            counts[NO_ROOM] = 1
            break
        if grow_pending:
            pending = _grown(pending)
        if grow_waiting:
            waiting = _grown(waiting)
        where = int(device[i])
        length = int(sectors[i])
        if kind[i] == ISSUE:
            at = _slot(waiting, where, sector[i], length)
            again = waiting[at, _HEAD]
            if again >= 0:
                owner[i] = owner[again]
                waiting_keys -= _unlink(waiting, after, at, -1, again)
            else:
                owner[i] = rows
                first[rows] = i
                last[rows] = -1
                rows += 1
            left[i] = length
            pending_keys += _append(pending, after, i, where, sector[i], 0)
            continue
        at = _slot(pending, where, sector[i], 0)
        entry, before = _oldest(pending, after, left, at, length)
        if entry < 0:
            counts[UNMATCHED_COMPLETE] += kind[i] == COMPLETE
            continue
        pending_keys -= _unlink(pending, after, at, before, entry)
        owner[i] = owner[entry]
        if kind[i] == REQUEUE:
            counts[REQUEUED] += 1
            waiting_keys += _append(waiting, after, i, where, sector[i], length)
            continue
        counts[FAILED] += error[i] != 0
        if left[entry] > length:
            left[i] = left[entry] - length
            pending_keys += _append(pending, after, i, where, sector[i] + length, 0)
        else:
            last[owner[i]] = i
    return first[:rows].copy(), last[:rows].copy(), counts
