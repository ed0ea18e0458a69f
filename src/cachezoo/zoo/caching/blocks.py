"""Which part of a validation trace chooses, and which part speaks the verdict.

The counted page accesses are cut into time blocks that choose and judge by turns. All that is chosen on validation (the
epoch, the oracle, the threshold, the rules) is chosen on the former.
"""

from itertools import pairwise

import numpy as np

from cachezoo.arrays import Bool
from cachezoo.contest.blocks import BLOCKS
from cachezoo.contest.counting import first_access
from cachezoo.traces.pages import PageAccesses


def first_requests(pages: PageAccesses, requests: int) -> PageAccesses:
    """The page accesses of the first requests; the working set, and so the capacity, stays the whole trace's."""
    start = pages.request_start[: requests + 1]
    return PageAccesses(start, pages.page_ids[: start[-1]], pages.n_pages)


def judging_requests(pages: PageAccesses, requests: int) -> Bool:
    """bool[n]: requests with a page access in a judging block of a cache's run.

    Args:
        pages: a validation trace's.
        requests: it is run on so many of the first.
    """
    run = first_requests(pages, requests)
    judging = np.zeros(len(pages.page_ids) + 1, np.int64)
    warmup, end = first_access(run), len(run.page_ids)
    # As `np.array_split` cuts them.
    each, longer = divmod(end - warmup, 2 * BLOCKS)
    edges = warmup + np.arange(2 * BLOCKS + 1) * each + np.minimum(np.arange(2 * BLOCKS + 1), longer)
    for low, high in list(pairwise(edges.tolist()))[1::2]:
        judging[low + 1 : high + 1] = 1
    within = np.cumsum(judging)[pages.request_start]
    found: Bool = np.diff(within) > 0
    return found
