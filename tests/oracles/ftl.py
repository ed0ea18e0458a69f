"""A flash drive from its description, with blocks as lists of pages: None is garbage."""

import math
from types import SimpleNamespace

from cachezoo.seeds import derive_seed


class Block:
    def __init__(self, number):
        self.number, self.erases = number, 0
        self.clear()

    def clear(self):
        self.slots, self.stream, self.full, self.worn = [], None, False, False

    @property
    def valid(self):
        return sum(page is not None for page in self.slots)


class Drive:
    def __init__(self, drive, sepbit):
        self.drive, self.sepbit = drive, sepbit
        self.blocks = [Block(number) for number in range(drive.blocks)]
        self.free = list(self.blocks)
        self.opened, self.where = {}, {}
        self.events = 0
        self.since = {}  # full block: when it got the number of valid pages it has, or became one to choose from
        self.clock, self.written = 0, {}
        self.chance = derive_seed(drive.seed, "flash drive") % (2**31 - 2) + 1
        self.bound, self.lives = math.inf, []
        self.copies, self.erased = [], 0

    def draw(self, most):
        self.chance = self.chance * 48271 % (2**31 - 1)
        return self.chance % most

    def event(self, block):
        self.events += 1
        self.since[block] = self.events

    def forget(self, page):
        if page in self.where:
            block = self.where.pop(page)
            block.slots[block.slots.index(page)] = None
            if block.full:
                self.event(block)

    def append(self, page, stream):
        if stream not in self.opened:
            block = self.free.pop(0)
            block.stream, block.begun = stream, self.clock
            self.opened[stream] = block
        block = self.opened[stream]
        block.slots.append(page)
        self.where[page] = block
        if len(block.slots) == self.drive.pages_per_block:
            block.full, block.full_at, block.sealed = True, self.clock, self.events
            del self.opened[stream]
            block.worn = self.is_worn(block)
            self.event(block)

    def is_worn(self, block):
        mean = sum(one.erases for one in self.blocks) // len(self.blocks)
        return self.drive.victim == "wear" and block.erases > mean + self.drive.wear_slack

    def victim(self):
        size, kind = self.drive.pages_per_block, self.drive.victim
        full = sorted((block for block in self.blocks if block.full), key=lambda block: block.sealed)
        useful = [block for block in full if block.valid < size]
        if kind == "fifo":
            return full[0]
        if kind == "d-choices":
            drawn = []
            while len(drawn) < self.drive.among:
                block = self.blocks[self.draw(len(self.blocks))]
                drawn += [block] if block.full else []
            return min(drawn, key=lambda block: block.valid)
        if kind in ("cost-benefit", "cost-age-times"):
            empty = [block for block in useful if block.valid == 0]
            return empty[0] if empty else max(useful, key=self.worth)
        if kind == "windowed":
            useful = full[: self.drive.among]
        elif kind == "wear":
            useful = [block for block in useful if not block.worn] or useful
        least = min(block.valid for block in useful)
        equal = [block for block in useful if block.valid == least]
        if kind != "windowed":
            equal.sort(key=lambda block: self.since[block])
        return equal[self.draw(len(equal)) if self.drive.seed else 0]

    def worth(self, block):
        u = block.valid / self.drive.pages_per_block
        score = (1 - u) / (2 * u) * (self.clock - block.full_at)
        if self.drive.victim == "cost-age-times":
            return score / max(block.erases, 1), -block.sealed
        return score, -block.valid, -block.sealed

    def copy_stream(self, page, block):
        if not self.sepbit:
            hosts, own = self.drive.streams, block.stream
            return {"keep": own, "shared": hosts, "apart": own % hosts + hosts}[self.drive.copies]
        if block.stream == 0:
            return 2
        age = self.clock - self.written[page]
        if age < self.sepbit.young * self.bound:
            return 3
        return 4 if age < self.sepbit.old * self.bound else 5

    def collect(self):
        block = self.victim()
        block.full = False
        if self.sepbit and block.stream == 0:
            self.lives.append(self.clock - block.begun)
            if len(self.lives) == self.sepbit.collected:
                self.bound, self.lives = sum(self.lives) / len(self.lives), []
        for page in block.slots:
            if page is not None:
                stream = self.copy_stream(page, block)
                self.append(page, stream)
                self.copies.append(stream)
        block.clear()
        block.erases += 1
        self.erased += 1
        self.free.append(block)
        for one in self.blocks:
            if one.full and one.worn and not self.is_worn(one):
                one.worn = False
                self.event(one)

    def fill(self, page):
        self.append(page, 1 if self.sepbit else 0)
        self.written[page] = self.clock
        self.clock += 1

    def write(self, page, stream):
        if self.sepbit:
            stream = 0 if page in self.where and self.clock - self.written[page] < self.bound else 1
        self.forget(page)
        if stream not in self.opened:
            while len(self.free) <= self.drive.gc_free_blocks:
                self.collect()
        self.append(page, stream)
        self.written[page] = self.clock
        self.clock += 1
        return stream


def run(pages, streams, drive, bounds, trim, prefill, sepbit, placed=None):
    simulated = placed or Drive(drive, sepbit)
    if prefill:
        begin = simulated.chance % drive.logical_pages if drive.seed else 0
        for page in [*range(begin, drive.logical_pages), *range(begin)]:
            simulated.fill(page)
    host, copied, erased = ([0] * (len(bounds) - 1) for _ in range(3))
    by_host, by_copy = ([0] * (drive.streams if sepbit else drive.open_blocks) for _ in range(2))
    for i, (page, stream, gone) in enumerate(zip(pages, streams, trim, strict=True)):
        simulated.copies, simulated.erased, simulated.now = [], 0, i
        if gone:
            simulated.forget(page)
        else:
            stream = simulated.write(page, stream)
        for k in range(len(host)):
            if bounds[k] <= i < bounds[k + 1]:
                host[k] += not gone
                by_host[stream] += not gone
                copied[k] += len(simulated.copies)
                erased[k] += simulated.erased
                for one in simulated.copies:
                    by_copy[one] += 1
    return SimpleNamespace(
        host=host,
        copied=copied,
        erased=erased,
        host_by_stream=by_host,
        copied_by_stream=by_copy,
        erases=[block.erases for block in simulated.blocks],
        valid=[block.valid for block in simulated.blocks],
        block=[simulated.where[page].number if page in simulated.where else -1 for page in range(drive.logical_pages)],
        slots=[list(block.slots) for block in simulated.blocks],
    )
