"""Residents in an indexed heap by a rank of their own: the least leaves, among equals the one used longest ago.

A rank that rises is told to the heap when the object comes to its top (see `cachezoo.kernels.heap`), one that falls at
once. What a policy makes of it is how it ranks.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64
from cachezoo.kernels.heap import rise, sink
from cachezoo.kernels.step import step

LEAST = -np.inf


class Heap(NamedTuple):
    """The heap's entries side by side, and what is known of each object.

    Attributes:
        keys, ranks, times: int32, float64, int64[n_objects]: the entries.
        slot: int32[n_objects] an object's entry; any number of one not resident.
        own, last: float64, int64[n_objects] an object's rank, and the request that gave it.
        used: int64[1] entries.
    """

    keys: I32
    ranks: F64
    times: I64
    slot: I32
    own: F64
    last: I64
    used: I64


def make(n_objects: int) -> Heap:
    """Nothing resident, of ids in [0, n_objects)."""
    return Heap(
        np.empty(n_objects, np.int32), np.empty(n_objects), np.empty(n_objects, np.int64),
        np.zeros(n_objects, np.int32), np.zeros(n_objects), np.zeros(n_objects, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


@step
def enter(heap: Heap, key: int, rank: float, i: int) -> None:
    """An object that was not resident, ranked by request number i."""
    k = heap.used[0]
    heap.used[0] = k + 1
    heap.own[key], heap.last[key] = rank, i
    heap.keys[k], heap.ranks[k], heap.times[k] = key, rank, i
    rise(heap.keys, heap.ranks, heap.times, heap.slot, k)


@step
def rank_anew(heap: Heap, key: int, rank: float, i: int) -> None:
    """A resident object, ranked anew by request number i."""
    heap.own[key], heap.last[key] = rank, i
    k = heap.slot[key]
    if rank < heap.ranks[k]:
        heap.ranks[k], heap.times[k] = rank, i
        rise(heap.keys, heap.ranks, heap.times, heap.slot, k)


@step
def leave(heap: Heap) -> int:
    """Take out the object of least rank; there is one."""
    key = heap.keys[0]
    while heap.ranks[0] != heap.own[key] or heap.times[0] != heap.last[key]:
        heap.ranks[0], heap.times[0] = heap.own[key], heap.last[key]
        sink(heap.keys, heap.ranks, heap.times, heap.slot, heap.used[0])
        key = heap.keys[0]
    _pop(heap)
    return int(key)


@step
def drop(heap: Heap, key: int) -> None:
    """Take out any resident object."""
    k = heap.slot[key]
    heap.ranks[k] = LEAST
    rise(heap.keys, heap.ranks, heap.times, heap.slot, k)
    _pop(heap)


@step
def _pop(heap: Heap) -> None:
    """Take off the top."""
    last = heap.used[0] - 1
    heap.used[0] = last
    heap.keys[0], heap.ranks[0], heap.times[0] = heap.keys[last], heap.ranks[last], heap.times[last]
    sink(heap.keys, heap.ranks, heap.times, heap.slot, last)
