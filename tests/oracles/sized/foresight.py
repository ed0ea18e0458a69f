"""Evictions that look ahead, naively: they search the requests to come."""

from tests.oracles.sized.evict import Cache

NEVER = float("inf")


class Offline(Cache):
    def begin(self, bypass=0, **values):
        self.bypass, self.values, self.last = bypass, values, {}

    def next_use(self, key, i):
        """Position of the next request of an object last requested at i; NEVER if it is deleted first."""
        ids, op = self.requests.ids, self.requests.op
        for j in range(i + 1, len(ids)):
            if ids[j] == key:
                return NEVER if op[j] == 2 else j
        return NEVER

    def then(self, key):
        return self.next_use(key, self.last[key])

    def touch(self, key, i):
        self.last[key] = i

    def insert(self, key, i):
        self.last[key] = i
        self.order.append(key)

    def evict(self, i):
        key = self.victim(i)
        self.remove(key)
        return key

    def remove(self, key):
        place = self.order.index(key)
        self.order[place] = self.order[-1]
        self.order.pop()

    def wants(self, key, i, size):
        if not self.bypass or sum(self.held.values()) + size <= self.capacity:
            return True
        return self.better(key, i, size)

    def farthest(self):
        return max(self.order, key=lambda key: (self.then(key), self.last[key]))


class Belady(Offline):
    def victim(self, i):
        return self.farthest()

    def better(self, key, i, size):
        return self.next_use(key, i) < self.then(self.farthest())


class BeladySize(Offline):
    """All residents are looked at, in the order of their slots."""

    def cost(self, key, i):
        return (self.then(key) - i) * self.held[key]

    def victim(self, i):
        last = self.farthest()
        return last if self.then(last) == NEVER else max(self.order, key=lambda key: self.cost(key, i))

    def better(self, key, i, size):
        here = self.next_use(key, i)
        return here < NEVER and (here - i) * size < self.cost(self.victim(i), i)


class RelaxedBelady(Offline):
    def victim(self, i):
        beyond = [key for key in self.order if self.then(key) - i >= self.values["boundary"]]
        return min(beyond, key=self.last.get) if beyond else self.farthest()
