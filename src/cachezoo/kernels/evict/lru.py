"""LRU: the page used longest ago leaves.

Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
libCacheSim's LRU is the same algorithm; miss ratios are equal.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32
from cachezoo.kernels.lists import link_head, links, pop_tail, unlink
from cachezoo.kernels.near import fetch
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step


class State(NamedTuple):
    """One list of the resident pages, most recent first; `used` int64[1] counts them."""

    before: I32
    after: I32
    resident: npt.NDArray[np.uint8]
    used: npt.NDArray[np.int64]
    capacity: int


def make(n_pages: int, capacity: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    return State(*links(n_pages, 1), np.zeros(n_pages, np.uint8), np.zeros(1, np.int64), capacity)


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.resident[page])


@step
def near(state: State, page: int) -> None:
    """Bring near what the steps read of a page."""
    fetch(state.resident, page)
    fetch(state.before, page)
    fetch(state.after, page)


@step
def touch(state: State, page: int, i: int) -> None:
    """To the head."""
    unlink(state.before, state.after, page)
    link_head(state.before, state.after, state.resident.size, page)


@step
def insert(state: State, page: int, i: int) -> int:
    """In at the head, out at the tail."""
    head = state.resident.size
    victim = NONE
    if state.used[0] == state.capacity:
        victim = pop_tail(state.before, state.after, head)
        state.resident[victim] = 0
    else:
        state.used[0] += 1
    state.resident[page] = 1
    link_head(state.before, state.after, head, page)
    return victim
