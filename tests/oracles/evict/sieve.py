class Cache:
    """Naive SIEVE: a list with the newest first, the set of visited pages, and the page under the hand."""

    def __init__(self, stream, capacity):
        self.capacity, self.queue, self.visited, self.hand = capacity, [], set(), None

    def has(self, page):
        return page in self.queue

    def touch(self, page, i):
        self.visited.add(page)

    def towards_the_head(self, page):
        position = self.queue.index(page)
        return self.queue[position - 1] if position > 0 else None

    def insert(self, page, i):
        victim = -1
        if len(self.queue) == self.capacity:
            victim = self.queue[-1] if self.hand is None else self.hand
            while victim in self.visited:
                self.visited.discard(victim)
                victim = self.towards_the_head(victim)
                if victim is None:
                    victim = self.queue[-1]
            self.hand = self.towards_the_head(victim)
            self.queue.remove(victim)
        self.queue.insert(0, page)
        return victim
