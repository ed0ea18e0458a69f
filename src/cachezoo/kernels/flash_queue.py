"""The order in which segments leave a flash cache: LRU, FIFO or S3-FIFO, over dense ids of which any may be taken out.

Where a read touches whole blocks, LRU is a list of the blocks that hold anything, and for each a list of its resident
segments, both by last use: the oldest segment of the oldest block leaves. Each step takes a constant time, however
many segments a block has.

S3-FIFO has the rules of `cachezoo.kernels.evict.s3fifo` and its default parameters. Its queues are lists here and not
rings: a write takes the segment that it overwrites out of the middle of its queue, and no ghost of it remains.
"""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64
from cachezoo.kernels import ghosts
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, own_links, pop_tail, unlink
from cachezoo.kernels.step import step

Eviction = Literal["lru", "fifo", "s3fifo"]
EVICTIONS: tuple[Eviction, ...] = ("lru", "fifo", "s3fifo")
LRU, FIFO, S3FIFO = 0, 1, 2
SMALL_SHARE, GHOST_SHARE, PROMOTE = 0.1, 0.9, 2
FREQUENCY, MAIN = 3, 4
IN_SMALL, IN_MAIN, EVICTED = 0, 1, 2


class Blocks(NamedTuple):
    """Blocks in the order of their last use.

    Attributes:
        before, after: int32[n_blocks + 1] links of the blocks that hold anything.
        lists: the sentinel of block 0's segments among the links of segments, those of the others behind it.
    """

    before: I32
    after: I32
    lists: int


@njit
def blocks_of(n_blocks: int, lists: int) -> Blocks:
    """Empty blocks; `lists` as of `Blocks`."""
    before, after = own_links(n_blocks, 1)
    return Blocks(before, after, lists)


@step
def use_block(blocks: Blocks, after: I32, block: int) -> None:
    """Make a block the newest where it holds anything; `after` are the links of segments."""
    if after[blocks.lists + block] != blocks.lists + block:
        unlink(blocks.before, blocks.after, block)
        link_head(blocks.before, blocks.after, len(blocks.after) - 1, block)


@step
def enter_block(blocks: Blocks, before: I32, after: I32, block: int, s: int) -> None:
    """Add a segment as the newest of its block, and the block as the newest where it held nothing."""
    if after[blocks.lists + block] == blocks.lists + block:
        link_head(blocks.before, blocks.after, len(blocks.after) - 1, block)
    link_head(before, after, blocks.lists + block, s)


@step
def leave_block(blocks: Blocks, after: I32, block: int) -> None:
    """Take a block out that has just lost its last segment; others stay."""
    if after[blocks.lists + block] == blocks.lists + block:
        unlink(blocks.before, blocks.after, block)


@step
def pop_block(blocks: Blocks, before: I32, after: I32) -> int:
    """Take the oldest segment out of the oldest block; returns it. Something is resident."""
    block = int(blocks.before[len(blocks.after) - 1])
    s = pop_tail(before, after, blocks.lists + block)
    leave_block(blocks, after, block)
    return s


class Sifted(NamedTuple):
    """What S3-FIFO knows of the segments beside their order.

    Attributes:
        mark: uint8[n_ids] of those resident, the frequency (low two bits), and `MAIN` in the main queue.
        log, slot_of, stretch: ghosts, as in `cachezoo.kernels.ghosts`.
        counts: int64[3] residents of the small and the main queue, and whether any has left for room yet.
        small_share: segments of the small queue.
    """

    mark: npt.NDArray[np.uint8]
    log: I32
    slot_of: I32
    stretch: I64
    counts: I64
    small_share: int


@njit
def sifted(n_ids: int, capacity: int) -> Sifted:
    """Nothing known of so many segments, for a cache of `capacity`."""
    room = min(int(capacity * GHOST_SHARE), n_ids)
    log, slot_of = np.full(max(1, 2 * room), -1, np.int32), np.zeros(n_ids, np.int32)
    mark, stretch, counts = np.zeros(n_ids, np.uint8), np.zeros(3, np.int64), np.zeros(3, np.int64)
    return Sifted(mark, log, slot_of, stretch, counts, max(1, int(capacity * SMALL_SHARE)))


@step
def count(state: Sifted, segment: int) -> None:
    """A read found the segment."""
    mark = state.mark[segment]
    state.mark[segment] = mark + (mark & FREQUENCY != FREQUENCY)


@step
def forget(state: Sifted, segment: int) -> None:
    """The resident segment is taken out of its queue, since it was overwritten."""
    state.counts[IN_MAIN if state.mark[segment] & MAIN else IN_SMALL] -= 1


@step
def sift(state: Sifted, before: I32, after: I32, segment: int, full: bool) -> int:
    """Let in a segment; returns the one that leaves for it, -1 unless the cache is full.

    The queues are lists of the sentinels behind the segments: the small one, then the main one.
    """
    mark, counts, small, victim = state.mark, state.counts, len(before) - 2, -1
    known = ghosts.take(state.log, state.slot_of, state.stretch, segment)
    if full:
        capacity = counts[IN_SMALL] + counts[IN_MAIN]
        counts[EVICTED] = 1
        if counts[IN_MAIN] <= capacity - state.small_share:
            victim = _from_small(before, after, mark, counts)
        if victim >= 0:
            ghosts.put(state.log, state.slot_of, state.stretch, victim)
        else:
            victim = _from_main(before, after, mark, counts)
    main = known or (counts[EVICTED] == 0 and counts[IN_SMALL] >= state.small_share)
    mark[segment] = MAIN if main else 0
    counts[IN_MAIN if main else IN_SMALL] += 1
    link_head(before, after, small + 1 if main else small, segment)
    return victim


@step
def _from_small(before: I32, after: I32, mark: npt.NDArray[np.uint8], counts: I64) -> int:
    """The segment that leaves from the small queue, -1 if all are promoted."""
    small = len(before) - 2
    while counts[IN_SMALL] > 0:
        segment = pop_tail(before, after, small)
        counts[IN_SMALL] -= 1
        if mark[segment] & FREQUENCY < PROMOTE:
            return segment
        mark[segment] = MAIN
        link_head(before, after, small + 1, segment)
        counts[IN_MAIN] += 1
    return -1


@step
def _from_main(before: I32, after: I32, mark: npt.NDArray[np.uint8], counts: I64) -> int:
    """The segment that leaves from the main queue."""
    main = len(before) - 1
    segment = pop_tail(before, after, main)
    while mark[segment] & FREQUENCY:
        mark[segment] -= 1
        link_head(before, after, main, segment)
        segment = pop_tail(before, after, main)
    counts[IN_MAIN] -= 1
    return segment
