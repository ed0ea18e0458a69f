"""How many distinct pages were asked for, in memory that does not grow: HyperLogLog.

Sources: Flajolet et al., "HyperLogLog", AofA '07; the estimator without a bias at any number of Ertl, "New cardinality
estimation algorithms for HyperLogLog sketches", arXiv:1702.01284, Alg. 6.
"""

from math import log, sqrt

import numpy as np

from cachezoo.arrays import I64, U8, U64
from cachezoo.kernels.jit import njit
from cachezoo.kernels.spatial import STEP, mixed

BITS = 20
"""Of a hash, that choose a register: a standard error of 1.04 / sqrt(2**20), a thousandth, for a MiB."""
LONGEST = 64 - BITS
SHIFT, REST, TOP = np.uint64(LONGEST), np.uint64(BITS), np.uint64(1 << 63)


@njit
def _note(keys: U64, offset: I64, size: I64, page_bytes: int, registers: U8) -> None:
    for i in range(offset.size):
        for page in range(offset[i] // page_bytes, (offset[i] + size[i] - 1) // page_bytes + 1):
            hashed = mixed(keys[i] + np.uint64(page) * STEP)
            rest, zeros = hashed << REST, 1
            while zeros <= LONGEST and rest & TOP == 0:
                rest <<= np.uint64(1)
                zeros += 1
            place = hashed >> SHIFT
            registers[place] = max(registers[place], zeros)


def _sigma(x: float) -> float:
    if x == 1:
        return float("inf")
    step, found, before = 1.0, x, -1.0
    while found != before:
        x, before = x * x, found
        found += x * step
        step *= 2
    return found


def _tau(x: float) -> float:
    if x in (0.0, 1.0):
        return 0.0
    step, found, before = 1.0, 1 - x, -1.0
    while found != before:
        x, before = sqrt(x), found
        step /= 2
        found -= (1 - x) ** 2 * step
    return found / 3


class Distinct:
    """Counts pages that come several times once each, to about a thousandth."""

    def __init__(self) -> None:
        self._registers = np.zeros(1 << BITS, np.uint8)

    def add(self, keys: U64, offset: I64, size: I64, page_bytes: int) -> None:
        """Requests, in any order.

        Args:
            keys: uint64[n] of each request's volume.
            offset: int64[n] bytes, at least 0.
            size: int64[n] bytes, at least 1.
            page_bytes: of a page.
        """
        _note(keys, offset, size, page_bytes, self._registers)

    @property
    def count(self) -> int:
        """How many, about."""
        each = np.bincount(self._registers, minlength=LONGEST + 2).tolist()
        m = float(1 << BITS)
        z = m * _tau(1 - each[LONGEST + 1] / m)
        for k in range(LONGEST, 0, -1):
            z = (z + each[k]) / 2
        z += m * _sigma(each[0] / m)
        return round(m * m / (2 * log(2) * z))
