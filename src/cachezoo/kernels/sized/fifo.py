"""FIFO of objects: the object that entered first leaves.

Source: as `cachezoo.kernels.evict.fifo`. libCacheSim's FIFO is the same algorithm; misses are equal.
"""

from typing import NamedTuple

from cachezoo.arrays import I32
from cachezoo.kernels.lists import link_head, links, pop_tail, unlink
from cachezoo.kernels.step import step


class State(NamedTuple):
    """One list of the residents, latest entry first: int32[n_objects + 1] each; `head` is its sentinel."""

    before: I32
    after: I32
    head: int


def make(n_objects: int) -> State:
    """Nothing resident, of ids in [0, n_objects)."""
    return State(*links(n_objects, 1), n_objects)


@step
def touch(state: State, key: int, i: int) -> None:
    """Nothing: order of entry is all."""


@step
def wants(state: State, key: int, i: int, size: int) -> bool:
    """Everything."""
    return True


@step
def evict(state: State, i: int) -> int:
    """The tail."""
    return pop_tail(state.before, state.after, state.head)


@step
def insert(state: State, key: int, i: int) -> None:
    """In at the head."""
    link_head(state.before, state.after, state.head, key)


@step
def remove(state: State, key: int) -> None:
    """Out of the middle."""
    unlink(state.before, state.after, key)


@step
def resize(state: State, key: int, more: int) -> None:
    """Nothing: sizes do not count."""
