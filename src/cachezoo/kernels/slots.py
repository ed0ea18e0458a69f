"""A trace as what each request does to an LRU stack of requests.

The stack is one of *slots*: slot i holds the pages whose last access is request i. The distance of a page is the number
of distinct pages in later slots, so pages that were last accessed together have one distance. Observed of each request
is its first page, or its second where the request whose run it goes on with ended in the first; the pages after it
follow from where it lies.

Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970 (stack
distances). The slots are ours.
"""

import math

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCHED, WRITE

COLD, NEAR_COLD, NEAR_REUSE, REUSE, HOT = 0, 1, 2, 3, 4
PAGE = 4096
PER_LOG = 1.0 / math.log(2.0)
LOGS = np.array([0.0, *(math.log(k) * PER_LOG for k in range(1, 1024))])  # to base 2
LAGS = 32
"""Requests back that a run may have its last one."""
NEAR_BYTES = 131_072
"""A request that begins so few bytes after the end of one of these, or fewer, goes on with its run."""
OCTAVES = 10


@njit
def add(tree: I64, slot: int, value: int) -> None:
    """Add pages to a slot of the tree of sums."""
    k = slot + 1
    while k < tree.size:
        tree[k] += value
        k += k & -k


@njit
def before(tree: I64, slot: int) -> int:
    """Pages in the slots before this one."""
    total = 0
    k = slot
    while k > 0:
        total += tree[k]
        k -= k & -k
    return total


@njit
def slot_at(tree: I64, pages: int, top: int) -> int:
    """The slot that holds the page of this rank, from 0, oldest first; `top` is the tree's highest power of two."""
    k, left, step = 0, pages, top
    while step > 0:
        if k + step < tree.size and tree[k + step] <= left:
            k += step
            left -= tree[k]
        step >>= 1
    return k


@njit
def enter(tree: I64, last: I32, count: I32, first: int, pages: int, slot: int) -> int:
    """Move pages [first, first + pages) into a slot; returns how many were in none."""
    for at in range(first, first + pages):
        count[at] += 1
    fresh, at = 0, first
    while at < first + pages:
        old, same = last[at], at
        while same < first + pages and last[same] == old:
            last[same] = slot
            same += 1
        if old < 0:
            fresh += same - at
        else:
            add(tree, old, at - same)
        at = same
    add(tree, slot, pages)
    return fresh


@njit
def even(slot: int, end: int, now: int) -> bool:
    """Whether the last page of a request was accessed about when its first was: neither twice nor half as long ago."""
    return slot >= 0 and end >= 0 and now - end <= 2 * (now - slot) and now - slot <= 2 * (now - end)


@njit
def log2(value: float) -> float:
    """To base 2."""
    return np.log(value) * PER_LOG  # type: ignore[no-any-return]


@njit
def octave(size: int) -> int:
    """The octave of a size in bytes: 0 of a page or less, 1 of two pages, at most `OCTAVES` - 1."""
    pages, found = (size + PAGE - 1) // PAGE, 0
    while (1 << found) < pages and found < OCTAVES - 1:
        found += 1
    return found


@njit
def _observe(
    start: I64, ids: I32, volume: I32, offset: I64, size: I64, last: I32, count: I32
) -> tuple[U8, I64, I32, I32, I64, U8, U8, U8]:
    n = start.size - 1
    kind, distance, earlier = np.zeros(n, np.uint8), np.full(n, -1, np.int64), np.zeros(n, np.int32)
    lag, ahead = np.zeros(n, np.int32), np.zeros(n, np.int64)
    aligned, whole, alike = np.zeros(n, np.uint8), np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    tree, held = np.zeros(n + 1, np.int64), 0
    for i in range(n):
        page, end = ids[start[i]], ids[start[i + 1] - 1]
        for back in range(1, min(LAGS, i) + 1):
            j = i - back
            gap = offset[i] - (offset[j] + size[j])
            if volume[j] == volume[i] and 0 <= gap <= NEAR_BYTES and (lag[i] == 0 or gap < ahead[i]):
                lag[i], ahead[i] = back, gap
                if gap == 0:
                    break
        if lag[i] > 0 and start[i + 1] - start[i] > 1:
            j = i - lag[i]
            if (offset[j] + size[j] - 1) // PAGE == offset[i] // PAGE:
                page = ids[start[i] + 1]
        slot = last[page]
        if slot >= 0:
            kind[i] = NEAR_REUSE if lag[i] > 0 else REUSE
            distance[i] = held - before(tree, slot + 1)
            earlier[i] = count[page]
            aligned[i] = ids[start[slot]] == page
            alike[i] = octave(size[slot]) == octave(size[i])
        elif lag[i] > 0:
            kind[i] = NEAR_COLD
        whole[i] = even(slot, last[end], i)
        for k in range(start[i], start[i + 1]):
            p = ids[k]
            if last[p] >= 0:
                add(tree, last[p], -1)
                held -= 1
            last[p] = i
            count[p] += 1
        pages = start[i + 1] - start[i]
        add(tree, i, pages)
        held += pages
    return kind, distance, earlier, lag, ahead, aligned, whole, alike


