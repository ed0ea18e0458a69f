"""Naive flash cache: an ordered dictionary, oldest first."""

from collections import OrderedDict
from collections.abc import Callable


def naive_flash(
    requests: list[tuple[int, list[int]]], accept: Callable[[int, int], bool], capacity: int, lru: bool = True
) -> tuple[list[int], list[int], list[int], list[int], int]:
    """Run (op, segments) requests.

    `accept(row, segment)` is asked for each missing segment of a read. Returns I/O segments, hits and writes
    of each request, the ages of evicted segments, and the row at which the cache was first full.
    """
    cache: OrderedDict[int, int] = OrderedDict()  # segment -> row of its last use
    ios, hits, writes, ages = [], [], [], []
    filled = len(requests)
    for row, (op, segments) in enumerate(requests):
        if op == 1:
            for s in segments:
                cache.pop(s, None)
            ios.append(0)
            hits.append(0)
            writes.append(0)
            continue
        missing = [k for k, s in enumerate(segments) if s not in cache]
        for s in segments:
            if s in cache:
                cache[s] = row
                if lru:
                    cache.move_to_end(s)
        written = 0
        for k in missing:
            if not accept(row, segments[k]):
                continue
            if len(cache) == capacity:
                _, used = cache.popitem(last=False)
                ages.append(row - used)
            cache[segments[k]] = row
            written += 1
            if len(cache) == capacity and filled == len(requests):
                filled = row
        ios.append(missing[-1] - missing[0] + 1 if missing else 0)
        hits.append(len(segments) - len(missing))
        writes.append(written)
    return ios, hits, writes, ages, filled


def naive_rejectx(window: int) -> Callable[[int, int], bool]:
    """RejectX, x = 1: accept a segment whose last miss is at most `window` rows ago."""
    seen: dict[int, int] = {}

    def accept(row: int, segment: int) -> bool:
        known = segment in seen and row - seen[segment] <= window
        seen[segment] = row
        return known

    return accept
