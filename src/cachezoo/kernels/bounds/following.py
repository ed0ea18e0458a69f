"""When each access's page is accessed next: what every offline bound reads."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.kernels.jit import njit


@njit
def _fill(page_ids: I32, upcoming: I32 | I64, first: int, following: I32 | I64) -> None:
    for i in range(page_ids.size - 1, -1, -1):
        page = page_ids[i]
        following[i] = upcoming[page]
        upcoming[page] = first + i


def width_of(accesses: int) -> type[np.int32] | type[np.int64]:
    """What positions of so many accesses, and their number, fit into."""
    return np.int32 if accesses < 2**31 else np.int64


def next_access(
    page_ids: I32, n_pages: int, following: I32 | I64 | None = None, every: int | None = None,
    done: Callable[[int], None] | None = None,
) -> I32 | I64:  # fmt: skip
    """Position of the next access of the same page; m where there is none.

    Args:
        page_ids: int32[m] in [0, n_pages).
        n_pages: distinct pages.
        following: of `width_of(m)`[m], written and returned; None makes one.
        every: accesses that are filled at a time, the last ones first; None all.
        done: called with the lowest access filled, each time.

    Returns:
        int32[m], or int64[m] from 2**31 accesses on.
    """
    m = len(page_ids)
    found: Any = np.empty(m, width_of(m)) if following is None else following
    upcoming: Any = np.full(n_pages, m, found.dtype)
    step = every or max(m, 1)
    for high in range(m, 0, -step):
        low = max(high - step, 0)
        _fill(page_ids[low:high], upcoming, low, found[low:high])
        if done is not None:
            done(low)
    filled: I32 | I64 = found
    return filled
