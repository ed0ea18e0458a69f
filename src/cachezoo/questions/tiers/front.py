"""The front of cost against response time: what nothing else beats in both."""

from collections.abc import Sequence

import numpy as np

from cachezoo.arrays import F64


def front(cost: Sequence[float] | F64, time: Sequence[float] | F64) -> list[int]:
    """Places of the points that are on the Pareto front, by rising cost.

    Of points that cost the same and take as long, the first is taken.

    Args:
        cost: of each point, any unit.
        time: of each point, any unit; less is better. A point whose time is no number is on no front.
    """
    best, found = float("inf"), []
    for place in np.lexsort((np.arange(len(cost)), np.asarray(time), np.asarray(cost))).tolist():
        if time[place] < best:
            best = float(time[place])
            found.append(place)
    return found
