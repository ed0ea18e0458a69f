"""Pages in an order, by their positions: where a page is, which page is at a position, in and out anywhere.

The pages lie in blocks of at most `SIZE`, in order within a block, so that a page in or out moves less than a block's
pages. The blocks lie anywhere; `order` has them in order, and a Fenwick tree over that order sums their pages. A full
block that gains a page between its own gets a neighbour with half of them; one that gains it at its beginning gives it
to the block before, or to a new block there, so that pages which all come in at one place fill their blocks. When the
blocks run out, which takes about as many insertions as there are pages, all are packed anew.

So a step is O(SIZE + log n), in memory O(n_pages).
Source: Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and Experience 24(3), 1994.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import step

SIZE = 256
PACKED = 192  # pages of a block after packing
NOWHERE = -1
USED, LENGTH = 0, 1


class Ranked(NamedTuple):
    """The list."""

    pages: I32  # int32[blocks * SIZE], those of block b from b * SIZE on
    size: I32  # int32[blocks] pages of each block
    block_of: I32  # int32[n_pages], each page's block, `NOWHERE` of one that is not in the list
    order: I32  # int32[blocks], the blocks in use, in order
    place: I32  # int32[blocks], where each is in `order`
    sums: I32  # int32[blocks + 1], Fenwick tree of sizes over `order`, from index 1 on
    counts: I64  # int64[2], blocks in use and pages in the list
    spare: I32  # int32[longest], for packing


@njit
def make(n_pages: int, longest: int) -> Ranked:
    """An empty list of at most `longest` of the pages in [0, n_pages)."""
    blocks = 2 * (longest // PACKED + 1) + 2
    counts = np.zeros(2, np.int64)
    counts[USED] = 1
    return Ranked(
        np.empty(blocks * SIZE, np.int32), np.zeros(blocks, np.int32), np.full(n_pages, NOWHERE, np.int32),
        np.zeros(blocks, np.int32), np.zeros(blocks, np.int32), np.zeros(blocks + 1, np.int32), counts,
        np.empty(longest, np.int32),
    )  # fmt: skip


@step
def _add(sums: I32, place: int, pages: int) -> None:
    k = place + 1
    while k < sums.size:
        sums[k] += pages
        k += k & -k


@step
def _sum(ranked: Ranked) -> None:
    """The tree anew, from the sizes."""
    sums, used = ranked.sums, ranked.counts[USED]
    for k in range(1, sums.size):
        sums[k] = ranked.size[ranked.order[k - 1]] if k <= used else 0
    for k in range(1, sums.size):
        above = k + (k & -k)
        if above < sums.size:
            sums[above] += sums[k]


@step
def _start(sums: I32, place: int) -> int:
    """Pages in the blocks before this place in the order."""
    before = 0
    while place > 0:
        before += sums[place]
        place &= place - 1
    return before


@step
def _index(ranked: Ranked, block: int, page: int) -> int:
    """Where the page is in its block; all of it is looked at, which a processor does eight pages at a time."""
    own = ranked.pages[block * SIZE : block * SIZE + ranked.size[block]]
    found = np.int32(0)
    for k in range(own.size):
        found |= np.int32(k) if own[k] == page else np.int32(0)
    return int(found)


@step
def _find(ranked: Ranked, position: int) -> tuple[int, int]:
    """The place of the last block that begins at or before a position, and how far into it the position is."""
    sums, used = ranked.sums, ranked.counts[USED]
    place, reach = 0, 1
    while reach * 2 <= used:
        reach *= 2
    while reach > 0:
        further = place + reach
        if further < used and sums[further] <= position:
            place = further
            position -= sums[further]
        reach >>= 1
    return place, position


@step
def rank(ranked: Ranked, page: int) -> int:
    """The position of a page, which is in the list."""
    block = ranked.block_of[page]
    return _start(ranked.sums, ranked.place[block]) + _index(ranked, block, page)


@step
def page_at(ranked: Ranked, position: int) -> int:
    """The page at a position below the list's length."""
    place, index = _find(ranked, position)
    return int(ranked.pages[ranked.order[place] * SIZE + index])


