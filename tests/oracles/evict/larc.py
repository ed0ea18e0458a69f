class Cache:
    """Naive LARC, from the paper's Algorithm 1: the cache and the ghosts as lists, oldest first."""

    def __init__(self, stream, capacity):
        self.c, self.cache, self.ghosts = capacity, [], []
        self.room = 0.1 * capacity

    def has(self, page):
        return page in self.cache

    def touch(self, page, i):
        self.room = max(0.1 * self.c, self.room - self.c / (self.c - self.room))
        self.cache.remove(page)
        self.cache.append(page)

    def insert(self, page, i):
        self.room = min(0.9 * self.c, self.room + self.c / self.room)
        if page not in self.ghosts:
            self.ghosts.append(page)
            if len(self.ghosts) > max(1, self.room):
                self.ghosts.pop(0)
            return -2
        self.ghosts.remove(page)
        self.cache.append(page)
        return self.cache.pop(0) if len(self.cache) > self.c else -1
