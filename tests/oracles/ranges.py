"""Fewer ranges by brute force: the least cost of every number of ranges, segment by segment."""

import math


def naive_least(own, weight, distance, last):
    """{ranges: least cost of labels that make exactly so many ranges}, with the one of `last` behind the segments.

    Args:
        own: label of each segment.
        weight: of each, what a label costs that is 1 away.
        distance: distance[a][b] between labels.
        last: label of what lies behind.
    """
    labels = range(len(distance))
    best = {(None, 0): 0.0}
    for mine, heavy in zip(own, weight, strict=True):
        after = {}
        for (before, ranges), cost in best.items():
            for label in labels:
                key = label, ranges + (label != before)
                after[key] = min(after.get(key, math.inf), cost + heavy * distance[mine][label])
        best = after
    found = {}
    for (before, ranges), cost in best.items():
        total = ranges + (last != before)
        found[total] = min(found.get(total, math.inf), cost)
    return found
