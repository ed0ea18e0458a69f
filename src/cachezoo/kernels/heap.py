"""A heap of pages with their ranks beside them: the least rank is on top.

The entries lie in parallel arrays, so that a step down reads nothing of a page's own; entry k is above entries 4k + 1
to 4k + 4, which lie together, in half as many steps as with two below each. Two of the arrays may be left out, at no
cost (numba drops the branches): `times`, which orders equal ranks, the earlier first; and `slot`, which says where
a page lies in the heap (an indexed heap), needed only where a page's rank may fall.

A rank that has risen need not be told at once. What the heap holds of a page is then no more than its rank, so a page
on top whose rank is up to date is the least of all; `freshen` brings it there. So a hit costs no step in the heap,
and many hits of a page between two evictions cost the steps of one.
"""

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64
from cachezoo.kernels.step import step

Ranks = npt.NDArray[np.int64] | npt.NDArray[np.float64]

# A rank of two parts, as one number: the greater part above, an access number below; unequal for unequal accesses.
# A stream has at most 2**31 - 1 accesses, so 31 bits hold a number and 31 more a count, below `azor`'s bit 62.
TIME_BITS = 31


@step
def rise(pages: I32, ranks: Ranks, times: I64 | None, slot: I32 | None, k: int) -> None:
    """Move entry k up to where it belongs."""
    page, rank = pages[k], ranks[k]
    time = 0 if times is None else times[k]
    while k > 0:
        up = (k - 1) >> 2
        if times is None:
            if rank >= ranks[up]:
                break
        elif rank > ranks[up] or (rank == ranks[up] and time >= times[up]):
            break
        pages[k], ranks[k] = pages[up], ranks[up]
        if times is not None:
            times[k] = times[up]
        if slot is not None:
            slot[pages[k]] = k
        k = up
    pages[k], ranks[k] = page, rank
    if times is not None:
        times[k] = time
    if slot is not None:
        slot[page] = k


@step
def sink(pages: I32, ranks: Ranks, times: I64 | None, slot: I32 | None, used: int) -> None:
    """Move the top entry of `used` down to where it belongs."""
    page, rank = pages[0], ranks[0]
    time = 0 if times is None else times[0]
    k = 0
    child = 1
    while child < used:
        for other in range(child + 1, min(child + 4, used)):
            if ranks[other] < ranks[child]:
                child = other
            elif times is not None and ranks[other] == ranks[child] and times[other] < times[child]:
                child = other
        if times is None:
            if rank <= ranks[child]:
                break
        else:
            if rank < ranks[child] or (rank == ranks[child] and time <= times[child]):
                break
            times[k] = times[child]
        pages[k], ranks[k] = pages[child], ranks[child]
        if slot is not None:
            slot[pages[k]] = k
        k = child
        child = 4 * k + 1
    pages[k], ranks[k] = page, rank
    if times is not None:
        times[k] = time
    if slot is not None:
        slot[page] = k


@step
def push(pages: I32, ranks: Ranks, times: I64 | None, used: int, entry: tuple[int, float, int]) -> None:
    """Add (page, rank, time) to the `used` entries of a heap without `slot`; the time is left out with `times`."""
    pages[used], ranks[used] = entry[0], entry[1]
    if times is not None:
        times[used] = entry[2]
    rise(pages, ranks, times, None, used)


@step
def pop(pages: I32, ranks: Ranks, times: I64 | None, used: int) -> None:
    """Take the top off the `used` entries of a heap without `slot`."""
    last = used - 1
    pages[0], ranks[0] = pages[last], ranks[last]
    if times is not None:
        times[0] = times[last]
    sink(pages, ranks, times, None, last)


@step
def freshen(pages: I32, ranks: I64, own: I64, used: int, limit: int) -> None:
    """Bring the page of least rank to the top, up to date; or stop as soon as all ranks are seen to be above `limit`.

    Args:
        pages: int32[capacity] the heap's.
        ranks: int64[capacity] what the heap holds, no more than the pages' own.
        own: int64[n_pages] the pages' ranks.
        used: entries, at least one.
        limit: a rank that is no page's own.
    """
    while ranks[0] < limit and ranks[0] != own[pages[0]]:
        ranks[0] = own[pages[0]]
        sink(pages, ranks, None, None, used)
