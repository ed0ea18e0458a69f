"""LRB-like and 3L-Cache-like evictions, naively: lists and dictionaries, and LightGBM itself for the predictions."""

import math
from itertools import pairwise

import numpy as np

MASK = 0xFFFFFFFF
NEVER = 2**30


class Dice:
    """The n-th draw is a hash of n."""

    def __init__(self, seed):
        self.n = seed << 20

    def draw(self, below):
        z = ((self.n & MASK) * 747796405 + 2891336453) & MASK
        self.n += 1
        z = (((z >> ((z >> 28) + 4)) ^ z) * 277803737) & MASK
        return (((z >> 22) ^ z) * below) >> 32


def fade(age, counter):
    step = age // 2 ** (6 + 2 * counter)
    return np.float32(0.5 ** (step / 16)) if step < 512 else np.float32(0)


def features(times, now, deltas, counters):
    """Of a page accessed at these times, the row at `now`."""
    gaps = [b - a for a, b in pairwise(times)]
    recent = [*reversed(gaps), *[NEVER] * deltas][:deltas]
    sums = []
    for k in range(counters):
        total = np.float32(1)
        for gap in gaps:
            total = total * fade(gap, k) + np.float32(1)
        sums.append(total * fade(now - times[-1], k))
    return [now - times[-1], *recent, *sums, len(times), now - times[0]]


def tree_value(node, row):
    """The leaf of LightGBM's dumped tree that a row reaches."""
    while "leaf_value" not in node:
        node = node["left_child"] if row[node["split_feature"]] <= node["threshold"] else node["right_child"]
    return node["leaf_value"]


