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


@njit
def optimum(misses: I64, total: int, least: int) -> I64:
    """The split of least misses, by dynamic programming over applications: O(A · total²) steps.

    Args:
        misses: int64[A, k + 1] with 0 to k fragments, k at least `total`.
        total: fragments to be given, at least A · least.
        least: fragments that each gets.

    Returns:
        int64[A]; of equal splits the one that gives the last application least, then the one before it, and so on.
    """
    count = misses.shape[0]
    best = np.full((count + 1, total + 1), np.iinfo(np.int64).max // 2, np.int64)
    given = np.zeros((count + 1, total + 1), np.int64)
    best[0, 0] = 0
    for a in range(count):
        for room in range((a + 1) * least, total - (count - a - 1) * least + 1):
            for size in range(least, room - a * least + 1):
                found = best[a, room - size] + misses[a, size]
                if found < best[a + 1, room]:
                    best[a + 1, room] = found
                    given[a + 1, room] = size
    split = np.zeros(count, np.int64)
    room = total
    for a in range(count - 1, -1, -1):
        split[a] = given[a + 1, room]
        room -= split[a]
    return split


@njit
def _steepest(misses: I64, a: int, have: int, room: int) -> tuple[int, int]:
    """Misses saved, and fragments taken, where an application saves most a fragment; of equals the fewest fragments."""
    saved = 0
    taken = 1
    for more in range(1, room + 1):
        own = misses[a, have] - misses[a, have + more]
        if own * taken > saved * more:
            saved = own
            taken = more
    return saved, taken


@njit
def lookahead(misses: I64, total: int, least: int) -> I64:
    """UCP's split: again and again the application that saves most misses a fragment gets the fragments for it.

    Where nothing saves a miss any more, what is left is given out in turn, one fragment each.

    Args:
        misses: int64[A, k + 1] with 0 to k fragments, never rising, k at least `total`.
        total: fragments to be given, at least A · least.
        least: fragments that each gets before.

    Returns:
        int64[A]; of equals the application of the lowest index goes first.
    """
    count = misses.shape[0]
    split = np.full(count, least, np.int64)
    room = total - count * least
    saved = np.zeros(count, np.int64)
    taken = np.full(count, total + 1, np.int64)
    while room > 0:
        winner = 0
        for a in range(count):
            if taken[a] > room:
                saved[a], taken[a] = _steepest(misses, a, split[a], room)
            if saved[a] * taken[winner] > saved[winner] * taken[a]:
                winner = a
        if saved[winner] == 0:
            break
        split[winner] += taken[winner]
        room -= taken[winner]
        taken[winner] = total + 1
    for turn in range(room):
        split[turn % count] += 1
    return split
