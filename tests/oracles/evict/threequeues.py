from tests.oracles.engine import PREFETCH
from tests.oracles.manager import NaiveManager


class Cache:
    """The naive manager, a page at a time; clocks count the accesses that are no prefetches."""

    def __init__(self, stream, capacity, queues, periods, percent, fill, requeue, single):
        self.manager = NaiveManager(capacity, periods * capacity, percent, fill, requeue, single)
        self.queues = [2 if single and queue else queue for queue in queues]
        self.asked = [not flags & PREFETCH for flags in stream.flags.tolist()]

    def run_clocks(self, i):
        for now in range(self.manager.counts["accesses"] + 1, sum(self.asked[:i]) + 1):
            self.manager.counts["accesses"] = now
            self.manager.demote()

    def has(self, page):
        return self.manager.where(page) > 0

    def touch(self, page, i):
        self.run_clocks(i)
        self.manager.touch(page, self.queues[i])

    def insert(self, page, i):
        self.run_clocks(i)
        cache = self.manager
        into = self.queues[i] or (1 if cache.fill and cache.used() < cache.capacity else 0)
        if not into:
            return -2
        victim = -1
        if cache.used() == cache.capacity:
            victim = next(cache.queues[q][-1] for q in (1, 2, 3) if cache.queues[q])
            cache.evict()
        cache.enter(page, into)
        return victim
