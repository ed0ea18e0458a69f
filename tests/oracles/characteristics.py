"""Naive figures of a trace: every access beside all others, on Python's integers and sets."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

Request = tuple[int, int, str, int, int]
"""time_us, op, volume, offset, size."""


def naive_uses(requests: Sequence[Sequence[int]], ops: Sequence[int]) -> tuple[Counter[int], Counter[int]]:
    """Reads and writes of each page."""
    reads: Counter[int] = Counter()
    writes: Counter[int] = Counter()
    for pages, op in zip(requests, ops, strict=True):
        (writes if op else reads).update(pages)
    return reads, writes


def naive_windows(accesses: Sequence[int], bounds: Sequence[int]) -> tuple[list[int], list[int]]:
    """Distinct pages of each window, and those that no window before it had."""
    distinct, new = [], []
    for begin, end in pairwise(bounds):
        own = set(accesses[begin:end])
        distinct.append(len(own))
        new.append(len(own - set(accesses[:begin])))
    return distinct, new


def naive_gaps(
    requests: Sequence[Sequence[int]], ops: Sequence[int], times: Sequence[int]
) -> tuple[list[int], Counter[tuple[int, int]]]:
    """Time since each access's page was used last, and what was done then and now."""
    gaps: list[int] = []
    pairs: Counter[tuple[int, int]] = Counter()
    past: list[tuple[int, int, int]] = []
    for pages, op, time in zip(requests, ops, times, strict=True):
        for page in pages:
            before = [use for use in past if use[0] == page]
            if before:
                gaps.append(time - before[-1][2])
                pairs[before[-1][1], op] += 1
            past.append((page, op, time))
    return gaps, pairs


def naive_footprints(requests: Sequence[Sequence[int]], names: Sequence[int], count: int) -> list[int]:
    """Distinct pages of each name."""
    return [
        len({page for pages, own in zip(requests, names, strict=True) if own == name for page in pages})
        for name in range(count)
    ]


def naive_updates(requests: Sequence[Sequence[int]], times: Sequence[int]) -> tuple[int, list[int]]:
    """Write requests whose first unit nothing had written, and the time since each unit's last write, in order."""
    new, intervals = 0, []
    for i, units in enumerate(requests):
        before = [(unit, time) for own, time in zip(requests[:i], times, strict=False) for unit in own]
        new += units[0] not in [unit for unit, _ in before]
        for unit in units:
            past = [time for own, time in before if own == unit]
            if past:
                intervals.append(times[i] - past[-1])
    return new, intervals


def naive_distances(accesses: Sequence[int]) -> list[int | None]:
    """Other pages since each access's page was used last; None at its first use."""
    found: list[int | None] = []
    for i, page in enumerate(accesses):
        before = [j for j in range(i) if accesses[j] == page]
        found.append(len(set(accesses[before[-1] + 1 : i])) if before else None)
    return found


def naive_twsd(requests: Sequence[Request], window: int) -> list[str]:
    """Each request's kind, by RC-RNN's Sec. 3.2 with the limits of the workload classifier's baseline."""
    kinds = []
    for i, (_, _, volume, offset, size) in enumerate(requests):
        past = [other for other in requests[i - i % window : i] if other[2] == volume]
        ends = [(other[3], other[3] + other[4]) for other in past]
        apart = [max(low - offset - size, offset - high) for low, high in ends]
        if any(distance < 0 for distance in apart):
            kinds.append("overlapped")
        elif size >= 128 << 10 or 0 in apart:
            kinds.append("sequential")
        elif any(distance <= 64 << 10 for distance in apart):
            kinds.append("strided")
        else:
            kinds.append("random")
    return kinds


def naive_runs(requests: Sequence[Request]) -> list[list[int]]:
    """Numbers of the requests of each run: of one volume, each beginning where the one before ended."""
    found: list[list[int]] = []
    last: dict[str, tuple[int, list[int]]] = {}
    for i, (_, _, volume, offset, size) in enumerate(requests):
        end, run = last.get(volume, (-1, []))
        if end == offset:
            run.append(i)
        else:
            run = [i]
            found.append(run)
        last[volume] = (offset + size, run)
    return found
