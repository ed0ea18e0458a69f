"""dm-cache with the policy smq: blocks of a volume are copied to an SSD, in Linux 4.12 and later.

A request is cut at the blocks. A block of the SSD is served there. Every other goes to the disk, and counts for its
*hotspot block*, up to 16 blocks that follow each other. Hotspot blocks are in a queue of 64 levels, of which the upper
8 hold fewer: one that was asked for moves up, once a second, and changes places with the oldest one there. A block
whose hotspot block is at the *promotion level* or above is copied to the SSD (promoted). That level is set once a
second: 48, 32 or 0, by the share of questions that found their hotspot block at level 48 or above. A new hotspot block
begins at level 0, so that a scan is not promoted.

Blocks of the SSD are in two such queues, clean and dirty, where a block moves up a level at most once a minute. When
none is free, a promotion is given up, and the oldest clean block of the lowest level below 32 is let go; when there is
none, a dirty block that was not written for ten seconds is copied back.

Write-through writes both devices. Write-back writes the SSD alone, also what fills a whole new block while one is free;
dirty blocks are copied back, whole, while the disk was asked for nothing for a second.

Source: Linux, drivers/md/dm-cache-policy-smq.c and dm-cache-target.c; Documentation/admin-guide/device-mapper.
Our reading: a copy of a block is done before the next request; what is cleaned in idle time takes `copy_us` a block,
one after the other; the waker, whose timer the kernel rounds up, ticks once a second, so that a period of a second ends
at every tick. Left out: metadata, discards, flushes, pass-through, what waits for the lock of a block that moves.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_tail, unlink
from cachezoo.kernels.step import step
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE, Log, empty, note, room
from cachezoo.kernels.tiers import DISK, SSD

ABSENT = -1
LEVELS = 64
TOP_LEVELS = 8  # of the hotspot queue
SURE = LEVELS * 3 // 4  # a question that finds its hotspot block there speaks for the queue
SECOND_US = 1_000_000
WRITEBACK_PERIOD, CACHE_PERIOD = 10 * SECOND_US, 60 * SECOND_US
FREE_PERCENT = 25
CLEAN, DIRTY = 0, 1
MOST_IOS = 8  # of one request at one block
QUIET_TICKS = 2 * CACHE_PERIOD // SECOND_US  # after so many without a request another minute changes nothing


class Request(NamedTuple):
    """Requests: `start` int64[n + 1], `page` int32[m], `write` bool[n], `time_us` int64[n] rising."""

    start: I64
    page: I32
    write: Bool
    time_us: I64


class Volume(NamedTuple):
    """The volume in blocks: `block`, `within` int32[n_pages]; `address` int64[b] first pages; `hot` int32[b].

    `hot` is the hotspot block of each block, from 0 on; `pages` are those of a block.
    """

    block: I32
    within: I32
    address: I64
    hot: I32
    pages: int


class Setup(NamedTuple):
    """`blocks` of the SSD; `hots` hotspot blocks that are known; `hot_blocks` blocks of one.

    `back`: write-back; `idle`: blocks are cleaned while the disk is idle; `copy_us` that one takes.
    """

    blocks: int
    hots: int
    hot_blocks: int
    back: bool
    idle: bool
    copy_us: int


class Queue(NamedTuple):
    """A queue of levels; entries from `plain` on in `before` and `after` are its marks, and from `head` on its levels.

    `level` int32; `held` and `target` int64[64] entries of each level; `size` int64[2]: entries, and how many of them
    `target` was made for; `top`: levels that hold no more than `in_top` together.
    """

    before: I32
    after: I32
    level: I32
    plain: int
    head: int
    held: I64
    target: I64
    size: I64
    top: int
    in_top: int


@step
def _push(q: Queue, entry: int) -> None:
    """Put an entry at the young end of its level."""
    link_tail(q.before, q.after, q.head + q.level[entry], entry)
    if entry < q.plain:
        q.held[q.level[entry]] += 1
        q.size[0] += 1


@step
def _push_before(q: Queue, mark: int, entry: int) -> None:
    """Put an entry before a mark of its level."""
    link_tail(q.before, q.after, mark, entry)
    q.held[q.level[entry]] += 1
    q.size[0] += 1


@step
def _take(q: Queue, entry: int) -> None:
    unlink(q.before, q.after, entry)
    if entry < q.plain:
        q.held[q.level[entry]] -= 1
        q.size[0] -= 1


@step
def _oldest(q: Queue, level: int, past_marks: bool) -> int:
    """The oldest entry of a level that has one; ABSENT where a mark is before it and may not be passed."""
    entry = q.after[q.head + level]
    while entry >= q.plain:
        if not past_marks:
            return ABSENT
        entry = q.after[entry]
    return int(entry)


@step
def _peek(q: Queue, levels: int, past_marks: bool) -> int:
    """The oldest entry of the lowest of so many levels; or ABSENT."""
    for level in range(levels):
        if q.held[level]:
            entry = _oldest(q, level, past_marks)
            if entry != ABSENT:
                return entry
    return ABSENT


@step
def _spread(q: Queue, entries: int, first: int, end: int) -> None:
    each, more = entries // (end - first), entries % (end - first)
    for level in range(first, end):
        q.target[level] = each + 1 if level < first + more else each


@step
def _redistribute(q: Queue) -> None:
    """Give each level its share: from the levels above where it has too few, to the one above where too many."""
    if q.size[1] != q.size[0]:
        q.size[1] = q.size[0]
        if q.top:
            _spread(q, q.in_top, LEVELS - q.top, LEVELS)
        _spread(q, max(q.size[0] - q.in_top, 0), 0, LEVELS - q.top)
    for level in range(LEVELS - 1):
        above = level + 1
        while q.held[level] < q.target[level]:
            while above < LEVELS and q.held[above] == 0:
                above += 1
            if above == LEVELS:
                break
            entry = _oldest(q, above, True)
            _take(q, entry)
            q.level[entry] = level
            _push(q, entry)
        while q.held[level] > q.target[level]:
            entry = q.before[q.head + level]
            while entry >= q.plain:
                entry = q.before[entry]
            _take(q, entry)
            q.level[entry] = level + 1
            _push(q, entry)


@step
def _rise(q: Queue, entry: int, levels: int, first_mark: int, second_mark: int) -> None:
    """Move an entry up, to the young end; the oldest one there takes its place, as many marks ahead as before.

    The marks are those of the entry's level, the older one first; ABSENT in a queue without.
    """
    old = q.level[entry]
    new = min(old + levels, LEVELS - 1)
    if levels and old < LEVELS - 1 and q.held[new]:
        passed, other = 0, q.after[q.head + new]
        while other >= q.plain:
            passed += 1
            other = q.after[other]
        _take(q, other)
        q.level[other] = old
        if first_mark != ABSENT and passed == 0:
            _push_before(q, first_mark, other)
        elif first_mark != ABSENT and passed == 1:
            _push_before(q, second_mark, other)
        else:
            _push(q, other)
    _take(q, entry)
    q.level[entry] = new
    _push(q, entry)


class Cache(NamedTuple):
    """All of a cache's state over b blocks, h hotspot blocks of the volume, c blocks of the SSD and k hotspot entries.

    `entry` int32[b], `origin` int32[c], `queue` uint8[c] CLEAN or DIRTY, `moved` int64[c] period of the last move;
    `free` int32[c] a stack; `hot_entry` int32[h], `hot_block` int32[k], `hot_moved` int64[k] tick of the last move.
    """

    entry: I32
    origin: I32
    queue: U8
    moved: I64
    free: I32
    clean: Queue
    dirty: Queue
    hot_entry: I32
    hot_block: I32
    hot_moved: I64
    hot: Queue


# Places of a cache's clock and counters: the next tick; ends of periods; numbers of the tick and of the cache's period;
# the marks in use; when the disk was last asked; when the next block may be cleaned, and whether one is; free blocks;
# the hotspot queue's hits and misses, its jump, the promotion level, and how many of its entries are in use.
TICK, WRITEBACK_END, CACHE_END, TICKS, PERIODS, MARKS, ASKED, CLEANED, CLEANING, FREE = range(10)
HITS, MISSES, JUMP, PROMOTE, KNOWN, _PLACES = range(10, 16)


@njit
def _queue(links: tuple[I32, I32, I32], plain: int, head: int, top: int, in_top: int) -> Queue:
    before, after, level = links
    return Queue(
        before, after, level, plain, head, np.zeros(LEVELS, np.int64), np.zeros(LEVELS, np.int64),
        np.zeros(2, np.int64), top, in_top,
    )  # fmt: skip


@njit
def _links(ids: int) -> tuple[I32, I32, I32]:
    before = np.arange(ids, dtype=np.int32)
    return before, before.copy(), np.zeros(ids, np.int32)


@njit
def _make(volume: Volume, setup: Setup) -> Cache:
    """An empty cache; marks of the dirty queue's levels follow the entries, a first set and a second one."""
    blocks, hots = setup.blocks, setup.hots
    marks_end = blocks + 2 * LEVELS
    shared = _links(marks_end + 2 * LEVELS)
    in_top = min(hots // LEVELS, blocks // setup.hot_blocks)
    cache = Cache(
        np.full(volume.address.size, ABSENT, np.int32), np.full(blocks, ABSENT, np.int32), np.zeros(blocks, np.uint8),
        np.full(blocks, ABSENT, np.int64), np.arange(blocks).astype(np.int32),
        _queue(shared, blocks, marks_end, 0, 0), _queue(shared, blocks, marks_end + LEVELS, 0, 0),
        np.full(volume.hot.max() + 1, ABSENT, np.int32), np.full(hots, ABSENT, np.int32),
        np.full(hots, ABSENT, np.int64), _queue(_links(hots + LEVELS), hots, hots, TOP_LEVELS, in_top),
    )  # fmt: skip
    for mark in range(2 * LEVELS):
        cache.dirty.level[blocks + mark] = mark % LEVELS
        _push(cache.dirty, blocks + mark)
    return cache


@njit
def _start(now_us: int, blocks: int) -> I64:
    now = np.zeros(_PLACES, np.int64)
    now[TICK] = now[CACHE_END] = now_us + SECOND_US
    now[WRITEBACK_END] = now_us + WRITEBACK_PERIOD
    now[MARKS], now[ASKED], now[FREE], now[JUMP], now[PROMOTE] = 1, now_us, blocks, 1, LEVELS
    return now


@step
def _tick(cache: Cache, now: I64) -> None:
    """What the policy does once a second."""
    at = now[TICK]
    if at >= now[WRITEBACK_END]:
        now[WRITEBACK_END] = at + WRITEBACK_PERIOD
        now[MARKS] = 1 - now[MARKS]
        first = cache.dirty.plain + LEVELS * now[MARKS]
        for mark in range(first, first + LEVELS):
            _take(cache.dirty, mark)
            _push(cache.dirty, mark)
    now[TICKS] += 1
    asked = now[HITS] + now[MISSES]
    sixteenths = now[HITS] * 16 // asked if asked else 0
    doubt = 4 if sixteenths < 1 else 2 if sixteenths < 2 else 1
    # The source means to lower the number of levels promoted from where the cache does well, but takes the greater
    # of that and 64, so that only the doubt of the hotspot queue counts.
    now[PROMOTE] = LEVELS - LEVELS // doubt
    now[JUMP] = doubt
    _redistribute(cache.hot)
    now[HITS] = now[MISSES] = 0
    if at >= now[CACHE_END]:
        now[PERIODS] += 1
        _redistribute(cache.dirty)
        _redistribute(cache.clean)
        now[CACHE_END] = at + CACHE_PERIOD
    now[TICK] += SECOND_US


@step
def _copied_back(cache: Cache, volume: Volume, past_marks: bool, request: int, log: Log) -> bool:
    """Copy the oldest dirty block back to the disk, and keep it as a clean one; False where there is none."""
    entry = _peek(cache.dirty, LEVELS, past_marks)
    if entry == ABSENT:
        return False
    _take(cache.dirty, entry)
    cache.queue[entry] = CLEAN
    _push(cache.clean, entry)
    note(log, ON_SSD | LATER, request, entry * volume.pages, volume.pages)
    note(log, WRITE | LATER, request, volume.address[cache.origin[entry]], volume.pages)
    return True


@step
def _hotspot(cache: Cache, now: I64, hot: int) -> int:
    """The level of a hotspot block that was asked for; it is known from then on."""
    entry = cache.hot_entry[hot]
    if entry != ABSENT:
        sure = cache.hot.level[entry] >= SURE
        now[HITS] += 1 if sure else 0
        now[MISSES] += 0 if sure else 1
        again = cache.hot_moved[entry] == now[TICKS]
        cache.hot_moved[entry] = now[TICKS]
        _rise(cache.hot, entry, 0 if again else now[JUMP], ABSENT, ABSENT)
        return int(cache.hot.level[entry])
    now[MISSES] += 1
    if now[KNOWN] < cache.hot_block.size:
        entry = now[KNOWN]
        now[KNOWN] += 1
    else:
        entry = _peek(cache.hot, LEVELS, True)
        _take(cache.hot, entry)
        cache.hot_entry[cache.hot_block[entry]] = ABSENT
        cache.hot_moved[entry] = ABSENT
    cache.hot_block[entry] = hot
    cache.hot_entry[hot] = entry
    _push(cache.hot, entry)
    return int(cache.hot.level[entry])


@step
def _hit(cache: Cache, now: I64, entry: int) -> None:
    """A block of the SSD moves up a level, once a period."""
    if cache.moved[entry] == now[PERIODS]:
        return
    cache.moved[entry] = now[PERIODS]
    if cache.queue[entry] == CLEAN:
        _rise(cache.clean, entry, 1, ABSENT, ABSENT)
        return
    level = cache.dirty.level[entry]
    current, other = now[MARKS] * LEVELS, (1 - now[MARKS]) * LEVELS
    _rise(cache.dirty, entry, 1, cache.dirty.plain + other + level, cache.dirty.plain + current + level)


@step
def _entered(cache: Cache, now: I64, block: int, dirty: bool) -> int:
    """Take a block in, into the free entry that was let go last; the entry."""
    now[FREE] -= 1
    entry = cache.free[now[FREE]]
    cache.entry[block] = entry
    cache.origin[entry] = block
    queue = cache.dirty if dirty else cache.clean
    cache.queue[entry] = DIRTY if dirty else CLEAN
    queue.level[entry] = LEVELS - 1
    _push(queue, entry)
    return int(entry)


@step
def _make_room(cache: Cache, volume: Volume, now: I64, request: int, log: Log) -> None:
    """No block is free: let a clean one go, or copy a dirty one back."""
    if cache.origin.size * FREE_PERCENT // 100 == 0:
        return
    entry = _peek(cache.clean, LEVELS // 2, True)
    if entry == ABSENT:
        _copied_back(cache, volume, False, request, log)
        return
    _take(cache.clean, entry)
    cache.entry[cache.origin[entry]] = ABSENT
    cache.origin[entry] = ABSENT
    cache.free[now[FREE]] = entry
    now[FREE] += 1


@step
def _pass_minutes(now: I64, at: int) -> None:
    """Move the clock on by whole minutes, to less than two before a time: the marks then are as they were."""
    minutes = max((at - now[TICK]) // CACHE_PERIOD - 1, 0)
    for end in (TICK, WRITEBACK_END, CACHE_END):
        now[end] += minutes * CACHE_PERIOD
    now[TICKS] += minutes * (CACHE_PERIOD // SECOND_US)
    now[PERIODS] += minutes


@njit
def _until(cache: Cache, volume: Volume, setup: Setup, now: I64, at: int, request: int, log: Log) -> Log:
    """Everything that happens before a request at a time: ticks, and cleaning while the disk is idle."""
    ticks = 0
    while True:
        while now[CLEANING] and now[CLEANED] <= min(now[TICK], at):
            log = room(log, 2)
            if _copied_back(cache, volume, True, request, log):
                now[CLEANED] += setup.copy_us
            else:
                now[CLEANING] = 0
        if now[TICK] > at:
            return log
        tick = now[TICK]
        _tick(cache, now)
        ticks += 1
        if ticks == QUIET_TICKS and (cache.dirty.size[0] == 0 or not setup.idle):
            _pass_minutes(now, at)
        if setup.idle and tick - now[ASKED] >= SECOND_US:
            now[CLEANING] = 1
            now[CLEANED] = max(now[CLEANED], tick)


@step
def _busy(now: I64, at: int) -> None:
    """The disk is asked for something; a new block that is filled whole counts, too."""
    now[ASKED] = at
    now[CLEANING] = 0


@step
def _missed(
    cache: Cache, volume: Volume, setup: Setup, now: I64, request: int, io: tuple[int, int, int, bool], at: int,
    log: Log,
) -> None:  # fmt: skip
    """A request of a block that the SSD lacks: `io` is the block, the first page in it, the pages, and write."""
    block, within, count, write = io
    code = WRITE if write else 0
    level = _hotspot(cache, now, volume.hot[block])
    whole = setup.back and write and count == volume.pages
    promote = level >= now[PROMOTE] or (whole and now[FREE] > 0)
    _busy(now, at)
    if promote and whole and now[FREE]:
        entry = _entered(cache, now, block, True)
        note(log, WRITE | ON_SSD, request, entry * volume.pages, count)
        return
    note(log, code, request, volume.address[block] + within, count)
    if promote and now[FREE]:
        entry = _entered(cache, now, block, False)
        note(log, LATER, request, volume.address[block], volume.pages)
        note(log, WRITE | ON_SSD | LATER, request, entry * volume.pages, volume.pages)
    elif promote:
        _make_room(cache, volume, now, request, log)


@njit
def dm_cache(request: Request, volume: Volume, setup: Setup) -> tuple[U8, Log, I32]:
    """Serve a trace.

    Args:
        request: the trace; pages of a request follow each other on the volume.
        volume: in blocks.
        setup: the cache.

    Returns:
        uint8[m] where each access found its page, the I/Os, and int32[n] pages of dirty blocks after each request: all
        of a block, as dm-cache knows dirt by blocks.
    """
    n = request.write.size
    cache = _make(volume, setup)
    now = _start(request.time_us[0] if n else 0, setup.blocks)
    log = empty(2 * n + MOST_IOS)
    found, dirty = np.empty(request.page.size, np.uint8), np.empty(n, np.int32)
    for r in range(n):
        at, write = request.time_us[r], request.write[r]
        # A call that is no step counts the references to all of the cache's arrays: none where there is nothing to do.
        if now[TICK] <= at or now[CLEANING]:
            log = _until(cache, volume, setup, now, at, r, log)
        k = request.start[r]
        while k < request.start[r + 1]:
            page = request.page[k]
            block, within = volume.block[page], volume.within[page]
            last = min(k + volume.pages - within, request.start[r + 1])
            count = last - k
            if log.used[0] + MOST_IOS > log.code.size:
                log = room(log, MOST_IOS)
            entry = cache.entry[block]
            found[k:last] = DISK if entry == ABSENT else SSD
            if entry == ABSENT:
                _missed(cache, volume, setup, now, r, (block, within, count, write), at, log)
            else:
                _hit(cache, now, entry)
                place = entry * volume.pages + within
                if not write:
                    note(log, ON_SSD, r, place, count)
                elif setup.back:
                    note(log, WRITE | ON_SSD, r, place, count)
                    if cache.queue[entry] == CLEAN:
                        _take(cache.clean, entry)
                        cache.queue[entry] = DIRTY
                        _push(cache.dirty, entry)
                else:
                    note(log, WRITE, r, volume.address[block] + within, count)
                    note(log, WRITE | ON_SSD, r, place, count)
                    _busy(now, at)
            k = last
        dirty[r] = cache.dirty.size[0] * volume.pages
    return found, log, dirty
