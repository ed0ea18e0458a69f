"""SIEVE: a queue by order of entry, swept by a hand that lets used pages stay where they are.

A hit marks the page. To make room the hand goes from where it stands towards the newest page, and from there on again
at the oldest; it clears the marks that it meets and stops at the first page without one, which leaves. New pages enter
at the newest end, so the hand that stands among old pages evicts new ones soon (quick demotion) while it
keeps used ones at no cost (lazy promotion).

Source: Zhang et al., "SIEVE is simpler than LRU: an efficient turn-key eviction algorithm for web caches", NSDI 2024,
section 3, algorithm 1. No parameters.

Where it differs from libCacheSim's
    queue       theirs is a linked list; here what the hand lets stay is moved up behind it as it goes: the same order
Misses are equal.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

KEPT, HAND, END = 0, 1, 2


class State(NamedTuple):
    """The queue, oldest first, in two stretches of `queue`.

    Attributes:
        mark: uint8[n_pages] 0 not resident, 1 resident, 2 used since.
        queue: int32[2 * capacity], so that it is packed once for each `capacity` insertions at most.
        at: int64[3]: `queue[:at[KEPT]]` the hand has let stay in this sweep, `queue[at[HAND]:at[END]]` is before it;
            the hand stands at a page wherever there is one, for at the end it goes back to the start at once.
        capacity: pages.
    """

    mark: npt.NDArray[np.uint8]
    queue: npt.NDArray[np.int32]
    at: npt.NDArray[np.int64]
    capacity: int


def make(n_pages: int, capacity: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    capacity = min(capacity, n_pages)
    return State(np.zeros(n_pages, np.uint8), np.empty(2 * capacity, np.int32), np.zeros(3, np.int64), capacity)


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.mark[page])


@step
def touch(state: State, page: int, i: int) -> None:
    """Mark it."""
    state.mark[page] = 2


@step
def insert(state: State, page: int, i: int) -> int:
    """In as the newest, out what the hand finds first without a mark."""
    at = state.at
    victim = NONE
    if at[KEPT] + at[END] - at[HAND] == state.capacity:
        victim = _sweep(state)
    if at[END] == state.queue.size:
        _pack(state)
    end = at[END]
    state.queue[end] = page
    state.mark[page] = 1
    at[END] = end + 1
    return victim


@step
def _sweep(state: State) -> int:
    """The first page without a mark, taken out of the queue."""
    mark, queue, at = state.mark, state.queue, state.at
    kept, hand, end = at[KEPT], at[HAND], at[END]
    victim = int(queue[hand])
    while mark[victim] > 1:
        mark[victim] = 1
        queue[kept] = victim
        kept += 1
        hand += 1
        if hand == end:
            end, kept, hand = kept, 0, 0
        victim = int(queue[hand])
    mark[victim] = 0
    hand += 1
    if hand == end:
        end, kept, hand = kept, 0, 0
    at[KEPT], at[HAND], at[END] = kept, hand, end
    return victim


@step
def _pack(state: State) -> None:
    """Close the gap between the two stretches."""
    at = state.at
    to = at[KEPT]
    for slot in range(at[HAND], at[END]):
        state.queue[to] = state.queue[slot]
        to += 1
    at[HAND], at[END] = at[KEPT], to
