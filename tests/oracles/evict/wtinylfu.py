"""W-TinyLFU in the words of the paper, with plain lists; newest first."""

MULTIPLIERS = (0x9E3779B1, 0xB5297A4D, 0x68E31DA5, 0x1B56C4E9)


class Sketch:
    """Four counters of a page, anywhere in a table of 16 for each page of capacity; 4 bits each."""

    def __init__(self, pages):
        self.table = [0] * (16 * pages)

    def places(self, page):
        return [(page + 1) * multiplier % 2**32 * len(self.table) // 2**32 for multiplier in MULTIPLIERS]

    def estimate(self, page):
        return min(self.table[place] for place in self.places(page))

    def add(self, page):
        count = self.estimate(page)
        for place in set(self.places(page)):
            if self.table[place] == count < 15:
                self.table[place] += 1

    def reset(self):
        self.table = [count // 2 for count in self.table]


class Cache:
    def __init__(self, stream, capacity, window=0.01, protected=0.8, sample=10):
        self.window_size = max(1, int(window * capacity))
        self.main_size = capacity - self.window_size
        self.protected_size = int(protected * self.main_size)
        self.window, self.probation, self.protected = [], [], []
        self.sketch = Sketch(min(capacity, stream.n_pages))
        self.sample_size, self.sampled = sample * capacity, 0

    def has(self, page):
        return page in self.window + self.probation + self.protected

    def count(self, page):
        self.sketch.add(page)
        self.sampled += 1
        if self.sampled >= self.sample_size:
            self.sketch.reset()
            self.sampled //= 2

    def touch(self, page, i):
        if page in self.window:
            self.window.remove(page)
            self.window.insert(0, page)
        else:
            (self.probation if page in self.probation else self.protected).remove(page)
            self.protected.insert(0, page)
            if len(self.protected) > self.protected_size:
                self.probation.insert(0, self.protected.pop())
        self.count(page)

    def insert(self, page, i):
        self.window.insert(0, page)
        left = self.make_room() if len(self.window) > self.window_size else -1
        self.count(page)
        return left

    def make_room(self):
        candidate = self.window.pop()
        if len(self.probation) + len(self.protected) < self.main_size:
            self.probation.insert(0, candidate)
            return -1
        if self.main_size == 0:
            return candidate
        segment = self.probation or self.protected
        if self.sketch.estimate(candidate) <= self.sketch.estimate(segment[-1]):
            return candidate
        victim = segment.pop()
        self.probation.insert(0, candidate)
        return victim
