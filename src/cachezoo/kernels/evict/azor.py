"""Azor-like: a file system's metadata before data, and among data a page enters only past its victim's count.

Level one: pages of metadata (flagged so at any access seen so far) are always let in, and leave only when there is no
data. Level two: every page has a running count of its accesses, kept whether or not it is resident; data enters a full
cache only if its count, this access included, exceeds that of the page to leave. A page that is kept out is refused.

Source: Klonatos et al., "Azor: using two-level block selection to improve SSD-based I/O caches", NAS 2011, Sec. III.
Choices of ours, the paper's being for a direct-mapped cache or one in LRU order: the page to leave is the one of least
count, among equals the one used longest ago (by LRU one page with a great count at the tail would keep all others
out); counts neither age nor saturate; metadata is told by the requests' flags, not by a file system's hooks. RC-RNN
(Sec. 5.1, "Access") sums it up likewise: an access frequency cache with priority for metadata. No parameters.

libCacheSim has none. Without metadata it is `lfu` but for a tie of counts, in which the resident page stays.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.heap import TIME_BITS, freshen, push, sink
from cachezoo.kernels.outcome import METADATA, NONE, REFUSED
from cachezoo.kernels.step import step

META_BIT = 62
NO_LIMIT = 2**63 - 1


class State(NamedTuple):
    """Heap of the resident pages, and each page's rank.

    `own` int64[n_pages] is metadata << 62 | count << 31 | access number of the last use, 0 of a page never seen. `used`
    int64[1] counts the heap's entries. `flags` uint8[m] are the stream's.
    """

    flags: U8
    resident: U8
    pages: I32
    ranks: I64
    own: I64
    used: I64


def make(flags: U8, n_pages: int, capacity: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages), for the accesses with these flags."""
    size = min(capacity, n_pages)
    pages, ranks = np.empty(size, np.int32), np.empty(size, np.int64)
    return State(flags, np.zeros(n_pages, np.uint8), pages, ranks, np.zeros(n_pages, np.int64), np.zeros(1, np.int64))


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.resident[page] != 0)


@step
def touch(state: State, page: int, i: int) -> None:
    """One more, and metadata from now on if this access says so; the heap learns of it when the page is on top."""
    rank = (((state.own[page] >> TIME_BITS) + 1) << TIME_BITS) | i
    if state.flags[i] & METADATA:
        rank |= 1 << META_BIT
    state.own[page] = rank


@step
def insert(state: State, page: int, i: int) -> int:
    """Insert in place of the least, if metadata or counted more often."""
    touch(state, page, i)
    pages, ranks, own = state.pages, state.ranks, state.own
    rank, used = own[page], state.used[0]
    if used < pages.size:
        state.resident[page] = 1
        push(pages, ranks, None, used, (page, rank, 0))
        state.used[0] = used + 1
        return NONE
    data = rank >> META_BIT == 0
    freshen(pages, ranks, own, used, rank if data else NO_LIMIT)
    if data and ranks[0] >> TIME_BITS >= rank >> TIME_BITS:
        return REFUSED
    victim = pages[0]
    state.resident[victim] = 0
    state.resident[page] = 1
    pages[0], ranks[0] = page, rank
    sink(pages, ranks, None, None, used)
    return int(victim)
