"""Applications that share a cache, in the plainest words: lists, sets, and every split tried."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

Allocate = Callable[[list[float], list[float], int, int, float], tuple[list[tuple[int, int]], float]]


def lru_partitions(app: Sequence[int], pages: Sequence[int], begins: Sequence[int], splits: Any) -> list[bool]:
    """Which references hit: a list for each application, the most recent page last."""
    lists = [OrderedDict[int, None]() for _ in splits[0]]
    hits = []
    window = -1
    for i, (own, page) in enumerate(zip(app, pages, strict=True)):
        if window + 1 < len(begins) and begins[window + 1] == i:
            window += 1
        for cache, size in zip(lists, splits[window], strict=True):
            while len(cache) > size:
                cache.popitem(last=False)
        cache = lists[own]
        hits.append(page in cache)
        cache.pop(page, None)
        cache[page] = None
        if len(cache) > splits[window][own]:
            cache.popitem(last=False)
    return hits


def every_split(total: int, count: int, least: int) -> Iterator[tuple[int, ...]]:
    """All ways to give out all fragments."""
    if count == 1:
        yield (total,)
        return
    for first in range(least, total - (count - 1) * least + 1):
        for rest in every_split(total - first, count - 1, least):
            yield (first, *rest)


def optimum(misses: Any, total: int, least: int) -> tuple[int, ...]:
    """The split of least misses; of equals the one that gives the last application least, then the one before."""
    return min(
        every_split(total, len(misses), least),
        key=lambda split: (sum(misses[a][size] for a, size in enumerate(split)), split[::-1]),
    )


def lookahead(misses: Any, total: int, least: int) -> list[int]:
    """UCP, algorithm 2: the steepest saving of all applications first."""
    split, room = [least] * len(misses), total - least * len(misses)
    while room:
        steps = [
            (-(misses[a][have] - misses[a][have + more]) / more, a, more)
            for a, have in enumerate(split)
            for more in range(1, room + 1)
        ]
        slope, a, more = min(steps)
        if slope == 0:
            break
        split[a] += more
        room -= more
    for turn in range(room):
        split[turn % len(split)] += 1
    return split


class Queue:
    """One application's queue, as the list of its pages, and the pages that the cache has of it."""

    def __init__(self, fragments: int, fragment: int) -> None:
        self.pages: list[int] = []
        self.fragment = fragment
        self.value, self.crossings = [0.0] * fragments, [0.0] * fragments
        self.crossed = [0] * fragments
        self.runs: list[tuple[int, int]] = []

    def cached(self) -> set[int]:
        """Pages at mapped positions."""
        return {
            page for k, page in enumerate(self.pages)
            if any(low <= k // self.fragment < high for low, high in self.runs)
        }  # fmt: skip

    def ask(self, page: int, vacated: int, filled: int) -> tuple[bool, int]:
        """Serve a reference; a hit, and the pages that entered beside it."""
        before = self.cached()
        if page in self.pages:
            self.value[self.pages.index(page) // self.fragment] += 1
        old = list(self.pages)
        if vacated < len(self.pages):
            del self.pages[vacated]
        self.pages.insert(filled, page)
        for b in range(1, len(self.crossed)):
            edge = b * self.fragment
            if edge < len(self.pages) and self.pages[edge] in old[:edge] and self.pages[edge] != page:
                self.crossed[b] += 1
        return page in before, len(self.cached() - before - {page})


def share(
    app: Sequence[int], pages: Sequence[int], moves: Any, count: int, total: int, n: int, settings: Any, step: int,
    reach: int, fill: float, allocate: Allocate,
) -> tuple[list[bool], list[int], list[list[int]]]:  # fmt: skip
    """G-VPA: hits, pages read beside misses, and the split of each quantum."""
    fragments = -(-n // settings.fragment)
    queues = [Queue(fragments, settings.fragment) for _ in range(count)]
    split = [total // count + (a < total % count) for a in range(count)]
    hits, moved, splits = [], [], [list(split)]

    def best(a: int, size: int) -> tuple[list[tuple[int, int]], float]:
        return allocate(queues[a].value, queues[a].crossings, size, settings.f, settings.cost)

    for a in range(count):
        queues[a].runs = best(a, split[a])[0]
    for i, (a, page) in enumerate(zip(app, pages, strict=True)):
        hit, entered = queues[a].ask(page, int(moves.vacated[i]), int(moves.filled[i]))
        hits.append(hit)
        moved.append(entered)
        if (i + 1) % (settings.q * count):
            continue
        for queue in queues:
            queue.crossings = [x + y for x, y in zip(queue.crossings, queue.crossed, strict=True)]
            queue.crossed = [0] * fragments
        _move(split, best, fragments, max(settings.f, 1), step, reach, fill * settings.fragment)
        for a, queue in enumerate(queues):
            before = queue.cached()
            queue.runs = best(a, split[a])[0]
            moved[-1] += len(queue.cached() - before)
            queue.value = [x * settings.alpha for x in queue.value]
            queue.crossings = [x * settings.alpha for x in queue.crossings]
        splits.append(list(split))
    return hits, moved, splits


def _move(split: list[int], best: Any, most: int, least: int, step: int, reach: int, due: float) -> None:
    """Give fragments from one to another while that is worth anything."""
    start, free, worth = list(split), set(range(len(split))), lru_cache(None)(lambda a, size: best(a, size)[1])
    while True:
        found = []
        for d in range(1, reach + 1):
            for r in sorted(free):
                for g in sorted(free - {r}):
                    if start[r] + d * step <= most and start[g] - d * step >= least:
                        gain = worth(r, start[r] + d * step) - worth(r, start[r])
                        loss = worth(g, start[g]) - worth(g, start[g] - d * step)
                        found.append((-(gain - loss - due * d * step), d, r, g))
        if not found or min(found)[0] >= 0:
            return
        _, d, r, g = min(found)
        split[r] += d * step
        split[g] -= d * step
        free -= {r, g}


def misses(app: Sequence[int], pages: Sequence[int], count: int, size: int) -> list[int]:
    """Of each application the misses of an LRU of so many pages."""
    hits = lru_partitions(app, pages, [0], [[size] * count])
    return np.bincount([a for a, hit in zip(app, hits, strict=True) if not hit], minlength=count).tolist()
