"""bcache, naively: buckets as lists of pages, everything counted anew."""

WRITE, ON_SSD, LATER = 1, 2, 4
SSD, DISK = 2, 3
THROUGH, BACK, AROUND = range(3)
LRU, FIFO, RANDOM = range(3)
EMPTY, RECLAIMABLE, DIRTY = range(3)
SECOND = 1_000_000
FASTEST = 2**31 - 1


def trunc(value, by):
    return abs(value) // by * (1 if value >= 0 else -1)


class Bucket:
    def __init__(self, number):
        self.number, self.pages, self.mark, self.used, self.prio, self.pinned = number, [], EMPTY, 0, 0, False


class Bcache:
    def __init__(self, setup):
        self.__dict__.update(setup._asdict())
        self.all = [Bucket(number) for number in range(self.buckets)]
        self.where, self.dirty = {}, set()
        self.ready, self.open = [], [[None, None, -2] for _ in range(128)]  # bucket, next page, task; used last is last
        self.run, self.average = {}, {}
        self.least, self.rescale, self.hand, self.x = 0, 0, 0, self.seed % (2**32 - 1) + 1
        self.streams = [[None, 0, -1] for _ in range(128)]  # the one used last is last
        self.few = 1
        while self.few * 1024 < self.buckets:
            self.few *= 2
        self.collect()
        self.refill()

    def live(self, bucket):
        """Of the pages that were written to a bucket, those that are still there."""
        return [page for place, page in enumerate(bucket.pages) if self.where.get(page) == (bucket, place)]

    def collect(self):
        for bucket in self.all:
            if not bucket.pinned:
                live = self.live(bucket)
                bucket.used = len(live)
                bucket.mark = DIRTY if self.dirty & set(live) else RECLAIMABLE if live else EMPTY
        self.available = sum(not b.pinned and b.mark != DIRTY for b in self.all)
        self.until_collection = self.buckets * self.pages // 16

    def in_use(self):
        return (self.buckets - self.available) * 100 // self.buckets

    def may_go(self):
        return [b for b in self.all if not b.pinned and b.mark != DIRTY]

    def invalidate(self, bucket):
        for page in self.live(bucket):
            del self.where[page]
        bucket.pages, bucket.prio, bucket.pinned = [], 32768, True
        self.ready.append(bucket)

    def more(self, wanted):
        if self.replacement == LRU:
            floor = (32768 - self.least) // 8
            for b in sorted(self.may_go(), key=lambda b: (b.prio - self.least + floor) * b.used)[:wanted]:
                self.invalidate(b)
        elif self.replacement == FIFO:
            for _ in self.all:
                if wanted:
                    bucket = self.all[self.hand]
                    self.hand = (self.hand + 1) % self.buckets
                    if bucket in self.may_go():
                        self.invalidate(bucket)
                        wanted -= 1
        else:
            for _ in range(max(1, self.buckets // 2)):
                if wanted:
                    self.x ^= self.x << 13 & 0xFFFFFFFF
                    self.x ^= self.x >> 17
                    self.x ^= self.x << 5 & 0xFFFFFFFF
                    bucket = self.all[self.x % self.buckets]
                    if bucket in self.may_go():
                        self.invalidate(bucket)
                        wanted -= 1

    def refill(self):
        if len(self.ready) <= self.few:
            most = len(self.ready) + 4 * self.few
            self.more(most - len(self.ready))
            if len(self.ready) < most:
                self.collect()
                self.more(most - len(self.ready))

    def opened(self):
        if not self.ready:
            self.refill()
        if not self.ready:
            return False
        bucket = self.open[-1][0] = self.ready.pop(0)
        bucket.mark, bucket.used, bucket.prio = RECLAIMABLE, self.pages, 32768
        self.available = max(0, self.available - 1)
        self.refill()
        return True

    def slot(self, page):
        bucket, place = self.where[page]
        return bucket.number * self.pages + place

    def drop(self, page):
        self.where.pop(page, None)
        self.dirty.discard(page)

    def fill(self, pages, dirty, io, code, task):
        """The pages that found no room."""
        if not pages:
            return []
        self.until_collection -= len(pages)
        own = ([one for one in self.open if one[1] == pages[0]] or [one for one in self.open if one[2] == task][:1])[
            -1:
        ]
        chosen = own[0] if own else self.open[0]
        self.open = [one for one in self.open if one is not chosen] + [chosen]
        chosen[2] = task
        for done, page in enumerate(pages):
            if chosen[0] is None and not self.opened():
                return pages[done:]
            bucket = chosen[0]
            self.drop(page)
            self.where[page] = (bucket, len(bucket.pages))
            bucket.pages.append(page)
            if dirty:
                self.dirty.add(page)
                bucket.mark = DIRTY
            io(code, self.slot(page))
            chosen[1] = page + 1
            if len(bucket.pages) == self.pages:
                bucket.pinned, chosen[0] = False, None
        return []

    def bypasses(self, begin, end, write, now, sync, around, task):
        if self.in_use() > 95 or around or (self.mode == AROUND and write):
            return True
        if self.cutoff and not (self.mode == BACK and write and sync):
            goes_on = [one for one in self.streams if one[0] == begin and now < one[2]]
            stream = goes_on[-1] if goes_on else self.streams[0]
            self.streams = [one for one in self.streams if one is not stream]
            size = (stream[1] if goes_on else 0) + end - begin
            self.streams.append([end, size, now + 5 * SECOND])
            if task >= 0:
                if not goes_on:
                    self.average[task] = (self.average.get(task, 0) * 7 + self.run.get(task, 0)) // 8
                self.run[task] = size
                size = max(size, self.average.get(task, 0))
            if size // 512 >= self.cutoff // 512:
                return True
        self.rescale -= (end - begin) // 512
        if self.rescale < 0:
            self.rescale += self.buckets * self.pages * 8 // 1024
            older = [b for b in self.all if b.prio and not b.pinned]
            for b in older:
                b.prio -= 1
            self.least = min([b.prio for b in older], default=65535)
        return False


class Writer:
    def __init__(self, cache, now):
        self.cache, self.update, self.awake, self.go_on, self.after = cache, now + 5 * SECOND, False, 0, None
        self.rate, self.sum, self.idle, self.allowed = 1024, 0, 0, 0

    def set_rate(self, now):
        self.idle += 1
        if self.idle >= 6:
            self.rate = FASTEST
            return
        c = self.cache
        dirty = len(c.dirty) * 8
        error = dirty - c.buckets * c.pages * 8 * c.percent // 100
        rate, in_use, given = trunc(error, 40), c.in_use(), c.buckets - c.available
        if in_use > 50 and dirty and given * c.pages * 8 // dirty > 3:
            term = in_use - 50 if in_use <= 57 else 10 * (in_use - 57) if in_use <= 64 else 1000 * (in_use - 64)
            rate = max(rate, dirty // given * term)
        if (error < 0 < self.sum) or (error > 0 and now < self.allowed + 1000):
            self.sum += 5 * error
        self.rate = min(10**9, max(8, rate + trunc(self.sum, 10_000)))

    def step(self, io):
        c, now = self.cache, self.go_on
        if self.after is None:
            if not c.dirty:
                self.awake = False
                return
            self.allowed = now
        left = sorted(page for page in c.dirty if self.after is None or page >= self.after)
        if not left:
            self.after, self.go_on = None, now + c.rest_us
            return
        piece = [left[0]]
        for page in left[1:]:
            if page != piece[-1] + 1 or len(piece) == 625:
                break
            piece.append(page)
        for page in piece:
            io(ON_SSD | LATER, c.slot(page))
        for page in piece:
            io(WRITE | LATER, page)
            c.dirty.discard(page)
        self.after = piece[-1] + 1
        self.go_on = now + c.copy_us[0] + len(piece) * c.copy_us[1]
        if c.percent:
            allowed = self.allowed + len(piece) * 8 * SECOND // self.rate
            self.allowed = max(now - 2 * SECOND, min(now + 2_500_000, allowed))
            self.go_on = max(self.go_on, self.allowed)

    def until(self, now, io):
        while self.awake and min(self.update, self.go_on) <= now:
            if self.update <= self.go_on:
                if self.cache.percent:
                    self.set_rate(self.update)
                self.update += 5 * SECOND
            else:
                self.step(io)
        while self.update <= now:
            self.update += 5 * SECOND
        if self.rate == FASTEST:
            self.rate = 1
        self.idle = 0


def bcache(requests, setup):
    """Of requests (first page, pages, write, µs, sync, around, task): found, I/Os one page each, dirty pages."""
    cache = Bcache(setup)
    writer = Writer(cache, requests[0][3])
    found, ios, dirty = [], [], []
    for r, (first, count, write, now, sync, around, task) in enumerate(requests):

        def io(code, place, r=r):
            ios.append((code, r, place))

        writer.until(now, io)
        pages = list(range(first, first + count))
        bypass = cache.bypasses(first * 4096, (first + count) * 4096, write, now, sync, around, task)
        found += [SSD if page in cache.where else DISK for page in pages]
        if not write:
            gap = []
            for page in pages:
                if page in cache.where:
                    cache.where[page][0].prio = 32768
                    io(ON_SSD, cache.slot(page))
                else:
                    io(0, page)
                    if not gap or (page == gap[-1] + 1 and len(gap) < 256):
                        gap.append(page)
            if not bypass:
                cache.fill(gap, False, io, WRITE | ON_SSD | LATER, task)
        else:
            in_use, left = cache.in_use(), pages
            if cache.mode == BACK and not bypass and in_use <= (70 if sync else 40):
                left = cache.fill(pages, True, io, WRITE | ON_SSD, task)
                if cache.dirty and not writer.awake:
                    writer.awake, writer.go_on = True, now
                for page in left:
                    io(WRITE, page)
            else:
                for page in pages:
                    io(WRITE, page)
                if not bypass:
                    left = cache.fill(pages, False, io, WRITE | ON_SSD, task)
            for page in left:
                cache.drop(page)
        if cache.until_collection < 0:
            cache.collect()
        dirty.append(len(cache.dirty))
    return found, ios, dirty
