"""LRFU: each use of a page counts for 2 ** (-decay * its age), and the page whose uses count least leaves.

A page's combined recency and frequency (CRF) is the sum over its uses since it entered of 2 ** (-decay * accesses
since). With decay 0 that is LFU in the cache, with decay 1 LRU. The order of two pages does not change while neither
is used, so it is kept as log2(CRF at the last use) + decay * access number of the last use, which neither overflows
nor has to be brought up to date. Among equals the page used longest ago leaves. Nothing is kept of a page that left.
Pages not used since they entered lie in the order in which they did, which is theirs by that rule, so only the others
need a heap.

Source: Lee et al., "LRFU: a spectrum of policies that subsumes the least recently used and least frequently used
policies", IEEE Transactions on Computers 50(12), 2001, Sec. 2 and 3; without the correlated period of Sec. 4.
Parameter: decay, the paper's lambda, 0.001: a use counts for half after 1000 accesses, so a cache of many thousand
pages is nearly LRU; for frequency to count there, make it smaller.

libCacheSim has no LRFU.
"""

import math
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.kernels.heap import pop, push, sink
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

HEAPED, QUEUED, FIRST = range(3)
ONCE, AGAIN = 1, 2


class State(NamedTuple):
    """Rings of the pages not used since they entered and of when that was; heap of the others; each page's CRF.

    `stage` uint8[n_pages] is 0 of a page not resident, `ONCE` or `AGAIN`. `own` float64[n_pages, 2] is a resident
    page's CRF at its last use and the access number of that. `counts` int64[3]: entries of the heap, entries of the
    ring, and where the ring's first one is.
    """

    stage: U8
    ring: I32
    entered: I64
    pages: I32
    ranks: F64
    times: I64
    own: F64
    counts: I64
    decay: float


def make(n_pages: int, capacity: int, decay: float) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    size = min(capacity, n_pages)
    ring, entered = np.empty(size, np.int32), np.empty(size, np.int64)
    pages, ranks, times = np.empty(size, np.int32), np.empty(size, np.float64), np.empty(size, np.int64)
    own, counts = np.zeros((n_pages, 2), np.float64), np.zeros(3, np.int64)
    return State(np.zeros(n_pages, np.uint8), ring, entered, pages, ranks, times, own, counts, float(decay))


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.stage[page] != 0)


@step
def touch(state: State, page: int, i: int) -> None:
    """The uses before count for less, this one for 1; ring and heap learn of it when the page comes first."""
    own = state.own
    state.stage[page] = AGAIN
    own[page, 0] = 1.0 + own[page, 0] * np.exp2(state.decay * (own[page, 1] - i))
    own[page, 1] = i


@step
def _rank(state: State, page: int) -> float:
    return float(math.log2(state.own[page, 0]) + state.decay * state.own[page, 1])


@step
def _leave(state: State) -> int:
    """Take the page of least rank out of a cache that has one."""
    pages, ranks, times, counts = state.pages, state.ranks, state.times, state.counts
    while True:
        if counts[QUEUED] > 0:
            page, time = state.ring[counts[FIRST]], state.entered[counts[FIRST]]
            unused = state.stage[page] == ONCE
            rank = state.decay * time
            least = counts[HEAPED] == 0 or rank < ranks[0] or (rank == ranks[0] and time < times[0])
            if least or not unused:
                counts[QUEUED] -= 1
                counts[FIRST] = counts[FIRST] + 1 if counts[FIRST] + 1 < state.ring.size else 0
                if unused:
                    return int(page)
                push(pages, ranks, times, counts[HEAPED], (page, _rank(state, page), int(state.own[page, 1])))
                counts[HEAPED] += 1
                continue
        page, last = pages[0], int(state.own[pages[0], 1])
        if times[0] == last:
            pop(pages, ranks, times, counts[HEAPED])
            counts[HEAPED] -= 1
            return int(page)
        ranks[0], times[0] = _rank(state, page), last
        sink(pages, ranks, times, None, counts[HEAPED])


@step
def insert(state: State, page: int, i: int) -> int:
    """In with this use alone for the least."""
    counts = state.counts
    victim = NONE
    if counts[HEAPED] + counts[QUEUED] == state.ring.size:
        victim = _leave(state)
        state.stage[victim] = 0
    place = counts[FIRST] + counts[QUEUED]
    place = place if place < state.ring.size else place - state.ring.size
    state.ring[place], state.entered[place] = page, i
    counts[QUEUED] += 1
    state.stage[page] = ONCE
    state.own[page, 0], state.own[page, 1] = 1.0, i
    return victim
