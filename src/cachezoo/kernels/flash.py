"""The flash cache: LRU, FIFO or S3-FIFO over segments, an admission decision on each miss, and its backend I/O.

Reads fill the cache; every read touches all resident segments of its range, or its blocks; a miss is one backend I/O
from the first to the last missing segment, widened by what is prefetched. Writes go to the backend, are not cached and
invalidate what they overwrite. Source: Baleen post, "Flash caches absorb backend load but have limited write endurance"
and "Training Baleen to predict what and when to prefetch"; RejectX as described there, by rotating Bloom filters or by
exact recency. Its authors' simulator touches whole blocks and remembers RejectX's misses in a queue; the order of a
block's segments is ours, and so is that a controller moves RejectX's window.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cachezoo.arrays import F64, I32, I64, Bool, Room, in_memory, stretches
from cachezoo.errors import ConfigError
from cachezoo.kernels.admit import bloom
from cachezoo.kernels.admit.draws import draw
from cachezoo.kernels.flash_queue import (
    EVICTIONS,
    LRU,
    S3FIFO,
    Eviction,
    blocks_of,
    count,
    enter_block,
    forget,
    leave_block,
    pop_block,
    sift,
    sifted,
    use_block,
)
from cachezoo.kernels.hdd import Disk, rate_at, serve
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, pop_tail, unlink
from cachezoo.kernels.segments import SegmentAccesses
from cachezoo.kernels.write_budget import (
    THRESHOLD,
    Controller,
    fresh_state,
    missed,
    remember,
    score_of_age,
    score_of_share,
    settle,
)

MIB = 1 << 20
BY_DECISION, BY_BLOOM, BY_AGE, BY_GENERATION, BY_QUEUE = -1, -2, -3, -4, -5
Memory = Literal["recency", "filters", "queue"]
"""Of RejectX, see `simulate_rejectx`."""
BLOOM_BITS, BLOOM_LEAST = 10.0, 1 << 10  # bits of a filter for each segment that it takes, and for so many at least
ABSENT = -1  # in `after`, of a segment that is not resident
ONWARDS, AS_LEFT = -1, -2  # in the heads of `disk_us`


@dataclass(frozen=True)
class DiskHead:
    """What an I/O costs the backend: `DT = seek + bytes / rate`, see "Optimize for Disk-head time"."""

    seek_ms: float = 11.5
    rate_mib_s: float = 143.0

    def seconds(self, ios: F64 | I32 | I64 | Bool, n_bytes: F64 | I32 | I64) -> F64:
        """Disk-head time in seconds of `ios` I/Os that move `n_bytes` bytes in all, element by element."""
        return np.asarray(ios, np.float64) * (self.seek_ms / 1e3) + np.asarray(n_bytes, np.float64) / (
            self.rate_mib_s * MIB
        )


@dataclass(frozen=True)
class Prefetch:
    """What is fetched beside what a read misses; n requests.

    Where read i misses and something of it is admitted, the segments [low[i], high[i]) of the block that holds its
    first segment are fetched and written as well, as far as they are not resident. They are part of the same backend
    I/O, and enter the cache just before what the read missed.

    Attributes:
        low, high: int32[n] within 0 and segments per block; nothing is prefetched where low >= high.
        on_partial: prefetch only where some of the request's segments were resident.
    """

    low: I32
    high: I32
    on_partial: bool = False


@dataclass(frozen=True)
class FlashRun:
    """What a simulation of n requests did."""

    io_segments: I32  # int32[n] segments of the backend I/O a read needed, 0 where it hit; 0 for writes
    # int32[n] where that I/O begins: segments after the request's first, below 0 where prefetch begins before it; 0
    # where there is none
    io_first: I32
    hits: I32  # int32[n] segments of a read found in the cache
    written: I32  # int32[n] segments written to flash after a read's miss, prefetched ones included
    prefetched: I32  # int32[n] of these, the prefetched ones
    prefetched_used: int  # prefetched segments that a read found in the cache later
    filled_at: int  # row at which the cache was first full, n if never
    evictions: int  # segments evicted for room
    mean_eviction_age: float  # mean requests from an evicted segment's last use to its eviction; 0.0 without evictions
    # int32[segments written] the slot in [0, capacity) that each was written to, in order; empty unless asked for. A
    # segment takes the slot of the one that it evicts, else the one that was freed last by a write to what it held,
    # else the next that was never used
    slots: I32
    # float64[n] the score threshold in force at each request; empty where nothing controls it
    thresholds: F64

    @property
    def segment_writes(self) -> int:
        """Segments written to flash over the whole run."""
        return int(self.written.sum(dtype=np.int64))


@njit
def _simulate(
    requests: tuple[I64, I32, Bool, Bool],
    reject: int,
    blooms: bloom.State,
    capacity: int,
    n_ids: int,
    kind: int,
    prefetch: tuple[I32, I32, I32, I32],
    per_block: int,
    on_partial: bool,
    whole_block: bool,
    note_slots: bool,
    control: tuple[F64, I64, F64, F64, F64],
    rows: tuple[I32, I32, I32, I32, I32],
) -> tuple[I64, I32, F64]:
    """Fill in what each request did, arrays of 0: `FlashRun` from `io_segments` to `prefetched`."""
    io_segments, io_first, hits, written, prefetched = rows
    start, segment, read, admit = requests
    block, first, range_low, range_high = prefetch
    score, time, rules, state, mass = control
    n, ranged = len(read), len(range_low) > 0
    # Of the arrays below only `after` is written at once: a trace may touch few of the segments that it could.
    by_block = whole_block and kind == LRU
    n_blocks = n_ids // per_block if by_block else 0
    blocks = blocks_of(n_blocks, n_ids + 2)
    before, after = np.empty(n_ids + 2 + n_blocks, np.int32), np.full(n_ids + 2 + n_blocks, ABSENT, np.int32)
    for sentinel in range(n_ids, n_ids + 2 + n_blocks):
        before[sentinel] = sentinel
        after[sentinel] = sentinel
    touched = np.zeros(n_ids, np.int32)  # by block where these are touched
    # RejectX: one more than the row of the segment's last miss, or its number among those that the queue took
    seen = np.zeros(n_ids if reject >= 0 or reject in (BY_AGE, BY_QUEUE) else 0, np.int32)
    queued, forgotten = 0, 0
    known = sifted(n_ids if kind == S3FIFO else 0, capacity)
    unused = np.zeros(n_ids if per_block > 0 else 0, np.bool_)  # prefetched, and no read found it so far
    fetch = np.empty(n_ids + per_block, np.int32)
    used, filled_at, evictions, age_sum, prefetched_used = 0, n, 0, 0, 0
    slot_of = np.zeros(n_ids if note_slots else 0, np.int32)
    freed = np.zeros(min(capacity, n_ids) if note_slots else 0, np.int32)
    slots = np.zeros(n if note_slots else 0, np.int32)
    n_freed, n_slots, noted = 0, 0, 0
    generations = len(blooms.filters) // blooms.stride
    controlled, scored = len(time) > 0, len(score) > 0
    thresholds = np.zeros(len(time))
    for i in range(n):
        if controlled:
            thresholds[i] = state[THRESHOLD]
        if not read[i]:
            for j in range(start[i], start[i + 1]):
                s = segment[j]
                if after[s] != ABSENT:
                    unlink(before, after, s)
                    after[s] = ABSENT
                    used -= 1
                    if by_block:
                        leave_block(blocks, after, s // per_block)
                    if kind == S3FIFO:
                        forget(known, s)
                    if note_slots:
                        freed[n_freed] = slot_of[s]
                        n_freed += 1
            continue
        absent, accepted, low, high, last = 0, 0, 0, 0, -1
        for j in range(start[i], start[i + 1]):
            s = segment[j]
            if by_block and s // per_block != last:
                last = s // per_block
                touched[last] = i
                use_block(blocks, after, last)
            if after[s] != ABSENT:
                if per_block > 0 and unused[s]:
                    unused[s] = False
                    prefetched_used += 1
                if not by_block:
                    touched[s] = i
                if kind == LRU:
                    unlink(before, after, s)
                    link_head(before, after, blocks.lists + last if by_block else n_ids, s)
                elif kind == S3FIFO:
                    count(known, s)
                continue
            low = j if absent == 0 else low
            high = j
            absent += 1
            accept = score[i] >= state[THRESHOLD] if scored else admit[i]
            if reject == BY_AGE:
                accept = False
                if seen[s] > 0:
                    own = score_of_age(rules, len(mass), i + 1 - seen[s])
                    accept = own >= state[THRESHOLD]
                    remember(rules, state, mass, own, 1)
                seen[s] = i + 1
            elif reject == BY_GENERATION:
                accept, age = False, bloom.age(blooms, s)
                if age >= 0:
                    own = score_of_share(rules, len(mass), (age + draw(i, s) / 2.0**32) / generations)
                    accept = own >= state[THRESHOLD]
                    remember(rules, state, mass, own, 1)
                if age != 0 and not accept:
                    bloom.put(blooms, s)
            elif reject >= 0:
                accept = seen[s] > 0 and i + 1 - seen[s] <= reject
                seen[s] = i + 1
            elif reject == BY_QUEUE:
                if queued - forgotten >= blooms.entries:
                    forgotten += 1
                accept = seen[s] > forgotten
                if not accept:
                    queued += 1
                    seen[s] = queued
            elif reject == BY_BLOOM:
                accept = bloom.admit(blooms, s, i)
            if accept:
                fetch[accepted] = s
                accepted += 1
        hits[i] = start[i + 1] - start[i] - absent
        if absent == 0:
            continue
        more = accepted
        if ranged and accepted > 0 and (hits[i] > 0 or not on_partial):
            end = first[i] + int(start[i + 1] - start[i])
            io_low, io_high = low, high
            for index in range(range_low[i], range_high[i]):
                s = block[i] * per_block + index
                if after[s] == ABSENT and (index < first[i] or index >= end):
                    fetch[more] = s
                    more += 1
                    at = start[i] + index - first[i]
                    io_low, io_high = min(io_low, at), max(io_high, at)
            low, high = io_low, io_high
            prefetched[i] = more - accepted
        io_segments[i], io_first[i] = high - low + 1, low - start[i]
        for k in range(more):
            p = accepted + k
            s = fetch[p if p < more else p - more]  # the prefetched first, so that the read's own are the newest
            slot = 0
            full, victim = used == capacity, -1
            if kind == S3FIFO:
                victim = sift(known, before, after, s, full)
            elif full:
                victim = pop_block(blocks, before, after) if by_block else pop_tail(before, after, n_ids)
            if full:
                after[victim] = ABSENT
                evictions += 1
                age_sum += int(i - touched[victim // per_block if by_block else victim])
                if note_slots:
                    slot = slot_of[victim]
            else:
                used += 1
                if n_freed > 0:
                    n_freed -= 1
                    slot = freed[n_freed]
                else:
                    slot = n_slots
                    n_slots += 1
                if used == capacity and filled_at == n:
                    filled_at = i
            if note_slots:
                if noted == slots.size:
                    slots = np.append(slots, np.zeros_like(slots))
                slots[noted] = slot
                slot_of[s] = slot
                noted += 1
            if by_block:
                enter_block(blocks, before, after, s // per_block, s)
            else:
                touched[s] = i
                if kind != S3FIFO:
                    link_head(before, after, n_ids, s)
            if per_block > 0:
                unused[s] = p < more
        written[i] = more
        if scored:
            missed(rules, state, mass, time[i], score[i], absent, more)
        elif controlled:
            settle(rules, state, mass, time[i], more)
    totals = np.array([prefetched_used, filled_at, evictions, age_sum])
    return totals, slots[:noted], thresholds


def _check_prefetch(prefetch: Prefetch, n: int, per_block: int) -> None:
    low, high = prefetch.low, prefetch.high
    if not len(low) == len(high) == n:
        raise ConfigError(f"prefetch has {len(low)} low and {len(high)} high bounds where the accesses have {n} rows")
    for part in stretches(n):
        wrong = np.flatnonzero((low[part] < high[part]) & ((low[part] < 0) | (high[part] > per_block)))
        if not len(wrong):
            continue
        row = part.start + int(wrong[0])
        raise ConfigError(f"prefetch of row {row}, segments {low[row]} to {high[row]}: a block has 0 to {per_block}")


def _run(
    accesses: SegmentAccesses,
    read: Bool,
    admit: Bool,
    reject: int,
    blooms: bloom.State,
    capacity: int,
    eviction: Eviction,
    prefetch: Prefetch | None,
    whole_block: bool,
    note_slots: bool,
    control: tuple[F64, I64, F64, F64, F64] | None = None,
) -> FlashRun:
    if capacity < 1:
        raise ConfigError(f"flash capacity {capacity}: it is a number of segments, at least 1")
    if eviction not in EVICTIONS:
        raise ConfigError(f"flash eviction {eviction}: it is one of {', '.join(EVICTIONS)}")
    if not len(read) == len(admit) == len(accesses):
        raise ConfigError(f"read has {len(read)} rows and admit {len(admit)} where the accesses have {len(accesses)}")
    none = np.zeros(0, np.int32)
    segment, n_ids, ranges, per_block, on_partial = accesses.segment, accesses.n_segments, (none,) * 4, 0, False
    if prefetch is not None or whole_block:  # what is resident of a block is found by place
        segment, n_ids, per_block = accesses.placed, accesses.n_places, accesses.per_block
    if prefetch is not None:
        _check_prefetch(prefetch, len(accesses), accesses.per_block)
        low, high = (ends.astype(np.int32, copy=False) for ends in (prefetch.low, prefetch.high))
        ranges, on_partial = (accesses.block, accesses.first, low, high), prefetch.on_partial
    if control is not None and len(control[1]) != len(read):
        raise ConfigError(f"the write rate has {len(control[1])} times where read has {len(read)} rows")
    if control is None:
        control = (np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0))
    requests, kind = (accesses.start, segment, read, admit), EVICTIONS.index(eviction)
    io_segments, io_first, hits, written, prefetched = (accesses.room(np.int32, len(read)) for _ in range(5))
    rows = (io_segments, io_first, hits, written, prefetched)
    totals, slots, thresholds = _simulate(
        requests, reject, blooms, capacity, n_ids, kind, ranges, per_block, on_partial, whole_block, note_slots,
        control, rows,
    )  # fmt: skip
    used, filled_at, evictions, age_sum = totals.tolist()
    return FlashRun(
        io_segments=io_segments,
        io_first=io_first,
        hits=hits,
        written=written,
        prefetched=prefetched,
        prefetched_used=used,
        filled_at=filled_at,
        evictions=evictions,
        mean_eviction_age=age_sum / evictions if evictions else 0.0,
        slots=slots,
        thresholds=thresholds,
    )


@dataclass(frozen=True)
class WriteRate:
    """What a controlled admission may write.

    Attributes:
        segments: written in a unit of time, at most in the long run; above 0.
        horizon: units of time after which the balance would be even; above 0.
        time: int64[n] of each request, in these units; never falling.
    """

    segments: float
    horizon: float
    time: I64


def simulate_flash(
    accesses: SegmentAccesses,
    read: Bool,
    admit: Bool,
    capacity: int,
    *,
    eviction: Eviction = "lru",
    prefetch: Prefetch | None = None,
    whole_block: bool = False,
    note_slots: bool = False,
) -> FlashRun:
    """Run the cache with one admission decision for each request.

    Args:
        accesses: the segments of n requests.
        read: bool[n], True where the request reads.
        admit: bool[n]; where a read misses, all its missing segments are admitted, or none.
        capacity: segments the cache holds, at least 1.
        eviction: evict the least recently used segment, the oldest (`fifo`), or as S3-FIFO does.
        prefetch: what an admitted miss fetches beside; None fetches what is missing.
        whole_block: with LRU, a read makes its blocks the newest, in rising order, and within them what it reads; a
            block enters as the newest. The oldest segment of the oldest block is evicted. Otherwise segments alone.
        note_slots: say where each segment is written, see `FlashRun.slots`.

    Raises:
        ConfigError: capacity below 1, an unknown eviction, lengths that differ, or a prefetch outside its block.
        TraceError: with prefetch or whole blocks, more segments in the trace's blocks than ids can number.
    """
    unused = bloom.make(0, 1, BLOOM_BITS)
    return _run(accesses, read, admit, BY_DECISION, unused, capacity, eviction, prefetch, whole_block, note_slots)


def simulate_rejectx(
    accesses: SegmentAccesses,
    read: Bool,
    window: int,
    capacity: int,
    *,
    memory: Memory = "recency",
    eviction: Eviction = "lru",
    prefetch: Prefetch | None = None,
    whole_block: bool = False,
    note_slots: bool = False,
) -> FlashRun:
    """Run the cache with RejectX, x = 1: admit a segment that also missed within the last `window` requests.

    Args:
        accesses: the segments of n requests.
        read: bool[n], True where the request reads.
        window: how far back a miss counts, requests, at least 0 (0 admits nothing). With filters, the misses that each
            takes before they rotate; with a queue, those that it holds.
        capacity: segments the cache holds, at least 1.
        memory: misses are remembered exactly by their recency; by two Bloom filters in rotation, as
            `cachezoo.kernels.admit.bloom` has them; or by a queue of segments in the order of their first miss, whose
            oldest leaves at each miss where it is full, before it is searched.
        eviction: as of `simulate_flash`.
        prefetch: what a miss fetches beside, where at least one of its missing segments is admitted.
        whole_block: as of `simulate_flash`.
        note_slots: as of `simulate_flash`.

    Raises:
        ConfigError: window too small, or as `simulate_flash`.
        TraceError: as `simulate_flash`.
    """
    if window < 0:
        raise ConfigError(f"RejectX window {window}: it is a number of requests, at least 0")
    by_filters = memory == "filters" and window > 0
    # There are no more misses than segments read, and filters of a few bits would let too many strangers pass.
    entries = min(window, len(accesses.segment)) if memory != "recency" else 1
    room = max(entries, BLOOM_LEAST) if by_filters else 1
    blooms = bloom.make(room, room, BLOOM_BITS)._replace(entries=entries)
    admit, reject = np.zeros(len(read), np.bool_), BY_BLOOM if by_filters else window
    if memory == "queue":
        reject = BY_QUEUE
    return _run(accesses, read, admit, reject, blooms, capacity, eviction, prefetch, whole_block, note_slots)


def simulate_controlled(
    accesses: SegmentAccesses,
    read: Bool,
    scores: F64,
    threshold: float,
    controller: Controller,
    rate: WriteRate,
    capacity: int,
    *,
    eviction: Eviction = "lru",
    prefetch: Prefetch | None = None,
    whole_block: bool = False,
) -> FlashRun:
    """Run the cache with an admission by scores whose threshold keeps a write rate.

    Args:
        accesses: the segments of n requests.
        read: bool[n], True where the request reads.
        scores: float64[n]; a read's miss is admitted where its score is at least the threshold in force.
        threshold: in force at first.
        controller: how the threshold follows the writes.
        rate: that is kept.
        capacity: segments the cache holds, at least 1.
        eviction: as of `simulate_flash`.
        prefetch: what an admitted miss fetches beside; None fetches what is missing.
        whole_block: as of `simulate_flash`.

    Raises:
        ConfigError: capacity below 1, a rate or horizon that is not above 0, lengths that differ, or a prefetch outside
            its block.
        TraceError: with prefetch, more segments in the trace's blocks than ids can number.
    """
    if len(scores) != len(read):
        raise ConfigError(f"scores have {len(scores)} rows where read has {len(read)}")
    control = (np.ascontiguousarray(scores, np.float64), *_control(threshold, controller, rate))
    admit = np.zeros(len(read), np.bool_)
    blooms = bloom.make(0, 1, BLOOM_BITS)
    return _run(accesses, read, admit, BY_DECISION, blooms, capacity, eviction, prefetch, whole_block, False, control)


def _control(threshold: float, controller: Controller, rate: WriteRate) -> tuple[I64, F64, F64, F64]:
    """Times, rules, state and histogram of a controller that begins."""
    if not (rate.segments > 0 and rate.horizon > 0):
        raise ConfigError(f"write rate of {rate.segments} segments over {rate.horizon}: both must be above 0")
    rules = controller.rules(rate.segments, rate.horizon)
    return np.ascontiguousarray(rate.time, np.int64), rules, fresh_state(threshold), np.zeros(controller.bins)


def simulate_controlled_rejectx(
    accesses: SegmentAccesses,
    read: Bool,
    controller: Controller,
    rate: WriteRate,
    capacity: int,
    *,
    filters: tuple[int, int] | None = None,
    eviction: Eviction = "lru",
    prefetch: Prefetch | None = None,
    whole_block: bool = False,
) -> FlashRun:
    """Run the cache with RejectX, x = 1, whose window a controller moves to keep a write rate.

    A segment that missed before has a score, the higher the later that was, and is admitted where its score is at least
    the threshold in force: a threshold on this score is a window. It begins in the middle of all scores. A segment that
    never missed before has none.

    Args:
        accesses: the segments of n requests.
        read: bool[n], True where the request reads.
        controller: how the window follows the writes.
        rate: that is kept.
        capacity: segments the cache holds, at least 1.
        filters: misses are remembered by so many Bloom filters in rotation, each of which takes so many, and not
            exactly. Of those that one filter holds a share is admitted by draw, as it does not say which are the later.
            What is found and not admitted is taken anew, as where the window had ended before.
        eviction: as of `simulate_flash`.
        prefetch: what a miss fetches beside, where at least one of its missing segments is admitted.
        whole_block: as of `simulate_flash`.

    Raises:
        ConfigError: filters below 1 of 1, or as `simulate_controlled`.
        TraceError: as `simulate_controlled`.
    """
    if filters is not None and min(filters) < 1:
        raise ConfigError(f"RejectX filters {filters}: at least one, each for at least one segment")
    generations, entries = filters or (1, 1)
    room = max(entries, BLOOM_LEAST) if filters else 1
    blooms = bloom.make(room, room, BLOOM_BITS, generations)._replace(entries=entries)
    control = (np.zeros(0), *_control(controller.middle, controller, rate))
    admit, reject = np.zeros(len(read), np.bool_), BY_AGE if filters is None else BY_GENERATION
    return _run(accesses, read, admit, reject, blooms, capacity, eviction, prefetch, whole_block, False, control)


@njit
def _disk_us(
    disk: Disk,
    requests: tuple[Bool, I64, I64],
    heads: I64,
    run: tuple[I32, I32, I32],
    segment_bytes: int,
    found: tuple[F64, F64],
) -> None:
    read, offset, size = requests
    io_segments, io_first, written = run
    times, transfer = found
    now = 0.0
    for i in range(len(read)):
        start, end = offset[i], offset[i] + size[i]
        if heads.size and heads[i] >= 0:
            disk.head = heads[i] % disk.capacity
        if read[i]:
            if io_segments[i] == 0:
                continue
            low = (start // segment_bytes + io_first[i]) * segment_bytes
            high = low + io_segments[i] * segment_bytes
            if written[i] > 0:
                start, end = low, high
            else:
                start, end = max(start, low), min(end, high)
        if heads.size and (heads[i] == ONWARDS or (heads[i] >= 0 and abs(start - heads[i]) < segment_bytes)):
            disk.head = start % disk.capacity
        times[i] = serve(disk, start, end - start, not read[i], now)
        transfer[i] = (end - start) / rate_at(disk, start % disk.capacity)
        now += times[i]


def disk_us(
    disk: Disk, read: Bool, offset: I64, size: I64, run: FlashRun, segment_bytes: int, heads: I64 | None = None,
    room: Room = in_memory,
) -> tuple[F64, F64]:  # fmt: skip
    """What reaches the disk behind a run of n requests, on a model of it, back to back in their order.

    What goes to flash is fetched in whole segments, from the first to the last that is missing. A request that passes
    by the cache moves its own bytes alone, as one that follows it begins where it ended.

    Args:
        disk: changed in place.
        read: bool[n].
        offset: int64[n] bytes, as for `hdd_service_us`.
        size: int64[n] bytes.
        run: what the cache did.
        segment_bytes: of a segment.
        heads: int64[n], of requests that are a sample: where the disk's head is when each comes, in bytes; `ONWARDS`:
            where it moves the disk, `AS_LEFT`: where the one before in the sample left it. None: always the latter.
            Less than a segment away it is there: what was before may have been fetched in whole segments.
        room: where what is returned lies.

    Returns:
        float64[n] µs each: of a request on the disk, 0 where the cache serves it, and what of it is transfer.
    """
    found: tuple[F64, F64] = room(np.float64, len(read)), room(np.float64, len(read))
    _disk_us(
        disk,
        (read, offset, size),
        np.zeros(0, np.int64) if heads is None else heads,
        (run.io_segments, run.io_first, run.written),
        segment_bytes,
        found,
    )
    return found


def coin_flips(n: int, seed: int) -> F64:
    """Uniform draws in [0, 1) for CoinFlip: request i is admitted where its draw is below p.

    One draw per request, whatever p is: raising p only ever adds admissions, which lets p be calibrated.
    """
    return np.random.default_rng(seed).random(n)
