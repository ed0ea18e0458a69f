"""SIEVE of objects: a queue by order of entry, swept by a hand that lets used objects stay where they are.

As `cachezoo.kernels.evict.sieve`; to make room the hand sweeps as often as it takes. An object that is made void under
the hand hands it on to the next one.

Source: as there. libCacheSim's Sieve is the same algorithm; misses are equal.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.lists import link_head, unlink
from cachezoo.kernels.step import step


class State(NamedTuple):
    """One list of the residents, latest entry first: links as `cachezoo.kernels.sized.table` has them.

    `head` is the list's sentinel, the number of objects. `used` uint8[n_objects] marks what was used since the hand
    passed; `hand` int64[1] is the object under the hand, or `head` where it starts at the oldest.
    """

    before: I32
    after: I32
    used: U8
    hand: I64
    head: int


def make(links: tuple[I32, I32], n_objects: int) -> State:
    """Nothing resident, of ids in [0, n_objects)."""
    return State(*links, np.zeros(n_objects, np.uint8), np.full(1, n_objects, np.int64), n_objects)


@step
def touch(state: State, key: int, i: int) -> None:
    """Mark it."""
    state.used[key] = 1


@step
def evict(state: State, i: int) -> int:
    """The first without a mark, from the hand on towards the newest and from there on again at the oldest."""
    before, used, head = state.before, state.used, state.head
    key = state.hand[0]
    if key == head:
        key = before[head]
    while used[key] != 0:
        used[key] = 0
        key = before[key]
        if key == head:
            key = before[head]
    state.hand[0] = before[key]
    unlink(before, state.after, key)
    return int(key)


@step
def insert(state: State, key: int, i: int) -> None:
    """In as the newest."""
    state.used[key] = 0
    link_head(state.before, state.after, state.head, key)


@step
def remove(state: State, key: int) -> None:
    """Out of the middle; a hand that is there goes on."""
    if state.hand[0] == key:
        state.hand[0] = state.before[key]
    unlink(state.before, state.after, key)
