"""Applications that share a cache, in the plainest words: lists, sets, and every split tried."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
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


def every_split(total: int, least: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to give out all fragments."""
    if len(least) == 1:
        yield (total,)
        return
    for first in range(least[0], total - sum(least[1:]) + 1):
        for rest in every_split(total - first, least[1:]):
            yield (first, *rest)


def optimum(misses: Any, total: int, least: Sequence[int]) -> tuple[int, ...]:
    """The split of least misses; of equals the one that gives the last application least, then the one before."""
    return min(
        every_split(total, least),
        key=lambda split: (sum(misses[a][size] for a, size in enumerate(split)), split[::-1]),
    )


def lookahead(misses: Any, total: int, least: Sequence[int]) -> list[int]:
    """UCP, algorithm 2: the steepest saving of all applications first."""
    split, room = list(least), total - sum(least)
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


def hull(sizes: Sequence[int], misses: Sequence[int]) -> list[tuple[int, int, int]]:
    """Of each size the least of all lines that span it, rounded down, and the corners at its ends."""
    every = range(len(sizes))

    def on(i: int, j: int, k: int) -> Fraction:
        if i == j:
            return Fraction(misses[i])
        return misses[i] + Fraction((misses[j] - misses[i]) * (sizes[k] - sizes[i]), sizes[j] - sizes[i])

    def slope(k: int) -> Fraction:
        return (below[k + 1] - below[k]) / (sizes[k + 1] - sizes[k])

    below = [min(on(i, j, k) for i in every for j in every if i < k < j or i == j == k) for k in every]
    corners = [k for k in every if k in (0, len(sizes) - 1) or slope(k - 1) != slope(k)]
    return [(int(below[k]), max(c for c in corners if c <= k), min(c for c in corners if c >= k)) for k in every]


def led(pages: Sequence[int], runs: Sequence[Sequence[tuple[bool, int]]], leaders: Sequence[int]) -> list[bool]:
    """A part that holds some pages of the cache that leads at each reference.

    Args:
        pages: of the references.
        runs: of each cache, whether the page entered at each reference, and who left, below 0 for nobody.
        leaders: which cache leads at each.
    """
    inside, held, hits = [set[int]() for _ in runs], set[int](), []
    for i, (page, leader) in enumerate(zip(pages, leaders, strict=True)):
        held &= inside[leader]
        hits.append(page in held)
        for own, run in zip(inside, runs, strict=True):
            entered, left = run[i]
            own |= {page} if entered else set()
            own -= {left}
        held = (held | {page}) & inside[leader]
    return hits


def splitmix(state: int) -> int:
    """The mixer of SplitMix64."""
    z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def climb(
    app: Sequence[int], pages: Sequence[int], first: Sequence[int], least: Sequence[int], shadow: int, credit: int,
    seed: int,
) -> tuple[list[bool], list[list[int]]]:  # fmt: skip
    """Cliffhanger with lists: hits, and the sizes before each reference."""
    stacks, resident, size, hits, sizes = [list[int]() for _ in first], [0] * len(first), list(first), [], []
    for a, page in zip(app, pages, strict=True):
        sizes.append(list(size))
        place = stacks[a].index(page) if page in stacks[a] else -1
        hits.append(0 <= place < resident[a])
        if size[a] <= place < size[a] + shadow and len(size) > 1:
            seed = (seed + 0x9E3779B97F4A7C15) % 2**64
            drawn = (splitmix(seed) >> 32) * (len(size) - 1) >> 32
            begin = drawn + (drawn >= a)
            order = [*range(begin, len(size)), *range(begin)]
            giver = next((b for b in order if b != a and size[b] - credit >= least[b]), None)
            if giver is not None:
                size[a] += credit
                size[giver] -= credit
                resident[giver] = min(resident[giver], size[giver])
        if not hits[-1]:
            resident[a] = min(size[a], resident[a] + 1)
        if place >= 0:
            stacks[a].pop(place)
        stacks[a].insert(0, page)
    return hits, sizes


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
    app: Sequence[int], pages: Sequence[int], moves: Any, count: int, total: int, n: Sequence[int], each: Any,
    step: int, reach: int, fill: float, allocate: Allocate,
) -> tuple[list[bool], list[int], list[list[int]]]:  # fmt: skip
    """G-VPA: hits, pages read beside misses, and the split of each quantum; a queue and settings for each."""
    fragments = [-(-length // one.fragment) for length, one in zip(n, each, strict=True)]
    queues = [Queue(own, one.fragment) for own, one in zip(fragments, each, strict=True)]
    split = [total // count + (a < total % count) for a in range(count)]
    hits, moved, splits = [], [], [list(split)]

    def best(a: int, size: int) -> tuple[list[tuple[int, int]], float]:
        return allocate(queues[a].value, queues[a].crossings, size, each[a].f, each[a].cost)

    for a in range(count):
        queues[a].runs = best(a, split[a])[0]
    for i, (a, page) in enumerate(zip(app, pages, strict=True)):
        hit, entered = queues[a].ask(page, int(moves.vacated[i]), int(moves.filled[i]))
        hits.append(hit)
        moved.append(entered)
        if (i + 1) % sum(one.q for one in each):
            continue
        for queue in queues:
            queue.crossings = [x + y for x, y in zip(queue.crossings, queue.crossed, strict=True)]
            queue.crossed = [0] * len(queue.crossed)
        _move(split, best, fragments, [max(one.f, 1) for one in each], step, reach, fill * each[0].fragment)
        for a, queue in enumerate(queues):
            before = queue.cached()
            queue.runs = best(a, split[a])[0]
            moved[-1] += len(queue.cached() - before)
            queue.value = [x * each[a].alpha for x in queue.value]
            queue.crossings = [x * each[a].alpha for x in queue.crossings]
        splits.append(list(split))
    return hits, moved, splits


def _move(
    split: list[int], best: Any, most: list[int], least: list[int], step: int, reach: int, due: float
) -> None:  # fmt: skip
    """Give fragments from one to another while that is worth anything."""
    start, free, worth = list(split), set(range(len(split))), lru_cache(None)(lambda a, size: best(a, size)[1])
    while True:
        found = []
        for d in range(1, reach + 1):
            for r in sorted(free):
                for g in sorted(free - {r}):
                    if start[r] + d * step <= most[r] and start[g] - d * step >= least[g]:
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
