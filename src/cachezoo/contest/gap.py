"""How much of the way from the best classic to the optimum a policy goes."""

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
