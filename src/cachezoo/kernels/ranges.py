"""Fewer ranges at the least loss: each segment of a line gets one of K labels, a price is paid for each range of one.

The cheapest labels are found by dynamic programming (Viterbi, IEEE Trans. Inf. Theory 13(2), 1967): what the segments
so far cost at least if the last has label s, for each s, follows from the same of one segment fewer.
"""

import numpy as np

from cachezoo.arrays import F64, I64, U8
from cachezoo.kernels.jit import njit


@njit
def _cheapest(cost: F64, ranges: I64) -> int:
    """The label of least cost; of equal ones that of the fewest ranges, then the first."""
    best = 0
    for s in range(1, len(cost)):
        if cost[s] < cost[best] or (cost[s] == cost[best] and ranges[s] < ranges[best]):
            best = s
    return best


@njit
def _forward(own: U8, weight: F64, distance: F64, price: float, last: int, stays: U8, before: U8) -> tuple[int, int]:
    """Fill `stays` and `before`; the last segment's label, and the ranges that there are with the one behind all."""
    labels = len(distance)
    cost, ranges = np.zeros(labels), np.ones(labels, np.int64)
    for i in range(len(own)):
        best = _cheapest(cost, ranges)
        least, fewest = cost[best], ranges[best] + 1
        before[i] = best
        for s in range(labels):
            # Costs stand against the least of them, so that a long line loses no digits.
            stay = cost[s] - least
            stays[i, s] = stay < price or (stay == price and ranges[s] <= fewest)
            if not stays[i, s]:
                stay, ranges[s] = price, fewest
            cost[s] = stay + weight[i] * distance[own[i], s]
    for s in range(labels):
        if s != last:
            cost[s] += price
            ranges[s] += 1
    best = _cheapest(cost, ranges)
    return best, ranges[best]


@njit
def _back(end: int, stays: U8, before: U8, found: U8) -> None:
    """Follow the cheapest labels from the last segment to the first."""
    label = end
    for i in range(len(found) - 1, -1, -1):
        found[i] = label
        if not stays[i, label]:
            label = before[i]


class Line:
    """A line of segments, to be labelled at any price of a range.

    Attributes:
        own: uint8[n] the label that each segment has.
        weight: float64[n] what it costs to give it one that is 1 away; not negative.
        distance: float64[K, K] between labels; not negative, 0 from a label to itself.
        last: the label of what lies behind the n segments, and is not changed.
    """

    def __init__(self, own: U8, weight: F64, distance: F64, last: int) -> None:
        """Take a line over."""
        self.own, self.weight, self.distance, self.last = own, weight, distance, last
        self._stays = np.empty((len(own), len(distance)), np.uint8)
        self._before = np.empty(len(own), np.uint8)

    def ranges(self, price: float) -> int:
        """How many ranges, with the one behind, are cheapest at a price; no more of them at a higher one."""
        return self._run(price)[1]

    def labels(self, price: float) -> U8:
        """uint8[n] the cheapest labels at a price; none with as many ranges, or fewer, cost less."""
        found = np.empty(len(self.own), np.uint8)
        _back(self._run(price)[0], self._stays, self._before, found)
        return found

    def _run(self, price: float) -> tuple[int, int]:
        return _forward(self.own, self.weight, self.distance, price, self.last, self._stays, self._before)
