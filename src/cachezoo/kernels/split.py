"""How many fragments each application gets, from its misses at every size: the optimum, and UCP's lookahead.

Source of the lookahead: Qureshi and Patt, "Utility-based cache partitioning: a low-overhead, high-performance, runtime
mechanism to partition shared caches", MICRO 2006, algorithm 2.
"""

import numpy as np

from cachezoo.arrays import I64
from cachezoo.kernels.jit import njit


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
