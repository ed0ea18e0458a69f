"""bcache: an SSD filled like a log, in buckets that are given up whole, as in Linux 5.12 and later.

Pages that are written to the SSD go to an *open bucket*, one after the other: of 128, the one that they go on in by
address, else the task's, else the one used longest ago. Those that they replace leave holes.
When few buckets are left, more are *invalidated*: they lose all of their pages, which none that holds dirty ones does.
LRU takes those of least priority times pages in use; a read of a page gives its bucket the highest priority, and all
lose one each time that a 1024th of the cache was read or written. FIFO goes round, random draws.

What a bucket holds is counted by a *collection*, whenever a 16th of the cache was written, and when none can be
invalidated. Between two, buckets given out count as in use. With over 95 % of all buckets in use nothing enters, with
over 70 % no write is written back, with over 40 % only a synchronous one.

Requests that go on where one of the last 128 ended, in five seconds, are a stream. The requests of a stream of `cutoff`
bytes or more bypass the cache, and all of a task whose streams are as long on average. A read fills the first gap that
it finds, up to 1 MiB. A write that bypasses drops its pages.

Dirty pages are written back in rising order of addresses, at a rate that a controller sets every five seconds by
how far they are above `percent` of the cache, at least 4 KiB a second, and as fast as the disk can after half a minute
without a request. After the last one the writer rests.

Source: Linux, drivers/md/bcache/request.c, alloc.c, btree.c, writeback.c, writeback.h; Documentation/admin-guide.
Our reading: in a trace without processes all requests are one task's, and there is no average; a piece written back
takes `copy_us[0]` and `copy_us[1]` a page; invalidating, collecting and filling take no time; the writer begins each
sweep at the lowest address. Left out: congestion, which needs the devices' response times; metadata (b-tree, journal,
priorities) and its buckets; flushes; moving garbage collection, which is off by default; pages are 4 KiB, where bcache
keeps sectors.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import step
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE, Log, empty, note, room
from cachezoo.kernels.tiers import DISK, SSD

THROUGH, BACK, AROUND = 0, 1, 2
LRU, FIFO, RANDOM = 0, 1, 2
ABSENT = -1
SECOND_US = 1_000_000
SECTORS = 8  # of a page
SECTOR_BYTES = 512
GAP_PAGES = 256
FIRST_PRIO = 32768
NO_PRIO = 65535
STREAMS, STREAM_US = 128, 5 * SECOND_US
OPEN = 128
NOBODY = -2
MOST_TO_ADD, MOST_TO_WRITE_BACK, MOST_ASYNC = 95, 70, 40  # percent of buckets in use
EMPTY, RECLAIMABLE, DIRTY = 0, 1, 2  # what a bucket holds, as of the last collection and what was written since
UPDATE_US = 5 * SECOND_US
RATE, LEAST_RATE, MOST_RATE = 1024, 8, 2**31 - 1  # sectors a second
PROPORTIONAL, INTEGRAL = 40, 10_000  # what the controller divides by
IDLE_UPDATES = 6
PIECE_PAGES = 5000 // SECTORS
AHEAD_US, BEHIND_US = 5 * SECOND_US // 2, 2 * SECOND_US
LATE_US = 1000
FRAGMENTED = ((50, 57, 1), (57, 64, 10), (64, 101, 1000))  # percent in use above and up to, and the controller's factor
GROUP = 64  # pages whose dirty ones are counted together


class Request(NamedTuple):
    """Requests: `first` int32[n], the first page, of `pages` int32[n]; `write` bool[n]; `time_us` int64[n] rising.

    `begin` and `end` int64[n] bytes on the volume; bool[n] `sync`: synchronous, and `around`: bypasses the cache in any
    case, as read-ahead does by `readahead_cache_policy`; `task` int32[n], -1 where it is not known. Pages are numbered
    in the order of their addresses.
    """

    first: I32
    pages: I32
    write: Bool
    time_us: I64
    begin: I64
    end: I64
    sync: Bool
    around: Bool
    task: I32


class Setup(NamedTuple):
    """`buckets` of `pages`; the mode; the replacement; bytes of the sequential cutoff, 0 none; percent of dirty pages.

    `rest_us`: the writer's; `copy_us` of a piece written back, and of each of its pages; `seed` of the draws.
    """

    buckets: int
    pages: int
    mode: int
    replacement: int
    cutoff: int
    percent: int
    rest_us: int
    copy_us: tuple[int, int]
    seed: int


class Cache(NamedTuple):
    """State over n pages of the volume and b buckets of p pages.

    `slot` int32[n], `page` int32[b p]; `dirty` uint8[n], `group` int32 dirty pages of 64 pages each; of buckets: `live`
    int32[b] pages, `dirt` dirty ones, `used` pages as of the last collection, `mark`, `prio`, `pinned` uint8: ready to
    be filled, or being filled. `ready` int32[b] is a ring. `last`, `size`, `until`, `stamp` int64[128]: streams.
    `open`, `filled`, `goes_on`, `whose`, `used_at` int64[128]: buckets that are open, of each its pages written, the
    page after the last one's on the volume, the task, and the last use. `run`, `average` int64[tasks]: bytes of a
    task's last stream, and of its streams.
    """

    slot: I32
    page: I32
    dirty: U8
    group: I32
    live: I32
    dirt: I32
    used: I32
    mark: U8
    prio: I32
    pinned: U8
    ready: I32
    last: I64
    size: I64
    until: I64
    stamp: I64
    open: I64
    filled: I64
    goes_on: I64
    whose: I64
    used_at: I64
    run: I64
    average: I64


# Places of a cache's counters: dirty pages; buckets that could be given out as of the last collection; the least
# priority; sectors until all lose one; pages until the next collection; where FIFO goes on; the state of the draws; the
# ring's first and how many are in it; the last stamp.
DIRT, AVAILABLE, LEAST_PRIO, RESCALE, COLLECT, HAND, DRAWS, READY_AT, READY, STAMP, _PLACES = range(11)
# Places of the writer's: the next update; whether there may be dirty pages; when it goes on; the page that it goes on
# at; its rate; the controller's sum; updates without a request; when the rate lets it go on.
UPDATE, AWAKE, GO_ON, SWEEP, PACE, SUM, IDLE, ALLOWED, _WRITER_PLACES = range(9)


@njit
def _make(pages: int, tasks: int, setup: Setup) -> tuple[Cache, I64]:
    b = setup.buckets
    cache = Cache(
        np.full(pages, ABSENT, np.int32), np.full(b * setup.pages, ABSENT, np.int32), np.zeros(pages, np.uint8),
        np.zeros(pages // GROUP + 1, np.int32), np.zeros(b, np.int32), np.zeros(b, np.int32), np.zeros(b, np.int32),
        np.zeros(b, np.uint8), np.zeros(b, np.int32), np.zeros(b, np.uint8), np.empty(b, np.int32),
        np.full(STREAMS, ABSENT, np.int64), np.zeros(STREAMS, np.int64), np.full(STREAMS, ABSENT, np.int64),
        np.zeros(STREAMS, np.int64),
        np.full(OPEN, ABSENT, np.int64), np.zeros(OPEN, np.int64), np.full(OPEN, ABSENT, np.int64),
        np.full(OPEN, NOBODY, np.int64), np.zeros(OPEN, np.int64),
        np.zeros(tasks, np.int64), np.zeros(tasks, np.int64),
    )  # fmt: skip
    own = np.zeros(_PLACES, np.int64)
    own[DRAWS] = setup.seed % (2**32 - 1) + 1
    _collect(cache, own)
    _refill(cache, own, setup)
    return cache, own


@step
def _collect(cache: Cache, own: I64) -> None:
    """Count what each bucket holds that is neither ready nor open."""
    own[AVAILABLE] = 0
    for b in range(cache.live.size):
        if cache.pinned[b]:
            continue
        cache.used[b] = cache.live[b]
        cache.mark[b] = DIRTY if cache.dirt[b] else RECLAIMABLE if cache.live[b] else EMPTY
        if cache.mark[b] != DIRTY:
            own[AVAILABLE] += 1
    own[COLLECT] = cache.page.size // 16


@step
def _in_use(cache: Cache, own: I64) -> int:
    """Percent of all buckets."""
    buckets = cache.live.size
    return int((buckets - own[AVAILABLE]) * 100 // buckets)


@step
def _invalidate(cache: Cache, own: I64, bucket: int) -> None:
    """Drop all pages of a bucket, and make it ready."""
    pages = cache.page.size // cache.live.size
    for slot in range(bucket * pages, (bucket + 1) * pages):
        page = cache.page[slot]
        if page != ABSENT:
            cache.slot[page] = ABSENT
            cache.page[slot] = ABSENT
    cache.live[bucket] = 0
    cache.prio[bucket] = FIRST_PRIO
    cache.pinned[bucket] = 1
    cache.ready[(own[READY_AT] + own[READY]) % cache.ready.size] = bucket
    own[READY] += 1


@step
def _may_go(cache: Cache, bucket: int) -> bool:
    return cache.mark[bucket] != DIRTY and not cache.pinned[bucket]


@njit
def _least(cache: Cache, own: I64, wanted: int) -> None:
    """Invalidate so many buckets of least worth, the lower number first among equals."""
    buckets = cache.live.size
    rank, may_go = np.empty(buckets, np.int64), 0
    floor = (FIRST_PRIO - own[LEAST_PRIO]) // 8
    for b in range(buckets):
        if _may_go(cache, b):
            rank[may_go] = (cache.prio[b] - own[LEAST_PRIO] + floor) * cache.used[b] * buckets + b
            may_go += 1
    rank = rank[:may_go]
    if may_go > wanted:
        rank = np.partition(rank, wanted)[:wanted]
    for bucket in np.sort(rank) % buckets:
        _invalidate(cache, own, bucket)


@step
def _round(cache: Cache, own: I64, wanted: int) -> None:
    """Invalidate so many buckets, the next ones that may go."""
    for _ in range(cache.live.size):
        if wanted == 0:
            break
        bucket = own[HAND]
        own[HAND] = bucket + 1 if bucket + 1 < cache.live.size else 0
        if _may_go(cache, bucket):
            _invalidate(cache, own, bucket)
            wanted -= 1


@step
def _drawn(cache: Cache, own: I64, wanted: int) -> None:
    """Invalidate so many buckets drawn by xorshift (Marsaglia, 2003); at most half as many draws as buckets."""
    for _ in range(max(cache.live.size // 2, 1)):
        if wanted == 0:
            break
        x = own[DRAWS]
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        own[DRAWS] = x
        bucket = x % cache.live.size
        if _may_go(cache, bucket):
            _invalidate(cache, own, bucket)
            wanted -= 1


@njit
def _invalidated(cache: Cache, own: I64, replacement: int, wanted: int) -> None:
    if replacement == LRU:
        _least(cache, own, wanted)
    elif replacement == FIFO:
        _round(cache, own, wanted)
    else:
        _drawn(cache, own, wanted)


@njit
def _refill(cache: Cache, own: I64, setup: Setup) -> None:
    """Have more buckets ready once no more than a 1024th of all is: four times as many, if need be by a collection."""
    few = 1
    while few * 1024 < cache.live.size:
        few *= 2
    if own[READY] > few:
        return
    most = own[READY] + 4 * few
    _invalidated(cache, own, setup.replacement, most - own[READY])
    if own[READY] < most:
        _collect(cache, own)
        _invalidated(cache, own, setup.replacement, most - own[READY])


@njit
def _opened(cache: Cache, own: I64, setup: Setup, place: int) -> bool:
    """Open a bucket at a place of open ones; False where none is ready."""
    if own[READY] == 0:
        _refill(cache, own, setup)
        if own[READY] == 0:
            return False
    bucket = cache.ready[own[READY_AT]]
    own[READY_AT] = (own[READY_AT] + 1) % cache.ready.size
    own[READY] -= 1
    cache.open[place], cache.filled[place] = bucket, 0
    cache.mark[bucket], cache.used[bucket], cache.prio[bucket] = RECLAIMABLE, setup.pages, FIRST_PRIO
    own[AVAILABLE] -= 1 if own[AVAILABLE] > 0 else 0
    _refill(cache, own, setup)
    return True


@step
def _clean(cache: Cache, own: I64, page: int) -> None:
    """A page that is on the SSD is dirty no more."""
    if cache.dirty[page]:
        cache.dirty[page] = 0
        cache.group[page // GROUP] -= 1
        cache.dirt[cache.slot[page] // (cache.page.size // cache.live.size)] -= 1
        own[DIRT] -= 1


@step
def _drop(cache: Cache, own: I64, page: int) -> None:
    """The SSD has a page no more."""
    slot = cache.slot[page]
    if slot != ABSENT:
        _clean(cache, own, page)
        cache.page[slot] = ABSENT
        cache.slot[page] = ABSENT
        cache.live[slot // (cache.page.size // cache.live.size)] -= 1


@step
def _oldest(stamps: I64) -> int:
    """The first place of the least stamp, in a loop without a branch."""
    least, place = stamps[0], 0
    for k in range(1, stamps.size):
        earlier = stamps[k] < least
        least = stamps[k] if earlier else least
        place = k if earlier else place
    return place


@step
def _place(cache: Cache, own: I64, begin: int, task: int) -> int:
    """The open bucket for pages from an address on.

    It is the one used last of those that end there, or else the one used longest ago, of the task's if it has any.
    """
    goes_on, of_task, used_at = ABSENT, ABSENT, cache.used_at
    for k in range(OPEN):
        if cache.goes_on[k] == begin and (goes_on == ABSENT or used_at[k] > used_at[goes_on]):
            goes_on = k
        if cache.whose[k] == task and (of_task == ABSENT or used_at[k] < used_at[of_task]):
            of_task = k
    place = goes_on if goes_on != ABSENT else of_task if of_task != ABSENT else _oldest(used_at)
    own[STAMP] += 1
    used_at[place], cache.whose[place] = own[STAMP], task
    return place


@njit
def _fill(
    cache: Cache, own: I64, setup: Setup, address: I64, pages: tuple[int, int], dirty: bool, code: int,
    asked: tuple[int, int], log: Log,
) -> int:  # fmt: skip
    """Write pages to the SSD, as far as there are buckets; the first one left out. `asked` is the request and task."""
    own[COLLECT] -= pages[1] - pages[0]
    request, task = asked
    place = _place(cache, own, address[pages[0]], task)
    for page in range(pages[0], pages[1]):
        if cache.open[place] == ABSENT and not _opened(cache, own, setup, place):
            return page
        _drop(cache, own, page)
        bucket = cache.open[place]
        slot = bucket * setup.pages + cache.filled[place]
        cache.slot[page], cache.page[slot] = slot, page
        cache.live[bucket] += 1
        if dirty:
            cache.dirty[page] = 1
            cache.group[page // GROUP] += 1
            cache.dirt[bucket] += 1
            cache.mark[bucket] = DIRTY
            own[DIRT] += 1
        note(log, code, request, slot, 1)
        cache.goes_on[place] = address[page] + 1
        cache.filled[place] += 1
        if cache.filled[place] == setup.pages:
            cache.pinned[bucket] = 0
            cache.open[place] = ABSENT
    return pages[1]


@step
def _streamed(cache: Cache, own: I64, begin: int, end: int, now: int, task: int) -> int:
    """Bytes of the stream that a request is of, or of the task's on average if these are more."""
    found = ABSENT
    for k in range(STREAMS):
        if cache.last[k] == begin and now < cache.until[k] and (found == ABSENT or cache.stamp[k] > cache.stamp[found]):
            found = k
    if found == ABSENT:
        found = _oldest(cache.stamp)
        cache.size[found] = 0
        if task != ABSENT:
            cache.average[task] = (cache.average[task] * 7 + cache.run[task]) // 8
    own[STAMP] += 1
    cache.size[found] += end - begin
    cache.last[found], cache.until[found], cache.stamp[found] = end, now + STREAM_US, own[STAMP]
    if task == ABSENT:
        return int(cache.size[found])
    cache.run[task] = cache.size[found]
    return int(max(cache.run[task], cache.average[task]))


