"""What the size of a request says of its accesses."""

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import PREFETCH, REQUEST

U8 = npt.NDArray[np.uint8]


@njit
def by_request_size(flags: U8, table: U8) -> U8:
    """A code for each access by the pages of its request.

    Args:
        flags: uint8[m] a stream's.
        table: uint8[k] the code of a request of 0 to k - 1 pages, larger ones as the last; prefetches are not counted.

    Returns:
        uint8[m], of prefetches the code of the request that they come with.
    """
    codes = np.empty(flags.size, np.uint8)
    low = 0
    while low < flags.size:
        pages = 0
        high = low
        while high < flags.size and (high == low or not flags[high] & REQUEST):
            pages += not flags[high] & PREFETCH
            high += 1
        codes[low:high] = table[min(pages, table.size - 1)]
        low = high
    return codes
