"""From where on caches are counted."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cachezoo.traces.pages import PageAccesses

I64 = npt.NDArray[np.int64]
MIN_WARMUP = 0.10
MAX_WARMUP = 1 / 3
AUTO = "auto"


def auto_warmup(pages: PageAccesses, capacity: int) -> int:
    """The page access at which LRU has filled the cache, at least 10 % and at most a third of all accesses."""
    return int(auto_warmups(pages, np.array([capacity]))[0])


def auto_warmups(pages: PageAccesses, capacities: npt.ArrayLike) -> I64:
    """`auto_warmup` of each of many capacities, from one look at the trace.

    Args:
        pages: page accesses of a trace.
        capacities: int[k] pages.

    Returns:
        int64[k] page accesses; a larger cache's is never lower.
    """
    m = len(pages.page_ids)
    # Ids are numbered by first appearance, so the largest id so far counts the distinct pages so far.
    largest = np.maximum.accumulate(pages.page_ids)
    filled = np.searchsorted(largest, np.asarray(capacities, np.int64) - 1) + 1
    return np.minimum(np.maximum(filled, MIN_WARMUP * m), MAX_WARMUP * m).astype(np.int64)


def counted(warmups: Sequence[int], accesses: Sequence[int]) -> str:
    """From where on figures count, in words.

    Args:
        warmups: page accesses before counting, of each figure.
        accesses: page accesses in all, of each figure's trace.
    """
    if len({*zip(warmups, accesses, strict=True)}) == 1:
        return f"counted after {warmups[0]:,} of {accesses[0]:,} page accesses"
    if len({*accesses}) == 1:
        span = f"{min(warmups):,} to {max(warmups):,} of {accesses[0]:,}"
    else:
        shares = [100 * first / total for first, total in zip(warmups, accesses, strict=True)]
        span = f"{min(shares):.0f} to {max(shares):.0f} % of its"
    return f"each size counted after its own warm-up, {span} page accesses"
