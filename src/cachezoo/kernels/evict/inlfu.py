"""LFU in the cache: a page's count starts at 1 when it enters and is forgotten when it leaves.

The resident page of least count leaves; among equals the one used longest ago. Pages used once lie in the order in
which they entered, which is theirs by that rule, so they need no heap: a miss takes the first of them, and those found
used again on the way go to the heap of the others.

Source: Silberschatz, Galvin, Gagne, "Operating system concepts", Sec. "counting-based page replacement"; with this
rule for equals: Shah, Mitra, Matani, "An O(1) algorithm for implementing the LFU cache eviction scheme", 2010.
No parameters.

libCacheSim's LFU is the same algorithm (it keeps a list for each count, in which a page comes last at each use);
miss ratios are equal. Its LFU in C++ has another rule for equals.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.heap import TIME_BITS, freshen, pop, push
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

HEAPED, QUEUED, FIRST = range(3)
ONCE, AGAIN = 1, 2
NO_LIMIT = 2**63 - 1


class State(NamedTuple):
    """Ring of the pages used once, as they entered, and heap of the others; each page's rank.

    `stage` uint8[n_pages] is 0 of a page not resident, `ONCE` or `AGAIN`. `own` int64[n_pages], of a resident page, is
    count << 31 | access number of the last use. `counts` int64[3]: entries of the heap, entries of the ring, and where
    the ring's first one is.
    """

    stage: U8
    ring: I32
    pages: I32
    ranks: I64
    own: I64
    counts: I64


def make(n_pages: int, capacity: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    size = min(capacity, n_pages)
    ring, pages, ranks = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64)
    stage, own = np.zeros(n_pages, np.uint8), np.zeros(n_pages, np.int64)
    return State(stage, ring, pages, ranks, own, np.zeros(3, np.int64))


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.stage[page] != 0)


@step
def touch(state: State, page: int, i: int) -> None:
    """One more; ring and heap learn of it when the page comes first."""
    state.stage[page] = AGAIN
    state.own[page] = (((state.own[page] >> TIME_BITS) + 1) << TIME_BITS) | i


@step
def _leave(state: State) -> int:
    """Take the page of least rank out of a cache that has one."""
    own, counts = state.own, state.counts
    while counts[QUEUED] > 0:
        page = state.ring[counts[FIRST]]
        counts[QUEUED] -= 1
        counts[FIRST] = counts[FIRST] + 1 if counts[FIRST] + 1 < state.ring.size else 0
        if state.stage[page] == ONCE:
            return int(page)
        push(state.pages, state.ranks, None, counts[HEAPED], (page, own[page], 0))
        counts[HEAPED] += 1
    freshen(state.pages, state.ranks, own, counts[HEAPED], NO_LIMIT)
    page = state.pages[0]
    pop(state.pages, state.ranks, None, counts[HEAPED])
    counts[HEAPED] -= 1
    return int(page)


@step
def insert(state: State, page: int, i: int) -> int:
    """In with a count of one for the least."""
    counts = state.counts
    victim = NONE
    if counts[HEAPED] + counts[QUEUED] == state.ring.size:
        victim = _leave(state)
        state.stage[victim] = 0
    place = counts[FIRST] + counts[QUEUED]
    state.ring[place if place < state.ring.size else place - state.ring.size] = page
    counts[QUEUED] += 1
    state.stage[page] = ONCE
    state.own[page] = (1 << TIME_BITS) | i
    return victim
