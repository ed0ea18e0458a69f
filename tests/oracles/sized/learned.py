"""Evictions of objects that learn, naively: those of pages, with bytes among what they learn from."""

from types import SimpleNamespace

import numpy as np

from tests.oracles import learned as pages
from tests.oracles.sized.modelled import entries


class Sized:
    """What both have: slots with a hole where who left last was, and the bytes of what is or was resident."""

    competes = False

    def __init__(self, requests, capacity, fit, **values):
        super().__init__(SimpleNamespace(page_ids=requests.ids), entries(requests, capacity), values, fit)
        self.held, self.bytes = {}, {}

    def row(self, key, now):
        return [*super().row(key, now), np.float32(self.bytes[key])]

    def fill(self):
        if None in self.slots:
            last = self.slots.pop()
            if None in self.slots:
                self.slots[self.slots.index(None)] = last

    def access(self, key, i):
        super().access(key, i)
        self.bytes[key] = self.held[key]

    def resize(self, key, more):
        pass

    def hole(self):
        return self.slots.index(None) if None in self.slots else None


class Lrb(Sized, pages.Lrb):
    def touch(self, key, i):
        self.fill()
        super().touch(key, i)

    def wants(self, key, i, size):
        self.slide(i)
        return True

    def insert(self, key, i):
        self.access(key, i)
        self.enter(key, self.hole())
        self.mark(i)

    def remove(self, key):
        self.fill()
        self.slots[self.slots.index(key)] = None
        self.recency.remove(key)
        self.due.pop(key, None)

    def evict(self, i):
        self.fill()
        victim = self.choose(i)
        self.remove(victim)
        return victim

    def worth(self, key, i):
        return (self.due[key][0] - i) * self.held[key] if self.values["objects"] else self.due[key][0]


class ThreeLCache(Sized, pages.ThreeLCache):
    def key(self, key, due, i):
        return i + (due - i) * self.held[key] if self.values["objects"] else due

    def touch(self, key, i):
        self.fill()
        super().touch(key, i)

    def wants(self, key, i, size):
        return True

    def insert(self, key, i):
        self.accesses += 1
        self.near += key in self.times
        self.access(key, i)
        slot = self.hole()
        self.stay.pop(key, None)
        self.enter(key, slot)
        if self.model is not None:
            self.fresh.append(self.number(key))
        if slot is not None:
            while len(self.gone) > (self.window - 1) * len(self.slots):
                self.fall_off(i)
            self.mark(i)

    def remove(self, key):
        self.fill()
        self.slots[self.slots.index(key)] = None
        self.step_off(key)
        self.recency.remove(key)
        self.due.pop(key, None)
        self.gone.append(self.number(key))

    def evict(self, i):
        self.fill()
        victim = self.choose(i)
        self.remove(victim)
        return victim
