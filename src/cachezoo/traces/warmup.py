"""From where on caches are counted."""

import numpy as np

from cachezoo.traces.pages import PageAccesses

MIN_WARMUP = 0.10
MAX_WARMUP = 1 / 3


def auto_warmup(pages: PageAccesses, capacity: int) -> int:
    """The page access at which LRU has filled the cache, at least 10 % and at most a third of all accesses."""
    m = len(pages.page_ids)
    # Ids are numbered by first appearance, so the largest id so far counts the distinct pages so far.
    filled = int(np.searchsorted(np.maximum.accumulate(pages.page_ids), capacity - 1)) + 1
    return int(min(max(filled, MIN_WARMUP * m), MAX_WARMUP * m))
