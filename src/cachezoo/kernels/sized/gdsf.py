"""GDSF: the object of least use for its size leaves, and what stays ages.

An object's worth is L + count * 1,000,000 / bytes at its last use, where count is its uses since it entered and L the
worth of what left last: so what was used long ago falls behind in time. The least worth leaves; among equals the one
used longest ago. What enters competes with the residents before room is made: a large object may be what leaves.

Source: Cherkasova, "Improving WWW proxies performance with greedy-dual-size-frequency caching policy", HP Labs
technical report HPL-98-69R1, 1998, with a cost of one for each object (so the object hit ratio is what it favours).
libCacheSim's GDSF is the same algorithm; misses are equal.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.kernels.sized import ranked
from cachezoo.kernels.sized.ranked import Heap, drop, enter, leave, rank_anew
from cachezoo.kernels.step import step

SCALE = 1e6


class State(NamedTuple):
    """The residents by worth; `uses` int64[n_objects] their uses; `age` float64[1] is L; `held` the loop's."""

    heap: Heap
    uses: I64
    age: F64
    held: I64


def make(held: I64) -> State:
    """Nothing resident; `held` int64[n_objects] is the loop's."""
    return State(ranked.make(len(held)), np.zeros(len(held), np.int64), np.zeros(1), held)


@step
def touch(state: State, key: int, i: int) -> None:
    """One use more."""
    count = state.uses[key] + 1
    state.uses[key] = count
    rank_anew(state.heap, key, state.age[0] + count * SCALE / state.held[key], i)


@step
def evict(state: State, i: int) -> int:
    """The least worth; all others age to it."""
    key = leave(state.heap)
    state.age[0] = state.heap.own[key]
    return key


@step
def insert(state: State, key: int, i: int) -> None:
    """In with one use."""
    state.uses[key] = 1
    enter(state.heap, key, state.age[0] + SCALE / state.held[key], i)


@step
def remove(state: State, key: int) -> None:
    """Out, and nobody ages."""
    drop(state.heap, key)
