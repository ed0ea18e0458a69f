"""Open CAS, naively: lists of lines, sets of pages, one request at a time, in the words of the kernel's docstring."""

from math import ceil

READ, WRITE, ON_SSD, LATER = 0, 1, 2, 4
DISK, SSD = 3, 2


class List:
    """Lines, the head first; half of them are hot, as each change of the list by one line leaves it."""

    def __init__(self, halves):
        self.lines, self.hot, self.halves = [], set(), halves

    def balance(self):
        if not self.halves:
            return
        change = len(self.lines) // 2 - len(self.hot)
        if change > 0:
            self.hot.add(next(line for line in self.lines if line not in self.hot))
        if change < 0:
            self.hot.remove(next(line for line in reversed(self.lines) if line in self.hot))

    def remove(self, line):
        self.lines.remove(line)
        self.hot.discard(line)

    def push(self, line):
        if self.halves and self.lines:
            self.hot.add(line)
        self.lines.insert(0, line)
        self.balance()

    def heat(self, line):
        if line not in self.hot:
            self.remove(line)
            self.push(line)


class Stream:
    def __init__(self):
        self.next, self.bytes, self.count, self.write, self.valid = 0, 0, 0, False, False


class Cutoff:
    """Queue's and core's streams, the one that went on longest ago first."""

    def __init__(self, policy, threshold, count, size, margin=512):
        self.policy, self.threshold, self.count, self.size, self.margin = policy, threshold, count, size, margin
        self.queue, self.core = [Stream() for _ in range(64)], [Stream() for _ in range(128)]

    @staticmethod
    def find(streams, at, write):
        known = [one for one in streams if one.valid and one.next == at and one.write == write]
        return max(known, key=lambda one: one.bytes, default=None)

    def cuts(self, free, asked, at, size, write):
        if self.policy == "never" or (self.policy == "full" and free > self.margin + asked):
            return False
        one = self.find(self.queue, at, write) or self.find(self.core, at, write)
        return one is not None and one.bytes + size >= self.threshold

    def follow(self, at, size, write):
        if self.policy == "never":
            return
        one = self.find(self.core, at, write)
        home = self.core if one else self.queue
        one = one or self.find(self.queue, at, write)
        if one is None:
            one = self.queue[0]
            one.bytes, one.count = 0, 0
        one.next, one.bytes, one.count, one.write, one.valid = at + size, one.bytes + size, one.count + 1, write, True
        home.append(home.pop(home.index(one)))
        if home is self.queue and (one.count >= self.count or 0 < self.size <= one.bytes):
            to = self.core.pop(0)
            to.next, to.bytes, to.count, to.write, to.valid = one.next, one.bytes, one.count, one.write, True
            self.core.append(to)
            one.valid = False
            self.queue.insert(0, self.queue.pop())


