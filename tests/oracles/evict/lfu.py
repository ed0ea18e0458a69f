class Cache:
    """Naive LFU with perfect history: counts of all pages ever seen; the least, newcomer included, is out."""

    def __init__(self, stream, capacity):
        self.capacity, self.pages, self.count, self.last = capacity, set(), {}, {}

    def has(self, page):
        return page in self.pages

    def touch(self, page, i):
        self.count[page] = self.count.get(page, 0) + 1
        self.last[page] = i

    def insert(self, page, i):
        self.touch(page, i)
        self.pages.add(page)
        if len(self.pages) <= self.capacity:
            return -1
        least = min(self.pages, key=lambda q: (self.count[q], self.last[q]))
        self.pages.remove(least)
        return -2 if least == page else least
