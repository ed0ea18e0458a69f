"""Open CAS: cache lines of 4 to 64 KiB before a disk, as the Open CAS Framework (OCF) serves them.

A line has a valid and a dirty bit for each of its pages. Lines are in one of three lists: free, clean, dirty. The
nearer half of the clean and of the dirty list is *hot*: a line that is found moves to the head only if it is not. Only
clean lines are evicted. A request that finds too few of them passes the cache, loses those that it had taken, and has
dirty lines from the tail of their list cleaned, at most 32.

A read that finds all its pages is served by the SSD. Another reads all of its pages from the disk, after its dirty
lines have been cleaned, and fills its lines where the promotion policy lets it. A write goes to SSD and disk
(write-through), to the SSD (write-back, write-only), or past the cache, whose copies become invalid (write-around where
it does not find all, pass-through). Write-only fills nothing on reads.

The promotion policy `nhit` counts requests of lines that are not in the cache, in a ring of twice as many lines as the
cache has; once the cache is filled to the trigger, a request enters if it finds some of its lines there, or if all were
asked for often enough. The sequential cutoff follows streams by the address that each would go on at. A stream's
request that brings it to the threshold passes the cache.

ALRU cleans while no request came for a while what was not written for a while; ACP cleans now and then, in rising order
of addresses, the piece of 100 MiB that has the largest tenth of dirty lines; NOP does not.

Source: Open-CAS/ocf, src/engine, src/ocf_lru.c, src/ocf_space.c, src/ocf_seq_cutoff.c, src/ocf_seq_detect.c,
src/promotion/nhit, src/cleaning.
Where it differs: one list each where OCF has 32, by the number of the line; one I/O queue, one core and one I/O class;
the search for the line after the evicted one is left out; cleaning takes no time; of pieces with equally many tenths
the lowest is cleaned first; metadata is not written; pages are 4 KiB where OCF's bits are of 512 bytes.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, own_links, unlink
from cachezoo.kernels.step import step
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE, Log, empty, note, room
from cachezoo.kernels.tiers import DISK, SSD

WRITE_THROUGH, WRITE_BACK, WRITE_AROUND, WRITE_ONLY, PASS_THROUGH = 0, 1, 2, 3, 4
NEVER, FULL, ALWAYS = 0, 1, 2  # when the sequential cutoff is on
NOP, ALRU, ACP = 0, 1, 2
FREE, CLEAN, DIRTY = 0, 1, 2
ABSENT = -1
HOT_RATIO = 2
CLEANED_AT_ONCE = 32
FULL_MARGIN = 512  # free lines; with fewer the cache is full, for the cutoff
QUEUE_STREAMS, STREAMS = 64, 192  # of the I/O queue, and those with the core's
COUNTED = 2  # lines that nhit counts, for each of the cache
PIECE_PAGES = 100 * 256
TENTHS = 10


class Request(NamedTuple):
    """Requests: `start` int64[n + 1], `page` int32[m], `write` bool[n]; `time_us`, `offset` and `size` int64[n]."""

    start: I64
    page: I32
    write: Bool
    time_us: I64
    offset: I64
    size: I64


class Lines(NamedTuple):
    """The volume in lines of `pages`: `block` and `within` int32[n_pages], `address` int64[n_blocks], as of `Blocks`.

    `piece` int32[n_blocks] is what ACP cleans in one go, `first` int64[pieces + 1] the first block of each.
    """

    block: I32
    within: I32
    address: I64
    pages: int
    piece: I32
    first: I64


class Knobs(NamedTuple):
    """Settings; bytes, percent and µs."""

    mode: int
    cutoff: int  # `NEVER`, `FULL` or `ALWAYS`
    cutoff_bytes: int
    promote_count: int  # requests of a stream that moves to the core's streams
    promote_bytes: int  # or bytes; 0 never
    nhit: int  # requests until a line enters; 0: at once
    trigger: int
    cleaning: int  # `NOP`, `ALRU` or `ACP`
    wake_us: int
    idle_us: int
    stale_us: int
    buffers: int  # lines that ACP cleans at once


class Cache(NamedTuple):
    """All arrays of a cache of c lines over b blocks."""

    before: I32  # [c + 3] the lists
    after: I32
    where: U8  # [c] of each line its list
    hot: U8  # [c]
    length: I64  # [3] lines of each list
    hots: I64  # [3] hot ones
    last_hot: I32  # [3] the last hot one; ABSENT
    block: I32  # [c] of each line its block; ABSENT
    line: I32  # [b] of each block its line; ABSENT
    valid: I32  # [c] bits of pages
    dirty: I32
    older: I32  # [c + 1] dirty lines by their last write
    newer: I32
    written_us: I64  # [c]
    dirty_pages: I64  # [1]
    piece_dirty: I64  # [pieces] dirty lines
    ring: I32  # [2 c] blocks that nhit counts
    counter: I32  # [b] ABSENT where it does not
    hand: I64  # [1]
    acp: I64  # [2] page of the volume at which ACP goes on, and the end of its piece; equal where it has none


class Streams(NamedTuple):
    """What the sequential cutoff follows: int64[192] and uint8[192] of each stream, the queue's first.

    `last` is the address that it would go on at, `size` its bytes; `clock` int64[2] the latest and the earliest stamp.
    """

    last: I64
    size: I64
    requests: I64
    stamp: I64
    write: U8
    valid: U8
    clock: I64


@njit
def _make(lines: int, blocks: int, pieces: int) -> Cache:
    before, after = own_links(lines, 3)
    older, newer = own_links(lines, 1)
    where = np.zeros(lines, np.uint8)
    for k in range(lines):
        link_head(before, after, lines + FREE, k)
    count = np.zeros(3, np.int64)
    count[FREE] = lines
    return Cache(
        before, after, where, np.zeros(lines, np.uint8), count, np.zeros(3, np.int64), np.full(3, ABSENT, np.int32),
        np.full(lines, ABSENT, np.int32), np.full(blocks, ABSENT, np.int32), np.zeros(lines, np.int32),
        np.zeros(lines, np.int32), older, newer, np.zeros(lines, np.int64), np.zeros(1, np.int64),
        np.zeros(pieces, np.int64), np.full(COUNTED * lines, ABSENT, np.int32), np.full(blocks, ABSENT, np.int32),
        np.zeros(1, np.int64), np.zeros(2, np.int64),
    )  # fmt: skip


@njit
def _streams() -> Streams:
    stamp = np.arange(STREAMS, dtype=np.int64)
    clock = np.array([STREAMS, 0], np.int64)
    return Streams(
        np.zeros(STREAMS, np.int64), np.zeros(STREAMS, np.int64), np.zeros(STREAMS, np.int64), stamp,
        np.zeros(STREAMS, np.uint8), np.zeros(STREAMS, np.uint8), clock,
    )  # fmt: skip


@step
def _balance(c: Cache, which: int) -> None:
    """As many hot lines as there should be, by one more or less."""
    target = c.length[which] // HOT_RATIO
    change = target - c.hots[which]
    c.hots[which] = target
    sentinel = c.where.size + which
    last = c.last_hot[which]
    if change > 0:
        last = c.after[sentinel if last == ABSENT else last]
        c.last_hot[which] = last
        c.hot[last] = 1
    elif change < 0:
        c.hot[last] = 0
        back = c.before[last]
        c.last_hot[which] = ABSENT if back == sentinel else back


@step
def _leave(c: Cache, line: int) -> None:
    """Out of its list."""
    which = c.where[line]
    if c.last_hot[which] == line:
        back = c.before[line]
        c.last_hot[which] = ABSENT if back == c.where.size + which else back
    unlink(c.before, c.after, line)
    c.length[which] -= 1
    c.hots[which] -= c.hot[line]
    c.hot[line] = 0


@step
def _enter(c: Cache, line: int, which: int) -> None:
    """In at the head of a list."""
    sentinel = c.where.size + which
    if which != FREE and c.length[which] > 0:
        c.hot[line] = 1
        c.hots[which] += 1
        if not c.hot[c.after[sentinel]]:
            c.last_hot[which] = line
    link_head(c.before, c.after, sentinel, line)
    c.where[line] = which
    c.length[which] += 1
    if which != FREE:
        _balance(c, which)


@step
def _move(c: Cache, line: int, which: int) -> None:
    """From its list to the head of another."""
    old = c.where[line]
    _leave(c, line)
    if old != FREE:
        _balance(c, old)
    _enter(c, line, which)


@step
def _heat(c: Cache, line: int) -> None:
    """A line was found: to the head, unless it is hot."""
    if not c.hot[line]:
        which = c.where[line]
        _leave(c, line)
        _enter(c, line, which)


@step
def _bits(mask: int) -> int:
    """How many are set."""
    found = 0
    while mask:
        mask &= mask - 1
        found += 1
    return found


@step
def _undirty(c: Cache, lines: Lines, line: int, mask: int) -> None:
    """Pages of a line are dirty no more."""
    had = c.dirty[line]
    c.dirty[line] = had & ~mask
    c.dirty_pages[0] -= _bits(had & mask)
    if had and not c.dirty[line]:
        unlink(c.older, c.newer, line)
        c.piece_dirty[lines.piece[c.block[line]]] -= 1
        _move(c, line, CLEAN)


@step
def _drop(c: Cache, lines: Lines, line: int, mask: int) -> None:
    """Pages of a line are valid no more; without any it is free."""
    _undirty(c, lines, line, mask)
    c.valid[line] &= ~mask
    if not c.valid[line]:
        c.line[c.block[line]] = ABSENT
        c.block[line] = ABSENT
        _move(c, line, FREE)


@step
def _soil(c: Cache, lines: Lines, line: int, mask: int, now: int) -> None:
    """Pages of a line were written to the SSD alone."""
    if c.dirty[line]:
        unlink(c.older, c.newer, line)
    else:
        c.piece_dirty[lines.piece[c.block[line]]] += 1
        _move(c, line, DIRTY)
    c.dirty_pages[0] += _bits(mask & ~c.dirty[line])
    c.dirty[line] |= mask
    c.valid[line] |= mask
    c.written_us[line] = now
    link_head(c.older, c.newer, c.where.size, line)


@njit
def _clean(c: Cache, lines: Lines, log: Log, line: int, request: int, later: int) -> Log:
    """Write a line's dirty pages to the disk."""
    log = room(log, 2 * lines.pages)
    _note_runs(log, ON_SSD | later, request, line * lines.pages, c.dirty[line])
    _note_runs(log, WRITE | later, request, lines.address[c.block[line]], c.dirty[line])
    _undirty(c, lines, line, c.dirty[line])
    return log


