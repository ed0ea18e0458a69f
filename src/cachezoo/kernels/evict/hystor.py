"""Hystor-like: pages that small requests ask for often stay, metadata first, and writes have an area of their own.

The worth of a page is the sum, over its accesses, of 128 shifted right by the binary logarithm of its request's pages
(at least 1): the paper's inverse bitmap, by which frequency counts and small requests, dear on a disk, count for more.
It is kept whether or not the page is resident. Main area: a miss in a full cache enters if its worth, this access
included, is at least the least resident worth, and evicts the page of that worth used longest ago; otherwise it is
refused. Metadata (flagged so at any access seen so far) always enters and leaves only when there is no data. Write-back
area: `write_share` of the cache, rounded down, in LRU order. A missed write enters there; the page that it pushes out
enters the main area if there is room or its worth suffices, else leaves the cache.

Source: Chen, Koufaty, Zhang, "Hystor: making the best use of solid state drives in high performance storage systems",
ICS 2011, Sec. 3 and 4 (Eq. 1 for the inverse bitmap).
Parameter: write_share 0.2.
Choices of ours: worth is compared at each miss, not in periodic reorganisations with migration in the background; a
request's size is in pages of 4 KiB, not in sectors; worth stops at 2 ** 31 - 1 and does not age; a page pushed out of
the write-back area is tried for the main one; writes of metadata go to the main area.

libCacheSim has none.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.heap import freshen, push, sink
from cachezoo.kernels.lists import link_head, links, pop_tail, unlink
from cachezoo.kernels.outcome import METADATA, NONE, REFUSED, WRITE
from cachezoo.kernels.requests import by_size
from cachezoo.kernels.step import step

META_BIT, WORTH_BIT = 62, 31
MOST_WORTH = 2**31 - 1
NO_LIMIT = 2**63 - 1
MAIN, WRITTEN = 1, 2
USED, USED_BY_WRITES = 0, 1


class State(NamedTuple):
    """Heap of the main area, list of the write-back area, and each page's rank.

    `flags` uint8[m] are the stream's, `weight` uint8[m] is what each access adds to its page's worth. `area`
    uint8[n_pages] is 0 of a page not resident, `MAIN` or `WRITTEN`. `own` int64[n_pages] is metadata << 62 |
    worth << 31 | access number of the last use, 0 of a page never seen. `used` int64[2] counts the pages of the areas.
    """

    flags: U8
    weight: U8
    area: U8
    pages: I32
    ranks: I64
    own: I64
    before: I32
    after: I32
    used: I64
    for_writes: int


def weights(request_pages: I32) -> U8:
    """uint8[m]: 128 >> floor(log2(pages of the access's request)), at least 1."""
    shift = np.frexp(np.maximum(np.arange(129), 1))[1] - 1
    return by_size(request_pages, (128 >> shift).astype(np.uint8))


def make(flags: U8, request_pages: I32, n_pages: int, capacity: int, write_share: float) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages), for the accesses with these flags and requests."""
    for_writes = int(write_share * capacity)
    size = min(capacity - for_writes, n_pages)
    pages, ranks, own = np.empty(size, np.int32), np.empty(size, np.int64), np.zeros(n_pages, np.int64)
    area, used = np.zeros(n_pages, np.uint8), np.zeros(2, np.int64)
    return State(flags, weights(request_pages), area, pages, ranks, own, *links(n_pages, 1), used, for_writes)


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.area[page] != 0)


@step
def _rank(state: State, page: int, i: int) -> int:
    """Count the access."""
    worth = ((state.own[page] >> WORTH_BIT) & MOST_WORTH) + state.weight[i]
    metadata = (state.own[page] >> META_BIT) | (1 if state.flags[i] & METADATA else 0)
    rank = (metadata << META_BIT) | (min(worth, MOST_WORTH) << WORTH_BIT) | i
    state.own[page] = rank
    return int(rank)


@step
def touch(state: State, page: int, i: int) -> None:
    """Worth more; to the head of the write-back area if there."""
    _rank(state, page, i)
    if state.area[page] == WRITTEN:
        unlink(state.before, state.after, page)
        link_head(state.before, state.after, state.area.size, page)


@step
def _enter_main(state: State, page: int, always: bool) -> int:
    """Into the main area, for the least of it; `REFUSED` if the page is less than that."""
    pages, ranks, rank, used = state.pages, state.ranks, state.own[page], state.used[USED]
    if used < pages.size:
        push(pages, ranks, None, used, (page, rank, 0))
        state.used[USED] = used + 1
        state.area[page] = MAIN
        return NONE
    freshen(pages, ranks, state.own, used, NO_LIMIT if always else rank)
    if ranks[0] > rank and not always:
        return REFUSED
    victim = pages[0]
    state.area[victim] = 0
    state.area[page] = MAIN
    pages[0], ranks[0] = page, rank
    sink(pages, ranks, None, None, used)
    return int(victim)


@step
def insert(state: State, page: int, i: int) -> int:
    """A write into the write-back area, all else into the main one."""
    metadata = _rank(state, page, i) >> META_BIT != 0
    if metadata or state.for_writes == 0 or not state.flags[i] & WRITE:
        return _enter_main(state, page, metadata)
    head = state.area.size
    victim = NONE
    if state.used[USED_BY_WRITES] == state.for_writes:
        pushed = pop_tail(state.before, state.after, head)
        state.area[pushed] = 0
        victim = _enter_main(state, pushed, False)
        if victim == REFUSED:
            victim = pushed
    else:
        state.used[USED_BY_WRITES] += 1
    link_head(state.before, state.after, head, page)
    state.area[page] = WRITTEN
    return victim
