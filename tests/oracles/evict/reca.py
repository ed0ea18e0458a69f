from cachezoo.kernels.outcome import WRITE
from tests.oracles.evict.hystor import request_pages

KINDS = [(large, write) for large in (False, True) for write in (False, True)]


class Cache:
    """Naive ReCA-like: every access kept as it came, counts by kind taken from that list."""

    def __init__(self, stream, capacity, window=1, reach=2, bar=0.25, sequential=16):
        sizes = request_pages(stream)
        self.kind = [
            (size >= sequential, bool(flags & WRITE)) for size, flags in zip(sizes, stream.flags.tolist(), strict=True)
        ]
        self.capacity, self.bar = capacity, bar
        self.window, self.reach = max(1, int(window * capacity)), int(reach * capacity)
        self.pages, self.last = {}, {}
        self.made, self.reused = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
        self.worth, self.barred, self.seen = dict.fromkeys(KINDS, 0.5), set(), 0

    def has(self, page):
        return page in self.pages

    def touch(self, page, i):
        self.measure(page, i)
        self.pages[page] = i

    def insert(self, page, i):
        self.measure(page, i)
        victim = -1
        if len(self.pages) == self.capacity:
            if self.kind[i] in self.barred:
                return -2
            victim = self.least(i)
            del self.pages[victim]
        self.pages[page] = i
        return victim

    def least(self, i):
        """Each kind offers its page used longest ago."""
        tails = []
        for kind in KINDS:
            of_kind = [page for page, last in self.pages.items() if self.kind[last] == kind]
            if of_kind:
                tail = min(of_kind, key=self.pages.get)
                tails.append((self.worth[kind] / (i - self.pages[tail]), tail))
        return min(tails, key=lambda pair: pair[0])[1]

    def measure(self, page, i):
        if page in self.last and i - self.last[page] <= self.reach:
            self.reused[self.kind[self.last[page]]] += 1
        self.made[self.kind[i]] += 1
        self.last[page] = i
        self.seen += 1
        if self.seen % self.window == 0:
            self.reconfigure()

    def reconfigure(self):
        made, reused = sum(self.made.values()), sum(self.reused.values())
        self.worth = {kind: (self.reused[kind] + 1) / (self.made[kind] + 2) for kind in KINDS}
        self.barred = {kind for kind in KINDS if self.worth[kind] < self.bar * (reused + 1) / (made + 2)}
        self.made = {kind: count // 2 for kind, count in self.made.items()}
        self.reused = {kind: count // 2 for kind, count in self.reused.items()}
