"""Pages that writes make void: under write-around each write starts a new version of its page."""

import numpy as np

from cachezoo.arrays import I32, Bool
from cachezoo.kernels.jit import njit


@njit
def version_ids(page_ids: I32, write: Bool, n_pages: int) -> tuple[I32, int]:
    """Dense ids of (page, version), by first appearance; a write begins a new version of its page.

    A cache that voids what a write overwrites never hits an older version again, and forgets what it knew of the page;
    so a policy over these ids is that cache. What it holds of an old version takes up room until it is evicted.

    Args:
        page_ids: int32[m].
        write: bool[m].
        n_pages: distinct pages.

    Returns:
        int32[m] and how many ids there are.
    """
    current = np.full(n_pages, -1, np.int32)
    ids = np.empty(page_ids.size, np.int32)
    count = 0
    for i in range(page_ids.size):
        page = page_ids[i]
        if write[i] or current[page] < 0:
            current[page] = count
            count += 1
        ids[i] = current[page]
    return ids, count
