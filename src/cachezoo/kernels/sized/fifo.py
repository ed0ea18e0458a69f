"""FIFO of objects: the object that entered first leaves. Its queue is LRU's too.

The queue is a ring of entries, and an object may have several, of which the latest is its place: so nothing is ever
moved or taken out of the middle, and who leaves is read in order. `pending` counts an object's entries. The oldest one
is taken off; if its object has others it says nothing, and neither does the last one of an object that became void.
Where the ring is full, what says nothing is cleared away.

Source: as `cachezoo.kernels.evict.fifo`. libCacheSim's FIFO is the same algorithm; misses are equal.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.kernels.step import step

FIRST, COUNT = 0, 1


class State(NamedTuple):
    """The queue.

    Attributes:
        ring: int32[2 * n_objects] keys; `at` int64[2] has the slot of the oldest entry and how many there are.
        pending: int32[n_objects] entries of each object.
        held: int64[n_objects] the loop's.
    """

    ring: I32
    at: I64
    pending: I32
    held: I64


def make(held: I64, pending: I32) -> State:
    """Nothing resident; the arguments are columns of `cachezoo.kernels.sized.table`, whose rows come at one go."""
    pending[:] = 0
    return State(np.empty(2 * len(held), np.int32), np.zeros(2, np.int64), pending, held)


@step
def touch(state: State, key: int, i: int) -> None:
    """Nothing: order of entry is all."""


@step
def wants(state: State, key: int, i: int, size: int) -> bool:
    """Everything."""
    return True


@step
def evict(state: State, i: int) -> int:
    """The object of the oldest entry that says something."""
    ring, at, pending, held = state.ring, state.at, state.pending, state.held
    first, count = at[FIRST], at[COUNT]
    while True:
        key = ring[first]
        first = first + 1 if first + 1 < ring.size else 0
        count -= 1
        pending[key] -= 1
        if pending[key] == 0 and held[key] > 0:
            break
    at[FIRST], at[COUNT] = first, count
    return int(key)


@step
def insert(state: State, key: int, i: int) -> None:
    """A new entry."""
    ring, at = state.ring, state.at
    if at[COUNT] == ring.size:
        _clear(state)
    slot = at[FIRST] + at[COUNT]
    ring[slot if slot < ring.size else slot - ring.size] = key
    at[COUNT] += 1
    state.pending[key] += 1


@step
def remove(state: State, key: int) -> None:
    """Nothing: what is no longer held is passed over."""


@step
def resize(state: State, key: int, more: int) -> None:
    """Nothing: sizes do not count."""


@step
def _clear(state: State) -> None:
    """Keep each resident's latest entry alone."""
    ring, at, pending = state.ring, state.at, state.pending
    slot, to, kept = at[FIRST], at[FIRST], 0
    for _ in range(at[COUNT]):
        key = ring[slot]
        slot = slot + 1 if slot + 1 < ring.size else 0
        pending[key] -= 1
        if pending[key] == 0 and state.held[key] > 0:
            pending[key] = 1
            ring[to] = key
            to = to + 1 if to + 1 < ring.size else 0
            kept += 1
    at[COUNT] = kept
