"""Naive flash cache: an ordered dictionary, oldest first."""

from collections import OrderedDict
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


def naive_flash(
    requests: list[tuple[int, list[int]]],
    accept: Callable[[int, int], bool],
    capacity: int,
    lru: bool = True,
    prefetch: Ranges | None = None,
    on_partial: bool = False,
) -> NaiveRun:
    """Run (op, segments) requests.

    `accept(row, segment)` is asked for each missing segment of a read. `prefetch` are ranges of segments, one a
    request; there, consecutive segments of a request must be consecutive numbers.
    """
    cache: OrderedDict[int, int] = OrderedDict()  # segment -> row of its last use
    unused: set[int] = set()
    place: dict[int, int] = {}
    freed: list[int] = []
    run = NaiveRun(filled=len(requests))
    for row, (op, segments) in enumerate(requests):
        if op == 1:
            for s in segments:
                if cache.pop(s, None) is not None:
                    freed.append(place.pop(s))
                unused.discard(s)
            for column in (run.ios, run.firsts, run.hits, run.writes, run.prefetched):
                column.append(0)
            continue
        missing = [k for k, s in enumerate(segments) if s not in cache]
        for s in segments:
            if s in cache:
                cache[s] = row
                run.used += s in unused
                unused.discard(s)
                if lru:
                    cache.move_to_end(s)
        own = [segments[k] for k in missing if accept(row, segments[k])]
        more: list[int] = []
        if prefetch is not None and own and (len(missing) < len(segments) or not on_partial):
            low, high = prefetch[row]
            more = [s for s in range(low, high) if s not in cache and s not in segments]
        for s in more + own:
            if len(cache) == capacity:
                gone, last = cache.popitem(last=False)
                unused.discard(gone)
                run.ages.append(row - last)
                place[s] = place.pop(gone)
            else:
                place[s] = freed.pop() if freed else len(place)
            run.slots.append(place[s])
            cache[s] = row
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