@step
def _rescale(cache: Cache, own: I64, sectors: int) -> None:
    """Once a 1024th of the cache was asked for, all buckets lose priority."""
    own[RESCALE] -= sectors
    if own[RESCALE] >= 0:
        return
    own[RESCALE] += cache.page.size * SECTORS // 1024
    own[LEAST_PRIO] = NO_PRIO
    for b in range(cache.prio.size):
        if cache.prio[b] and not cache.pinned[b]:
            cache.prio[b] -= 1
            own[LEAST_PRIO] = min(own[LEAST_PRIO], cache.prio[b])


@step
def _bypasses(cache: Cache, own: I64, setup: Setup, request: Request, r: int) -> bool:
    write = request.write[r]
    if _in_use(cache, own) > MOST_TO_ADD or request.around[r] or (setup.mode == AROUND and write):
        return True
    begin, end = request.begin[r], request.end[r]
    if setup.cutoff and not (setup.mode == BACK and write and request.sync[r]):
        size = _streamed(cache, own, begin, end, request.time_us[r], request.task[r])
        if size // SECTOR_BYTES >= setup.cutoff // SECTOR_BYTES:
            return True
    _rescale(cache, own, (end - begin) // SECTOR_BYTES)
    return False


@step
def _toward_zero(value: int, by: int) -> int:
    return value // by if value >= 0 else -(-value // by)


@step
def _set_pace(cache: Cache, own: I64, writer: I64, percent: int, now: int) -> None:
    """The controller: how many sectors a second are written back."""
    writer[IDLE] += 1
    if writer[IDLE] >= IDLE_UPDATES:
        writer[PACE] = MOST_RATE
        return
    dirty = own[DIRT] * SECTORS
    error = dirty - cache.page.size * SECTORS * percent // 100
    rate = _toward_zero(error, PROPORTIONAL)
    in_use, given = _in_use(cache, own), cache.live.size - own[AVAILABLE]
    for above, up_to, factor in FRAGMENTED:
        if above < in_use <= up_to and dirty > 0:
            fragments = given * (cache.page.size // cache.live.size) * SECTORS // dirty
            if fragments > 3:
                rate = max(rate, dirty // given * factor * (in_use - above))
    if (error < 0 and writer[SUM] > 0) or (error > 0 and now < writer[ALLOWED] + LATE_US):
        writer[SUM] += error * (UPDATE_US // SECOND_US)
    rate += _toward_zero(writer[SUM], INTEGRAL)
    writer[PACE] = min(max(rate, LEAST_RATE), 10**9)


@step
def _next_dirty(cache: Cache, page: int) -> int:
    """The first dirty page from one on; the number of pages where there is none."""
    pages = cache.dirty.size
    while page < pages:
        if cache.group[page // GROUP] == 0:
            page = (page // GROUP + 1) * GROUP
        elif cache.dirty[page]:
            return page
        else:
            page += 1
    return pages


@njit
def _write_back(
    cache: Cache, own: I64, writer: I64, setup: Setup, address: I64, request: int, log: Log
) -> Log:  # fmt: skip
    """Write the next piece of dirty pages back, or rest after the last one."""
    now, pages = writer[GO_ON], cache.dirty.size
    if writer[SWEEP] == 0:
        if own[DIRT] == 0:
            writer[AWAKE] = 0
            return log
        writer[ALLOWED] = now
    first = _next_dirty(cache, writer[SWEEP])
    if first == pages:
        writer[SWEEP] = 0
        writer[GO_ON] = now + setup.rest_us
        return log
    end = first + 1
    while end < pages and end - first < PIECE_PAGES and cache.dirty[end] and address[end] == address[end - 1] + 1:
        end += 1
    log = room(log, 2 * (end - first))
    for page in range(first, end):
        note(log, ON_SSD | LATER, request, cache.slot[page], 1)
    for page in range(first, end):
        note(log, WRITE | LATER, request, address[page], 1)
        _clean(cache, own, page)
    writer[SWEEP] = end
    busy = setup.copy_us[0] + (end - first) * setup.copy_us[1]
    writer[GO_ON] = now + busy
    if setup.percent:
        allowed = writer[ALLOWED] + (end - first) * SECTORS * SECOND_US // writer[PACE]
        writer[ALLOWED] = max(min(allowed, now + AHEAD_US), now - BEHIND_US)
        writer[GO_ON] = max(writer[GO_ON], writer[ALLOWED])
    return log


@njit
def _until(
    cache: Cache, own: I64, writer: I64, setup: Setup, address: I64, now: int, request: int, log: Log
) -> Log:  # fmt: skip
    """What happens in the background before a request, while the writer is awake."""
    while _is_due(writer, now):
        if writer[UPDATE] <= writer[GO_ON]:
            if setup.percent:
                _set_pace(cache, own, writer, setup.percent, writer[UPDATE])
            writer[UPDATE] += UPDATE_US
        else:
            log = _write_back(cache, own, writer, setup, address, request, log)
    return log


@step
def _is_due(writer: I64, now: int) -> bool:
    """Is there something to do in the background?"""
    return bool(writer[AWAKE] and min(writer[UPDATE], writer[GO_ON]) <= now)


@step
def _asked(writer: I64, now: int) -> None:
    """A request ends what the writer took for idle time."""
    if writer[UPDATE] <= now:
        writer[UPDATE] += ((now - writer[UPDATE]) // UPDATE_US + 1) * UPDATE_US
    if writer[PACE] == MOST_RATE and writer[IDLE] >= IDLE_UPDATES:
        writer[PACE] = 1
    writer[IDLE] = 0


@step
def _read(cache: Cache, setup: Setup, address: I64, pages: tuple[int, int], request: int, log: Log,
          found: U8) -> tuple[int, int]:  # fmt: skip
    """Read each page from where it is; the first gap, from a page to before another, equal where there is none."""
    gap, gap_end = pages[0], pages[0]
    for page in range(pages[0], pages[1]):
        slot = cache.slot[page]
        if slot != ABSENT:
            found[page - pages[0]] = SSD
            cache.prio[slot // setup.pages] = FIRST_PRIO
            note(log, ON_SSD, request, slot, 1)
            continue
        found[page - pages[0]] = DISK
        note(log, 0, request, address[page], 1)
        if gap == gap_end:
            gap, gap_end = page, page + 1
        elif page == gap_end and gap_end - gap < GAP_PAGES:
            gap_end += 1
    return gap, gap_end


@njit
def _written(
    cache: Cache, own: I64, writer: I64, setup: Setup, address: I64, pages: tuple[int, int], bypass: bool,
    request: Request, r: int, log: Log,
) -> None:  # fmt: skip
    """Write pages to the SSD, to both devices, or past the SSD; what finds no bucket goes past it."""
    most = MOST_TO_WRITE_BACK if request.sync[r] else MOST_ASYNC
    back = setup.mode == BACK and not bypass and _in_use(cache, own) <= most
    left, asked = pages[0], (r, int(request.task[r]))
    if back:
        left = _fill(cache, own, setup, address, pages, True, WRITE | ON_SSD, asked, log)
        if own[DIRT] and not writer[AWAKE]:
            writer[AWAKE], writer[GO_ON] = 1, request.time_us[r]
    for page in range(left, pages[1]):
        note(log, WRITE, r, address[page], 1)
    if not back and not bypass:
        left = _fill(cache, own, setup, address, pages, False, WRITE | ON_SSD, asked, log)
    for page in range(left, pages[1]):
        _drop(cache, own, page)


@njit
def bcache(request: Request, address: I64, setup: Setup) -> tuple[U8, Log, I32]:
    """Serve a trace.

    Args:
        request: the trace; pages of a request follow each other on the volume.
        address: int64[n_pages] rising, of each page on the volume.
        setup: the cache.

    Returns:
        uint8[m] where each access found its page, the I/Os, and int32[n] dirty pages after each request.
    """
    n = request.write.size
    cache, own = _make(address.size, request.task.max() + 1 if n else 0, setup)
    writer = np.zeros(_WRITER_PLACES, np.int64)
    writer[UPDATE], writer[PACE] = (request.time_us[0] if n else 0) + UPDATE_US, RATE
    log = empty(2 * n + GAP_PAGES)
    found, dirty = np.empty(request.pages.sum(), np.uint8), np.empty(n, np.int32)
    k = 0
    for r in range(n):
        now = request.time_us[r]
        # A call that is no step counts the references to all of the cache's arrays: none where there is nothing to do.
        if _is_due(writer, now):
            log = _until(cache, own, writer, setup, address, now, r, log)
        _asked(writer, now)
        count, first = int(request.pages[r]), int(request.first[r])
        pages = (first, first + count)
        if log.used[0] + 2 * count > log.code.size:
            log = room(log, 2 * count)
        bypass = _bypasses(cache, own, setup, request, r)
        if request.write[r]:
            for page in range(pages[0], pages[1]):
                found[k + page - pages[0]] = DISK if cache.slot[page] == ABSENT else SSD
            _written(cache, own, writer, setup, address, pages, bypass, request, r, log)
        else:
            gap = _read(cache, setup, address, pages, r, log, found[k : k + count])
            if gap[0] < gap[1] and not bypass:
                asked = (r, int(request.task[r]))
                _fill(cache, own, setup, address, gap, False, WRITE | ON_SSD | LATER, asked, log)
        if own[COLLECT] < 0:
            _collect(cache, own)
        k += count
        dirty[r] = own[DIRT]
    return found, log, dirty
