"""S3-FIFO of objects: three queues by order of entry, shared out by bytes.

As `cachezoo.kernels.evict.s3fifo`, with the shares of the small queue and of the ghosts counted in bytes, a ghost as
large as its object was. An object that is no ghost and no smaller than the small queue's share stays out; so does a
ghost larger than all ghosts together.

Source: as there; the paper says nothing of sizes, and this is what libCacheSim does.
Parameters: small 0.1 and ghost 0.9 of the capacity (rounded down), promote 2.

Misses are equal to libCacheSim's.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.lists import link_head, pop_tail, unlink
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

SMALL, MAIN, GHOSTS = 0, 1, 2
FREQUENCY, IN_SMALL, IN_MAIN, GHOST = 3, 4, 8, 16
KNOWN, EVICTED = 0, 1


class State(NamedTuple):
    """Three lists, latest entry first.

    Attributes:
        before, after: links as `cachezoo.kernels.sized.table` has them; an object is in one list at most.
        mark: uint8[n_objects] 0 nowhere, `GHOST`, or frequency (low two bits) and `IN_SMALL` or `IN_MAIN`.
        bytes: int64[3] of the small queue, the main one and the ghosts.
        left: int64[n_objects] bytes with which each ghost left.
        held: int64[n_objects] the loop's.
        flags: int64[2] whether the object about to enter was a ghost; whether any object has left yet.
        small_share, main_share, ghost_room: bytes.
        promote: frequency that takes an object from the small queue to the main one.
    """

    before: I32
    after: I32
    mark: U8
    bytes: I64
    left: I64
    held: I64
    flags: I64
    small_share: int
    main_share: int
    ghost_room: int
    promote: int


def make(
    links: tuple[I32, I32], held: I64, capacity: int, small: float = 0.1, ghost: float = 0.9, promote: int = 2
) -> State:
    """An empty cache of `capacity` bytes; `held` int64[n_objects] is the loop's."""
    n_objects = len(held)
    share = max(1, int(capacity * small))
    return State(
        *links, np.zeros(n_objects, np.uint8), np.zeros(3, np.int64), np.zeros(n_objects, np.int64),
        held, np.zeros(2, np.int64), share, capacity - share, int(capacity * ghost), promote,
    )  # fmt: skip


@step
def touch(state: State, key: int, i: int) -> None:
    """Count its references."""
    mark = state.mark[key]
    state.mark[key] = mark + (mark & FREQUENCY != FREQUENCY)


@step
def wants(state: State, key: int, i: int, size: int) -> bool:
    """Ghosts, which they are no longer, and what is smaller than the small queue's share."""
    known = state.mark[key] == GHOST
    state.flags[KNOWN] = known
    if known:
        _forget(state, key)
        return True
    return bool(size < state.small_share)


@step
def evict(state: State, i: int) -> int:
    """As the module says."""
    state.flags[EVICTED] = 1
    victim = NONE
    if state.bytes[MAIN] <= state.main_share:
        victim = _sift(state)
    if victim >= 0:
        _remember(state, victim)
    else:
        victim = _reinsert(state)
    return victim


@step
def insert(state: State, key: int, i: int) -> None:
    """Into the small queue; known, or as long as nothing had to leave and the small queue is full, the main one."""
    head = state.mark.size
    main = state.flags[KNOWN] != 0 or (state.flags[EVICTED] == 0 and state.bytes[SMALL] >= state.small_share)
    to = MAIN if main else SMALL
    state.mark[key] = IN_MAIN if main else IN_SMALL
    state.bytes[to] += state.held[key]
    link_head(state.before, state.after, head + to, key)


@step
def remove(state: State, key: int) -> None:
    """Out of its queue; it becomes no ghost."""
    state.bytes[MAIN if state.mark[key] & IN_MAIN else SMALL] -= state.held[key]
    unlink(state.before, state.after, key)
    state.mark[key] = 0


@step
def resize(state: State, key: int, more: int) -> None:
    """Its queue has so many bytes more."""
    state.bytes[MAIN if state.mark[key] & IN_MAIN else SMALL] += more


@step
def _sift(state: State) -> int:
    """The small queue's oldest object that was not used enough; those that were go on to the main queue."""
    before, after, mark, held = state.before, state.after, state.mark, state.held
    head = mark.size
    while before[head + SMALL] != head + SMALL:
        key = pop_tail(before, after, head + SMALL)
        state.bytes[SMALL] -= held[key]
        if mark[key] & FREQUENCY < state.promote:
            mark[key] = 0
            return key
        mark[key] = IN_MAIN
        state.bytes[MAIN] += held[key]
        link_head(before, after, head + MAIN, key)
    return NONE


@step
def _reinsert(state: State) -> int:
    """The main queue's oldest object that was not used; those that were begin anew with one less."""
    before, after, mark = state.before, state.after, state.mark
    head = mark.size + MAIN
    key = pop_tail(before, after, head)
    while mark[key] & FREQUENCY != 0:
        mark[key] -= 1
        link_head(before, after, head, key)
        key = pop_tail(before, after, head)
    mark[key] = 0
    state.bytes[MAIN] -= state.held[key]
    return key


@step
def _remember(state: State, key: int) -> None:
    """Make a ghost of what leaves; the oldest ghosts make room for it."""
    before, after, head = state.before, state.after, state.mark.size + GHOSTS
    size = state.held[key]
    if size > state.ghost_room:
        return
    while state.bytes[GHOSTS] + size > state.ghost_room:
        _forget(state, before[head])
    state.mark[key] = GHOST
    state.left[key] = size
    state.bytes[GHOSTS] += size
    link_head(before, after, head, key)


@step
def _forget(state: State, key: int) -> None:
    """A ghost no longer."""
    unlink(state.before, state.after, key)
    state.mark[key] = 0
    state.bytes[GHOSTS] -= state.left[key]
