"""Evictions of objects, naively: lists that are searched."""


class Cache:
    """What all share: `held` is the engine's."""

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


CACHES = {"fifo": Fifo, "lru": Lru}
