from cachezoo.kernels.outcome import METADATA


class Cache:
    """Naive Azor-like: all counts in a dict, metadata in a set, the victim by linear search, data first."""

    def __init__(self, stream, capacity):
        self.flags, self.capacity, self.pages = stream.flags, capacity, set()
        self.count, self.last, self.metadata = {}, {}, set()

    def has(self, page):
        return page in self.pages

    def touch(self, page, i):
        self.count[page] = self.count.get(page, 0) + 1
        self.last[page] = i
        if self.flags[i] & METADATA:
            self.metadata.add(page)

    def insert(self, page, i):
        self.touch(page, i)
        victim = -1
        if len(self.pages) == self.capacity:
            data = self.pages - self.metadata
            if page not in self.metadata and not data:
                return -2
            victim = min(data or self.pages, key=lambda q: (self.count[q], self.last[q]))
            if page not in self.metadata and self.count[page] <= self.count[victim]:
                return -2
            self.pages.remove(victim)
        self.pages.add(page)
        return victim
