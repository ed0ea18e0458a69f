"""When each access's page is accessed next: what every offline bound reads."""

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.kernels.jit import njit


@njit
def _fill(page_ids: I32, upcoming: I32 | I64, following: I32 | I64) -> None:
    for i in range(page_ids.size - 1, -1, -1):
        page = page_ids[i]
        following[i] = upcoming[page]
        upcoming[page] = i


def next_access(page_ids: I32, n_pages: int) -> I32 | I64:
    """Position of the next access of the same page; m where there is none.

    Args:
        page_ids: int32[m] in [0, n_pages).
        n_pages: distinct pages.

    Returns:
        int32[m], or int64[m] from 2**31 accesses on.
    """
    m = len(page_ids)
    if m >= 2**31:
        wide = np.empty(m, np.int64)
        _fill(page_ids, np.full(n_pages, m, np.int64), wide)
        return wide
    following = np.empty(m, np.int32)
    _fill(page_ids, np.full(n_pages, m, np.int32), following)
    return following
