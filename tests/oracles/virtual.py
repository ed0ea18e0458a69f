"""The virtual I/O cache, naively: queues are lists, and the cache is a set of pages that is read page by page.

Written from Frasca et al., SC '11, Sec. 3, and its overheads: a transfer is a page that enters the set.
"""

from itertools import combinations

from tests.oracles.evict import arc


class Lru:
    """Pages, most recent first."""

    def __init__(self, n):
        self.n, self.pages = n, []

    def ask(self, page):
        """Position before, the position that became free, the position after."""
        if page in self.pages:
            position = vacated = self.pages.index(page)
            self.pages.remove(page)
        else:
            position = -1
            if len(self.pages) == self.n:
                self.pages.pop()
            vacated = len(self.pages)
        self.pages.insert(0, page)
        return position, vacated, 0


class Lfu:
    """Pages by counts, then recency."""

    def __init__(self, n):
        self.n, self.pages, self.count = n, [], {}

    def ask(self, page):
        if page in self.pages:
            position = vacated = self.pages.index(page)
            self.pages.remove(page)
        else:
            position = -1
            if len(self.pages) == self.n:
                del self.count[self.pages.pop()]
            vacated = len(self.pages)
        self.count[page] = self.count.get(page, 0) + 1
        filled = sum(self.count[other] > self.count[page] for other in self.pages)
        self.pages.insert(filled, page)
        return position, vacated, filled


class Arc:
    """T2, then T1."""

    def __init__(self, n):
        self.cache = arc.Cache(None, n)

    @property
    def pages(self):
        return self.cache.t2[::-1] + self.cache.t1[::-1]

    def ask(self, page):
        before = self.pages
        if self.cache.has(page):
            position = vacated = before.index(page)
            self.cache.touch(page, 0)
        else:
            position = -1
            left = self.cache.insert(page, 0)
            vacated = len(before) if left == -1 else before.index(left)
        return position, vacated, self.pages.index(page)


QUEUES = {"lru": Lru, "lfu": Lfu, "arc": Arc}


def moves(queue, pages, n):
    """What each reference does to the queue: three rows."""
    own = QUEUES[queue](n)
    return [list(row) for row in zip(*(own.ask(page) for page in pages), strict=True)]


def added(values):
    """In the order given; `sum` of later Pythons adds otherwise."""
    found = 0.0
    for value in values:
        found += value
    return found


def runs_of(mapped):
    """Runs [low, high) of a set of whole numbers."""
    found = []
    for b in sorted(mapped):
        if found and found[-1][1] == b:
            found[-1][1] = b + 1
        else:
            found.append([b, b + 1])
    return found


def allocate(value, crossings, k, f, cost):
    """Fragments of the cache, as runs, and what they are worth."""
    fragments = range(len(value))
    mapped = set(sorted(fragments, key=lambda b: (-value[b], b))[:k])
    while len(runs := runs_of(mapped)) > f:
        low, high = min(runs, key=lambda run: (added(value[run[0] : run[1]]), -run[0]))
        mapped -= set(range(low, high))
        for _ in range(low, high):
            beside = [b for b in fragments if b not in mapped and (b - 1 in mapped or b + 1 in mapped)]
            mapped.add(min(beside, key=lambda b: (-value[b], b)))
    worth = added(value[b] for b in sorted(mapped)) - cost * added(crossings[low] for low, _ in runs if low > 0)
    if cost > 0 and (head := added(value[:k])) >= worth:
        return [[0, k]], head
    return runs, worth


def optimum(value, crossings, k, f, cost):
    """The best of all mappings, each tried; of equals the one whose last fragments are nearest the head."""

    def worth(mapped):
        return sum(value[b] for b in mapped) - cost * sum(crossings[low] for low, _ in runs_of(mapped) if low > 0)

    every = [mapped for mapped in combinations(range(len(value)), k) if len(runs_of(mapped)) <= f]
    best = min(every, key=lambda mapped: (-worth(mapped), mapped[::-1]))
    return runs_of(best), worth(best)


class Cache:
    """The pages at mapped positions, as a set."""

    def __init__(self, queue, n, capacity, settings, profile=None):
        self.queue, self.n, self.capacity = QUEUES[queue](n), n, capacity
        self.fragment, self.f, self.alpha, self.q, self.cost, _ = settings
        count = -(-n // self.fragment)
        scale = self.q * (100 if self.alpha == 1 else min(1 / (1 - self.alpha), 100))
        self.value = [0.0] * count if profile is None else [each * scale for each in profile]
        self.crossings = [0.0] * count
        self.asked, self.held = 0, set()
        self.map()

    def map(self):
        fragment = self.fragment
        k = self.capacity // fragment
        runs, _ = allocate(self.value, self.crossings, k, self.f, self.cost)
        positions = [list(range(low * fragment, min(high * fragment, self.n))) for low, high in runs]
        for _ in range(self.capacity - k * fragment):
            first = positions[0]
            if first[-1] < self.n - 1:
                first.append(first[-1] + 1)
            elif runs[0][1] * fragment >= self.n and first[0] > 0:
                first.insert(0, first[0] - 1)
        self.runs = [(run[0], run[-1] + 1) for run in positions]
        self.positions = {position for run in positions for position in run}

    def enter(self, passing=None):
        """Make the set what the mapping says; returns the pages read for it besides the one that is passing."""
        now = {page for position, page in enumerate(self.queue.pages) if position in self.positions}
        read = now - self.held - {passing}
        self.held = now
        return len(read)

    def ask(self, page):
        """Hit or not, pages that a move brought in, pages that a new mapping found."""
        hit = page in self.held
        position, vacated, filled = self.queue.ask(page)
        moved = self.enter(page)
        self.kept = page in self.held
        if position >= 0:
            self.value[position // self.fragment] += 1
        for b in range(1, len(self.crossings)):
            self.crossings[b] += filled < b * self.fragment <= vacated
        self.asked += 1
        if self.asked % self.q:
            return hit, moved, 0
        self.map()
        found = self.enter()
        self.value = [value * self.alpha for value in self.value]
        self.crossings = [crossed * self.alpha for crossed in self.crossings]
        return hit, moved, found
