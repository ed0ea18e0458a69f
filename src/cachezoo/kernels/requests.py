"""What the size of a request says of its accesses."""

import numpy as np

from cachezoo.arrays import I32, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import PREFETCH, REQUEST


@njit
def request_pages(flags: U8) -> I32:
    """int32[m]: the pages of each access's request, prefetches not counted; of prefetches those of their request.

    Args:
        flags: uint8[m] a stream's.
    """
    found = np.empty(flags.size, np.int32)
    low = 0
    while low < flags.size:
        pages = 0
        high = low
        while high < flags.size and (high == low or not flags[high] & REQUEST):
            pages += not flags[high] & PREFETCH
            high += 1
        found[low:high] = pages
        low = high
    return found


def by_size(pages: I32, table: U8) -> U8:
    """uint8[m]: the code of each access by its request's pages, int32[m].

    Args:
        pages: of `request_pages`.
        table: uint8[k] the code of a request of 0 to k - 1 pages, larger ones as the last.
    """
    codes: U8 = table[np.minimum(pages, table.size - 1)]
    return codes
