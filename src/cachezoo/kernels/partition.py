"""LRU in partitions of one cache, from stack distances: a pass serves every split, without any list.

Source: Mattson et al. 1970, as in `cachezoo.kernels.stack_distance`. An application's partition holds the most recent
`resident` pages of its own stack. A miss enters at the front, so that one page more is resident, up to the partition's
size; where that shrinks, the least recent leave; where it grows nothing is fetched.
"""

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.kernels.jit import njit


@njit
def partitioned(app: I32, distance: I32, begins: I64, splits: I64, hit: Bool) -> None:
    """Which references hit.

    Args:
        app: int32[M] whose each reference is, in [0, A).
        distance: int32[M] other pages of that application since the page's last reference; -1 at its first.
        begins: int64[W], rising from 0: the reference from which on each split holds.
        splits: int64[W, A] pages of each application.
        hit: bool[M], written.
    """
    resident = np.zeros(splits.shape[1], np.int64)
    window = -1
    for i in range(app.size):
        while window + 1 < begins.size and begins[window + 1] <= i:
            window += 1
            for a in range(resident.size):
                resident[a] = min(resident[a], splits[window, a])
        a = app[i]
        hit[i] = 0 <= distance[i] < resident[a]
        if not hit[i]:
            resident[a] = min(splits[window, a], resident[a] + 1)


@njit
def add_misses(app: I32, distance: I32, counted: Bool, first: int, stop: int, fragment: int, misses: I64) -> None:
    """Add, for references [first, stop) that count, each application's misses by the size of its partition.

    Args:
        app: as of `partitioned`.
        distance: as there.
        counted: bool[M].
        first: reference to begin with.
        stop: past the last.
        fragment: pages of a fragment.
        misses: int64[A, k + 1] with 0 to k fragments, all of whose pages are resident; added to.
    """
    most = misses.shape[1] - 1
    new = np.zeros(misses.shape, np.int64)  # references that miss with so many fragments, and hit with one more
    for i in range(first, stop):
        if counted[i]:
            least = distance[i] // fragment if distance[i] >= 0 else most
            new[app[i], min(least, most)] += 1
    for a in range(misses.shape[0]):
        total = 0
        for size in range(most, -1, -1):
            total += new[a, size]
            misses[a, size] += total
