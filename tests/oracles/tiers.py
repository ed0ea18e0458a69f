"""Hierarchies, naively: one access at a time, every tier at its turn, in the words of docs/tiers.md."""

from importlib import import_module

RAM, BUFFER, SSD, DISK = range(4)
WRITTEN, EVICTED, MOVED_UP, VOIDED = range(4)
TAKE, PEEK, OFFER, VOID = range(4)
HIT, ADMITTED, BYPASSED = "hit", "admitted", "bypassed"


class Counting:
    """LFU that removes: a list of pages, searched for the least."""

    def __init__(self, capacity, keeps, refuses):
        self.capacity, self.keeps, self.refuses = capacity, keeps, refuses
        self.pages, self.count, self.last = [], {}, {}

    def has(self, page):
        return page in self.pages

    def touch(self, page, k):
        self.count[page] = self.count.get(page, 0) + 1
        self.last[page] = k

    def insert(self, page, k):
        self.touch(page, k)
        if len(self.pages) == self.capacity:
            least = min(self.pages, key=lambda q: (self.count[q], self.last[q]))
            if self.refuses and (self.count[least], self.last[least]) > (self.count[page], k):
                return -2
            self.remove(least)
            self.pages.append(page)
            return least
        self.pages.append(page)
        return -1

    def remove(self, page):
        self.pages.remove(page)
        if not self.keeps:
            del self.count[page]


class Queue:
    """LRU or FIFO that removes: a list, oldest first."""

    def __init__(self, capacity, moves):
        self.capacity, self.moves, self.pages = capacity, moves, []

    def has(self, page):
        return page in self.pages

    def touch(self, page, k):
        if self.moves:
            self.pages.remove(page)
            self.pages.append(page)

    def insert(self, page, k):
        self.pages.append(page)
        return self.pages.pop(0) if len(self.pages) > self.capacity else -1

    def remove(self, page):
        self.pages.remove(page)


REMOVING = {
    "lru": lambda capacity: Queue(capacity, True),
    "fifo": lambda capacity: Queue(capacity, False),
    "lfu": lambda capacity: Counting(capacity, True, True),
    "inlfu": lambda capacity: Counting(capacity, False, False),
    "hcalfu": lambda capacity: Counting(capacity, True, False),
}


def cache(eviction, stream, capacity):
    """RAM's."""
    if eviction == "hcalfu":
        return REMOVING["hcalfu"](capacity)
    return import_module(f"tests.oracles.evict.{eviction}").Cache(stream, capacity)


def gate(admission, stream, capacity):
    return import_module(f"tests.oracles.admit.{admission}").Gate(stream, capacity)


class Flash:
    """The SSD: an eviction behind an admission, the set of pages that it can serve, and what happened."""

    def __init__(self, admission, eviction, stream, capacity):
        self.gate = gate(admission, stream, capacity)
        removing = REMOVING.get(eviction)
        self.cache = removing(capacity) if removing else cache(eviction, stream, capacity)
        self.removes, self.capacity = removing is not None, capacity
        self.live, self.events, self.asked = set(), [], []

    @property
    def k(self):
        """Number of the latest question."""
        return len(self.asked) - 1

    def find(self, page, i, leaves):
        """Is it there? It leaves, or is used."""
        self.asked.append((page, i, TAKE if leaves else PEEK))
        if page not in self.live:
            return False
        self.gate.saw(page, self.k)
        if leaves:
            self._lose(page, i, MOVED_UP)
        else:
            self.cache.touch(page, self.k)
        return True

    def void(self, page, i):
        """Was it there? It is no longer."""
        self.asked.append((page, i, VOID))
        there = page in self.live
        if there:
            self._lose(page, i, VOIDED)
        return there

    def offer(self, page, i):
        self.asked.append((page, i, OFFER))
        if page in self.live or not self.gate.admit(page, self.k):
            return
        left = -1
        if self.cache.has(page):
            self.cache.touch(page, self.k)
        else:
            left = self.cache.insert(page, self.k)
        if left == -2:
            return
        if left in self.live:
            self.live.remove(left)
            self.events.append((i, left, EVICTED))
        self.live.add(page)
        self.events.append((i, page, WRITTEN))
        assert len(self.live) <= self.capacity

    def _lose(self, page, i, why):
        self.live.remove(page)
        if self.removes:
            self.cache.remove(page)
        self.events.append((i, page, why))


