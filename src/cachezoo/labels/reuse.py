"""When is a page used again: the target of the next-use forest."""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, I64, Bool
from cachezoo.kernels.bounds.following import next_access
from cachezoo.traces.pages import PageAccesses

HORIZON = 4  # capacities beyond which all next uses are alike
NEAREST, NOT_WITHIN = -7.0, 5.0


class NextUse(NamedTuple):
    """Of page accesses, from their own trace alone."""

    distance: I64  # [k] page accesses to the page's next one; 0 where the trace has none
    target: F32  # [k] log2(distance / C), at least `NEAREST`; `NOT_WITHIN` where there is none within 4 C
    settled: Bool  # [k] more than 4 C accesses follow, so that nothing after the trace could change the target


def settled_accesses(accesses: int, capacity: int) -> int:
    """How many of a trace's accesses, its first ones, are settled at a capacity."""
    return max(accesses - HORIZON * capacity, 0)


def next_use(pages: PageAccesses, capacity: int, of: I64 | None = None) -> NextUse:
    """Label a trace.

    Args:
        pages: its page accesses.
        capacity: C, pages.
        of: the accesses that are wanted; None all.
    """
    m = len(pages.page_ids)
    here = np.arange(m) if of is None else of
    distance = next_access(pages.page_ids, pages.n_pages)[here].astype(np.int64)
    never = distance == m
    distance -= here
    distance[never] = 0
    near = (distance > 0) & (distance <= HORIZON * capacity)
    target = np.full(len(here), NOT_WITHIN, np.float32)
    target[near] = np.maximum(np.log2(distance[near] / capacity), NEAREST)
    return NextUse(distance, target, here < settled_accesses(m, capacity))
