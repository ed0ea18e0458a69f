"""Static hindsight: the pages accessed most often in the whole trace stay from their first access on.

What a trace without memory (independent draws) allows at best, but for which pages are drawn how often. It is no upper
bound: a cache that follows the changes of a trace beats it.
"""

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT


def _by_count(page_ids: I32, n_pages: int) -> I64:
    """int64[n_pages]: pages by falling count of accesses, equals by rising id."""
    return np.argsort(-np.bincount(page_ids, minlength=n_pages), kind="stable")


@njit
def _simulate(page_ids: I32, state: U8, outcome: U8) -> None:
    for i in range(page_ids.size):
        page = page_ids[i]
        outcome[i] = state[page]
        if state[page] == ADMITTED:
            state[page] = HIT


def static_hindsight(page_ids: I32, n_pages: int, capacity: int, outcome: U8) -> None:
    """Outcomes of the cache that holds the `capacity` most accessed pages, each from its first access on.

    Args:
        page_ids: int32[m] in [0, n_pages).
        n_pages: distinct pages.
        capacity: pages.
        outcome: uint8[m], written: `BYPASSED`, `ADMITTED` or `HIT`. Nothing is ever evicted.
    """
    state = np.full(n_pages, BYPASSED, np.uint8)
    state[_by_count(page_ids, n_pages)[:capacity]] = ADMITTED
    _simulate(page_ids, state, outcome)