@step
def remove(ranked: Ranked, page: int) -> int:
    """Take a page out, which is in the list; returns the position that it had."""
    block = ranked.block_of[page]
    index = _index(ranked, block, page)
    place = ranked.place[block]
    position = _start(ranked.sums, place) + index
    later = ranked.pages[block * SIZE + index : block * SIZE + ranked.size[block]]
    for k in range(later.size - 1):
        later[k] = later[k + 1]
    ranked.size[block] -= 1
    _add(ranked.sums, place, -1)
    ranked.block_of[page] = NOWHERE
    ranked.counts[LENGTH] -= 1
    return position


@step
def _open(ranked: Ranked, place: int) -> int:
    """A new block at this place in the order, empty; returns it. The tree is to be summed anew."""
    order, used = ranked.order, ranked.counts[USED]
    for k in range(used, place, -1):
        order[k] = order[k - 1]
        ranked.place[order[k]] = k
    order[place], ranked.place[used], ranked.size[used] = used, place, 0
    ranked.counts[USED] += 1
    return int(used)


@step
def _pack(ranked: Ranked) -> None:
    """All pages into the first blocks, `PACKED` to each."""
    length = 0
    for place in range(ranked.counts[USED]):
        block = ranked.order[place]
        for k in range(block * SIZE, block * SIZE + ranked.size[block]):
            ranked.spare[length] = ranked.pages[k]
            length += 1
    used = max(1, -(-length // PACKED))
    for block in range(used):
        ranked.order[block], ranked.place[block] = block, block
        first = block * PACKED
        ranked.size[block] = min(length - first, PACKED)
        for k in range(ranked.size[block]):
            page = ranked.spare[first + k]
            ranked.pages[block * SIZE + k] = page
            ranked.block_of[page] = block
    ranked.counts[USED] = used
    _sum(ranked)


@step
def _split(ranked: Ranked, block: int) -> None:
    """The second half of a full block into a new one behind it."""
    new = _open(ranked, ranked.place[block] + 1)
    half = SIZE // 2
    for k in range(half):
        page = ranked.pages[block * SIZE + half + k]
        ranked.pages[new * SIZE + k] = page
        ranked.block_of[page] = new
    ranked.size[block], ranked.size[new] = half, half
    _sum(ranked)


@step
def _room(ranked: Ranked, position: int) -> tuple[int, int]:
    """A block that is not full, and the index in it, for what is to come in at a position."""
    place, index = _find(ranked, position)
    block = ranked.order[place]
    if ranked.size[block] < SIZE:
        return block, index
    if ranked.counts[USED] == ranked.order.size:
        _pack(ranked)
        place, index = _find(ranked, position)
    elif 0 < index < SIZE:
        _split(ranked, block)
        place, index = _find(ranked, position)
    else:
        beside = place if index == 0 else place + 1
        before = ranked.order[max(beside - 1, 0)]
        if index == SIZE or place == 0 or ranked.size[before] == SIZE:
            before = _open(ranked, beside)
            _sum(ranked)
        return before, int(ranked.size[before])
    return ranked.order[place], index


@step
def insert(ranked: Ranked, page: int, position: int) -> None:
    """Put a page, which is not in the list, at a position; those from there on move back by one."""
    block, index = _room(ranked, position)
    later = ranked.pages[block * SIZE + index : block * SIZE + ranked.size[block] + 1]
    for k in range(later.size - 1, 0, -1):
        later[k] = later[k - 1]
    later[0] = page
    ranked.size[block] += 1
    ranked.block_of[page] = block
    _add(ranked.sums, ranked.place[block], 1)
    ranked.counts[LENGTH] += 1
