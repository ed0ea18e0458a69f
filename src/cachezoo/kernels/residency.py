"""How many pages of each application a cache holds, from who entered and who left."""

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.kernels.jit import njit


@njit
def residents(app: I32, entered: Bool, victim: I32, owner: I32, begins: I64, held: I64) -> None:
    """Count at several moments.

    Args:
        app: int32[M] whose each reference is.
        entered: bool[M] whether its page entered.
        victim: int32[M] the page that left for it, below 0 where none did.
        owner: int32[n_pages] whose each page is.
        begins: int64[W], rising: the references before which it is counted.
        held: int64[W, A], written.
    """
    now = np.zeros(held.shape[1], np.int64)
    look = 0
    for i in range(app.size):
        if look < begins.size and begins[look] == i:
            held[look] = now
            look += 1
        if entered[i]:
            now[app[i]] += 1
        if victim[i] >= 0:
            now[owner[victim[i]]] -= 1
