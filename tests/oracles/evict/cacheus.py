"""CACHEUS in the words of the paper, with plain lists and dictionaries; newest first."""

import math

from tests.oracles.admit.coinflip import mixed


class Cache:
    def __init__(self, stream, capacity, scan=0.01, seed=0):
        self.capacity, self.seed, self.drawn = capacity, seed, 0
        self.sr, self.r = [], []
        self.histories = {"lru": [], "lfu": []}
        self.sr_size = min(max(int(scan * capacity + 0.5), 1), max(capacity - 1, 1))
        self.frequency, self.used, self.now = {}, {}, 0
        self.new, self.demoted = set(), set()
        self.weights = {"lru": 0.5, "lfu": 0.5}
        self.rate, self.rate_before, self.ratio_before = self.random_rate(), 0.0, 0.0
        self.hits = self.accesses = self.unlearned = 0

    def random(self):
        self.drawn += 1
        return mixed(mixed(self.drawn - 1) ^ mixed(self.seed ^ 0x5BD1E995)) / 2**32

    def random_rate(self):
        return 0.001 + 0.999 * self.random()

    def new_ghosts(self):
        return sum(page in self.new for page in self.histories["lru"])

    def has(self, page):
        return page in self.sr + self.r

    def use(self, page, frequency):
        self.now += 1
        self.frequency[page], self.used[page] = frequency, self.now

    def touch(self, page, i):
        self.hits += 1
        self.use(page, self.frequency[page] + 1)
        if page in self.demoted:
            step = max(1, int(max(1, self.new_ghosts()) / len(self.demoted) + 0.5))
            self.sr_size = max(1, self.sr_size - step)
        self.demoted.discard(page)
        self.new.discard(page)
        (self.sr if page in self.sr else self.r).remove(page)
        self.to_r(page)
        self.end_access()

    def to_r(self, page):
        self.r.insert(0, page)
        while len(self.r) > self.capacity - self.sr_size:
            self.sr.insert(0, self.r.pop())
            self.demoted.add(self.sr[0])

    def insert(self, page, i):
        expert = next((name for name, ghosts in self.histories.items() if page in ghosts), None)
        if expert:
            self.update_weights(expert)
            if expert == "lru" and page in self.new:
                step = max(1, int(max(1, len(self.demoted)) / self.new_ghosts() + 0.5))
                self.sr_size = max(1, min(self.capacity - 1, self.sr_size + step))
            self.histories[expert].remove(page)
        self.new.discard(page)
        left = self.evict() if len(self.sr) + len(self.r) == self.capacity else -1
        if expert:
            self.use(page, self.frequency[page] + 1)
            self.to_r(page)
        else:
            self.use(page, 1)
            self.sr.insert(0, page)
            self.new.add(page)
        self.end_access()
        return left

    def update_weights(self, expert):
        self.weights[expert] *= math.exp(-self.rate)
        share = self.weights["lru"] / (self.weights["lru"] + self.weights["lfu"])
        share = min(max(share, 0.01), 0.99)
        self.weights = {"lru": share, "lfu": 1 - share}

    def evict(self):
        choice = {
            "lru": (self.sr or self.r)[-1],
            "lfu": min(self.sr + self.r, key=lambda page: (self.frequency[page], -self.used[page])),
        }
        expert = None
        if choice["lru"] != choice["lfu"]:
            expert = "lru" if self.random() < self.weights["lru"] else "lfu"
        page = choice[expert or "lru"]
        (self.sr if page in self.sr else self.r).remove(page)
        self.demoted.discard(page)
        if expert:
            self.histories[expert].insert(0, page)
            if len(self.histories[expert]) > self.capacity // 2:
                self.histories[expert].pop()
        return page

    def end_access(self):
        self.accesses += 1
        if self.accesses % self.capacity:
            return
        ratio = self.hits / self.capacity
        gain, change = ratio - self.ratio_before, self.rate - self.rate_before
        self.ratio_before, self.rate_before, self.hits = ratio, self.rate, 0
        if change != 0:
            size = abs(self.rate * change)
            better = gain * change > 0
            self.rate = min(1.0, self.rate + size) if better else max(0.001, self.rate - size)
            self.unlearned = 0
        elif ratio == 0 or gain <= 0:
            self.unlearned += 1
            if self.unlearned >= 10:
                self.unlearned, self.rate = 0, self.random_rate()
