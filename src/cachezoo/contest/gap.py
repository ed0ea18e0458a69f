"""How much of the way from the best classic to the optimum a policy goes."""

import numpy as np

from cachezoo.arrays import F64
from cachezoo.contest.sampled import half_widths

MIN_GAP = 0.02


def gap(hit_ratio: float, best: float, optimum: float) -> tuple[float | None, float]:
    """`gap_closed` and `gap_points` of a hit ratio.

    Args:
        hit_ratio: page-access hit ratio of the policy.
        best: that of the best classic.
        optimum: that of Belady with bypass.

    Returns:
        (h - h_best) / (h_optimum - h_best), None where the denominator is below 0.02; and h - h_best in points
        of 0.01.
    """
    room = optimum - best
    return ((hit_ratio - best) / room if room >= MIN_GAP else None), 100 * (hit_ratio - best)


def gap_errors(whole: F64, groups: F64) -> tuple[float | None, float]:
    """Half the 90 % intervals of both figures of `gap`, for hit ratios that were estimated from a sample.

    A ratio is off by as much as its parts are, to first order: a group's own denominator may be next to nothing.

    Args:
        whole: float64[3] hit ratios of the policy, the best classic and the optimum, from the whole sample.
        groups: float64[3, GROUPS] the same from each group of its pages.

    Returns:
        As `gap`, of which it is the same that is None.
    """
    closed, points = gap(*whole.tolist())
    lead, room = groups[0] - groups[1], groups[2] - groups[1]
    off = float(half_widths(np.array(points), 100 * lead))
    if closed is None:
        return None, off
    each = closed + (lead - closed * room) / (whole[2] - whole[1])
    return float(half_widths(np.array(closed), each)), off
