"""Naive three-queue manager: Python lists, most recently used first, and a clock for each page."""

NAMES = ("accesses", "hits", "admitted", "write_hits", "evicted", "dirty_evicted", "bypassed")


class NaiveManager:
    """RC-RNN's online cache, Sec. 4.2; queues 1 soon, 2 mean, 3 late."""

    def __init__(self, capacity: int, period: int, percent: int, fill: bool) -> None:
        self.capacity, self.period, self.percent, self.fill = capacity, period, percent, fill
        self.queues: dict[int, list[int]] = {1: [], 2: [], 3: []}
        self.clocks: dict[int, tuple[int, int]] = {}  # page -> (access its clock began at, order of starting)
        self.dirty: set[int] = set()
        self.started = 0
        self.counts = dict.fromkeys(NAMES, 0)

    def used(self) -> int:
        return sum(len(queue) for queue in self.queues.values())

    def where(self, page: int) -> int:
        return next((q for q, queue in self.queues.items() if page in queue), 0)

    def top(self, q: int) -> list[int]:
        return self.queues[q][: len(self.queues[q]) * self.percent // 100]

    def enter(self, page: int, q: int) -> None:
        self.queues[q].insert(0, page)
        self.clocks[page] = (self.counts["accesses"], self.started)
        self.started += 1

    def by_clock(self, q: int) -> list[int]:
        return sorted(self.queues[q], key=lambda page: self.clocks[page])

    def evict(self) -> None:
        q = next(q for q in (1, 2, 3) if self.queues[q])
        page = self.queues[q].pop()
        del self.clocks[page]
        self.counts["evicted"] += 1
        self.counts["dirty_evicted"] += page in self.dirty
        self.dirty.discard(page)

    def demote(self) -> None:
        now = self.counts["accesses"]
        for q in (2, 3):
            for page in self.by_clock(q):
                if now - self.clocks[page][0] < self.period:
                    break
                top = page in self.top(q)
                if not top:
                    self.queues[q].remove(page)
                    self.enter(page, q - 1)
                else:
                    self.clocks[page] = (now, self.started)
                    self.started += 1

    def serve(self, pages: list[int], write: bool, decided: int) -> tuple[list[int], int, tuple[int, ...]]:
        """Outcome of each page, -1 or the decision, and (cached, soon, mean, late) for the next request."""
        outcome = [2 if self.where(page) else 0 for page in pages]
        for page, o in zip(pages, outcome, strict=True):
            if o == 2:
                q = self.where(page)
                self.queues[q].remove(page)
                self.queues[q].insert(0, page)
                self.counts["hits"] += 1
                self.counts["write_hits"] += write
                if write:
                    self.dirty.add(page)
        for k, page in enumerate(pages):
            if outcome[k] == 2:
                continue
            into = decided or (1 if self.fill and self.used() < self.capacity else 0)
            if not into:
                self.counts["bypassed"] += 1
                continue
            if self.used() == self.capacity:
                self.evict()
            self.enter(page, into)
            if write:
                self.dirty.add(page)
            self.counts["admitted"] += 1
            outcome[k] = 1
        self.counts["accesses"] += len(pages)
        self.demote()
        if all(o == 2 for o in outcome):
            held, decided = self.where(pages[0]), -1
        else:
            held = max(decided, 1) if 1 in outcome else 0
        return outcome, decided, (int(held > 0), *(int(held == q) for q in (1, 2, 3)))