def flushed(pages, address):
    """Pages of a batch in the order in which they are written."""
    blocks = {}
    for page in sorted(pages, key=lambda q: address[q]):
        blocks.setdefault(address[page] // 64, []).append(page)
    ordered = sorted(blocks.items(), key=lambda item: (-len(item[1]), item[0]))
    return [page for _, block in ordered for page in block]


class Memory:
    """RAM: an eviction behind an admission, and the set of pages in it."""

    def __init__(self, admission, eviction, stream, capacity):
        self.gate, self.cache = gate(admission, stream, capacity), cache(eviction, stream, capacity)
        self.pages = set()

    def ask(self, page, i):
        """What happens to the page, and the page that leaves for it."""
        if self.cache.has(page):
            self.cache.touch(page, i)
            self.gate.saw(page, i)
            return HIT, None
        left = self.cache.insert(page, i) if self.gate.admit(page, i) else -2
        if left == -2:
            return BYPASSED, None
        self.pages.add(page)
        self.pages.discard(left)
        return ADMITTED, None if left == -1 else left


def run(kind, stream, write, address, memory, flash, room=0):
    """Tier of each access, and the SSD's events as (access, page, what)."""
    found, waiting = [], []
    for i, (page, writes) in enumerate(zip(stream.page_ids.tolist(), write.tolist(), strict=True)):
        did, victim = memory.ask(page, i)
        tier = RAM
        if did != HIT:
            tier = BUFFER if page in waiting else DISK
        if page in waiting:
            if writes or did == ADMITTED:
                waiting.remove(page)
        elif writes:
            if (kind != "exclusive" or did != HIT) and flash.void(page, i) and did != HIT:
                tier = SSD
        elif did != HIT:
            if flash.find(page, i, leaves=kind == "exclusive" and did == ADMITTED):
                tier = SSD
            if kind == "inclusive":
                flash.offer(page, i)
        if victim is not None and kind != "inclusive":
            if room == 0:
                flash.offer(victim, i)
            else:
                if len(waiting) == room:
                    for own in flushed(waiting, address):
                        flash.offer(own, i)
                    waiting = []
                waiting.append(victim)
        if kind == "exclusive":
            assert not (memory.pages & flash.live or memory.pages & set(waiting) or flash.live & set(waiting))
        found.append(tier)
    return found, flash.events


def l2arc(stream, write, time_us, ram, ring_pages, every_us, budget, depth):
    """The same of ARC (`tests.oracles.evict.arc.Cache`), whose lists are fed to a ring, oldest page first."""
    ring, events, found = [None] * ring_pages, [], []
    hand, due = 0, every_us
    for i, (page, writes, now) in enumerate(
        zip(stream.page_ids.tolist(), write.tolist(), time_us.tolist(), strict=True)
    ):
        left = ring_pages
        while due <= now and left:
            due += every_us
            copied = 0
            for q in ram.t2[:depth] + ram.t1[:depth]:
                if q in ring or copied == min(budget, left):
                    continue
                if ring[hand] is not None:
                    events.append((i, ring[hand], EVICTED))
                ring[hand] = q
                events.append((i, q, WRITTEN))
                hand = (hand + 1) % ring_pages
                copied += 1
            left -= copied
            if not copied:
                break
        while due <= now:
            due += every_us
        there = page in ring
        if ram.has(page):
            found.append(RAM)
            ram.touch(page, i)
        else:
            found.append(SSD if there else DISK)
            ram.insert(page, i)
        if writes and there:
            ring[ring.index(page)] = None
            events.append((i, page, VOIDED))
    return found, events
