"""Extents of an address space of fixed size: a new one takes the place of the one used longest ago."""

import numpy as np

from cachezoo.arrays import I64
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, own_links, unlink


@njit
def places(extent: I64, extents: int, room: int, place: I64) -> None:
    """The place of each access's extent.

    A place is free until it is first taken; then it belongs to an extent until another takes it. An extent that comes
    back after that is a new one.

    Args:
        extent: int64[m] of each access, in [0, extents).
        extents: how many there are.
        room: places.
        place: int64[m], written, in [0, room); the first ones are taken first.
    """
    own, owner = np.full(extents, -1, np.int64), np.full(room, -1, np.int64)
    before, after = own_links(room, 1)
    used = 0
    for i in range(extent.size):
        at = own[extent[i]]
        if at >= 0:
            unlink(before, after, at)
        elif used < room:
            at = used
            used += 1
        else:
            at = int(before[room])  # the tail of the list, whose end is numbered `room`
            unlink(before, after, at)
            own[owner[at]] = -1
        own[extent[i]], owner[at] = at, extent[i]
        link_head(before, after, room, at)
        place[i] = at
