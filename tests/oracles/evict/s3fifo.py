class Cache:
    """Naive S3-FIFO: three lists, oldest first, and each resident page's frequency.

    Where the paper is silent or evicts two at once, as the kernel's docstring says: a page promoted evicts nothing, and
    until something has left the cache the main queue takes what the small one has no room for.
    """

    def __init__(self, stream, capacity, small=0.1, ghost=0.9, promote=2):
        self.capacity, self.promote = capacity, promote
        self.small_size, self.ghost_size = max(1, int(capacity * small)), int(capacity * ghost)
        self.small, self.main, self.ghost, self.frequency = [], [], [], {}
        self.filling = True

    def has(self, page):
        return page in self.small or page in self.main

    def touch(self, page, i):
        self.frequency[page] = min(self.frequency[page] + 1, 3)

    def insert(self, page, i):
        known = page in self.ghost
        if known:
            self.ghost.remove(page)
        victim = -1
        if len(self.small) + len(self.main) == self.capacity:
            self.filling = False
            if len(self.main) <= self.capacity - self.small_size:
                victim = self.evict_small()
            if victim == -1:
                victim = self.evict_main()
        full = self.filling and len(self.small) >= self.small_size
        (self.main if known or full else self.small).append(page)
        self.frequency[page] = 0
        return victim

    def evict_small(self):
        while self.small:
            page = self.small.pop(0)
            if self.frequency[page] >= self.promote:
                self.main.append(page)
                self.frequency[page] = 0
                continue
            self.ghost.append(page)
            self.ghost = self.ghost[max(0, len(self.ghost) - self.ghost_size) :]
            return page
        return -1

    def evict_main(self):
        while True:
            page = self.main.pop(0)
            if self.frequency[page] == 0:
                return page
            self.frequency[page] -= 1
            self.main.append(page)
