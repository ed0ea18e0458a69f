"""Naive flash cache: segments in plain lists and dictionaries, oldest first."""

from collections.abc import Callable
from dataclasses import dataclass, field

from cachezoo.kernels.segments import Geometry

Requests = tuple[list[int], list[int], list[int], list[int]]
Ranges = list[tuple[int, int]]


@dataclass
class NaiveRun:
    """What happened to each request, and in all."""

    ios: list[int] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    prefetched: list[int] = field(default_factory=list)
    ages: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    used: int = 0
    filled: int = 0


class Queue:
    """LRU or FIFO."""

    def __init__(self, capacity: int, lru: bool) -> None:
        self.capacity, self.lru = capacity, lru
        self.held: dict[int, None] = {}  # oldest first

    def __contains__(self, s: int) -> bool:
        return s in self.held

    def __len__(self) -> int:
        return len(self.held)

    def remove(self, s: int) -> None:
        del self.held[s]

    def touch(self, s: int) -> None:
        if self.lru:
            self.held[s] = self.held.pop(s)

    def insert(self, s: int) -> int | None:
        gone = next(iter(self.held)) if len(self.held) == self.capacity else None
        if gone is not None:
            del self.held[gone]
        self.held[s] = None
        return gone


class Blocks(Queue):
    """LRU of blocks: what a block holds leaves in the order of its last use, the oldest block's first."""

    def __init__(self, capacity: int, per_block: int) -> None:
        super().__init__(capacity, True)
        self.per_block = per_block
        self.blocks: list[int] = []  # oldest first, those that hold nothing too

    def use(self, block: int) -> None:
        self.blocks = [*(other for other in self.blocks if other != block), block]

    def holds(self, block: int) -> list[int]:
        return [s for s in self.held if s // self.per_block == block]

    def insert(self, s: int) -> int | None:
        gone = None
        if len(self.held) == self.capacity:
            gone = next(held for block in self.blocks for held in self.holds(block))
            del self.held[gone]
        if not self.holds(s // self.per_block):
            self.use(s // self.per_block)
        self.held[s] = None
        return gone


class S3Fifo:
    """Two queues and the ghosts, with a tenth and nine tenths of the capacity."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.share, self.room = capacity, max(1, capacity // 10), int(capacity * 0.9)
        self.small: list[int] = []
        self.main: list[int] = []
        self.ghosts: list[int] = []
        self.count: dict[int, int] = {}
        self.filling = True

    def __contains__(self, s: int) -> bool:
        return s in self.small or s in self.main

    def __len__(self) -> int:
        return len(self.small) + len(self.main)

    def remove(self, s: int) -> None:
        (self.small if s in self.small else self.main).remove(s)

    def touch(self, s: int) -> None:
        self.count[s] = min(3, self.count[s] + 1)

    def insert(self, s: int) -> int | None:
        known = s in self.ghosts
        if known:
            self.ghosts.remove(s)
        gone = self.evict() if len(self) == self.capacity else None
        to_main = known or (self.filling and len(self.small) >= self.share)
        (self.main if to_main else self.small).append(s)
        self.count[s] = 0
        return gone

    def evict(self) -> int:
        self.filling = False
        if len(self.main) <= self.capacity - self.share:
            while self.small:
                s = self.small.pop(0)
                if self.count[s] < 2:
                    self.ghosts = [*self.ghosts, s][-self.room :] if self.room else []
                    return s
                self.main.append(s)
                self.count[s] = 0
        return self.second_chance()

    def second_chance(self) -> int:
        s = self.main.pop(0)
        while self.count[s]:
            self.count[s] -= 1
            self.main.append(s)
            s = self.main.pop(0)
        return s


def naive_flash(
    requests: list[tuple[int, list[int]]],
    accept: Callable[[int, int], bool],
    capacity: int,
    eviction: str = "lru",
    prefetch: Ranges | None = None,
    on_partial: bool = False,
    per_block: int = 0,
) -> NaiveRun:
    """Run (op, segments) requests.

    `accept(row, segment)` is asked for each missing segment of a read. `prefetch` are ranges of segments, one a
    request; there, consecutive segments of a request must be consecutive numbers. With `per_block` LRU is of blocks.
    """
    cache: Queue | S3Fifo = S3Fifo(capacity) if eviction == "s3fifo" else Queue(capacity, eviction == "lru")
    if per_block and eviction == "lru":
        cache = Blocks(capacity, per_block)
    used_at: dict[int, int] = {}
    unused: set[int] = set()
    place: dict[int, int] = {}
    freed: list[int] = []
    run = NaiveRun(filled=len(requests))
    for row, (op, segments) in enumerate(requests):
        if op == 1:
            for s in segments:
                if s in cache:
                    cache.remove(s)
                    freed.append(place.pop(s))
                unused.discard(s)
            for column in (run.ios, run.firsts, run.hits, run.writes, run.prefetched):
                column.append(0)
            continue
        missing = [k for k, s in enumerate(segments) if s not in cache]
        if isinstance(cache, Blocks):
            for block in dict.fromkeys(s // per_block for s in segments):
                if cache.holds(block):
                    cache.use(block)
                for s in cache.holds(block):
                    used_at[s] = row
        for s in segments:
            if s in cache:
                used_at[s] = row
                cache.touch(s)
                run.used += s in unused
                unused.discard(s)
        own = [segments[k] for k in missing if accept(row, segments[k])]
        more: list[int] = []
        if prefetch is not None and own and (len(missing) < len(segments) or not on_partial):
            low, high = prefetch[row]
            more = [s for s in range(low, high) if s not in cache and s not in segments]
        for s in more + own:
            gone = cache.insert(s)
            if gone is not None:
                unused.discard(gone)
                run.ages.append(row - used_at[gone])
                place[s] = place.pop(gone)
            else:
                place[s] = freed.pop() if freed else len(place)
            run.slots.append(place[s])
            used_at[s] = row
            if s in more:
                unused.add(s)
            if len(cache) == capacity and run.filled == len(requests):
                run.filled = row
        fetched = [s - segments[0] for s in more] + missing
        run.ios.append(max(fetched) - min(fetched) + 1 if fetched else 0)
        run.firsts.append(min(fetched, default=0))
        run.hits.append(len(segments) - len(missing))
        run.writes.append(len(more) + len(own))
        run.prefetched.append(len(more))
    return run


def naive_ios(requests: Requests, run: NaiveRun, geometry: Geometry) -> list[tuple[int, int, bool] | None]:
    """Offset, size and whether it writes of each request's I/O at the disk, None where the cache serves it.

    Requests are volumes, operations (1: write), offsets and sizes.
    """
    found: list[tuple[int, int, bool] | None] = []
    for row, (_, op, offset, size) in enumerate(zip(*requests, strict=True)):
        if op == 1:
            found.append((offset, size, True))
            continue
        if run.ios[row] == 0:
            found.append(None)
            continue
        unit = geometry.segment_bytes
        moved = range(
            (offset // unit + run.firsts[row]) * unit, (offset // unit + run.firsts[row] + run.ios[row]) * unit
        )
        if run.writes[row] == 0:
            moved = range(max(moved.start, offset), min(moved.stop, offset + size))
        found.append((moved.start, len(moved), False))
    return found


def naive_rejectx(window: int) -> Callable[[int, int], bool]:
    """RejectX, x = 1: accept a segment whose last miss is at most `window` rows ago."""
    seen: dict[int, int] = {}

    def accept(row: int, segment: int) -> bool:
        known = segment in seen and row - seen[segment] <= window
        seen[segment] = row
        return known

    return accept


def naive_queue(entries: int) -> Callable[[int, int], bool]:
    """RejectX as Baleen's release has it: accept what a queue of refused segments holds; it stays there until it is
    the oldest."""
    queue: list[int] = []

    def accept(_: int, segment: int) -> bool:
        if queue and len(queue) >= entries:
            queue.pop(0)
        known = segment in queue
        if entries and not known:
            queue.append(segment)
        return known

    return accept


def addresses(requests: Requests, geometry: Geometry) -> list[tuple[int, list[int]]]:
    """(op, segments) by address: unlike dense ids, these name what a prefetch may reach."""
    rows = []
    for volume, op, offset, size in zip(*requests, strict=True):
        low, high = offset // geometry.segment_bytes, (offset + size - 1) // geometry.segment_bytes
        rows.append((op, [(volume << 40) + s for s in range(low, high + 1)]))
    return rows


def naive_next(requests: list[tuple[int, list[int]]], count: int, per_block: int) -> Ranges:
    """Read-ahead: for each request the `count` segments behind it that its first segment's block still has."""
    ranges = []
    for _, segments in requests:
        ahead = []
        for s in range(segments[-1] + 1, segments[-1] + 1 + count):
            if s // per_block == segments[0] // per_block:
                ahead.append(s)
        ranges.append((ahead[0], ahead[-1] + 1) if ahead else (0, 0))
    return ranges