@step
def _note_runs(log: Log, code: int, request: int, place: int, mask: int) -> None:
    """An I/O for each run of a line's pages."""
    at = 0
    while mask >> at:
        if mask >> at & 1:
            run = 1
            while mask >> (at + run) & 1:
                run += 1
            note(log, code, request, place + at, run)
            at += run
        else:
            at += 1


@step
def _find(s: Streams, first: int, last: int, at: int, write: bool) -> int:
    """The stream that goes on here, of several the one with most bytes; ABSENT."""
    found = ABSENT
    for k in range(first, last):
        if s.valid[k] and s.last[k] == at and s.write[k] == write and (found == ABSENT or s.size[k] > s.size[found]):
            found = k
    return found


@step
def _renew(s: Streams, k: int) -> None:
    s.stamp[k] = s.clock[0]
    s.clock[0] += 1


@step
def _oldest(s: Streams, first: int, last: int) -> int:
    found = first
    for k in range(first + 1, last):
        if s.stamp[k] < s.stamp[found]:
            found = k
    return found


@step
def _is_cut(s: Streams, free: int, asked: int, knobs: Knobs, at: int, size: int, write: bool) -> bool:
    """Does the request bring its stream to the threshold?"""
    if knobs.cutoff == NEVER or (knobs.cutoff == FULL and free > FULL_MARGIN + asked):
        return False
    k = _find(s, 0, QUEUE_STREAMS, at, write)
    if k == ABSENT:
        k = _find(s, QUEUE_STREAMS, STREAMS, at, write)
    return k != ABSENT and s.size[k] + size >= knobs.cutoff_bytes


