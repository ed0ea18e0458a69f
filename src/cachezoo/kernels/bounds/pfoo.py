"""Bounds of the hits that any cache can reach when hits differ in what they are worth: bytes, or a cost.

Source: Berger, Beckmann, Harchol-Balter, "Practical bounds on optimal caching with variable object sizes", SIGMETRICS
2018 (PFOO, Sec. 5). An access hits iff its page was kept since the access before: an interval of the stream. Keeping
it takes one page of the cache for as many accesses; a set of intervals is a cache's run (with bypass) iff at no time
more than `capacity` are kept. Intervals are taken by rising room per worth:

- `upper`: until the room of the whole run is spent, the last one in part. The capacity holds on average alone, so no
  cache does better. It is what the paper calls PFOO-L, a lower bound of misses; but the room is counted only where
  there are intervals to fill it.
- `lower`: those that fit at every time, so a cache does as well. The paper's PFOO-U, a feasible run too, solves
  min-cost flows a segment at a time instead, which is nearer and takes far longer.

Pages have one size here. With hits that are all worth 1, MIN with bypass lies between.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I32, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.jit import njit


@dataclass(frozen=True)
class Bounds:
    """What the best cache's hits are worth lies in [lower, upper]."""

    lower: float
    upper: float


@njit
def _most(tree: I32, low: int, high: int) -> int:
    """Most pages kept at any time of [low, high].

    `tree[k]` is the most in the subtree of k, less what stands at its ancestors; leaves are the second half.
    """
    low += tree.size >> 1
    high += tree.size >> 1
    left, right = int(tree[low]), int(tree[high])
    while low >> 1 != high >> 1:
        if low & 1 == 0:
            left = max(left, int(tree[low + 1]))
        if high & 1 == 1:
            right = max(right, int(tree[high - 1]))
        low >>= 1
        high >>= 1
        left += int(tree[low])
        right += int(tree[high])
    most = max(left, right)
    low >>= 1
    while low > 0:
        most += int(tree[low])
        low >>= 1
    return most


@njit
def _lift(tree: I32, parent: int) -> int:
    """Move what both children have to the parent, and return it."""
    common = max(tree[2 * parent], tree[2 * parent + 1])
    if common != 0:
        tree[2 * parent] -= common
        tree[2 * parent + 1] -= common
        tree[parent] += common
    return int(common)


@njit
def _keep(tree: I32, low: int, high: int) -> None:
    """One page more at each time of [low, high]."""
    low += tree.size >> 1
    high += tree.size >> 1
    tree[low] += 1
    if high != low:
        tree[high] += 1
    while low >> 1 != high >> 1:
        if low & 1 == 0:
            tree[low + 1] += 1
        if high & 1 == 1:
            tree[high - 1] += 1
        low >>= 1
        high >>= 1
        _lift(tree, low)
        _lift(tree, high)
    low >>= 1
    while low > 0 and _lift(tree, low) != 0:
        low >>= 1


@njit
def _fit(begin: I64, length: I64, sure: int, capacity: int, tree: I32, kept: Bool) -> None:
    half = tree.size >> 1
    for k in range(sure):
        tree[half + begin[k]] += 1
        tree[half + begin[k] + length[k]] -= 1
        kept[k] = True
    for leaf in range(half + 1, tree.size):
        tree[leaf] += tree[leaf - 1]
    for parent in range(half - 1, 0, -1):
        _lift(tree, parent)
    for k in range(sure, begin.size):
        low, high = begin[k], begin[k] + length[k] - 1
        if _most(tree, low, high) < capacity:
            _keep(tree, low, high)
            kept[k] = True


def _room(begin: I64, length: I64, capacity: int, m: int) -> int:
    """Page accesses that intervals can take: at each time the capacity, or all that there are."""
    change = np.bincount(begin, minlength=m) - np.bincount(begin + length, minlength=m)
    return int(np.minimum(np.cumsum(change), capacity).sum())


def _intervals(page_ids: I32, weights: F64) -> tuple[I64, I64, F64]:
    """Begin, length and worth of the intervals worth anything, by rising length per worth, then by begin."""
    following = next_access(page_ids, int(page_ids.max(initial=-1)) + 1)
    begin = np.flatnonzero(following < len(page_ids))
    then = following[begin].astype(np.int64)
    worth = weights[then]
    begin, then, worth = begin[worth > 0], then[worth > 0], worth[worth > 0]
    order = np.argsort((then - begin) / worth, kind="stable")
    return begin[order], (then - begin)[order], worth[order]


def pfoo(page_ids: I32, weights: F64, capacity: int) -> Bounds:
    """Bounds of the worth of the hits of the best cache, which may bypass.

    Args:
        page_ids: int32[m] dense ids.
        weights: float64[m], what a hit at that access is worth, e.g. the bytes asked for; 0 before a warm-up ends.
        capacity: pages, at least 1.

    Raises:
        ConfigError: a capacity below 1, or a weight that is negative or not finite.
    """
    if capacity < 1:
        raise ConfigError(f"capacity {capacity}: a cache has at least one page")
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        raise ConfigError(f"access {int(np.argmin(good))}: what a hit is worth is finite and at least 0")
    begin, length, worth = _intervals(page_ids, weights)
    spent = np.cumsum(length)
    room = _room(begin, length, capacity, len(page_ids))
    whole = int(np.searchsorted(spent, room, side="right"))
    upper = float(worth[:whole].sum())
    if whole < len(worth):
        upper += float(worth[whole] * (room - (spent[whole] - length[whole])) / length[whole])
    kept = np.zeros(len(worth), np.bool_)
    leaves = 1 << max(1, len(page_ids).bit_length())
    # No two intervals begin at the same access, so at most `capacity` of those no longer than it meet at any time.
    sure = int(np.append(length > capacity, True).argmax())
    _fit(begin, length, sure, capacity, np.zeros(2 * leaves, np.int32), kept)
    return Bounds(float(worth[kept].sum()), upper)
