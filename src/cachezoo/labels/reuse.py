"""When is a page used again: the target of the next-use forest."""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, I64, Bool
from cachezoo.kernels.bounds.following import next_access
from cachezoo.traces.pages import PageAccesses

HORIZON = 4  # capacities beyond which all next uses are alike
NEAREST, NOT_WITHIN = -7.0, 5.0


class NextUse(NamedTuple):
    """Of each page access, from its own trace alone."""

    distance: I64  # [m] page accesses to the page's next one; 0 where the trace has none
    target: F32  # [m] log2(distance / C), at least `NEAREST`; `NOT_WITHIN` where there is none within 4 C
    settled: Bool  # [m] more than 4 C accesses follow, so that nothing after the trace could change the target


def next_use(pages: PageAccesses, capacity: int) -> NextUse:
    """Label a trace.

    Args:
        pages: its page accesses.
        capacity: C, pages.
    """
    m = len(pages.page_ids)
    here = np.arange(m)
    distance = next_access(pages.page_ids, pages.n_pages).astype(np.int64)
    never = distance == m
    distance -= here
    distance[never] = 0
    near = (distance > 0) & (distance <= HORIZON * capacity)
    target = np.full(m, NOT_WITHIN, np.float32)
    target[near] = np.maximum(np.log2(distance[near] / capacity), NEAREST)
    return NextUse(distance, target, here < m - HORIZON * capacity)