@step
def _follow(s: Streams, knobs: Knobs, at: int, size: int, write: bool) -> None:
    """Let a stream go on, or begin one."""
    if knobs.cutoff == NEVER:
        return
    k = _find(s, QUEUE_STREAMS, STREAMS, at, write)
    core = k != ABSENT
    if not core:
        k = _find(s, 0, QUEUE_STREAMS, at, write)
    if k == ABSENT:
        k = _oldest(s, 0, QUEUE_STREAMS)
        s.size[k] = 0
        s.requests[k] = 0
    s.last[k] = at + size
    s.size[k] += size
    s.requests[k] += 1
    s.write[k] = write
    s.valid[k] = 1
    _renew(s, k)
    large = knobs.promote_bytes > 0 and s.size[k] >= knobs.promote_bytes
    if core or not (large or s.requests[k] >= knobs.promote_count):
        return
    to = _oldest(s, QUEUE_STREAMS, STREAMS)
    s.last[to], s.size[to], s.requests[to], s.write[to], s.valid[to] = (
        s.last[k],
        s.size[k],
        s.requests[k],
        s.write[k],
        1,
    )
    _renew(s, to)
    s.valid[k] = 0
    s.clock[1] -= 1
    s.stamp[k] = s.clock[1]


@step
def _promotes(c: Cache, knobs: Knobs, block: I32, asked: int, mapped: int) -> bool:
    """May the lines of a request enter, that finds `mapped` of them?"""
    if knobs.nhit == 0:
        return True
    capacity = c.where.size
    if capacity - c.length[FREE] < (knobs.trigger * capacity + 99) // 100:
        return True
    enough = True
    for k in range(asked):
        own = block[k]
        if c.counter[own] == ABSENT:
            hand = c.hand[0]
            if c.ring[hand] != ABSENT:
                c.counter[c.ring[hand]] = ABSENT
            c.ring[hand] = own
            c.counter[own] = 1
            c.hand[0] = hand + 1 if hand + 1 < c.ring.size else 0
            enough = False
        else:
            c.counter[own] += 1
            enough = enough and c.counter[own] >= knobs.nhit
    return enough or mapped > 0


