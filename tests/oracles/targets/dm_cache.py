"""dm-cache with smq, naively: lists of levels, with the marks of both queues and all of the statistics."""

WRITE, ON_SSD, LATER = 1, 2, 4
SSD, DISK = 2, 3
LEVELS = 64
PROMOTED = [1, 1, 1, 2, 4, 6, 7, 8, 7, 6, 4, 4, 3, 3, 2, 2, 1]


class Entry:
    def __init__(self, level=0, mark=False):
        self.level, self.mark, self.block, self.dirty = level, mark, None, False


class Levels:
    def __init__(self, top=0, in_top=0):
        self.levels = [[] for _ in range(LEVELS)]
        self.top, self.in_top = top, in_top
        self.made_for, self.targets = 0, [0] * LEVELS

    def size(self):
        return sum(self.held(level) for level in range(LEVELS))

    def held(self, level):
        return sum(not one.mark for one in self.levels[level])

    def push(self, entry):
        self.levels[entry.level].append(entry)

    def push_before(self, mark, entry):
        here = self.levels[entry.level]
        here.insert(here.index(mark), entry)

    def take(self, entry):
        self.levels[entry.level].remove(entry)

    def peek(self, levels, past_marks):
        for here in self.levels[:levels]:
            for entry in here:
                if not entry.mark:
                    return entry
                if not past_marks:
                    break
        return None

    def spread(self, entries, first, end):
        for level in range(first, end):
            more = level - first < entries % (end - first)
            self.targets[level] = entries // (end - first) + more

    def redistribute(self):
        if self.made_for != self.size():
            self.made_for = self.size()
            self.spread(self.in_top, LEVELS - self.top, LEVELS)
            self.spread(max(0, self.size() - self.in_top), 0, LEVELS - self.top)
        for level in range(LEVELS - 1):
            while self.held(level) < self.targets[level]:
                above = [one for here in self.levels[level + 1 :] for one in here if not one.mark]
                if not above:
                    break
                self.take(above[0])
                above[0].level = level
                self.push(above[0])
            while self.held(level) > self.targets[level]:
                youngest = [one for one in self.levels[level] if not one.mark][-1]
                self.take(youngest)
                youngest.level = level + 1
                self.push(youngest)

    def requeue(self, entry, levels, marks=None):
        new = min(LEVELS - 1, entry.level + levels)
        if levels and entry.level < LEVELS - 1:
            others = [one for one in self.levels[new] if not one.mark]
            if others:
                passed = self.levels[new].index(others[0])
                self.take(others[0])
                others[0].level = entry.level
                if marks is not None and passed < 2:
                    self.push_before(marks[passed], others[0])
                else:
                    self.push(others[0])
        self.take(entry)
        entry.level = new
        self.push(entry)


class Stats:
    def __init__(self):
        self.hits = self.misses = 0

    def saw(self, level):
        if level >= LEVELS * 3 // 4:
            self.hits += 1
        else:
            self.misses += 1

    def doubt(self):
        asked = self.hits + self.misses
        confidence = self.hits * 256 // asked if asked else 0
        return 4 if confidence < 16 else 2 if confidence < 32 else 1


