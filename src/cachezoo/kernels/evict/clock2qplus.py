"""Clock2Q+: S3-FIFO's three queues, and a correlation window in the small one whose hits do not count.

Uses of a page soon after it entered are *correlated*: one and the same use, in several accesses. So a hit on one of the
newest pages of the small queue, those of the window, changes nothing; a hit on an older one sets the page's reference
bit, and with it set the page goes on to the main queue where it would leave. The main queue is a CLOCK of one bit. All
else is as in `cachezoo.kernels.evict.s3fifo`, whose queues these are.

Source: Zhai et al., "Clock2Q+: a simple and efficient replacement algorithm for metadata cache in VMware vSAN", VLDB
2026 (arXiv 2511.21958). We did not have the paper's text: this follows its abstract and the authors' libCacheSim.
Others who reproduced it read ghosts of 0.5 of the capacity in the paper; 0.9 is the default of the authors' program.
Parameters: small 0.1 and ghost 0.9 of the capacity, window 0.5 of the small queue.

Where it differs from libCacheSim's
    below 20    at a small share of one page theirs lets no page in (default shares: 10 to 19 pages), at none it ends
                with an error; here the small share is one page at least
Misses are otherwise equal.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32
from cachezoo.kernels.evict import s3fifo
from cachezoo.kernels.evict.s3fifo import FREQUENCY, MAIN, SMALL_OLDEST, SMALL_USED
from cachezoo.kernels.near import fetch
from cachezoo.kernels.step import step


class State(NamedTuple):
    """The queues, whose frequencies are one bit here, and where the pages of the small one are.

    Attributes:
        queues: S3-FIFO's, which promote at a frequency of 1.
        place: int32[n_pages] a page's slot in the small queue's ring; of other pages anything.
        window: pages of the small queue that have to be newer than a page for a hit on it to count.
    """

    queues: s3fifo.State
    place: I32
    window: float


def make(n_pages: int, capacity: int, small: float = 0.1, ghost: float = 0.9, window: float = 0.5) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    queues = s3fifo.make(n_pages, capacity, small, ghost, 1)
    return State(queues, np.zeros(n_pages, np.int32), queues.small_share * window)


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return s3fifo.has(state.queues, page)


@step
def near(state: State, page: int) -> None:
    """Bring near what the steps read of a page, and of those that are to leave soon."""
    s3fifo.near(state.queues, page)
    fetch(state.place, page)


@step
def touch(state: State, page: int, i: int) -> None:
    """Set its reference bit, unless it is within the window."""
    mark, at = state.queues.mark, state.queues.at
    if mark[page] & FREQUENCY:
        return
    if not mark[page] & MAIN:
        behind = state.place[page] - at[SMALL_OLDEST]
        newer = at[SMALL_USED] - 1 - (behind if behind >= 0 else behind + state.queues.small.size)
        if newer < state.window:
            return
    mark[page] += 1


@step
def insert(state: State, page: int, i: int) -> int:
    """Into the small queue or, known, the main one; out as in S3-FIFO."""
    queues = state.queues
    victim = s3fifo.insert(queues, page, i)
    if not queues.mark[page] & MAIN:
        slot = queues.at[SMALL_OLDEST] + queues.at[SMALL_USED] - 1
        state.place[page] = slot if slot < queues.small.size else slot - queues.small.size
    return victim