@njit
def _map(c: Cache, lines: Lines, log: Log, block: I32, asked: int, mapped: int, request: int) -> tuple[bool, Log]:
    """Give each line of a request that has none a free one, or a clean one from the tail; False: there are too few."""
    capacity = c.where.size
    taken, need = 0, asked - mapped
    line = c.before[capacity + CLEAN]
    for k in range(asked):
        if c.line[block[k]] != ABSENT:
            continue
        if c.length[FREE] > 0:
            own = c.before[capacity + FREE]
            _move(c, own, CLEAN)
        else:
            while line < capacity and block[0] <= c.block[line] <= block[asked - 1]:
                line = c.before[line]
            if line >= capacity:
                break
            own, line = line, c.before[line]
            c.line[c.block[own]] = ABSENT
            _leave(c, own)
            _enter(c, own, CLEAN)
        c.block[own] = block[k]
        c.line[block[k]] = own
        c.valid[own] = 0
        taken += 1
    if taken == need:
        for k in range(asked):
            if c.counter[block[k]] != ABSENT:
                c.counter[block[k]] = 0
        return True, log
    for k in range(asked):
        own = c.line[block[k]]
        if own != ABSENT and c.valid[own] == 0:
            _drop(c, lines, own, 0)
    for _ in range(CLEANED_AT_ONCE):
        dirty = c.before[capacity + DIRTY]
        if dirty >= capacity:
            break
        log = _clean(c, lines, log, dirty, request, LATER)
    return False, log


@njit
def _idle(c: Cache, lines: Lines, log: Log, knobs: Knobs, since: int, now: int, request: int) -> Log:
    """What is cleaned between two requests."""
    capacity = c.where.size
    wakes = now // knobs.wake_us - since // knobs.wake_us
    if knobs.cleaning == ALRU and wakes > 0:
        wake = now // knobs.wake_us * knobs.wake_us
        if wake - since < knobs.idle_us:
            return log
        while True:
            line = c.older[capacity]
            if line == capacity or c.written_us[line] >= wake - knobs.stale_us:
                return log
            log = _clean(c, lines, log, line, request, LATER)
    if knobs.cleaning == ACP:
        for _ in range(wakes):
            if c.dirty_pages[0] == 0:
                break
            log = _sweep(c, lines, log, knobs.buffers, request)
    return log