class Learner:
    """What both have: pages' access times while remembered, marks, rows, and a model after training."""

    def __init__(self, stream, capacity, values, fit):
        self.ids, self.capacity, self.values, self.fit = stream.page_ids.tolist(), capacity, values, fit
        self.dice = Dice(int(values["seed"]))
        self.times, self.marks = {}, {}
        self.rows, self.trained, self.model = [], 0, None
        self.slots, self.recency = [], []

    def has(self, page):
        return page in self.slots

    def row(self, page, now):
        return features(self.times[page], now, int(self.values["deltas"]), int(self.values.get("counters", 0)))

    def label(self, page, distance):
        if page in self.marks:
            self.rows.append((self.row(page, self.marks.pop(page)), math.log(distance)))

    def access(self, page, i):
        if page in self.marks:
            self.label(page, i - self.marks[page])
        self.times.setdefault(page, []).append(i)

    def forget(self, page):
        del self.times[page]
        self.marks.pop(page, None)

    def predict(self, pages, now):
        rows = np.array([self.row(page, now) for page in pages], np.float32)
        return [now + math.exp(score) for score in self.model.predict(rows)]

    def ready(self, served):
        size = int(self.values["rows"])
        return served < len(self.ids) and len(self.rows) - self.trained >= min(size, max(self.trained, size // 8))

    def train(self):
        import lightgbm as lgb

        size, values = int(self.values["rows"]), self.values
        ring = self.rows[: len(self.rows) % size] if len(self.rows) > size else self.rows
        if len(self.rows) > size:  # a ring: the latest rows first, then what they have not yet written over
            start = len(self.rows) - len(self.rows) % size
            ring = self.rows[start:] + self.rows[start - size + len(self.rows) % size : start]
        inputs = np.array([row for row, _ in ring], np.float32)
        labels = np.array([label for _, label in ring], np.float32)
        shape = (int(values["trees"]), int(values["leaves"]), values["learning_rate"])
        text = self.fit(inputs, labels, *shape, int(values["threads"]), int(values["seed"]))
        self.model, self.trained = lgb.Booster(model_str=text), len(self.rows)

    def enter(self, page, slot):
        if slot is None:
            self.slots.append(page)
        else:
            self.slots[slot] = page
        self.recency.append(page)


class Lrb(Learner):
    def __init__(self, stream, capacity, values, fit):
        super().__init__(stream, capacity, values, fit)
        self.widest = max(1, round(values["window"] * capacity))
        self.window, self.slid = 0, False
        self.due = {}

    def label(self, page, distance):
        self.settle(page, lambda mark: distance)

    def access(self, page, i):
        self.settle(page, lambda mark: i - mark)
        super().access(page, i)

    def settle(self, page, distance):
        """A page has any number of marks; the latest becomes a row first."""
        for mark in reversed(self.marks.pop(page, [])):
            self.rows.append((self.row(page, mark), math.log(distance(mark))))

    def touch(self, page, i):
        self.slide(i)
        self.access(page, i)
        self.due.pop(page, None)
        self.recency.remove(page)
        self.recency.append(page)
        self.mark(i)

    def insert(self, page, i):
        self.slide(i)
        victim, slot = -1, None
        if len(self.slots) == self.capacity:
            victim = self.choose(i)
            slot = self.slots.index(victim)
            self.recency.remove(victim)
            self.due.pop(victim, None)
        self.access(page, i)
        self.enter(page, slot)
        self.mark(i)
        return victim

    def slide(self, i):
        self.window = min(self.widest, max(2 * self.capacity, i // 2))
        self.slid = self.slid or i >= self.window
        for page in sorted(self.times, key=lambda page: self.times[page][-1]):
            if self.times[page][-1] <= i - self.window:
                self.label(page, 2 * self.window)
                if page not in self.slots:
                    self.forget(page)

    def mark(self, i):
        if i % int(self.values["sample_every"]):
            return
        for _ in range(8):
            t = i - self.dice.draw(min(i + 1, self.window))
            page = self.ids[t]
            if page in self.times and self.times[page][-1] == t:
                self.marks.setdefault(page, []).append(i)
                return

    def choose(self, i):
        oldest = self.recency[0]
        if self.model is None or self.times[oldest][-1] <= i - self.window:
            return oldest
        drawn = [self.slots[self.dice.draw(len(self.slots))] for _ in range(int(self.values["candidates"]))]
        stale = [page for page in dict.fromkeys(drawn) if page not in self.due or self.due[page][1] <= i]
        for page, due in zip(stale, self.predict(stale, i) if stale else [], strict=True):
            self.due[page] = (due, i + max(1, self.values["patience"] * (due - i)))
        return max(drawn, key=lambda page: self.worth(page, i))

    def worth(self, page, i):
        return self.due[page][0]

    def learn(self, served):
        if self.slid and self.ready(served):
            self.train()
            self.due.clear()


class ThreeLCache(Learner):
    def __init__(self, stream, capacity, values, fit):
        super().__init__(stream, capacity, values, fit)
        self.gone, self.fresh = [], []  # entries (page, number); a number stands for one stay
        self.out = 0  # entries that ever fell off the queue of evicted pages
        self.stay, self.numbers = {}, 0
        self.window, self.far, self.farthest = 2, 0, 0
        self.hand, self.steps, self.length, self.left = None, 0, 0, 0
        self.often, self.tail, self.reserve = 1, 1, 2
        self.heap, self.due, self.origin = [], {}, {}
        self.accesses = self.hits = self.near = 0
        self.leavers, self.asked, self.counts = [0] * 3, [0] * 3, []

    def number(self, page):
        self.numbers += 1
        self.stay[page] = self.numbers
        return page, self.numbers

    def step_off(self, page):
        if self.hand == page:
            place = self.recency.index(page) + 1
            self.hand = self.recency[place] if place < len(self.recency) else None

    def touch(self, page, i):
        self.accesses += 1
        self.hits += 1
        self.access(page, i)
        self.due.pop(page, None)
        self.step_off(page)
        self.recency.remove(page)
        self.recency.append(page)
        self.mark(i)

    def insert(self, page, i):
        self.accesses += 1
        self.near += page in self.times
        self.access(page, i)
        victim, slot = -1, None
        if len(self.slots) == self.capacity:
            victim = self.choose(i)
            slot = self.slots.index(victim)
            self.step_off(victim)
            self.recency.remove(victim)
            self.due.pop(victim, None)
            self.gone.append(self.number(victim))
        self.stay.pop(page, None)
        self.enter(page, slot)
        if self.model is not None:
            self.fresh.append(self.number(page))
        if victim >= 0:
            while len(self.gone) > (self.window - 1) * len(self.slots):
                self.fall_off(i)
            self.mark(i)
        return victim

    def fall_off(self, i):
        page, number = self.gone.pop(0)
        self.out += 1
        if self.stay.get(page) == number:
            age = i - self.times[page][-1]
            self.label(page, self.far + age)
            self.farthest = max(self.farthest, age)
            self.forget(page)

    def mark(self, i):
        if i % int(self.values["sample_every"]):
            return
        k = self.dice.draw(len(self.slots) + len(self.gone))
        if k < len(self.slots):
            self.marks.setdefault(self.slots[k], i)
        else:
            page, number = self.gone[k - len(self.slots)]
            if self.stay.get(page) == number:
                self.marks.setdefault(page, i)

    def choose(self, i):
        if self.model is None:
            return self.recency[0]
        if self.left <= 0 or not self.heap:
            self.left = max(1, self.batch(i) // 2)
        self.left -= 1
        while self.heap:
            due, page = max(self.heap, key=lambda entry: (entry[0], -entry[1]))
            self.heap.remove((due, page))
            if self.due.get(page) == due:
                self.leavers[self.origin[page]] += 1
                self.counts.append(len(self.times[page]))
                return page
        return self.recency[0]

    def batch(self, i):
        used = len(self.slots)
        self.length = self.length or used
        size = max(1, min(1024, used // 100 + 2, used // 2))
        drawn = []
        while len(self.fresh) * 100 > used * self.reserve and len(drawn) < size + size // 2:
            page, number = self.fresh.pop(0)
            if page in self.slots and self.stay.get(page) == number:
                self.draw(drawn, page, 0)
        if len(self.fresh) * 10 <= used * self.reserve:
            self.walk(drawn, size)
        for page, due in zip(drawn, self.predict(drawn, i) if drawn else [], strict=True):
            due = self.key(page, due, i)
            self.due[page] = due
            self.heap.append((due, page))
        return len(drawn)

    def key(self, page, due, i):
        return due

    def draw(self, drawn, page, origin):
        drawn.append(page)
        self.origin[page] = origin
        self.asked[origin] += 1

    def walk(self, drawn, size):
        most = len(drawn) + size
        for _ in range(len(self.slots)):
            if len(drawn) == most:
                return
            if self.steps >= self.length or self.hand is None:
                self.tune()
                self.hand, self.length = self.recency[0], len(self.slots)
            page = self.hand
            old = self.steps * 100 <= self.length * self.tail
            if old or len(self.times[page]) <= self.often:
                self.draw(drawn, page, 1 if old else 2)
            self.steps += 1
            self.step_off(page)

    def tune(self):
        if self.counts:
            powers = sorted(int(math.log2(count)) for count in self.counts)
            k = powers[math.ceil(0.99 * len(powers)) - 1]
            share = (0.99 * len(powers) - sum(p < k for p in powers)) / powers.count(k)
            self.often = 2**k + math.ceil((2**k - 1) * share)
            better = self.leavers[1] * self.asked[2] > self.leavers[2] * self.asked[1]
            self.tail = min(100, self.tail + 1) if better else max(1, self.tail - 1)
            wanted = self.leavers[1] + self.leavers[2] > len(self.fresh)
            self.reserve = min(50, self.reserve + 1) if wanted else max(1, self.reserve // 2)
        self.leavers, self.asked, self.counts = [0] * 3, [0] * 3, []
        self.steps, self.heap = 0, []

    def learn(self, served):
        full = self.out > 0
        if not full or self.accesses >= 4 * self.capacity:
            queued = self.window - 1
            if full and self.near > 0.01 * self.hits * queued and self.near * queued < self.accesses - self.hits:
                self.window = min(6, self.window + 1)
            self.accesses = self.hits = self.near = 0
        if full and self.ready(served):
            self.train()
            self.heap, self.left, self.far = [], 0, self.farthest
