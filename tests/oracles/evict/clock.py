class Cache:
    """Naive CLOCK as second chance: a list of [page, counter], oldest first; who is passed over goes to the end."""

    def __init__(self, stream, capacity, bits=1, initial=0):
        self.capacity, self.top, self.initial, self.pages = capacity, 2**bits - 1, initial, []

    def has(self, page):
        return any(entry[0] == page for entry in self.pages)

    def touch(self, page, i):
        for entry in self.pages:
            if entry[0] == page and entry[1] < self.top:
                entry[1] += 1

    def insert(self, page, i):
        victim = -1
        if len(self.pages) == self.capacity:
            while self.pages[0][1] > 0:
                passed, counter = self.pages.pop(0)
                self.pages.append([passed, counter - 1])
            victim = self.pages.pop(0)[0]
        self.pages.append([page, self.initial])
        return victim