@njit
def _sweep(c: Cache, lines: Lines, log: Log, buffers: int, request: int) -> Log:
    """ACP cleans some lines of its piece, of a new one where it came to the end of the last."""
    if c.acp[0] == c.acp[1]:
        best, most = 0, 0
        full = PIECE_PAGES // lines.pages
        for piece in range(c.piece_dirty.size):
            # Tenths that it has begun: ten thresholds, from 0 on, that it is above.
            tenths = -(-c.piece_dirty[piece] * TENTHS // full)
            if tenths > most:
                best, most = piece, tenths
        c.acp[0] = lines.address[lines.first[best]] // PIECE_PAGES * PIECE_PAGES
        c.acp[1] = c.acp[0] + PIECE_PAGES
    cleaned = 0
    for k in range(np.searchsorted(lines.address, c.acp[0]), np.searchsorted(lines.address, c.acp[1])):
        line = c.line[k]
        if line != ABSENT and c.dirty[line]:
            log = _clean(c, lines, log, line, request, LATER)
            cleaned += 1
            if cleaned == buffers:
                c.acp[0] = lines.address[k] + lines.pages
                return log
    c.acp[0] = c.acp[1]
    return log


@njit
def _clean_asked(c: Cache, lines: Lines, log: Log, block: I32, asked: int, request: int) -> Log:
    """Clean a request's dirty lines, for which it waits."""
    for k in range(asked):
        line = c.line[block[k]]
        if line != ABSENT and c.dirty[line]:
            log = _clean(c, lines, log, line, request, 0)
    return log


@step
def _on_ssd(c: Cache, lines: Lines, log: Log, block: I32, mask: I32, asked: int, request: int, code: int) -> None:
    """The I/Os of a request's lines on the SSD."""
    for k in range(asked):
        _note_runs(log, code, request, c.line[block[k]] * lines.pages, mask[k])


@njit
def _write(c: Cache, lines: Lines, log: Log, block: I32, mask: I32, asked: int, request: int, mode: int, now: int,
           place: int, pages: int) -> Log:  # fmt: skip
    """A write, as its mode has it: through, back, or past the cache."""
    if mode == PASS_THROUGH:
        log = _clean_asked(c, lines, log, block, asked, request)
        log = room(log, 1)
        note(log, WRITE, request, place, pages)
        for k in range(asked):
            if c.line[block[k]] != ABSENT:
                _drop(c, lines, c.line[block[k]], mask[k])
        return log
    log = room(log, pages + 1)
    _on_ssd(c, lines, log, block, mask, asked, request, ON_SSD | WRITE)
    if mode == WRITE_THROUGH:
        note(log, WRITE, request, place, pages)
    for k in range(asked):
        line = c.line[block[k]]
        if mode == WRITE_THROUGH:
            c.valid[line] |= mask[k]
            _undirty(c, lines, line, mask[k])
        else:
            _soil(c, lines, line, mask[k], now)
    return log


@njit
def _read_disk(c: Cache, lines: Lines, log: Log, block: I32, mask: I32, asked: int, request: int, place: int,
               pages: int, fill: bool) -> Log:  # fmt: skip
    """Read all of a request from the disk, and fill the lines that lacked some of it."""
    log = _clean_asked(c, lines, log, block, asked, request)
    log = room(log, pages + 1)
    note(log, 0, request, place, pages)
    for k in range(asked):
        line = c.line[block[k]]
        if fill and mask[k] & ~c.valid[line]:
            _note_runs(log, ON_SSD | WRITE | LATER, request, line * lines.pages, mask[k])
            c.valid[line] |= mask[k]
    return log


@njit
def _read_mixed(c: Cache, lines: Lines, log: Log, block: I32, mask: I32, asked: int, request: int, place: int,
                pages: int) -> Log:  # fmt: skip
    """Write-only: read all from the disk, and what lines hold on the SSD where any is dirty."""
    log = room(log, pages + 1)
    note(log, 0, request, place, pages)
    soiled = False
    for k in range(asked):
        line = c.line[block[k]]
        soiled = soiled or (line != ABSENT and c.dirty[line] != 0)
    for k in range(asked):
        line = c.line[block[k]]
        if soiled and line != ABSENT:
            _note_runs(log, ON_SSD, request, line * lines.pages, mask[k] & c.valid[line])
    return log


@njit
def open_cas(requests: Request, lines: Lines, capacity: int, knobs: Knobs) -> tuple[U8, Log, I32]:
    """Serve a trace from an empty cache.

    Args:
        requests: of rising pages each, which follow each other on the volume.
        lines: of the volume.
        capacity: lines of the cache.
        knobs: the settings.

    Returns:
        uint8[m] where each access found its page; the I/Os; int32[n] dirty pages after each request.
    """
    n = requests.write.size
    c = _make(capacity, lines.address.size, lines.first.size - 1)
    s = _streams()
    found = np.full(requests.page.size, DISK, np.uint8)
    left = np.empty(n, np.int32)
    log = empty(2 * n + 1)
    longest = int(np.diff(requests.start).max())
    block, mask = np.empty(longest, np.int32), np.empty(longest, np.int32)
    since = requests.time_us[0]
    for i in range(n):
        now, write = requests.time_us[i], requests.write[i]
        log = _idle(c, lines, log, knobs, since, now, i)
        since = now
        first, last = requests.start[i], requests.start[i + 1]
        asked = 0
        for j in range(first, last):
            own, bit = lines.block[requests.page[j]], 1 << lines.within[requests.page[j]]
            if asked and block[asked - 1] == own:
                mask[asked - 1] |= bit
            else:
                block[asked], mask[asked] = own, bit
                asked += 1
        mapped, hits, soiled = 0, 0, 0
        for k in range(asked):
            line = c.line[block[k]]
            if line != ABSENT:
                mapped += 1
                hits += c.valid[line] & mask[k] == mask[k]
                soiled += c.dirty[line] & mask[k] == mask[k]
        cut = _is_cut(s, c.length[FREE], asked, knobs, requests.offset[i], requests.size[i], write)
        _follow(s, knobs, requests.offset[i], requests.size[i], write)
        mode = PASS_THROUGH if cut or asked > capacity else knobs.mode
        if write and mode == WRITE_AROUND:
            mode = WRITE_THROUGH if hits == asked else PASS_THROUGH
        if not write and cut and soiled == asked:
            mode = WRITE_BACK
        found_all = hits == asked
        for j in range(first, last):
            line = c.line[lines.block[requests.page[j]]]
            valid = line != ABSENT and c.valid[line] >> lines.within[requests.page[j]] & 1
            if valid and (write or (found_all and mode != PASS_THROUGH)):
                found[j] = SSD
        ready = mapped == asked
        enters = mode != PASS_THROUGH and (write or mode != WRITE_ONLY)
        had = mapped
        if enters and not ready:
            if _promotes(c, knobs, block, asked, mapped):
                ready, log = _map(c, lines, log, block, asked, mapped, i)
            if not ready:
                mode = PASS_THROUGH
        if had:
            for k in range(asked):
                line = c.line[block[k]]
                if line != ABSENT and c.valid[line]:
                    _heat(c, line)
        place = lines.address[block[0]] + lines.within[requests.page[first]]
        pages = last - first
        if write:
            log = _write(c, lines, log, block, mask, asked, i, mode, now, place, pages)
        elif found_all and mode != PASS_THROUGH:
            log = room(log, pages)
            _on_ssd(c, lines, log, block, mask, asked, i, ON_SSD)
        elif mode == WRITE_ONLY:
            log = _read_mixed(c, lines, log, block, mask, asked, i, place, pages)
        else:
            log = _read_disk(c, lines, log, block, mask, asked, i, place, pages, mode != PASS_THROUGH)
        left[i] = c.dirty_pages[0]
    return found, log, left
