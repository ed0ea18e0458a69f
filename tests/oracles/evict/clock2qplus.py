class Cache:
    """Naive Clock2Q+: three lists, oldest first, and the set of pages whose reference bit is set.

    Where two pages would leave for one, and until something has left, as in the oracle of S3-FIFO.
    """

    def __init__(self, stream, capacity, small=0.1, ghost=0.9, window=0.5):
        self.capacity = capacity
        self.small_size, self.ghost_size = max(1, int(capacity * small)), int(capacity * ghost)
        self.window = self.small_size * window
        self.small, self.main, self.ghost, self.referenced = [], [], [], set()
        self.filling = True

    def has(self, page):
        return page in self.small or page in self.main

    def touch(self, page, i):
        if page in self.main or len(self.small[self.small.index(page) + 1 :]) >= self.window:
            self.referenced.add(page)

    def insert(self, page, i):
        known = page in self.ghost
        self.ghost = [other for other in self.ghost if other != page]
        victim = -1
        if len(self.small) + len(self.main) == self.capacity:
            self.filling = False
            if len(self.main) <= self.capacity - self.small_size:
                victim = self.demote()
            if victim == -1:
                victim = self.turn()
        full = self.filling and len(self.small) >= self.small_size
        (self.main if known or full else self.small).append(page)
        return victim

    def demote(self):
        """The oldest page of the small queue without its bit; those with it go to the main queue, bit cleared."""
        while self.small:
            page = self.small.pop(0)
            if page not in self.referenced:
                self.ghost = [*self.ghost, page][-self.ghost_size :] if self.ghost_size else []
                return page
            self.referenced.remove(page)
            self.main.append(page)
        return -1

    def turn(self):
        """The clock's hand over the main queue."""
        while self.main[0] in self.referenced:
            self.referenced.remove(self.main[0])
            self.main.append(self.main.pop(0))
        return self.main.pop(0)
