"""S3-FIFO: three queues by order of entry, a small one that sifts, a main one that keeps, a ghost one that remembers.

A hit counts the page's frequency up, to 3 at most; nothing moves. A new page enters the small queue, or the main one if
the ghosts know it (it is one no longer). To make room, as long as the main queue is within its share, the small one's
oldest page leaves and becomes a ghost; if its frequency has reached `promote` it goes on to the main queue instead, its
frequency cleared, and the next one is looked at. Where the main queue is above its share, or the small one ran empty,
the main one's oldest page leaves; with a frequency above 0 it goes back to the newest end with one less.

Source: Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023, section 4.1, algorithm 1.
Parameters: small 0.1 and ghost 0.9 of the capacity (rounded down), promote 2.

Where it differs from the paper, as libCacheSim's does
    filling     before the first eviction, what does not fit into the small share enters the main queue
    promotion   a promoted page evicts nothing from the main queue, which may be above its share until room is next
                needed; the paper has the main queue evict at once, two pages for one insertion
Where it differs from libCacheSim's
    below 20    at a small share of one page theirs lets no page in (default shares: 10 to 19 pages), at none it ends
                with an error; here the small share is one page at least
Misses are otherwise equal.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64
from cachezoo.kernels import ghosts
from cachezoo.kernels.near import AHEAD, fetch
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

FREQUENCY, SMALL, MAIN = 3, 4, 8
SMALL_OLDEST, SMALL_USED, MAIN_OLDEST, MAIN_USED, EVICTED = 0, 1, 2, 3, 4


class State(NamedTuple):
    """Two rings and the ghosts.

    Attributes:
        mark: uint8[n_pages] 0 not resident, else frequency (low two bits) and `SMALL` or `MAIN`.
        small, main: int32[capacity] rings; `at` int64[5] has the slot of each one's oldest page and how many it holds,
            and whether any page has left yet.
        log, slot_of, stretch: those that left from the small queue, as in `cachezoo.kernels.ghosts`.
        capacity: pages.
        small_share: pages of the small queue.
        promote: frequency that takes a page from the small queue to the main one.
    """

    mark: npt.NDArray[np.uint8]
    small: I32
    main: I32
    at: I64
    log: I32
    slot_of: I32
    stretch: I64
    capacity: int
    small_share: int
    promote: int


def make(n_pages: int, capacity: int, small: float = 0.1, ghost: float = 0.9, promote: int = 2) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    size = min(capacity, n_pages)
    return State(
        np.zeros(n_pages, np.uint8), np.empty(size, np.int32), np.empty(size, np.int32), np.zeros(5, np.int64),
        *ghosts.make(n_pages, int(capacity * ghost)), capacity, max(1, int(capacity * small)), promote,
    )  # fmt: skip


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.mark[page])


@step
def near(state: State, page: int) -> None:
    """Bring near what the steps read of a page, and of those that are to leave soon."""
    fetch(state.mark, page)
    fetch(state.slot_of, page)
    at = state.at
    for ring, oldest in ((state.small, SMALL_OLDEST), (state.main, MAIN_OLDEST)):
        slot = at[oldest] + AHEAD
        if slot < ring.size and at[oldest + 1] > AHEAD:
            fetch(state.mark, ring[slot])
            fetch(state.slot_of, ring[slot])


@step
def soon(state: State, page: int) -> None:
    """Bring near the page's place among the ghosts."""
    fetch(state.log, state.slot_of[page])


@step
def touch(state: State, page: int, i: int) -> None:
    """Count its references."""
    mark = state.mark[page]
    state.mark[page] = mark + (mark & FREQUENCY != FREQUENCY)


@step
def insert(state: State, page: int, i: int) -> int:
    """Into the small queue or, known, the main one; out as the module says."""
    at, mark = state.at, state.mark
    known = ghosts.take(state.log, state.slot_of, state.stretch, page)
    victim = NONE
    if at[SMALL_USED] + at[MAIN_USED] == state.capacity:
        at[EVICTED] = 1
        if at[MAIN_USED] <= state.capacity - state.small_share:
            victim = _sift(mark, state.small, state.main, at, state.promote)
        if victim >= 0:
            ghosts.put(state.log, state.slot_of, state.stretch, victim)
        else:
            victim = _reinsert(mark, state.main, at)
    if known or (at[EVICTED] == 0 and at[SMALL_USED] >= state.small_share):
        _push(state.main, at, MAIN_OLDEST, page)
        mark[page] = MAIN
    else:
        _push(state.small, at, SMALL_OLDEST, page)
        mark[page] = SMALL
    return victim


@step
def _push(ring: I32, at: I64, oldest: int, page: int) -> None:
    slot = at[oldest] + at[oldest + 1]
    ring[slot if slot < ring.size else slot - ring.size] = page
    at[oldest + 1] += 1


@step
def _pop(ring: I32, at: I64, oldest: int) -> int:
    slot = at[oldest]
    at[oldest] = slot + 1 if slot + 1 < ring.size else 0
    at[oldest + 1] -= 1
    return int(ring[slot])


@step
def _sift(mark: npt.NDArray[np.uint8], small: I32, main: I32, at: I64, promote: int) -> int:
    """The page that leaves from the small queue, -1 if all are promoted."""
    while at[SMALL_USED] > 0:
        page = _pop(small, at, SMALL_OLDEST)
        if mark[page] & FREQUENCY < promote:
            mark[page] = 0
            return page
        mark[page] = MAIN
        _push(main, at, MAIN_OLDEST, page)
    return NONE


@step
def _reinsert(mark: npt.NDArray[np.uint8], main: I32, at: I64) -> int:
    """The page that leaves from the main queue."""
    page = _pop(main, at, MAIN_OLDEST)
    while mark[page] & FREQUENCY:
        mark[page] -= 1
        _push(main, at, MAIN_OLDEST, page)
        page = _pop(main, at, MAIN_OLDEST)
    mark[page] = 0
    return page
