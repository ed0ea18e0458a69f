"""Naive three-queue manager: Python lists, most recently used first, and a clock for each page."""

NAMES = ("accesses", "hits", "admissions", "write_hits", "evictions", "dirty_evictions", "bypasses")


class NaiveManager:
    """RC-RNN's online cache, Sec. 4.2; queues 1 soon, 2 mean, 3 late."""

    def __init__(
        self, capacity: int, period: int, percent: int, fill: bool, requeue: bool = False, single: bool = False
    ) -> None:
        self.capacity, self.period, self.percent, self.fill = capacity, period, percent, fill
        self.requeue, self.single = requeue, single
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

    def enter(self, page: int, q: int, tail: bool = False) -> None:
        self.queues[q].insert(len(self.queues[q]) if tail else 0, page)
        self.clocks[page] = (self.counts["accesses"], self.started)
        self.started += 1

    def by_clock(self, q: int) -> list[int]:
        return sorted(self.queues[q], key=lambda page: self.clocks[page])

    def evict(self) -> None:
        q = next(q for q in (1, 2, 3) if self.queues[q])
        page = self.queues[q].pop()
        del self.clocks[page]
        self.counts["evictions"] += 1
        self.counts["dirty_evictions"] += page in self.dirty
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

    def decide(self, outputs: list[float], threshold: float) -> int:
        """The queue for outputs (cached, soon, mean, late); the sooner of equals."""
        durations = outputs[1:]
        likeliest = 2 if self.single else 1 + durations.index(max(durations))
        return likeliest if outputs[0] >= threshold else 0

    def touch(self, page: int, decided: int) -> None:
        """A hit: to the head of its queue, its clock running on; or to the queue decided on, its clock anew."""
        q = self.where(page)
        self.queues[q].remove(page)
        if self.requeue:
            self.enter(page, decided or 1, tail=not decided)
        else:
            self.queues[q].insert(0, page)

    def reconfigure(
        self, wanted: dict[int, int], last: dict[int, int], stamps: dict[int, int], drop: bool = False
    ) -> int:
        """Rebuild the queues from each page's decision, its last access's place and its clock; pages that moved."""
        before = {page: self.where(page) for page in wanted}
        gone = [page for page, queue in wanted.items() if drop and not queue]
        recent = sorted(wanted.keys() - gone, key=lambda page: -last[page])
        self.queues = {q: [page for page in recent if wanted[page] == q] for q in (1, 2, 3)}
        self.queues[1] += [page for page in recent if not wanted[page]]
        self.clocks = {page: (stamps[page], self.started + k) for k, page in enumerate(reversed(recent))}
        self.started += len(recent)
        self.counts["evictions"] += len(gone)
        self.counts["dirty_evictions"] += len(self.dirty.intersection(gone))
        self.dirty -= set(gone)
        return sum(before[page] != self.where(page) for page in wanted)

    def serve(self, pages: list[int], write: bool, decided: int) -> tuple[list[int], int, tuple[int, ...]]:
        """Outcome of each page, -1 or the decision, and (cached, soon, mean, late) for the next request."""
        outcome = [2 if self.where(page) else 0 for page in pages]
        for page, o in zip(pages, outcome, strict=True):
            if o == 2:
                self.touch(page, decided)
                self.counts["hits"] += 1
                self.counts["write_hits"] += write
                if write:
                    self.dirty.add(page)
        for k, page in enumerate(pages):
            if outcome[k] == 2:
                continue
            into = decided or (1 if self.fill and self.used() < self.capacity else 0)
            if not into:
                self.counts["bypasses"] += 1
                continue
            if self.used() == self.capacity:
                self.evict()
            self.enter(page, into)
            if write:
                self.dirty.add(page)
            self.counts["admissions"] += 1
            outcome[k] = 1
        self.counts["accesses"] += len(pages)
        self.demote()
        if all(o == 2 for o in outcome):
            held, decided = self.where(pages[0]), decided if self.requeue else -1
        else:
            held = max(decided, 1) if 1 in outcome else 0
        return outcome, decided, (int(held > 0), *(int(held == q) for q in (1, 2, 3)))
