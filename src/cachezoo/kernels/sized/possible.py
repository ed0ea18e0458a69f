"""Which requests of objects any cache at all could hit, of any size and with any policy."""

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.sized.loop import DELETE, WRITE


@njit
def can_hit(ids: I32, size: I64, op: U8, time: I64, expires: I64, n_objects: int, around: bool) -> Bool:
    """bool[n]: requests before which the object was there in a known size, and has since neither left nor expired.

    A copy that entered later may live longer: the latest end of all is taken, so that where something expires a cache
    may reach less.

    Args:
        ids: int32[n] dense ids of the objects.
        size: int64[n] bytes; 0 where unknown, so that nothing can enter.
        op: uint8[n] as of `loop`.
        time: int64[n] of the requests, at 0 or later.
        expires: int64[n] the time from which on what each request writes is void.
        n_objects: distinct objects.
        around: writes pass by and void what is held.
    """
    found = np.zeros(ids.size, np.bool_)
    void_at = np.zeros(n_objects, np.int64)
    for i in range(ids.size):
        key = ids[i]
        if op[i] == DELETE or (op[i] == WRITE and around):
            void_at[key] = 0
            continue
        found[i] = time[i] < void_at[key]
        if op[i] == WRITE and (found[i] or size[i] > 0):
            void_at[key] = expires[i]
        elif size[i] > 0:
            void_at[key] = max(void_at[key], expires[i])
    return found
