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
        `held` int64[n_objects]; `before` and `after` int32[n_objects + LISTS].
    """
    rows = np.zeros((n_objects + LISTS, 2), np.int64)
    ends = rows.view(np.int32)
    ends[:, 2:] = np.arange(n_objects + LISTS, dtype=np.int32)[:, None]
    return rows[:n_objects, 0], ends[:, 2], ends[:, 3]
