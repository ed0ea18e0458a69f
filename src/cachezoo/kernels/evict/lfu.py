"""LFU with perfect history: counts survive eviction, and a page below all the residents stays out.

Every page has a count of its accesses, kept whether or not it is resident. A miss in a full cache enters if its count,
this access included, is at least the least resident count, and evicts the page of that count used longest ago;
otherwise it is refused. An access that the admission keeps out is not seen and not counted; a prefetch counts as one.

Source: the textbook's "perfect LFU": Breslau et al., "Web caching and Zipf-like distributions: evidence and
implications", INFOCOM 1999, Sec. IV. No parameters.

Where it differs from libCacheSim's LFU: that one is LFU in the cache, see `cachezoo.kernels.evict.inlfu`; a cache that
remembers all counts and bypasses it has none.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.heap import TIME_BITS, freshen, push, sink
from cachezoo.kernels.outcome import NONE, REFUSED
from cachezoo.kernels.step import step


class State(NamedTuple):
    """Heap of the resident pages, and each page's rank.

    `own` int64[n_pages] is count << 31 | access number of the last use, 0 of a page never seen. `used` int64[1] counts
    the heap's entries.
    """

    resident: U8
    pages: I32
    ranks: I64
    own: I64
    used: I64


def make(n_pages: int, capacity: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    size = min(capacity, n_pages)
    return State(
        np.zeros(n_pages, np.uint8),
        np.empty(size, np.int32),
        np.empty(size, np.int64),
        np.zeros(n_pages, np.int64),
        np.zeros(1, np.int64),
    )


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.resident[page] != 0)


@step
def touch(state: State, page: int, i: int) -> None:
    """One more; the heap learns of it when the page comes to its top."""
    state.own[page] = (((state.own[page] >> TIME_BITS) + 1) << TIME_BITS) | i


@step
def insert(state: State, page: int, i: int) -> int:
    """Insert in place of the least, unless it is the least itself."""
    pages, ranks, own = state.pages, state.ranks, state.own
    rank = (((own[page] >> TIME_BITS) + 1) << TIME_BITS) | i
    own[page] = rank
    used = state.used[0]
    if used < pages.size:
        state.resident[page] = 1
        push(pages, ranks, None, used, (page, rank, 0))
        state.used[0] = used + 1
        return NONE
    freshen(pages, ranks, own, used, rank)
    if ranks[0] > rank:
        return REFUSED
    victim = pages[0]
    state.resident[victim] = 0
    state.resident[page] = 1
    pages[0], ranks[0] = page, rank
    sink(pages, ranks, None, None, used)
    return int(victim)
