"""What a cache knows of each object, side by side: the bytes it holds of it, and the object's two neighbours in a list.

A row is 16 bytes, so a miss of the processor's caches brings all three. The list functions of `cachezoo.kernels.lists`
take the columns as they take arrays of their own.
"""

import numpy as np

from cachezoo.arrays import I32, I64

LISTS = 4
"""Lists that an eviction may keep; their sentinels are the rows from the number of objects on."""


def make(n_objects: int) -> tuple[I64, I32, I32]:
    """Nothing held and all lists empty.

    Returns:
        `held` int64[n]; `before` and `after` int32[n + LISTS]; n is `n_objects`, but at least 2: numba takes a column
        of one row for an array of its own, and would compile for it what it has compiled for columns.
    """
    n = max(n_objects, 2)
    rows = np.zeros((n + LISTS, 2), np.int64)
    ends = rows.view(np.int32)
    ends[:, 2:] = np.arange(n + LISTS, dtype=np.int32)[:, None]
    return rows[:n, 0], ends[:, 2], ends[:, 3]
