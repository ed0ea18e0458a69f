"""W-TinyLFU, LHD and AdaptSize of objects, naively: lists and dictionaries, in the words of their papers."""

import math
from collections import defaultdict

from tests.oracles.evict.wtinylfu import Sketch
from tests.oracles.sized.evict import Cache


def mix(value):
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        value = ((value ^ (value >> shift)) * factor) % 2**32
    return value


def draw(seed, number):
    """In [0, 2**32)."""
    return mix(mix(number) ^ mix(seed ^ 0x5BD1E995))


def entries(requests, capacity):
    """Objects of mean first size that fit, at least one."""
    first = {}
    for key, size, op in zip(requests.ids.tolist(), requests.size.tolist(), requests.op.tolist(), strict=True):
        if size and op != 2:
            first.setdefault(key, size)
    return max(1, capacity * len(first) // max(1, sum(first.values())))


class WTinyLfu(Cache):
    """Lists newest first."""

    def begin(self, window=0.01, protected=0.8, sample=10):
        self.window_bytes = max(1, int(window * self.capacity))
        self.main_bytes = self.capacity - self.window_bytes
        self.protected_bytes = int(protected * self.main_bytes + 1e-9)
        fit = entries(self.requests, self.capacity)
        self.sketch, self.counted = Sketch(min(fit, self.requests.n_objects)), 0
        self.period = max(2, int(sample * fit))
        self.window, self.probation, self.protected, self.won = [], [], [], []
        self.debt = self.coming = 0
        self.large = False

    def weigh(self, keys):
        return sum(self.held[key] for key in keys)

    def main(self):
        return self.weigh(self.probation + self.protected + self.won)

    def count(self, key):
        self.sketch.add(key)
        self.counted += 1
        if self.counted >= self.period:
            self.sketch.reset()
            self.counted //= 2

    def settle(self):
        for key in reversed(self.won):
            self.probation.insert(0, key)
        self.won, self.debt, self.coming, self.large = [], 0, 0, False

    def wins(self, key, needed):
        own, rivals = self.sketch.estimate(key), 0
        leaving = [*reversed(self.probation), *reversed(self.protected)]
        while needed > 0:
            if not leaving:
                return False
            rival = leaving.pop(0)
            rivals += self.sketch.estimate(rival)
            needed -= self.held[rival]
        return own > rivals

    def touch(self, key, i):
        self.settle()
        if key in self.window:
            self.window.remove(key)
            self.window.insert(0, key)
        else:
            self.remove(key)
            self.protected.insert(0, key)
        while self.weigh(self.protected) > self.protected_bytes:
            self.probation.insert(0, self.protected.pop())
        self.count(key)

    def wants(self, key, i, size):
        self.settle()
        if size <= self.window_bytes:
            self.coming = size
            return True
        self.count(key)
        if self.weigh(self.window) + self.main() + size > self.capacity:
            needed = self.main() + size - self.main_bytes
            if size > self.main_bytes or (needed > 0 and not self.wins(key, needed)):
                return False
            self.debt = max(0, needed)
        self.large = True
        return True

    def insert(self, key, i):
        large = self.large
        self.settle()
        if large:
            self.probation.insert(0, key)
            return
        self.window.insert(0, key)
        while self.weigh(self.window) > self.window_bytes:
            self.probation.insert(0, self.window.pop())
        self.count(key)

    def evict(self, i):
        while True:
            leaving = [*reversed(self.probation), *reversed(self.protected)]
            if self.debt > 0 and leaving:
                self.debt -= self.held[leaving[0]]
                return self.out(leaving[0])
            self.debt = 0
            if not self.window or self.weigh(self.window) + self.coming <= self.window_bytes:
                return self.out([*leaving, *reversed(self.window), *reversed(self.won)][0])
            candidate = self.window[-1]
            needed = self.main() + self.held[candidate] - self.main_bytes
            if needed > 0 and (self.main_bytes == 0 or not self.wins(candidate, needed)):
                return self.out(candidate)
            self.window.pop()
            self.won.insert(0, candidate)
            self.debt = max(0, needed)

    def out(self, key):
        self.remove(key)
        return key

    def remove(self, key):
        next(part for part in (self.window, self.probation, self.protected, self.won) if key in part).remove(key)


class Lhd(Cache):
    AGES = 8192

    def begin(self, candidates=32, every=65_536, seed=0):
        self.candidates, self.every, self.seed = candidates, every, seed
        self.last, self.ages, self.explorers = {}, {}, set()
        self.ring, self.entered = [None] * 8, 0
        self.hits, self.evictions = defaultdict(float), defaultdict(float)
        self.density = None
        self.shift, self.draws, self.budget = 0, 0, self.capacity // 100
        self.period = min(4096, every)
        self.review_at = self.period
        self.objects = self.mass = 0.0

    def chance(self, below):
        self.draws += 1
        return draw(self.seed, self.draws) * below >> 32

    def bucket(self, age):
        return min(age >> self.shift, self.AGES - 1)

    def kind(self, key):
        """0 of what was not hit yet; else how often the last two ages together can double within the range."""
        if len(self.ages[key]) == 0:
            return 0
        age = self.bucket(sum(self.ages[key][-2:]))
        return 15 if age == 0 else min(15, max(0, math.ceil(math.log2(self.AGES / age))))

    def rank(self, key, i):
        age = self.bucket(i - self.last[key])
        if age == self.AGES - 1:
            return -1.0
        kind = self.kind(key)
        density = (kind + 1) / (age + 1) if self.density is None else self.worked_out(kind)[age]
        return (density + (key in self.explorers)) / self.held[key]

    def stop_exploring(self, key):
        if key in self.explorers:
            self.explorers.remove(key)
            self.budget += self.held[key]

    def renew(self, key, i):
        self.last[key] = i
        if self.budget > 0 and self.chance(32) == 0:
            self.explorers.add(key)
            self.budget -= self.held[key]
        if i >= self.review_at:
            self.review()
            self.period = min(2 * self.period, self.every)
            self.review_at = i + self.period

    def touch(self, key, i):
        age = i - self.last[key]
        self.hits[self.kind(key), self.bucket(age)] += 1
        self.stop_exploring(key)
        self.ages[key].append(age)
        self.renew(key, i)

    def insert(self, key, i):
        self.order.append(key)
        self.ages[key] = []
        self.renew(key, i)
        if key not in self.explorers:
            self.ring[self.entered % 8] = key
            self.entered += 1

    def remove(self, key):
        self.stop_exploring(key)
        place = self.order.index(key)
        self.order[place] = self.order[-1]
        self.order.pop()

    def evict(self, i):
        drawn = [self.order[self.chance(len(self.order))] for _ in range(self.candidates)]
        latest = [key for key in self.ring if key in self.order]
        best = min([*drawn, *latest], key=lambda key: self.rank(key, i))
        self.evictions[self.kind(best), self.bucket(i - self.last[best])] += 1
        self.remove(best)
        return best

    def resize(self, key, more):
        if key in self.explorers:
            self.budget -= more

    def review(self):
        for counts in (self.hits, self.evictions):
            for at in counts:
                counts[at] *= 0.9
        self.objects = self.objects * 0.9 + len(self.order)
        self.mass = self.mass * 0.9 + 1
        unit = self.objects / self.mass * 100 / self.AGES
        while unit > 2**self.shift:
            self.shift += 1
            self.hits, self.evictions = (self.coarser(counts) for counts in (self.hits, self.evictions))
        while self.shift > 0 and unit * 4 <= 2**self.shift:
            self.shift -= 1
            self.hits, self.evictions = (self.finer(counts) for counts in (self.hits, self.evictions))
        self.known, self.density = (dict(self.hits), dict(self.evictions)), {}

    def coarser(self, counts):
        found = defaultdict(float)
        for (kind, age), count in sorted(counts.items()):
            found[kind, age // 2] += count
        return found

    def finer(self, counts):
        found = defaultdict(float)
        for (kind, age), count in sorted(counts.items()):
            for half in (2 * age, 2 * age + 1):
                found[kind, min(half, self.AGES - 1)] += count / 2
        return found

    def worked_out(self, kind):
        if kind in self.density:
            return self.density[kind]
        hits = events = stays = 0.0
        density = self.density[kind] = [0.0] * self.AGES
        hit, evicted = self.known
        for age in range(self.AGES - 1, -1, -1):
            hits += hit.get((kind, age), 0.0)
            events += hit.get((kind, age), 0.0) + evicted.get((kind, age), 0.0)
            stays += events
            density[age] = hits / stays if events > 1e-5 else 0.0
        density[-1] = None
        return density


class AdaptSize:
    """The admission; `reviews` are the c that were tuned."""

    def __init__(self, requests, capacity, every=262_144, start=32_768, seed=0):
        self.requests, self.capacity, self.every, self.c, self.seed = requests, capacity, every, start, seed
        self.period, self.counts, self.rates, self.sizes = min(4096, every), defaultdict(int), {}, {}
        self.reviews = []

    def admit(self, key, i):
        self.saw(key, i)
        return draw(self.seed, i) / 2**32 < math.exp(-int(self.requests.size[i]) / self.c)

    def saw(self, key, i):
        self.counts[key] += 1
        self.sizes[key] = int(self.requests.size[i]) or self.sizes.get(key, 0)
        if sum(self.counts.values()) >= self.period:
            self.review()
            self.period = min(2 * self.period, self.every)

    def review(self):
        rates = {}
        for key in self.sizes:
            rate = 0.7 * self.rates.get(key, 0.0) + 0.3 * self.counts[key] / self.period
            if rate * self.period >= 0.01 and self.sizes[key]:
                rates[key] = rate
        self.rates, self.counts = rates, defaultdict(int)
        self.known = self.period / 0.3
        self.c = max((2.0 ** (k / 2) for k in range(2 * 48)), key=self.hits)
        self.reviews.append(self.c)

    def hits(self, c):
        """Of the model, object by object."""
        objects = []
        for key, rate in self.rates.items():
            p = math.exp(-self.sizes[key] / c)
            x = p * rate * self.known
            objects.append((rate, self.sizes[key], p, 1 + math.expm1(-x) / x if x > 1e-9 else 0.0))

        def shares(stay):
            for rate, _, p, entered in objects:
                there = p * (1 - math.exp(-rate * stay))
                yield entered * there / (math.exp(-rate * stay) + there) if there > 0 else 0.0

        def held(stay):
            return sum(share * size for share, (_, size, _, _) in zip(shares(stay), objects, strict=True))

        low, high = 0.0, 1.0
        while high < 2**60 and held(high) < self.capacity:
            high *= 2
        for _ in range(40 if high < 2**60 else 0):
            middle = (low + high) / 2
            low, high = (middle, high) if held(middle) < self.capacity else (low, middle)
        return sum(share * rate for share, (rate, *_) in zip(shares(high), objects, strict=True))
