"""Mean response times told from where reads are served, corrected by points that were replayed on the devices.

A read from the disk is told to take what its request takes on the disk without a cache, and what a read from the SSD
takes is drawn between replayed points by the share of reads that it serves. How far the mean of all is from a replay is
much the same for points of a hierarchy, and for points that the like is told of: what others were found to be off by
corrects it, those nearby and those of the same hierarchy most. What the sample has too much of, such as first accesses,
is in that too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64
from cachezoo.questions.tiers.response import DRAM_US, Tiered
from cachezoo.questions.tiers.sizing.miniature import Shares
from cachezoo.questions.tiers.sizing.points import Point

LEAST = 1e-6
NEAR = 0.3
"""Difference of logarithms over which the weight of another point falls by e."""
FAR = 1e-6
"""Weight of points that are far away, which count where there are no others."""
KIN = 10.0
"""Times that a point of the same hierarchy weighs as much as another."""


@dataclass(frozen=True)
class Times:
    """Of one window.

    Attributes:
        ssd: float64[k] logarithms of shares of reads from the SSD, rising; their times are `ssd_us`.
        ssd_us: float64[k].
        hierarchies: of the points replayed.
        told: float64[p] logarithms of their mean times as told; a replay's are `off` more.
        off: float64[p] logarithms.
    """

    ssd: F64
    ssd_us: F64
    hierarchies: tuple[str, ...]
    told: F64
    off: F64

    @classmethod
    def of(cls, points: Sequence[Point], sampled: Sequence[Shares], replayed: Sequence[Tiered]) -> "Times":
        """From points that were replayed; at least one.

        Args:
            points: the points.
            sampled: what each did in the window by the sample.
            replayed: the same by the whole trace.
        """
        ssd = _mean_by([(float(np.log(one.shr)), one.rta_ssd_us) for one in replayed if one.shr > 0])
        told = _told(sampled, *ssd)
        off = np.log([one.amat_us for one in replayed]) - told
        return cls(*ssd, tuple(point.hierarchy for point in points), told, off)

    def amat_us(self, points: Sequence[Point], shares: Sequence[Shares]) -> list[float]:
        """Mean time of a page read, of each point with these shares."""
        told = _told(shares, self.ssd, self.ssd_us)
        near = np.exp(-np.abs(told[:, None] - self.told[None, :]) / NEAR)
        names = np.array([point.hierarchy for point in points])
        weight = (near + FAR) * np.where(names[:, None] == np.array(self.hierarchies)[None, :], KIN, 1.0)
        found: list[float] = np.exp(told + weight @ self.off / weight.sum(axis=1)).tolist()
        return found


def _told(shares: Sequence[Shares], ssd: F64, ssd_us: F64) -> F64:
    """Logarithms of the mean times, not corrected."""
    rhr, shr, dhr, disk_us = np.array([(one.rhr, one.shr, one.dhr, one.disk_us) for one in shares]).reshape(-1, 4).T
    own = rhr * DRAM_US + shr * _between(np.log(np.maximum(shr, LEAST)), ssd, ssd_us) + dhr * disk_us
    found: F64 = np.log(np.maximum(own, LEAST))
    return found


def _mean_by(pairs: Sequence[tuple[float, float]]) -> tuple[F64, F64]:
    """Values by rising keys, those of equal keys as their mean."""
    keys = sorted({key for key, _ in pairs})
    means = [float(np.mean([value for own, value in pairs if own == key])) for key in keys]
    return np.array(keys), np.array(means)


def _between(wanted: F64, keys: F64, values: F64) -> F64:
    """Drawn between values; beyond the ends as at them, and 0 without any."""
    if not len(keys):
        return np.zeros(len(wanted))
    found: F64 = np.interp(wanted, keys, values)
    return found
