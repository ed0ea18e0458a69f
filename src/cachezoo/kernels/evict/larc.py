"""LARC: an LRU cache that a page enters only at its second miss, if a filter of adaptive size still knows the first.

The filter is an LRU list of ids. It grows by C / size at a miss and shrinks by C / (C - size) at a hit, within 0.1 to
0.9 of the capacity C: where misses are many, a page gets longer to prove that it comes back.

Source: Huang, Wei, Chen and Chen, "Improving flash-based disk cache with Lazy Adaptive Replacement", MSST 2013,
Algorithm 1. It has no parameters. The size is kept as a real number; the filter holds at least one id, so that a cache
of few pages can be entered at all.

`insert` returns `REFUSED` when the page goes into the filter alone. libCacheSim has no LARC.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32
from cachezoo.kernels.lists import link_head, links, unlink
from cachezoo.kernels.outcome import NONE, REFUSED
from cachezoo.kernels.step import step

CACHE, FILTER, NOWHERE = 0, 1, 2


class State(NamedTuple):
    """Two lists, most recent first.

    `place` uint8[n_pages] names the list of each page, `length` int64[2] counts them, `size` float64[1] is the
    filter's.
    """

    before: I32
    after: I32
    place: npt.NDArray[np.uint8]
    length: npt.NDArray[np.int64]
    size: npt.NDArray[np.float64]
    capacity: int


def make(n_pages: int, capacity: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    place = np.full(n_pages, NOWHERE, np.uint8)
    return State(*links(n_pages, 2), place, np.zeros(2, np.int64), np.full(1, 0.1 * capacity), capacity)


@step
def has(state: State, page: int) -> bool:
    """Is the page in the cache?"""
    return bool(state.place[page] == CACHE)


@step
def touch(state: State, page: int, i: int) -> None:
    """To the head; the filter shrinks."""
    size, capacity = state.size[0], state.capacity
    state.size[0] = max(0.1 * capacity, size - capacity / (capacity - size))
    unlink(state.before, state.after, page)
    link_head(state.before, state.after, state.place.size + CACHE, page)


@step
def _drop_tail(state: State, which: int) -> int:
    """Forget the least recent page of a list."""
    page = int(state.before[state.place.size + which])
    unlink(state.before, state.after, page)
    state.place[page] = NOWHERE
    state.length[which] -= 1
    return page


@step
def _remember(state: State, page: int) -> None:
    """Into the filter, which drops its oldest id if that is one too many."""
    state.place[page] = FILTER
    state.length[FILTER] += 1
    link_head(state.before, state.after, state.place.size + FILTER, page)
    if state.length[FILTER] > max(1.0, state.size[0]):
        _drop_tail(state, FILTER)


@step
def insert(state: State, page: int, i: int) -> int:
    """Into the filter at first, from there into the cache; the filter grows."""
    size, capacity = state.size[0], state.capacity
    state.size[0] = min(0.9 * capacity, size + capacity / size)
    if state.place[page] == NOWHERE:
        _remember(state, page)
        return REFUSED
    unlink(state.before, state.after, page)
    state.length[FILTER] -= 1
    victim = _drop_tail(state, CACHE) if state.length[CACHE] == capacity else NONE
    state.place[page] = CACHE
    state.length[CACHE] += 1
    link_head(state.before, state.after, state.place.size + CACHE, page)
    return victim
