"""Static hindsight: the pages accessed most often in the whole trace stay from their first access on.

What a trace without memory (independent draws) allows at best, but for which pages are drawn how often. It is no upper
bound: a cache that follows the changes of a trace beats it.
"""

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT

AT_ONCE = 1 << 26


def _by_count(page_ids: I32, n_pages: int) -> I64:
    """int64[n_pages]: pages by falling count of accesses, equals by rising id."""
    counts = np.zeros(n_pages, np.int64)
    for low in range(0, len(page_ids), AT_ONCE):  # each part is widened to 64 bits
        counts += np.bincount(page_ids[low : low + AT_ONCE], minlength=n_pages)
    return np.argsort(-counts, kind="stable")


def held(page_ids: I32, n_pages: int, capacity: int) -> U8:
    """uint8[n_pages]: what becomes of each page's first access; see `serve`."""
    state = np.full(n_pages, BYPASSED, np.uint8)
    state[_by_count(page_ids, n_pages)[:capacity]] = ADMITTED
    return state


@njit
def serve(page_ids: I32, state: U8, outcome: U8) -> None:
    """Serve the next accesses; `state` from `held` is changed, outcome uint8[m] written."""
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
    serve(page_ids, held(page_ids, n_pages, capacity), outcome)
