"""Schemes that place pages inside a drive, each from its description, on the naive drive of `tests.oracles.ftl`.

A scheme knows the drive: `where` has the block of each page that is valid, `clock` the host's page writes so far.
"""

import math
from functools import reduce
from operator import add

from tests.oracles import ftl

CLASSES = 6


class Scheme:
    fills = 0

    def __init__(self, drive):
        self.drive = drive
        self.written, self.writes = {}, {}

    def age(self, page):
        return self.drive.clock - self.written[page]

    def lived(self, page):
        return page in self.drive.where

    def of_write(self, page):
        raise NotImplementedError

    def of_copy(self, page, block):
        raise NotImplementedError

    def of_erase(self, block):
        pass

    def of_block(self, stream):
        pass

    def done(self, page, stream):
        self.written[page] = self.drive.clock
        self.writes[page] = self.writes.get(page, 0) + 1


class Future(Scheme):
    """Looks each death up in the list of all that comes, from where it is."""

    fills = CLASSES - 1

    def __init__(self, drive, span=64):
        super().__init__(drive)
        self.span = span

    def death(self, page, after):
        """Page writes of the host until entry `after` or a later one touches the page."""
        clock = self.drive.clock
        for k in range(after, len(self.drive.pages)):
            if self.drive.pages[k] == page:
                return clock
            clock += not self.drive.trim[k]
        return math.inf

    def of_left(self, left):
        return min(math.ceil(left / self.span) - 1, CLASSES - 1) if left < math.inf else CLASSES - 1

    def of_write(self, page):
        # The write itself is entry `now`, and the first that comes is one write away.
        return self.of_left(self.death(page, self.drive.now + 1) - self.drive.clock + 1)

    def of_copy(self, page, block):
        return self.of_left(self.death(page, self.drive.now) - self.drive.clock)


class Dac(Scheme):
    def __init__(self, drive, young=0.0):
        super().__init__(drive)
        self.young = max(round(young * drive.drive.logical_pages), 1) if young else None
        self.region = {}

    def of_write(self, page):
        if not self.lived(page):
            self.region[page] = 0
        elif self.young is None or self.age(page) < self.young:
            self.region[page] = min(self.region.get(page, 0) + 1, CLASSES - 1)
        return self.region.get(page, 0)

    def of_copy(self, page, block):
        if self.young is None or self.age(page) >= self.young:
            self.region[page] = max(self.region.get(page, 0) - 1, 0)
        return self.region.get(page, 0)