def observe(
    start: I64, ids: I32, n_pages: int, volume: I32, offset: I64, size: I64
) -> tuple[U8, I64, I32, I32, I64, U8, U8, U8]:
    """What n requests do to the stack.

    Args:
        start: int64[n + 1]; request i touches pages ids[start[i]:start[i + 1]].
        ids: int32[m] dense pages, rising by address within a request.
        n_pages: distinct pages.
        volume: int32[n].
        offset: int64[n] bytes.
        size: int64[n] bytes.

    Returns:
        Of each request kind uint8 (`COLD` and so on, by its first page, and whether it goes on with a run); distance
        int64 of its first page, -1 where that is cold; earlier int32 accesses of it; lag int32 requests back to the one
        that it goes on from, 0 of none; ahead int64 bytes between them; aligned uint8, the page's last access began
        with it too; whole uint8, its last page was last accessed about when its first
        was; alike uint8, the page's last access was of a size of the same octave.
    """
    last, count = np.full(n_pages, -1, np.int32), np.zeros(n_pages, np.int32)
    return _observe(start, ids, volume, offset, size, last, count)  # type: ignore[no-any-return]


@njit
def write_slots(
    page_ids: I32, flags: U8, outcome: U8, victim: I32, slot_of: I32, used: int, slots: I32, access: I64
) -> tuple[int, int]:
    """The slots that a part of a cache's run writes, in order.

    A page that enters is written to the slot of the page that it evicts, or to the next that was never used; a write
    that hits is written to the slot of its page.

    Args:
        page_ids: int32[m] of the stream, as the next.
        flags: uint8[m].
        outcome: uint8[m] of the run, as the next.
        victim: int32[m] page evicted by each access, or -1.
        slot_of: int32[pages] slot of each page, which goes on to the next part; -1 of a page that never had one.
        used: slots that were used before.
        slots: int32[m], written from the front: slots, numbered by their first use.
        access: int64[m], likewise: the access of the part that wrote each.

    Returns:
        Slots that were used; slots that are written.
    """
    written = 0
    for i in range(page_ids.size):
        page = page_ids[i]
        if outcome[i] == ADMITTED or outcome[i] == PREFETCHED:
            if victim[i] >= 0:
                slot_of[page] = slot_of[victim[i]]
            else:
                slot_of[page] = used
                used += 1
        elif outcome[i] != HIT or not flags[i] & WRITE:
            continue
        slots[written] = slot_of[page]
        access[written] = i
        written += 1
    return used, written


def slots_written(page_ids: I32, flags: U8, outcome: U8, victim: I32, n_pages: int) -> tuple[I32, I64]:
    """The slots that a cache's whole run writes, and the access that wrote each: int32[w] and int64[w].

    Args:
        page_ids: as of `write_slots`, like the next three.
        flags: likewise.
        outcome: likewise.
        victim: likewise.
        n_pages: distinct pages.
    """
    slots, access = np.empty(len(page_ids), np.int32), np.empty(len(page_ids), np.int64)
    slot_of = np.full(n_pages, -1, np.int32)
    _, written = write_slots(page_ids, flags, outcome, victim, slot_of, 0, slots, access)
    return slots[:written], access[:written]
