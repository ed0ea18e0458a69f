class Cache:
    """Naive LFU in the cache: [count, last use] of the residents alone."""

    def __init__(self, stream, capacity):
        self.capacity, self.pages = capacity, {}

    def has(self, page):
        return page in self.pages

    def touch(self, page, i):
        self.pages[page] = (self.pages[page][0] + 1, i)

    def insert(self, page, i):
        victim = -1
        if len(self.pages) == self.capacity:
            victim = min(self.pages, key=lambda q: self.pages[q])
            del self.pages[victim]
        self.pages[page] = (1, i)
        return victim