class Sfs(Scheme):
    fills = CLASSES - 1

    def __init__(self, drive):
        super().__init__(drive)
        self.centres, self.since, self.known = [0.0] * CLASSES, 0, False

    def nearest(self, hot):
        off = [abs(centre - hot) for centre in self.centres]
        return max(k for k in range(CLASSES) if off[k] == min(off))

    def hot(self, page):
        return self.nearest(self.writes[page] / self.age(page))

    def of_write(self, page):
        return self.hot(page) if page in self.writes else CLASSES - 1

    def of_copy(self, page, block):
        return self.hot(page)

    def of_erase(self, victim):
        self.since += 1
        if self.known and self.since < max(len(self.drive.blocks) // 8, 1):
            return
        self.since = 0
        hot = []
        for block in self.drive.blocks:
            pages = [page for page in block.slots if page is not None]
            if block.full and pages and block is not victim:
                hot.append(sum(self.writes[page] for page in pages) / sum(self.age(page) for page in pages))
        if not hot:
            return
        if not self.known:
            self.centres = [max(hot) - (max(hot) - min(hot)) * k / (CLASSES - 1) for k in range(CLASSES)]
        self.known = True
        for _ in range(3):
            groups = [[] for _ in range(CLASSES)]
            for one in hot:
                groups[self.nearest(one)].append(one)
            self.centres = [
                reduce(add, group) / len(group) if group else centre
                for group, centre in zip(groups, self.centres, strict=True)
            ]
        self.centres.sort(reverse=True)


class MultiLog(Scheme):
    def __init__(self, drive):
        super().__init__(drive)
        self.log, self.deepest, self.draws, self.since = {}, 0, 0, None
        self.valid, self.took, self.bound = ([0] * CLASSES for _ in range(3))

    def of_write(self, page):
        log = self.log.get(page, 0)
        if log and self.bound[log] and self.age(page) < self.bound[log]:
            self.draws += 1
            chance = math.modf(self.draws * 0.6180339887498949)[0]
            if chance < (self.bound[log] - self.age(page)) / self.bound[log]:
                self.log[page] = log - 1
        return self.log.get(page, 0)

    def done(self, page, stream):
        super().done(page, stream)
        self.took[stream] += 1

    def of_copy(self, page, block):
        log = self.log.get(page, 0)
        if log == self.deepest and log + 1 < CLASSES and self.valid[log] >= self.drive.drive.pages_per_block:
            self.deepest += 1
        self.log[page] = log + 1 if log < self.deepest else log
        return self.log[page]

    def of_erase(self, block):
        self.since = 0 if self.since is None else self.since + 1
        if self.since % max(len(self.drive.blocks) // 64, 1) == 0:
            self.valid = [sum(one.valid for one in self.drive.blocks if one.stream == log) for log in range(CLASSES)]
            for log, took in enumerate(self.took):
                if took:
                    self.bound[log] = self.valid[log] * sum(self.took) / took / 2
            self.took = [0] * CLASSES


class Mida(Scheme):
    def of_write(self, page):
        return 0

    def of_copy(self, page, block):
        return min(block.stream + 1, CLASSES - 1)


class Warcip(Scheme):
    fills = CLASSES - 1

    def __init__(self, drive, window=256):
        super().__init__(drive)
        self.window, self.penalty = window, {}
        self.centres = {k: drive.drive.logical_pages / 4 ** (CLASSES - 1 - k) for k in range(1, CLASSES)}
        self.held, self.took, self.full = dict.fromkeys(self.centres, 0), dict.fromkeys(self.centres, 0), 0

    def of_write(self, page):
        if not self.lived(page):
            return max(self.centres, key=self.centres.get)
        interval = self.age(page) + self.penalty.pop(page, 0)
        best = min(self.centres, key=lambda k: abs(self.centres[k] - interval))
        held = self.held[best]
        self.centres[best] = (self.centres[best] * held + interval) / (held + 1)
        return best

    def done(self, page, stream):
        super().done(page, stream)
        self.held[stream] += 1
        self.took[stream] += 1

    def of_copy(self, page, block):
        self.penalty[page] = self.age(page)
        return 0

    def of_block(self, stream):
        if stream == 0:
            return
        self.held[stream] = 0
        self.full += 1
        if self.full % self.window == 0:
            most, least = max(self.took, key=self.took.get), min(self.took, key=self.took.get)
            total = sum(self.took.values())
            if self.took[most] > total / 2 and self.took[least] < total / 256:
                self.centres[least] = self.centres[most] / 2
            self.took = dict.fromkeys(self.centres, 0)


def log2_of(value):
    """Of one plus a value: exact at powers of two, straight between them."""
    whole = (value + 1).bit_length() - 1
    return whole + ((value + 1) / 2**whole - 1.0)


class Foresight(Scheme):
    fills = 2

    def __init__(self, drive):
        super().__init__(drive)
        start = log2_of(drive.drive.logical_pages)
        self.cuts, self.weights = [start, start + 1], {}
        self.start = start / 7
        self.life, self.known = {}, {}
        self.seen, self.mean = {}, {}

    def bin_of(self, value):
        return int(min(value, 46)) + 1

    def age_bin(self, page):
        return self.bin_of(log2_of(self.age(page))) if page in self.writes else 0

    def describe(self, page):
        region, life = page // 128, self.life.get(page)
        return (
            self.age_bin(page),
            self.bin_of(log2_of(life)) if life else 0,
            self.age_bin(page - 1),
            self.age_bin(page + 1),
            self.bin_of(log2_of(self.drive.clock - self.seen[region])) if region in self.seen else 0,
            self.bin_of(2 * self.mean[region]) if region in self.mean else 0,
            self.bin_of(2 * log2_of(self.writes.get(page, 0))),
        )

    def predicted(self, known):
        total = 0.0
        for key in enumerate(known):
            total += self.weights.get(key, self.start)
        return total

    def learn(self, page, life):
        known = self.known.get(page, (0,) * 7)
        off = life - self.predicted(known)
        for key in enumerate(known):
            self.weights[key] = self.weights.get(key, self.start) + off / 64

    def of_write(self, page):
        region, life = page // 128, None
        if self.lived(page):
            life = self.age(page)
            own = log2_of(life)
            self.learn(page, own)
            mean = self.mean.get(region)
            self.mean[region] = own if mean is None else mean + (own - mean) / 8
        self.known[page] = self.describe(page)
        self.life[page], self.seen[region] = life, self.drive.clock
        own = self.predicted(self.known[page])
        below = [own < cut for cut in self.cuts]
        self.cuts = [
            cut + ((k + 1) / 3 - under) / 256 for k, (cut, under) in enumerate(zip(self.cuts, below, strict=True))
        ]
        return below.count(False)

    def of_copy(self, page, block):
        age = log2_of(self.age(page))
        if age > self.predicted(self.known.get(page, (0,) * 7)):
            self.learn(page, age + 1)
        return max(3, min(block.stream + 1, CLASSES - 1))


class Drive(ftl.Drive):
    """The naive drive with a scheme in it."""

    def __init__(self, drive, make, pages, trim):
        super().__init__(drive, None)
        self.pages, self.trim, self.now = pages, trim, 0
        self.scheme = make(self)

    def append(self, page, stream):
        if stream not in self.opened:
            self.scheme.of_block(stream)
        super().append(page, stream)

    def victim(self):
        block = super().victim()
        self.scheme.of_erase(block)
        return block

    def copy_stream(self, page, block):
        return self.scheme.of_copy(page, block)

    def fill(self, page):
        self.append(page, self.scheme.fills)
        self.scheme.done(page, self.scheme.fills)
        self.clock += 1

    def write(self, page, stream):
        found = super().write(page, self.scheme.of_write(page))
        self.clock -= 1
        self.scheme.done(page, found)
        self.clock += 1
        return found


def run(pages, streams, drive, bounds, trim, prefill, make):
    """As `tests.oracles.ftl.run`, by a scheme; the host's streams are not asked for."""
    placed = Drive(drive, make, pages.tolist(), trim.tolist())
    return ftl.run(pages, streams, drive, bounds, trim, prefill, None, placed)
