"""Naive oracle cache: a dictionary of (worth, last use) and its minimum; tags read off lists."""

from dataclasses import dataclass, field

INF = float("inf")


@dataclass
class NaiveRun:
    """One entry an access; `stays` holds for each access that is in the cache (first, last + 1) of its stay."""

    outcome: list[str] = field(default_factory=list)
    stays: list[tuple[int, int] | None] = field(default_factory=list)
    reuse: list[int] = field(default_factory=list)
    contested: int = -1


def naive_oracle(ids: list[int], value: list[float], capacity: int) -> NaiveRun:
    """Admit where there is room or the worth exceeds the lowest; equals leave by age of last use."""
    run = NaiveRun()
    cache: dict[int, tuple[float, int]] = {}
    began: dict[int, int] = {}
    left: dict[int, int] = {}
    entries: list[int | None] = []
    for p, page in enumerate(ids):
        if len(cache) == capacity and min(worth for worth, _ in cache.values()) > -INF:
            run.contested = p
        if page in cache:
            run.outcome.append("hit")
        elif len(cache) < capacity:
            run.outcome.append("free")
            began[page] = p
        else:
            victim = min(cache, key=lambda other: cache[other])
            if value[p] <= cache[victim][0]:
                run.outcome.append("bypassed")
                entries.append(None)
                continue
            run.outcome.append("admitted")
            del cache[victim]
            left[began[victim]] = p
            began[page] = p
        cache[page] = (value[p], p)
        entries.append(began[page])
    run.stays = [None if e is None else (e, left.get(e, len(ids))) for e in entries]
    for p, page in enumerate(ids):
        later = [q for q in range(p + 1, len(ids)) if ids[q] == page]
        again = bool(later) and run.outcome[later[0]] == "hit"
        run.reuse.append(later[0] - p if again else 0)
    return run


def naive_useful(ids: list[int], run: NaiveRun, reach: int) -> NaiveRun:
    """Stays that end at their first access whose page is not used again within `reach` before it leaves."""
    reuse = [r if 0 < r <= reach else 0 for r in run.reuse]
    outcome, stays = [], []
    for p in range(len(ids)):
        first = p
        while True:
            before = [q for q in range(first) if ids[q] == ids[p] and q + reuse[q] == first and reuse[q]]
            if not before:
                break
            first = before[0]
        last = p
        while reuse[last]:
            last += reuse[last]
        stays.append((first, last))
        if run.outcome[p] == "hit":
            outcome.append("hit")
        else:
            outcome.append("admitted" if reuse[p] else "bypassed")
    return NaiveRun(outcome, stays, reuse, run.contested)


def naive_decided(requests: list[list[int]], value: list[float], decision: list[int], capacity: int) -> list[int]:
    """Hits when a request's missing pages all enter or all pass; free space is filled."""
    cache: dict[int, tuple[float, int]] = {}
    hits, p = [], 0
    for i, request in enumerate(requests):
        for page in request:
            hits.append(int(page in cache))
            if page in cache or len(cache) < capacity or decision[i]:
                if page not in cache and len(cache) == capacity:
                    del cache[min(cache, key=lambda other: cache[other])]
                cache[page] = (value[p], p)
            p += 1
    return hits


def naive_duration(stays: list[tuple[int, int]], end: int, capacity: int) -> int:
    """Median of stays (first, left), 0 where it is not the same whenever those that reach `end` end."""

    def rank(stay: float) -> int:
        return 1 if stay < capacity else 2 if stay <= 5 * capacity else 3

    if not stays:
        return 0
    shortest = sorted(rank(min(left, end) - first) for first, left in stays)
    longest = sorted(rank(left - first if left < end else INF) for first, left in stays)
    middle = len(stays) // 2
    return shortest[middle] if shortest[middle] == longest[middle] else 0


def naive_tags(
    requests: list[list[int]], run: NaiveRun, settled_end: int, kept_end: int, capacity: int
) -> list[dict[str, object]]:
    """Tags of each request by their definitions."""
    tags, p = [], 0
    for request in requests:
        rows = range(p, p + len(request))
        p += len(request)
        missing = [q for q in rows if run.outcome[q] != "hit"]
        counts = missing or list(rows)
        admitted = [q for q in counts if run.outcome[q] != "bypassed"]
        cached = len(admitted) >= len(missing) / 2
        stays = [run.stays[q] for q in admitted] if cached else []
        tags.append(
            {
                "cached": cached,
                "consulted": bool(missing),
                "settled": rows[-1] < settled_end,
                "forced": any(run.outcome[q] == "free" for q in counts),
                "kept": sum(run.reuse[q] > 0 for q in rows) >= len(rows) / 2,
                "kept_settled": rows[-1] < kept_end,
                "duration": naive_duration(stays, settled_end, capacity),
            }
        )
    return tags
