"""2Q, the full version: a page earns its place among the recently used by coming back after it left.

A new page enters A1in, a queue by order of entry, where hits change nothing: they are taken to be correlated. If A1in
is above its share when room is needed, its oldest page leaves and becomes a ghost in A1out; otherwise the page of Am
used longest ago leaves, and is forgotten. A page that A1out knows enters Am, which is in order of use.

Source: Johnson and Shasha, "2Q: a low overhead high performance buffer management replacement algorithm", VLDB 1994,
section 3.2.
Parameters: kin 0.25 and kout 0.5 of the capacity (rounded down), the paper's section 3.3.

Where it differs from libCacheSim's
    A1out       the paper leaves open when a page that A1out knows is taken out of it; as theirs, before room is made,
                so that it does not evict a ghost
    Am empty    A1in gives a page where Am has none (possible at kin 1 alone)
    below 4     at an A1in share of no page (default share: below 4 pages) theirs lets no page in; here A1in keeps none
                longer than until room is needed
Misses are otherwise equal.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64
from cachezoo.kernels import ghosts
from cachezoo.kernels.lists import link_head, links, pop_tail, unlink
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

A1IN, AM = 1, 2
OLDEST, IN_USED, USED = 0, 1, 2


class State(NamedTuple):
    """A1in, A1out, Am.

    Attributes:
        mark: uint8[n_pages] 0 not resident, else `A1IN` or `AM`.
        ring: int32[capacity] A1in; `at` int64[3] has the slot of its oldest page, how many it holds, and how many
            pages are resident.
        before, after: the list Am.
        log, slot_of, stretch: A1out, as in `cachezoo.kernels.ghosts`.
        capacity: pages.
        kin: A1in's share.
    """

    mark: npt.NDArray[np.uint8]
    ring: I32
    at: I64
    before: I32
    after: I32
    log: I32
    slot_of: I32
    stretch: I64
    capacity: int
    kin: int


def make(n_pages: int, capacity: int, kin: float = 0.25, kout: float = 0.5) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    before, after = links(n_pages, 1)
    return State(
        np.zeros(n_pages, np.uint8), np.empty(min(capacity, n_pages), np.int32), np.zeros(3, np.int64), before, after,
        *ghosts.make(n_pages, int(capacity * kout)), capacity, int(capacity * kin),
    )  # fmt: skip


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.mark[page])


@step
def touch(state: State, page: int, i: int) -> None:
    """To Am's head, if it is of Am."""
    if state.mark[page] == AM:
        unlink(state.before, state.after, page)
        link_head(state.before, state.after, state.mark.size, page)


@step
def insert(state: State, page: int, i: int) -> int:
    """Into A1in or, known, Am; out as the module says."""
    at, mark, ring = state.at, state.mark, state.ring
    known = ghosts.take(state.log, state.slot_of, state.stretch, page)
    victim = NONE
    if at[USED] < state.capacity:
        at[USED] += 1
    elif at[IN_USED] > state.kin or at[IN_USED] == state.capacity:
        victim = int(ring[at[OLDEST]])
        at[OLDEST] = at[OLDEST] + 1 if at[OLDEST] + 1 < ring.size else 0
        at[IN_USED] -= 1
        mark[victim] = 0
        ghosts.put(state.log, state.slot_of, state.stretch, victim)
    else:
        victim = pop_tail(state.before, state.after, mark.size)
        mark[victim] = 0
    if known:
        mark[page] = AM
        link_head(state.before, state.after, mark.size, page)
    else:
        mark[page] = A1IN
        slot = at[OLDEST] + at[IN_USED]
        ring[slot if slot < ring.size else slot - ring.size] = page
        at[IN_USED] += 1
    return victim
