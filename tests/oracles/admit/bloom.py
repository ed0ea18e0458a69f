import math

from tests.oracles.admit.coinflip import mixed


class Gate:
    """Naive Bloom: filters as Python sets of bit numbers, the younger first."""

    def __init__(self, stream, capacity, capacities=2, bits_per_entry=10):
        self.entries = max(1, min(round(capacities * capacity / 2), stream.n_pages + 1))
        self.bits = max(8, round(self.entries * bits_per_entry))
        self.hashes = max(1, round(bits_per_entry * math.log(2)))
        self.filters = [set(), set()]
        self.taken = 0

    def places(self, page):
        first, step = (mixed(mixed(page) ^ mixed(which ^ 0x5BD1E995)) for which in (0, 1))
        return {(first + k * (step | 1)) % 2**32 * self.bits // 2**32 for k in range(self.hashes)}

    def admit(self, page, i):
        places = self.places(page)
        if any(places <= taken for taken in self.filters):
            return True
        if self.taken == self.entries:
            self.filters = [set(), self.filters[0]]
            self.taken = 0
        self.taken += 1
        self.filters[0] |= places
        return False

    def saw(self, page, i):
        pass