class OpenCas:
    def __init__(self, lines, line_pages, mode, cutoff, nhit=0, trigger=80, cleaning="alru", buffers=128):
        self.size, self.pages, self.mode, self.cutoff = lines, line_pages, mode, cutoff
        self.nhit, self.trigger, self.cleaning, self.buffers = nhit, trigger, cleaning, buffers
        self.free, self.clean, self.dirty = List(False), List(True), List(True)
        for line in range(lines):
            self.free.push(line)
        self.holds, self.valid, self.soiled = {}, {}, {}  # by line: block, sets of pages in it
        self.writes = []  # dirty lines, oldest write first
        self.written = {}
        self.ring, self.counter = [], {}
        self.piece = None  # (blocks, how far)
        self.ios, self.last = [], None

    def line_of(self, block):
        return next((line for line, own in self.holds.items() if own == block), None)

    def io(self, code, place, pages):
        self.ios.append((code, self.request, place, pages))

    def runs(self, code, base, pages):
        pages = sorted(pages)
        while pages:
            run = 1
            while run < len(pages) and pages[run] == pages[0] + run:
                run += 1
            self.io(code, base + pages[0], run)
            pages = pages[run:]

    def wash(self, line, pages):
        """Dirty no more."""
        before = bool(self.soiled[line])
        self.soiled[line] -= pages
        if before and not self.soiled[line]:
            self.writes.remove(line)
            self.dirty.remove(line)
            self.dirty.balance()
            self.clean.push(line)

    def write_back(self, line, later):
        self.runs(ON_SSD | later, line * self.pages, self.soiled[line])
        self.runs(WRITE | later, self.holds[line] * self.pages, self.soiled[line])
        self.wash(line, set(self.soiled[line]))

    def drop(self, line, pages):
        self.wash(line, set(pages))
        self.valid[line] -= set(pages)
        if not self.valid[line]:
            del self.holds[line]
            self.clean.remove(line)
            self.clean.balance()
            self.free.push(line)

    def soil(self, line, pages, now):
        if self.soiled[line]:
            self.writes.remove(line)
        else:
            self.clean.remove(line)
            self.clean.balance()
            self.dirty.push(line)
        self.soiled[line] |= pages
        self.valid[line] |= pages
        self.written[line] = now
        self.writes.append(line)

    def promotes(self, blocks, mapped):
        if self.nhit == 0 or self.size - len(self.free.lines) < ceil(self.trigger * self.size / 100):
            return True
        enough = True
        for block in blocks:
            if block in self.counter:
                self.counter[block] += 1
                enough &= self.counter[block] >= self.nhit
            else:
                if len(self.ring) == 2 * self.size:
                    del self.counter[self.ring.pop(0)]
                self.ring.append(block)
                self.counter[block] = 1
                enough = False
        return enough or mapped

    def map(self, blocks):
        taken = []
        for block in blocks:
            if self.line_of(block) is not None:
                continue
            if self.free.lines:
                line = self.free.lines[-1]
                self.free.remove(line)
                self.clean.push(line)
            else:
                line = next((one for one in reversed(self.clean.lines) if self.holds[one] not in blocks), None)
                if line is None:
                    break
                del self.holds[line]
                self.clean.remove(line)
                self.clean.push(line)
            self.holds[line], self.valid[line], self.soiled[line] = block, set(), set()
            taken.append(line)
        if all(self.line_of(block) is not None for block in blocks):
            self.counter.update({block: 0 for block in blocks if block in self.counter})
            return True
        for line in sorted(taken, key=lambda line: self.holds[line]):
            self.drop(line, set())
        for line in reversed(self.dirty.lines[-32:]):
            self.write_back(line, LATER)
        return False

    def idle(self, now, wake_us, idle_us, stale_us):
        wakes = now // wake_us - self.last // wake_us
        if self.cleaning == "alru" and wakes:
            wake = now // wake_us * wake_us
            if wake - self.last >= idle_us:
                while self.writes and self.written[self.writes[0]] < wake - stale_us:
                    self.write_back(self.writes[0], LATER)
        if self.cleaning == "acp":
            for _ in range(wakes):
                if any(self.soiled[line] for line in self.holds):
                    self.sweep()

    def sweep(self):
        per = 25600 // self.pages
        if self.piece is None:
            dirty = [self.holds[line] // per for line in self.holds if self.soiled[line]]
            best = max(sorted(set(dirty)), key=lambda piece: ceil(10 * dirty.count(piece) / per))
            self.piece = (best * per, (best + 1) * per)
        at, end = self.piece
        soiled = sorted(block for line, block in self.holds.items() if self.soiled[line] and at <= block < end)
        for block in soiled[: self.buffers]:
            self.write_back(self.line_of(block), LATER)
        at = soiled[self.buffers - 1] + 1 if len(soiled) >= self.buffers else end
        self.piece = (at, end) if at < end else None

    def request_(self, number, first, count, write, now, offset, size, alru):
        """First page and pages of the volume; where each page was found."""
        self.request = number
        self.last = now if self.last is None else self.last
        self.idle(now, *alru)
        self.last = now
        blocks, asked = [], {}
        for page in range(first, first + count):
            block = page // self.pages
            if block not in asked:
                blocks.append(block)
            asked.setdefault(block, set()).add(page % self.pages)
        lines = {block: self.line_of(block) for block in blocks}
        mapped = sum(line is not None for line in lines.values())
        held = {block: line is not None and asked[block] <= self.valid[line] for block, line in lines.items()}
        soiled = all(line is not None and asked[block] <= self.soiled[line] for block, line in lines.items())
        cut = self.cutoff.cuts(len(self.free.lines), len(blocks), offset, size, write)
        self.cutoff.follow(offset, size, write)
        mode = "pt" if cut or len(blocks) > self.size else self.mode
        if write and mode == "wa":
            mode = "wt" if all(held.values()) else "pt"
        if not write and cut and soiled:
            mode = "wb"
        found = []
        for page in range(first, first + count):
            line = lines[page // self.pages]
            has = line is not None and page % self.pages in self.valid[line]
            serves = write or (all(held.values()) and mode != "pt")
            found.append(SSD if has and serves else DISK)
        known = [lines[block] for block in blocks if lines[block] is not None]
        if mode != "pt" and (write or mode != "wo") and mapped < len(blocks):
            if not (self.promotes(blocks, mapped) and self.map(blocks)):
                mode = "pt"
        for line in known:
            own = self.dirty if self.soiled[line] else self.clean
            own.heat(line)
        self.serve(blocks, asked, write, mode, all(held.values()), first, count, now)
        return found

    def clean_asked(self, blocks):
        for block in blocks:
            line = self.line_of(block)
            if line is not None and self.soiled[line]:
                self.write_back(line, 0)

    def serve(self, blocks, asked, write, mode, held, first, count, now):
        def on_ssd(code):
            for block in blocks:
                self.runs(code, self.line_of(block) * self.pages, asked[block])

        if write and mode == "pt":
            self.clean_asked(blocks)
            self.io(WRITE, first, count)
            for block in blocks:
                if self.line_of(block) is not None:
                    self.drop(self.line_of(block), asked[block])
        elif write:
            on_ssd(ON_SSD | WRITE)
            if mode == "wt":
                self.io(WRITE, first, count)
            for block in blocks:
                line = self.line_of(block)
                if mode == "wt":
                    self.valid[line] |= asked[block]
                    self.wash(line, asked[block])
                else:
                    self.soil(line, asked[block], now)
        elif held and mode != "pt":
            on_ssd(ON_SSD)
        elif mode == "wo":
            self.io(READ, first, count)
            known = [block for block in blocks if self.line_of(block) is not None]
            if any(self.soiled[self.line_of(block)] for block in known):
                for block in known:
                    line = self.line_of(block)
                    self.runs(ON_SSD, line * self.pages, asked[block] & self.valid[line])
        else:
            self.clean_asked(blocks)
            self.io(READ, first, count)
            for block in blocks:
                line = self.line_of(block)
                if mode != "pt" and not asked[block] <= self.valid[line]:
                    self.runs(ON_SSD | WRITE | LATER, line * self.pages, asked[block])
                    self.valid[line] |= asked[block]

    @property
    def dirty_pages(self):
        return sum(len(self.soiled[line]) for line in self.holds)
