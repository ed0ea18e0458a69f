"""ZFS: ARC in RAM and L2ARC on an SSD, in blocks of a volume.

A read takes blocks from ARC, else from the SSD, else from the disk, whole ones; what comes from below enters ARC. A
write of part of a block that is not in ARC reads it first. Writes enter ARC, void the SSD's copy, and go to the disk.

L2ARC is a ring. A feed makes room for all that it may write, ahead of the hand, and then copies blocks that the SSD
lacks, of those near the tails of ARC's lists: of T2 (MFU in ZFS), then of T1 (MRU). It may write `budget`, at most a
quarter of the ring. Until ARC evicts for the first time it may write `boost` more, and looks from the heads. The next
feed is `every_us` later, or only `least_us` if more than half of what it might was written.

With `noprefetch` what a stream reads ahead is not copied. Here a block is taken for prefetched if its request goes on
where one of the last eight streams ended.

Source: OpenZFS 2.3, module/zfs/arc.c, "Level 2 ARC": l2arc_write_size, l2arc_write_interval, l2arc_evict,
l2arc_write_buffers; zfs(4).
Where it differs: the prefetcher itself is not there, so that streams gain nothing by it; a block keeps its place on the
disk when it is written, and the write is waited for; nothing is compressed, so that `headroom` is doubled as for
compressed ARC but pages are not; no metadata and no log blocks; while nothing is asked a feed rests as soon as it finds
nothing to copy or has gone once round the ring, as in `cachezoo.kernels.l2arc`.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.evict import arc
from cachezoo.kernels.jit import njit
from cachezoo.kernels.l2arc import EMPTY, Ring
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE, Log, empty, note, room
from cachezoo.kernels.tiers import DISK, RAM, SSD

STREAMS = 8
QUARTER = 4


class Feed(NamedTuple):
    """Settings, in blocks and µs."""

    budget: int  # l2arc_write_max
    boost: int  # l2arc_write_boost
    headroom: int  # times what may be written that is looked at in each list; 0: all
    every_us: int  # l2arc_feed_secs
    least_us: int  # l2arc_feed_min_ms
    mfu_only: bool
    no_prefetch: bool


class Pool(NamedTuple):
    """ARC, the ring, of each block whether it may be copied, `warm` int64[1] 1 since ARC evicted, where streams end."""

    cache: arc.State
    ring: Ring
    eligible: U8
    warm: I64
    ends: I64


@step
def _evict(ring: Ring, ahead: int) -> None:
    """Make room ahead of the hand."""
    at = ring.hand[0]
    for _ in range(ahead):
        if ring.page[at] != EMPTY:
            ring.slot[ring.page[at]] = EMPTY
            ring.page[at] = EMPTY
        at = at + 1 if at + 1 < ring.page.size else 0


@step
def _fed(pool: Pool, feed: Feed, size: int, log: Log, request: int, pages: int) -> int:
    """One feed; the blocks that it copied. The log has room for as many as it may."""
    cache, ring = pool.cache, pool.ring
    copied = 0
    for which in (arc.T2, arc.T1):
        if which == arc.T1 and feed.mfu_only:
            continue
        sentinel = cache.place.size + which
        block = cache.before[sentinel] if pool.warm[0] else cache.after[sentinel]
        passed = 0
        while block != sentinel and copied < size:
            passed += 1
            if feed.headroom and passed > size * feed.headroom:
                break
            if ring.slot[block] == EMPTY and pool.eligible[block]:
                hand = ring.hand[0]
                ring.page[hand] = block
                ring.slot[block] = hand
                ring.hand[0] = hand + 1 if hand + 1 < ring.page.size else 0
                note(log, ON_SSD | WRITE | LATER, request, hand * pages, pages)
                copied += 1
            block = cache.before[block] if pool.warm[0] else cache.after[block]
    return copied


@step
def _streams(ends: I64, first: int, last: int) -> bool:
    """Does a request go on where a stream ended? The streams are those that were asked last."""
    at, known = ends.size - 1, False
    for k in range(ends.size):
        if ends[k] == first:
            at, known = k, True
            break
    for k in range(at, 0, -1):
        ends[k] = ends[k - 1]
    ends[0] = last
    return known


@step
def _enter(pool: Pool, block: int, request: int, eligible: bool) -> None:
    """Into ARC."""
    if pool.cache.place[block] > arc.T2:
        pool.eligible[block] = eligible
        if arc.insert(pool.cache, block, request) != NONE:
            pool.warm[0] = 1
    else:
        arc.touch(pool.cache, block, request)


@njit
def zfs(start: I64, page: I32, write: Bool, time_us: I64, block: I32, address: I64, pages: int, cache: arc.State,
        ring_blocks: int, feed: Feed) -> tuple[U8, Log, I32]:  # fmt: skip
    """Serve a trace.

    Args:
        start: int64[n + 1] of each request.
        page: int32[m] rising in a request, which follow each other on the volume.
        write: bool[n].
        time_us: int64[n] never decreasing.
        block: int32[n_pages] of each page.
        address: int64[n_blocks] first page on the volume.
        pages: of a block.
        cache: ARC of blocks, empty.
        ring_blocks: of the SSD; 0 without one.
        feed: how it is fed.

    Returns:
        uint8[m] where each access found its page; the I/Os; int32[n] dirty pages after each request, none.
    """
    n, blocks = write.size, address.size
    ring = Ring(np.full(ring_blocks, EMPTY, np.int32), np.full(blocks, EMPTY, np.int32), np.zeros(1, np.int64))
    pool = Pool(cache, ring, np.zeros(blocks, np.uint8), np.zeros(1, np.int64), np.full(STREAMS, EMPTY, np.int64))
    found = np.full(page.size, DISK, np.uint8)
    log = empty(2 * n + 1)
    due = time_us[0] + feed.every_us
    for i in range(n):
        left = ring_blocks
        while ring_blocks and due <= time_us[i]:
            size = max(1, min(feed.budget + (0 if pool.warm[0] else feed.boost), ring_blocks // QUARTER))
            log = room(log, size)
            _evict(ring, size)
            copied = _fed(pool, feed, size, log, i, pages)
            due += feed.least_us if 2 * copied > size else feed.every_us
            left -= copied
            if copied == 0 or left <= 0:
                due += max(0, (time_us[i] - due) // feed.every_us + 1) * feed.every_us
        first, last = start[i], start[i + 1]
        log = room(log, 4 * (last - first))
        place = address[block[page[first]]]
        goes_on = _streams(pool.ends, place, address[block[page[last - 1]]] + pages)
        eligible = write[i] or not (feed.no_prefetch and goes_on)
        j = first
        while j < last:
            own, begin = block[page[j]], j
            while j < last and block[page[j]] == own:
                j += 1
            tier = RAM if arc.has(cache, own) else SSD if ring.slot[own] != EMPTY else DISK
            found[begin:j] = tier
            if tier == SSD and (not write[i] or j - begin < pages):
                note(log, ON_SSD, i, ring.slot[own] * pages, pages)
            if write[i] and ring.slot[own] != EMPTY:
                ring.page[ring.slot[own]] = EMPTY
                ring.slot[own] = EMPTY
        j = first
        while j < last:
            own, begin = block[page[j]], j
            while j < last and block[page[j]] == own:
                j += 1
            if found[begin] == DISK and (not write[i] or j - begin < pages):
                note(log, 0, i, address[own], pages)
            _enter(pool, own, i, eligible)
        if write[i]:
            note(log, WRITE, i, place, address[block[page[last - 1]]] + pages - place)
    return found, log, np.zeros(n, np.int32)
