"""The one full cache behind sampled shadows: the leader's, built up anew at each change of leader."""

import numpy as np

from cachezoo.arrays import I32, U8, U32
from cachezoo.kernels.outcome import ADMITTED, NONE, PREFETCHED, REQUEST
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import Course
from cachezoo.policies.stream import Stream


def first_of(stream: Stream, high: int, reach: int) -> int:
    """The first access of a request, at most `reach` accesses before access `high`, a request's first too."""
    low = max(0, high - reach)
    return low + int(np.argmax(stream.flags[low : high + 1] & REQUEST != 0))


def built(expert: Composition, stream: Stream, capacity: int, high: int, reach: int) -> tuple[Course, U32]:
    """An expert's cache that was empty and then shown what was asked lately.

    Args:
        expert: the parts.
        stream: what is asked.
        capacity: pages.
        high: the access that it is to serve next, a request's first.
        reach: accesses before it that it is shown, from a request's first on; 0 for an empty cache.

    Returns:
        The cache, which has served the accesses before `high`, and uint32[n_pages], 1 where it holds a page.
    """
    low = first_of(stream, high, reach)
    course = Course(expert, stream, capacity, low)
    outcome, victim = np.empty(high - low, np.uint8), np.empty(high - low, np.int32)
    course.serve(high, outcome, victim)
    return course, holding(stream.page_ids[low:high], outcome, victim, stream.n_pages)


def holding(page_ids: I32, outcome: U8, victim: I32, n_pages: int) -> U32:
    """uint32[n_pages], 1 where a cache that was empty before these accesses holds a page after them."""
    came = (outcome == ADMITTED) | (outcome == PREFETCHED)
    left = victim[victim != NONE]
    held = np.bincount(page_ids[came], minlength=n_pages) - np.bincount(left, minlength=n_pages)
    return held.astype(np.uint32)
