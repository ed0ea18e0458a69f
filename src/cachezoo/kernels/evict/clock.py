"""CLOCK: first in first out, but a page that was used since the hand last came by is passed over.

The pages stand in a circle. A hit counts the page's reference counter up, to 2^bits - 1 at most. To make room the hand
goes round, counts down what it passes and stops at the first page whose counter is 0: that one leaves, the new page
takes its place with the counter at `initial`, and the hand stands behind it.

Source: Corbato, "A paging experiment with the Multics system", MIT Project MAC, MAC-M-384, 1968 (one bit). Counters of
several bits are the generalised CLOCK of Smith, "Sequentiality and prefetching in database systems", ACM TODS 3(3),
1978.
Parameters: bits 1, initial 0.

Where it differs from libCacheSim's
    circle      theirs is a list whose passed-over pages go back to the head: the same order, the same victims
    initial     Corbato sets the bit when the page enters; 0 is theirs, and the one that compares with SIEVE
Misses are equal.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.step import step


class State(NamedTuple):
    """The circle, -1 where no page ever was, with the hand in `hand` int64[1].

    `mark` uint8[n_pages] is 0 of a page that is not resident, else 1 + its counter; `top` the most it may be.
    """

    mark: npt.NDArray[np.uint8]
    circle: npt.NDArray[np.int32]
    hand: npt.NDArray[np.int64]
    first: int
    top: int


def make(n_pages: int, capacity: int, bits: int = 1, initial: int = 0) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages); `initial` below 2^bits, bits at most 7."""
    circle = np.full(min(capacity, n_pages), -1, np.int32)
    return State(np.zeros(n_pages, np.uint8), circle, np.zeros(1, np.int64), 1 + initial, 2**bits)


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.mark[page])


@step
def touch(state: State, page: int, i: int) -> None:
    """Count its references."""
    state.mark[page] = min(state.mark[page] + 1, state.top)


@step
def insert(state: State, page: int, i: int) -> int:
    """Turn the hand to a page without references."""
    hand = state.hand[0]
    size = state.circle.size
    victim = int(state.circle[hand])
    if victim >= 0:
        while state.mark[victim] > 1:
            state.mark[victim] -= 1
            hand = hand + 1 if hand + 1 < size else 0
            victim = int(state.circle[hand])
        state.mark[victim] = 0
    state.circle[hand] = page
    state.mark[page] = state.first
    state.hand[0] = hand + 1 if hand + 1 < size else 0
    return victim
