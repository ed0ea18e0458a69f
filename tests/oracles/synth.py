"""Naive stacks for synthetic traces: sets of pages by slot, distances by counting."""

import math
from dataclasses import dataclass, field

from cachezoo.kernels import slots
from cachezoo.kernels import synth as kernel

PAGE, LAGS = slots.PAGE, slots.LAGS


def octave(size):
    pages = -(-size // PAGE)
    return min(slots.OCTAVES - 1, (pages - 1).bit_length())


def even(slot, end, now):
    return slot >= 0 and end >= 0 and now - end <= 2 * (now - slot) and now - slot <= 2 * (now - end)


def log2(value):
    return math.log(value) * slots.PER_LOG


def around(middle, most):
    """middle, then one above, one below, two above and so on."""
    return [middle + (k + 1) // 2 if k % 2 else middle - k // 2 for k in range(most)]


def naive_observe(requests):
    """(volume, offset, size) of each request to its (kind, distance, earlier, lag, ahead, aligned, whole, alike)."""
    last, count, found = {}, {}, []
    pages = [[(v, p) for p in range(o // PAGE, (o + s - 1) // PAGE + 1)] for v, o, s in requests]
    for i, (volume, offset, size) in enumerate(requests):
        near = [
            (offset - requests[i - back][1] - requests[i - back][2], back)
            for back in range(1, min(LAGS, i) + 1)
            if requests[i - back][0] == volume
        ]
        near = [pair for pair in near if 0 <= pair[0] <= slots.NEAR_BYTES]
        ahead, lag = min(near, default=(0, 0))
        page = pages[i][0]
        if lag and len(pages[i]) > 1 and pages[i - lag][-1] == page:
            page = pages[i][1]
        slot = last.get(page, -1)
        kind = (slots.REUSE if not lag else slots.NEAR_REUSE) if slot >= 0 else slots.NEAR_COLD if lag else 0
        distance = sum(own > slot for own in last.values()) if slot >= 0 else -1
        aligned = slot >= 0 and pages[slot][0] == page
        alike = slot >= 0 and octave(requests[slot][2]) == octave(size)
        whole = even(slot, last.get(pages[i][-1], -1), i)
        found.append((kind, distance, count.get(page, 0), lag, ahead, aligned, whole, alike))
        for own in pages[i]:
            last[own], count[own] = i, count.get(own, 0) + 1
    return found


@dataclass
class Naive:
    """A stack that requests are put on; pages are numbered within each volume."""

    asked: list
    reserved: tuple = (0, 0)  # pages of each volume that are for hot requests
    last: dict = field(default_factory=dict)
    count: dict = field(default_factory=dict)
    placed: list = field(default_factory=list)  # (volume, offset, pages) of each request
    edge: dict = field(default_factory=dict)
    begun: list = field(default_factory=list)

    def run(self):
        source, room = self.runs()
        for i, one in enumerate(self.asked):
            at, own = None, one.volume
            if one.kind == slots.HOT:
                at = one.fixed
            elif source[i] >= 0:
                at, own = self.end(source[i]) + one.ahead, self.placed[source[i]][0]
            elif one.kind == slots.NEAR_REUSE:
                at, own = self.went_on(i, one)
            if at is None and one.kind >= slots.NEAR_REUSE:
                at, own = self.reused(i, one)
            self.begun.append(at is None)
            if at is None:
                own = one.volume
                edge = self.edge.get(own, self.reserved[own])
                at = edge * PAGE + one.align
                self.edge[own] = edge + max(room[i], (one.align + one.size - 1) // PAGE + 1)
            first, stop = at // PAGE, (at + one.size - 1) // PAGE + 1
            self.placed.append((own, at, stop - first))
            for page in range(first, stop):
                self.last[own, page] = i
                self.count[own, page] = self.count.get((own, page), 0) + 1
        return self.placed

    def end(self, j):
        return self.placed[j][1] + self.asked[j].size

    def runs(self):
        """Runs of cold requests, as lists, before anything is placed."""
        source, runs, of = [-1] * len(self.asked), {}, {}
        for i, one in enumerate(self.asked):
            if one.kind not in (slots.COLD, slots.NEAR_COLD):
                continue
            if one.kind == slots.NEAR_COLD:
                backs = [back for back in around(one.lag, 2 * LAGS) if 1 <= back <= LAGS]
                ends = {run[-1] for run in runs.values()}
                source[i] = next((i - back for back in backs if i - back in ends), -1)
            root = of[i] = of[source[i]] if source[i] >= 0 else i
            runs.setdefault(root, []).append(i)
        room = [0] * len(self.asked)
        for root, run in runs.items():
            size = self.asked[root].align + sum(self.asked[i].size for i in run)
            room[root] = -(-(size + sum(self.asked[i].ahead for i in run[1:])) // PAGE)
        return source, room

    def distance(self, slot):
        return sum(own > slot for own in self.last.values())

    def went_on(self, i, one):
        found, least = (None, one.volume), kernel.APART
        for step, back in enumerate(around(one.lag, 2 * LAGS)):
            if not 1 <= back <= LAGS or back > i:
                continue
            volume, at = self.placed[i - back][0], self.end(i - back) + one.ahead
            first, stop = at // PAGE, (at + one.size - 1) // PAGE + 1
            first += (at - one.ahead - 1) // PAGE == first and stop > first + 1
            if stop > self.edge.get(volume, self.reserved[volume]) or (volume, first) not in self.last:
                continue
            apart = abs(log2((self.distance(self.last[volume, first]) + 1.0) / (one.distance + 1.0)))
            apart += kernel.LATER * step
            if even(self.last[volume, first], self.last.get((volume, stop - 1), -1), i) != one.whole:
                apart += kernel.OTHERWISE
            if apart < least:
                found, least = (at, volume), apart
            if least <= kernel.LATER * step:
                break
        return found

    def candidate(self, slot, i, one, pages):
        volume, at, held = self.placed[slot]
        begin = at // PAGE
        own = [page for page in range(begin, begin + held) if self.last[volume, page] == slot]
        if not one.aligned and held > 1:
            start = begin + 1 + int(one.draw * (held - 1))
            own = [page for page in own if page >= start] or own
        if not own or own[0] + pages > self.edge.get(volume, self.reserved[volume]):
            return None
        page = own[0]
        cost = kernel.FOREIGN * (volume != one.volume)
        cost += kernel.AWAY * abs(log2(float(self.count[volume, page])) - one.wanted)
        if even(slot, self.last.get((volume, page + pages - 1), -1), i) != one.whole:
            cost += kernel.UNEVEN
        if one.aligned and page != begin:
            cost += kernel.MIDDLE
        before = self.last.get((volume, page - 1), -1)
        if before > slot and before >= i - LAGS:
            cost += kernel.RUN
        return cost, volume, page

    def reused(self, i, one):
        pages = (one.align + one.size - 1) // PAGE + 1
        best = None
        if self.last:
            slots = sorted(self.last.values())
            slot = slots[max(0, len(slots) - 1 - int(one.distance))]
            best = self.alike(slot, i, one, pages) if one.alike else None
            best = best or self.nearby(slot, i, one, pages)
        if best:
            return best[2] * PAGE + one.align, best[1]
        edge = self.edge.get(one.volume, self.reserved[one.volume])
        return (None, one.volume) if edge < pages else ((edge - pages) * PAGE + one.align, one.volume)

    def alike(self, near, i, one, pages):
        order = [k for k in range(i) if octave(self.asked[k].size) == octave(one.size)]
        low, best = sum(k < near for k in order), None
        looked = beyond = 0
        for k in around(low, kernel.STEPS):
            if not 0 <= k < len(order) or looked >= kernel.LOOKED_AT:
                continue
            age = abs(log2(float(i - order[k]) / float(i - near)))
            older = max(i - order[k], i - near) > kernel.OLDER * min(i - order[k], i - near)
            found = None if older else self.candidate(order[k], i, one, pages)
            looked += found is not None
            if found and best and kernel.AWAY * age >= best[0]:
                beyond += 1
                if beyond == kernel.BEYOND:
                    break
                continue
            if found and (best is None or found[0] + kernel.AWAY * age < best[0]):
                best = (found[0] + kernel.AWAY * age, *found[1:])
        return best

    def nearby(self, slot, i, one, pages):
        best, looked = None, 0
        for step, own in enumerate(around(slot, kernel.STEPS)):
            found = self.candidate(own, i, one, pages) if 0 <= own < i else None
            if not found:
                continue
            looked += 1
            cost = found[0] + kernel.STEP * step
            if best is None or cost < best[0]:
                best = (cost, *found[1:])
            if best[0] < kernel.STEP * step or looked >= kernel.LOOKED_AT:
                break
        return best


def naive_chain(cumulative, first, draws):
    found, phases = [first], len(cumulative)
    for i, draw in list(enumerate(draws))[1:]:
        row = cumulative[i * phases // len(draws)][found[-1]]
        found.append(next((k for k, value in enumerate(row) if draw < value), len(row) - 1))
    return found
