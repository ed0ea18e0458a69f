"""FIFO: the page that entered first leaves.

Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
libCacheSim's FIFO is the same algorithm; miss ratios are equal.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.step import step


class State(NamedTuple):
    """A ring of the resident pages; `slot` int64[1] is where the next one goes, -1 marks a slot never used."""

    resident: npt.NDArray[np.uint8]
    ring: npt.NDArray[np.int32]
    slot: npt.NDArray[np.int64]


def make(n_pages: int, capacity: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    ring = np.full(min(capacity, n_pages), -1, np.int32)
    return State(np.zeros(n_pages, np.uint8), ring, np.zeros(1, np.int64))


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.resident[page])


@step
def touch(state: State, page: int, i: int) -> None:
    """Nothing: order of entry is all."""


@step
def insert(state: State, page: int, i: int) -> int:
    """Into the slot of the page that entered first."""
    slot = state.slot[0]
    victim = int(state.ring[slot])
    if victim >= 0:
        state.resident[victim] = 0
    state.ring[slot] = page
    state.resident[page] = 1
    state.slot[0] = slot + 1 if slot + 1 < state.ring.size else 0
    return victim
