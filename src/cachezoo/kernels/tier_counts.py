"""LFU that can remove a page at once; counts are kept when a page leaves or reset, and a page may be refused or not.

The page of least count leaves, among equals the one used longest ago. Kept, a count survives; reset, it begins at 1
when the page enters. Where pages are refused, one that would be the least of all stays out. The zoo's `lfu` keeps
counts and refuses, its `inlfu` resets them and refuses none; `hcalfu` keeps them and refuses none.

Source: HCA (see `cachezoo.kernels.tier_buffer`), Sec. IV, whose RAM is an LFU; it leaves open what becomes of counts.
Kept: Breslau et al., "Web caching and Zipf-like distributions: evidence and implications", INFOCOM 1999, Sec. IV.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.heap import TIME_BITS, rise, sink
from cachezoo.kernels.outcome import NONE, REFUSED
from cachezoo.kernels.step import step

GONE = -1  # a rank below all


class State(NamedTuple):
    """Heap of the pages held, and each page's rank.

    `own` int64[n_pages] is count << 31 | number of the last use; `slot` int32[n_pages] the place in the heap of a page
    held, None where nothing is ever removed, which is faster; `used` int64[1] counts the heap's entries; `keeps` and
    `refuses` are 0 or 1.
    """

    resident: U8
    pages: I32
    ranks: I64
    slot: I32 | None
    own: I64
    used: I64
    keeps: int
    refuses: int


def make(n_pages: int, capacity: int, keeps: bool, refuses: bool, removes: bool = True) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    size = min(capacity, n_pages)
    slot = np.empty(n_pages, np.int32) if removes else None
    return State(
        np.zeros(n_pages, np.uint8), np.empty(size, np.int32), np.empty(size, np.int64), slot,
        np.zeros(n_pages, np.int64), np.zeros(1, np.int64), int(keeps), int(refuses),
    )  # fmt: skip


@step
def has(state: State, page: int) -> bool:
    """Is the page held?"""
    return bool(state.resident[page] != 0)


@step
def touch(state: State, page: int, k: int) -> None:
    """One more; the heap learns of it when the page comes to its top."""
    state.own[page] = (((state.own[page] >> TIME_BITS) + 1) << TIME_BITS) | k


@step
def insert(state: State, page: int, k: int) -> int:
    """In place of the least, unless it is the least itself and such pages are refused."""
    pages, ranks, own, slot = state.pages, state.ranks, state.own, state.slot
    rank = (((own[page] >> TIME_BITS) + 1) << TIME_BITS) | k
    own[page] = rank
    used = state.used[0]
    if used < pages.size:
        state.resident[page] = 1
        pages[used], ranks[used] = page, rank
        rise(pages, ranks, None, slot, used)
        state.used[0] = used + 1
        return NONE
    while ranks[0] != own[pages[0]] and not (state.refuses and ranks[0] > rank):
        ranks[0] = own[pages[0]]
        sink(pages, ranks, None, slot, used)
    if state.refuses and ranks[0] > rank:
        return REFUSED
    victim = pages[0]
    state.resident[victim] = 0
    if not state.keeps:
        own[victim] = 0
    state.resident[page] = 1
    pages[0], ranks[0] = page, rank
    sink(pages, ranks, None, slot, used)
    return int(victim)


@step
def remove(state: State, page: int) -> None:
    """Up to the top of the heap and off it."""
    pages, ranks, slot = state.pages, state.ranks, state.slot
    assert slot is not None
    ranks[slot[page]] = GONE
    rise(pages, ranks, None, slot, slot[page])
    last = state.used[0] - 1
    pages[0], ranks[0] = pages[last], ranks[last]
    if last > 0:
        sink(pages, ranks, None, slot, last)
    state.used[0] = last
    state.resident[page] = 0
    if not state.keeps:
        state.own[page] = 0