class Smq:
    def __init__(self, blocks, hots, hot_blocks, now_us):
        self.blocks, self.hots = blocks, hots
        self.free, self.table, self.hot_table = list(range(blocks)), {}, {}
        self.hot = Levels(8, min(hots // LEVELS, blocks // hot_blocks))
        self.clean, self.dirty = Levels(), Levels()
        self.hot_stats, self.stats = Stats(), Stats()
        self.moved, self.hot_moved = set(), set()
        self.marks = {"dirty": {}, "clean": {}}
        for which in (False, True):
            for kind, queue in (("dirty", self.dirty), ("clean", self.clean)):
                self.marks[kind][which] = [Entry(level, True) for level in range(LEVELS)]
                for mark in self.marks[kind][which]:
                    queue.push(mark)
        self.now = {"dirty": True, "clean": True}
        self.end = {"dirty": now_us + 10_000_000, "clean": now_us + 60_000_000}
        self.next_hot = self.next_cache = now_us
        self.jump, self.read_level, self.write_level = 1, LEVELS, LEVELS

    def queue(self, entry):
        return self.dirty if entry.dirty else self.clean

    def tick(self, at):
        for kind, queue, period in (("dirty", self.dirty, 10_000_000), ("clean", self.clean, 60_000_000)):
            if at >= self.end[kind]:
                self.end[kind] = at + period
                self.now[kind] = not self.now[kind]
                for mark in self.marks[kind][self.now[kind]]:
                    queue.take(mark)
                    queue.push(mark)
        self.hot_moved.clear()
        asked = self.stats.hits + self.stats.misses
        wanted = LEVELS // 2 if self.free else PROMOTED[self.stats.hits * 16 // asked if asked else 0]
        wanted = max(wanted, LEVELS) // self.hot_stats.doubt()
        self.read_level = self.write_level = LEVELS - wanted
        if at >= self.next_hot:
            self.jump = self.hot_stats.doubt()
            self.hot.redistribute()
            self.hot_stats = Stats()
            self.next_hot = at + 1_000_000
        if at >= self.next_cache:
            self.moved.clear()
            self.dirty.redistribute()
            self.clean.redistribute()
            self.stats = Stats()
            self.next_cache = at + 60_000_000

    def hotspot(self, hot):
        entry = self.hot_table.get(hot)
        if entry is not None:
            self.hot_stats.saw(entry.level)
            self.hot.requeue(entry, 0 if entry in self.hot_moved else self.jump)
            self.hot_moved.add(entry)
            return entry
        self.hot_stats.misses += 1
        if len(self.hot_table) == self.hots:
            old = self.hot.peek(LEVELS, True)
            self.hot.take(old)
            del self.hot_table[old.block]
            self.hot_moved.discard(old)
        entry = self.hot_table[hot] = Entry()
        entry.block = hot
        self.hot.push(entry)
        return entry

    def hit(self, entry):
        self.stats.saw(entry.level)
        if entry.slot in self.moved:
            return
        self.moved.add(entry.slot)
        if not entry.dirty:
            self.clean.requeue(entry, 1)
            return
        current = self.now["dirty"]
        marks = [self.marks["dirty"][not current][entry.level], self.marks["dirty"][current][entry.level]]
        self.dirty.requeue(entry, 1, marks)

    def wanted(self, hot, write, whole):
        self.stats.misses += 1
        level = self.hotspot(hot).level
        if write and whole and self.free:
            return True
        return level >= (self.write_level if write else self.read_level)

    def enter(self, block, dirty):
        entry = self.table[block] = Entry(LEVELS - 1)
        entry.block, entry.dirty, entry.slot = block, dirty, self.free.pop()
        self.queue(entry).push(entry)
        return entry

    def set_dirty(self, entry, dirty):
        self.queue(entry).take(entry)
        entry.dirty = dirty
        self.queue(entry).push(entry)

    def cleaned(self, past_marks):
        entry = self.dirty.peek(LEVELS, past_marks)
        if entry is not None:
            self.set_dirty(entry, False)
        return entry

    def make_room(self):
        if self.blocks * 25 // 100 == 0:
            return None
        entry = self.clean.peek(LEVELS // 2, True)
        if entry is None:
            return self.cleaned(False)
        self.clean.take(entry)
        del self.table[entry.block]
        self.free.append(entry.slot)
        return None


def dm_cache(requests, per_block, blocks, hots, hot_blocks, back, idle, copy_us):
    """Of requests (first page of the volume, pages, write, µs): found, I/Os one page each, dirty pages."""
    start = requests[0][3]
    smq = Smq(blocks, hots, hot_blocks, start)
    next_tick, asked, cleaning, cleaned_us = start + 1_000_000, start, False, 0
    found, ios, dirty = [], [], []

    def io(code, r, place, pages):
        ios.extend((code, r, place + k) for k in range(pages))

    def copy_back(entry, r):
        io(ON_SSD | LATER, r, entry.slot * per_block, per_block)
        io(WRITE | LATER, r, entry.block * per_block, per_block)

    for r, (first, pages, write, at) in enumerate(requests):
        while True:
            while cleaning and cleaned_us <= min(next_tick, at):
                entry = smq.cleaned(True)
                if entry is None:
                    cleaning = False
                else:
                    copy_back(entry, r)
                    cleaned_us += copy_us
            if next_tick > at:
                break
            smq.tick(next_tick)
            if idle and next_tick - asked >= 1_000_000:
                cleaning, cleaned_us = True, max(cleaned_us, next_tick)
            next_tick += 1_000_000
        page = first
        while page < first + pages:
            block, within = divmod(page, per_block)
            count = min(per_block - within, first + pages - page)
            entry = smq.table.get(block)
            found += [DISK if entry is None else SSD] * count
            if entry is not None:
                smq.hit(entry)
                if not write:
                    io(ON_SSD, r, entry.slot * per_block + within, count)
                else:
                    if not back:
                        io(WRITE, r, page, count)
                        asked, cleaning = at, False
                    elif not entry.dirty:
                        smq.set_dirty(entry, True)
                    io(WRITE | ON_SSD, r, entry.slot * per_block + within, count)
            else:
                whole = back and write and count == per_block
                wanted = smq.wanted(block // hot_blocks, write, whole)
                asked, cleaning = at, False
                if wanted and whole and smq.free:
                    io(WRITE | ON_SSD, r, smq.enter(block, True).slot * per_block, count)
                else:
                    io(WRITE if write else 0, r, page, count)
                    if wanted and smq.free:
                        entry = smq.enter(block, False)
                        io(LATER, r, block * per_block, per_block)
                        io(WRITE | ON_SSD | LATER, r, entry.slot * per_block, per_block)
                    elif wanted:
                        entry = smq.make_room()
                        if entry is not None:
                            copy_back(entry, r)
            page += count
        dirty.append(smq.dirty.size() * per_block)
    return found, ios, dirty
