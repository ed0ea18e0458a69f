"""RC-RNN's three queues, a page at a time: the steps are those of `cachezoo.kernels.manager`, which says what they do.

The queue of each access is known beforehand. On requests of one page this is `manager.serve_request`, outcome by
outcome. On longer ones it is the manager serving each page as a request of its own: pages of the same request that
come earlier may drive out those that come later, and the clocks run from page to page, where the manager first looks
the whole request up, moves all its hits, then inserts what is missing, and runs the clocks after the request.

Source: RC-RNN, Sec. 4.2, Fig. 6. libCacheSim has no such policy.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.kernels import manager
from cachezoo.kernels.step import step

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]


class State(NamedTuple):
    """The manager's arrays and what is known of each access.

    `limits` int64[manager.N_LIMITS] as in `manager.serve_request`; `queue` uint8[m], 0 keeps a miss out unless free
    space is filled; `clock` int32[m], accesses of the trace before, which prefetches are not.
    """

    nodes: I32
    stamps: I64
    counters: I64
    limits: I64
    queue: U8
    clock: I32


def make(n_pages: int, limits: I64, queue: U8, clock: I32) -> State:
    """An empty cache over ids in [0, n_pages)."""
    nodes = np.empty((manager.NODE_FIELDS, n_pages + manager.SENTINELS), np.int32)
    stamps, counters = np.empty(n_pages, np.int64), np.empty(manager.N_COUNTERS, np.int64)
    manager.reset(nodes, stamps, counters)
    return State(nodes, stamps, counters, limits, queue, clock)


@step
def _catch_up(state: State, i: int) -> None:
    """Demote what ran out before access i: demotions change no residence, so they can wait until here."""
    state.counters[manager.ACCESSES] = state.clock[i]
    limits = state.limits
    manager.demote(state.nodes, state.stamps, state.counters, limits[manager.PERIOD], limits[manager.PERCENT])


@step
def has(state: State, page: int) -> bool:
    """Is the page in a queue?"""
    return bool(state.nodes[manager.QUEUE, page] != manager.ABSENT)


@step
def touch(state: State, page: int, i: int) -> None:
    """To the head of its queue, or to the queue that is decided on now."""
    _catch_up(state, i)
    manager.hit(state.nodes, state.stamps, state.counters, page, int(state.queue[i]), state.limits)


@step
def insert(state: State, page: int, i: int) -> int:
    """In at the head of the queue decided on; out goes the tail of soon, else of mean, else of late."""
    _catch_up(state, i)
    return manager.enter(state.nodes, state.stamps, state.counters, page, int(state.queue[i]), state.limits)
