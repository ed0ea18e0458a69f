"""ZFS, naively: ARC's lists of `tests.oracles.evict.arc`, and a ring that is a list."""

from tests.oracles.evict.arc import Cache

WRITE, ON_SSD, LATER = 1, 2, 4
RAM, SSD, DISK = 0, 2, 3


class Zfs:
    def __init__(self, ram, ring, pages, feed):
        self.arc, self.ring, self.hand = Cache(None, ram), [None] * ring, 0
        self.pages, self.feed, self.warm, self.may, self.ends = pages, feed, False, {}, []
        self.ios, self.due = [], None

    def fill(self, number):
        """One feed: blocks that it copied, and how many it might."""
        budget = self.feed.budget + (0 if self.warm else self.feed.boost)
        size = max(1, min(budget, len(self.ring) // 4))
        for k in range(size):
            self.ring[(self.hand + k) % len(self.ring)] = None
        copied = 0
        for queue in [self.arc.t2] + [self.arc.t1] * (not self.feed.mfu_only):
            near = queue if self.warm else queue[::-1]
            for block in near[: size * self.feed.headroom] if self.feed.headroom else near:
                if copied < size and block not in self.ring and self.may[block]:
                    self.ring[self.hand] = block
                    self.ios.append((ON_SSD | WRITE | LATER, number, self.hand * self.pages, self.pages))
                    self.hand = (self.hand + 1) % len(self.ring)
                    copied += 1
        return copied, size

    def idle(self, number, now):
        every, left = self.feed.every_us, len(self.ring)
        self.due = now + every if self.due is None else self.due
        while self.ring and self.due <= now:
            copied, size = self.fill(number)
            self.due += self.feed.least_us if copied > size / 2 else every
            left -= copied
            if not copied or left <= 0:
                while self.due <= now:
                    self.due += every

    def request(self, number, first, count, write, now):
        self.idle(number, now)
        blocks = sorted({page // self.pages for page in range(first, first + count)})
        begins, ends = blocks[0] * self.pages, (blocks[-1] + 1) * self.pages
        goes_on = begins in self.ends
        self.ends.remove(begins) if goes_on else None
        self.ends = [ends, *self.ends][:8]
        tiers, disk = {}, []
        for block in blocks:
            whole = all(first <= block * self.pages + k < first + count for k in range(self.pages))
            where = RAM if self.arc.has(block) else SSD if block in self.ring else DISK
            tiers[block] = where
            if not (write and whole) and where == SSD:
                self.ios.append((ON_SSD, number, self.ring.index(block) * self.pages, self.pages))
            if not (write and whole) and where == DISK:
                disk.append((0, number, block * self.pages, self.pages))
            if write and block in self.ring:
                self.ring[self.ring.index(block)] = None
        self.ios += disk
        for block in blocks:
            if self.arc.has(block):
                self.arc.touch(block, number)
            else:
                self.may[block] = write or not (self.feed.no_prefetch and goes_on)
                self.warm |= self.arc.insert(block, number) != -1
        if write:
            self.ios.append((WRITE, number, begins, ends - begins))
        return [tiers[page // self.pages] for page in range(first, first + count)]
