"""ARC: a cache that balances recency and frequency by what it regrets having evicted.

T1 holds pages asked once lately, T2 those asked at least twice, B1 and B2 the ids of what left them. A miss on a page
of B1 says that T1 is too small, one on a page of B2 that T2 is; the target size of T1 moves that way, by the ratio of
the two histories where the other one is longer. T1 gives the victim while it is above its target.

Source: Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, Fig. 4. It has no
parameters. The target is kept as a real number, as there.

Where it differs from libCacheSim's ARC: nowhere; its target is a real number too and the miss ratios are equal.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32
from cachezoo.kernels.lists import link_head, links, pop_tail, unlink
from cachezoo.kernels.near import fetch
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

T1, T2, B1, B2, NOWHERE = 0, 1, 2, 3, 4


class State(NamedTuple):
    """Four lists, most recent first.

    `place` uint8[n_pages] names the list of each page, `length` int64[5] counts them, `target` float64[1] is T1's.
    """

    before: I32
    after: I32
    place: npt.NDArray[np.uint8]
    length: npt.NDArray[np.int64]
    target: npt.NDArray[np.float64]
    capacity: int


def make(n_pages: int, capacity: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    place = np.full(n_pages, NOWHERE, np.uint8)
    return State(*links(n_pages, 4), place, np.zeros(5, np.int64), np.zeros(1), capacity)


@step
def has(state: State, page: int) -> bool:
    """Is the page in T1 or T2?"""
    return bool(state.place[page] <= T2)


@step
def near(state: State, page: int) -> None:
    """Bring near what the steps read of a page."""
    fetch(state.place, page)
    fetch(state.before, page)
    fetch(state.after, page)


@step
def soon(state: State, page: int) -> None:
    """Bring near the page's neighbours."""
    fetch(state.before, state.after[page])
    fetch(state.after, state.before[page])


@step
def touch(state: State, page: int, i: int) -> None:
    """To the head of T2."""
    unlink(state.before, state.after, page)
    if state.place[page] == T1:
        state.place[page] = T2
        state.length[T1] -= 1
        state.length[T2] += 1
    link_head(state.before, state.after, state.place.size + T2, page)


@step
def _drop_tail(state: State, which: int) -> int:
    """Forget the least recent page of a list."""
    tail = state.place.size + which
    page = pop_tail(state.before, state.after, tail)
    fetch(state.before, state.before[tail])
    fetch(state.place, state.before[tail])
    state.place[page] = NOWHERE
    state.length[which] -= 1
    return page


@step
def _replace(state: State, was_in_b2: bool) -> int:
    """Evict a page of T1 or T2 into its history."""
    recent, target = state.length[T1], state.target[0]
    source = T1 if recent > 0 and (recent > target or (was_in_b2 and recent == target)) else T2
    page = _drop_tail(state, source)
    history = source + 2
    state.place[page] = history
    state.length[history] += 1
    link_head(state.before, state.after, state.place.size + history, page)
    return page


@step
def _too_long(state: State) -> int:
    """The list whose least recent page is forgotten for a page that no list knows: Case IV; `NOWHERE` for none."""
    recent = state.length[T1] + state.length[B1]
    if recent == state.capacity:
        return B1 if state.length[T1] < recent else T1
    return B2 if recent + state.length[T2] + state.length[B2] == 2 * state.capacity else NOWHERE


@step
def _adapt(state: State, where: int) -> None:
    """Move the target towards the history that was asked: Cases II and III."""
    b1, b2 = state.length[B1], state.length[B2]
    if where == B1:
        state.target[0] = min(float(state.capacity), state.target[0] + max(1.0, b2 / b1))
    else:
        state.target[0] = max(0.0, state.target[0] - max(1.0, b1 / b2))


@step
def insert(state: State, page: int, i: int) -> int:
    """Into T1 if it is new, into T2 if a history knows it, which moves the target."""
    where = int(state.place[page])
    forget, to, victim = NOWHERE, T2, NONE
    if where == NOWHERE:
        forget, to = _too_long(state), T1
    else:
        _adapt(state, where)
    if forget != NOWHERE:
        victim = _drop_tail(state, forget)
    if forget != T1:
        victim = _replace(state, where == B2) if state.length[T1] + state.length[T2] == state.capacity else NONE
    if where != NOWHERE:
        unlink(state.before, state.after, page)
        state.length[where] -= 1
    state.place[page] = to
    state.length[to] += 1
    link_head(state.before, state.after, state.place.size + to, page)
    return victim
