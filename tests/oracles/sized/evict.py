"""Evictions of objects, naively: lists that are searched."""


class Cache:
    """What all share: `held` is the engine's."""

    competes = False

    def __init__(self, requests, capacity, **values):
        self.requests, self.capacity, self.held, self.order = requests, capacity, {}, []
        self.begin(**values)

    def begin(self):
        pass

    def touch(self, key, i):
        pass

    def wants(self, key, i, size):
        return True

    def insert(self, key, i):
        self.order.append(key)

    def evict(self, i):
        return self.order.pop(0)

    def remove(self, key):
        self.order.remove(key)

    def resize(self, key, more):
        pass


class Fifo(Cache):
    """The oldest leaves."""


class Lru(Cache):
    """The one used longest ago leaves."""

    def touch(self, key, i):
        self.order.remove(key)
        self.order.append(key)


class Sieve(Cache):
    """The hand is the object under it, or None where it starts at the oldest."""

    def begin(self):
        self.hand, self.used = None, set()

    def touch(self, key, i):
        self.used.add(key)

    def insert(self, key, i):
        self.used.discard(key)
        self.order.append(key)

    def after(self, key):
        newer = self.order[self.order.index(key) + 1 :]
        return newer[0] if newer else None

    def evict(self, i):
        key = self.order[0] if self.hand is None else self.hand
        while key in self.used:
            self.used.remove(key)
            key = self.after(key)
            key = self.order[0] if key is None else key
        self.hand = self.after(key)
        self.order.remove(key)
        return key

    def remove(self, key):
        if self.hand == key:
            self.hand = self.after(key)
        self.order.remove(key)


class S3Fifo(Cache):
    """Lists, oldest first; sizes are looked up in what is held."""

    def begin(self, small=0.1, ghost=0.9, promote=2):
        self.share, self.room, self.promote = max(1, int(self.capacity * small)), int(self.capacity * ghost), promote
        self.small, self.main, self.ghosts, self.frequency = [], [], [], {}
        self.filling, self.known = True, False

    def bytes(self, keys):
        return sum(self.held[key] for key in keys)

    def touch(self, key, i):
        self.frequency[key] = min(3, self.frequency[key] + 1)

    def wants(self, key, i, size):
        self.known = any(key == ghost for ghost, _ in self.ghosts)
        self.ghosts = [(ghost, left) for ghost, left in self.ghosts if ghost != key]
        return self.known or size < self.share

    def insert(self, key, i):
        full = self.filling and self.bytes(self.small) >= self.share
        (self.main if self.known or full else self.small).append(key)
        self.frequency[key] = 0

    def evict(self, i):
        self.filling = False
        if self.bytes(self.main) <= self.capacity - self.share:
            while self.small:
                key = self.small.pop(0)
                if self.frequency[key] < self.promote:
                    self.remember(key)
                    return key
                self.main.append(key)
                self.frequency[key] = 0
        while True:
            key = self.main.pop(0)
            if self.frequency[key] == 0:
                return key
            self.frequency[key] -= 1
            self.main.append(key)

    def remember(self, key):
        if self.held[key] <= self.room:
            self.ghosts.append((key, self.held[key]))
            while sum(left for _, left in self.ghosts) > self.room:
                self.ghosts.pop(0)

    def remove(self, key):
        (self.main if key in self.main else self.small).remove(key)


class Gdsf(Cache):
    """Worth and time of last use of each resident; the least of all is looked for."""

    competes = True

    def begin(self):
        self.age, self.count, self.worth = 0.0, {}, {}

    def rank(self, key, i):
        self.worth[key] = (self.age + self.count[key] * 1e6 / self.held[key], i)

    def touch(self, key, i):
        self.count[key] += 1
        self.rank(key, i)

    def insert(self, key, i):
        self.count[key] = 1
        self.rank(key, i)

    def evict(self, i):
        key = min(self.worth, key=self.worth.get)
        self.age = self.worth.pop(key)[0]
        return key

    def remove(self, key):
        del self.worth[key]


class InLfu(Gdsf):
    """Worth is the count."""

    competes = False

    def rank(self, key, i):
        self.worth[key] = (self.count[key], i)


CACHES = {"fifo": Fifo, "lru": Lru, "sieve": Sieve, "s3fifo": S3Fifo, "gdsf": Gdsf, "inlfu": InLfu}
