"""Bounds of the hits that any cache of objects of any size can reach; what `bounds.pfoo` is for pages.

Source: Berger, Beckmann, Harchol-Balter, "Practical bounds on optimal caching with variable object sizes", SIGMETRICS
2018 (PFOO, Sec. 5). A request hits iff its object was kept since the request before: an interval of the requests.
Keeping it takes the object's bytes for as many requests; a set of intervals is a cache's run (with bypass) iff at no
time more than the capacity's bytes are kept. Intervals are taken by rising bytes x requests for each unit of worth:

- `upper`: until the room of the whole run is spent, the last one in part (the paper's PFOO-L). Room is counted only
  where there are intervals to fill it, and an object larger than the cache is no interval.
- `lower`: those that fit at every time, so that a cache does as well. The paper's PFOO-U solves min-cost flows a
  segment at a time instead, which is nearer and takes far longer.

With all objects of one byte both are what `cachezoo.kernels.bounds.pfoo` says of pages.
"""

import numpy as np

from cachezoo.arrays import F64, I32, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.bounds.pfoo import Bounds
from cachezoo.kernels.jit import njit

MOST_BYTES = 2**62


@njit
def _settle(tree: I64, node: int) -> None:
    """What both children of a node have in common moves to the node."""
    common = max(tree[2 * node], tree[2 * node + 1])
    tree[2 * node] -= common
    tree[2 * node + 1] -= common
    tree[node] += common


@njit
def _most(tree: I64, low: int, high: int) -> int:
    """Most bytes kept at any time of [low, high].

    `tree[k]` is the most in the subtree of k, less what its ancestors have; the leaves are the second half.
    """
    low += tree.size >> 1
    high += tree.size >> 1
    left, right = tree[low], tree[high]
    while low >> 1 != high >> 1:
        if low & 1 == 0:
            left = max(left, tree[low + 1])
        if high & 1 == 1:
            right = max(right, tree[high - 1])
        low >>= 1
        high >>= 1
        left += tree[low]
        right += tree[high]
    most = max(left, right)
    while low > 1:
        low >>= 1
        most += tree[low]
    return int(most)


@njit
def _keep(tree: I64, low: int, high: int, size: int) -> None:
    """So many bytes more at each time of [low, high]."""
    low += tree.size >> 1
    high += tree.size >> 1
    tree[low] += size
    if high != low:
        tree[high] += size
    while low >> 1 != high >> 1:
        if low & 1 == 0:
            tree[low + 1] += size
        if high & 1 == 1:
            tree[high - 1] += size
        low >>= 1
        high >>= 1
        _settle(tree, low)
        _settle(tree, high)
    while low > 1:
        low >>= 1
        _settle(tree, low)


@njit
def _fit(begin: I64, length: I64, sizes: I64, capacity: int, tree: I64, kept: Bool) -> None:
    for k in range(begin.size):
        low, high = begin[k], begin[k] + length[k] - 1
        if _most(tree, low, high) + sizes[k] <= capacity:
            _keep(tree, low, high, sizes[k])
            kept[k] = True


def _intervals(ids: I32, size: I64, weights: F64, capacity: int) -> tuple[I64, I64, I64, F64]:
    """Begin, length, bytes and worth of the intervals that a cache can keep, by rising cost per worth, then begin."""
    following = next_access(ids, int(ids.max(initial=-1)) + 1)
    begin = np.flatnonzero(following < len(ids))
    begin = begin[(weights[following[begin]] > 0) & (size[begin] <= capacity)]
    then = following[begin].astype(np.int64)
    length, bytes_kept, worth = then - begin, size[begin], weights[then]
    order = np.argsort(np.multiply(length, bytes_kept, dtype=np.float64) / worth, kind="stable")
    return begin[order], length[order], bytes_kept[order], worth[order]


def pfoo(ids: I32, size: I64, weights: F64, capacity: int) -> Bounds:
    """Bounds of the worth of the hits of the best cache, which may bypass.

    Args:
        ids: int32[n] dense ids of the objects.
        size: int64[n], bytes that the object takes in the cache from this request on to its next, at least 0.
        weights: float64[n], what a hit of that request is worth: 1, or the bytes asked for; 0 where there can be none
            (a delete, the object was deleted, its time is over) or it does not count (before a warm-up ends).
        capacity: bytes, at least 1.

    Raises:
        ConfigError: a capacity below 1; a weight that is negative or not finite; a size below 0; sizes whose sum is
            beyond 2**62 bytes.
    """
    if capacity < 1:
        raise ConfigError(f"capacity {capacity}: a cache has at least one byte")
    for bad, said in (
        (~(np.isfinite(weights) & (weights >= 0)), "what a hit is worth is finite and at least 0"),
        (size < 0, "a size is at least 0 bytes"),
    ):
        if bad.any():
            raise ConfigError(f"request {int(np.argmax(bad))}: {said}")
    begin, length, bytes_kept, worth = _intervals(ids, size, weights, capacity)
    if bytes_kept.sum(dtype=np.float64) > MOST_BYTES:
        raise ConfigError("the sizes of all requests add up to over 2**62 bytes: check their unit (bytes)")
    cost: F64 = np.multiply(length, bytes_kept, dtype=np.float64)
    kept = np.zeros(len(worth), np.bool_)
    leaves = 1 << max(1, len(ids).bit_length())
    _fit(begin, length, bytes_kept, capacity, np.zeros(2 * leaves, np.int64), kept)
    lower = float(worth[kept].sum())
    upper = _spend(cost, worth, _room(begin, length, bytes_kept, capacity, len(ids)))
    return Bounds(lower, max(lower, upper))  # where everything fits, the sums may differ in their last digit


def _room(begin: I64, length: I64, bytes_kept: I64, capacity: int, n: int) -> float:
    """Bytes x requests that intervals can take: at each time the capacity, or all that there are."""
    change = np.zeros(n, np.int64)
    np.add.at(change, begin, bytes_kept)
    np.subtract.at(change, begin + length, bytes_kept)
    return float(np.minimum(np.cumsum(change), capacity).sum(dtype=np.float64))


def _spend(cost: F64, worth: F64, room: float) -> float:
    """Worth of the first intervals whose cost the room pays, the last in part."""
    spent = np.cumsum(cost)
    whole = int(np.searchsorted(spent, room, side="right"))
    total = float(worth[:whole].sum())
    if whole < len(worth):
        total += float(worth[whole] * max(room - (spent[whole] - cost[whole]), 0.0) / cost[whole])
    return total
