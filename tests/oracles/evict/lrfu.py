class Cache:
    """Naive LRFU: every use of a resident page since it entered, weighed anew at each eviction (the paper's Eq. 1)."""

    def __init__(self, stream, capacity, decay=0.001):
        self.capacity, self.decay, self.uses = capacity, decay, {}

    def has(self, page):
        return page in self.uses

    def touch(self, page, i):
        self.uses[page].append(i)

    def insert(self, page, i):
        victim = -1
        if len(self.uses) == self.capacity:
            victim = min(self.uses, key=lambda q: (self.worth(q, i), self.uses[q][-1]))
            del self.uses[victim]
        self.uses[page] = [i]
        return victim

    def worth(self, page, now):
        return sum(2.0 ** (-self.decay * (now - use)) for use in self.uses[page])
