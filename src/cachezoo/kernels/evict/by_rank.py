"""The page of least rank leaves, whatever the rank: a template, to which a user's function is bound.

The rank of a page is worked out at each of its accesses, and holds until its next. Among equals the page used longest
ago leaves. The resident pages form a heap; a rank that rises is told to it when the page comes to its top, one that
falls at once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64
from cachezoo.kernels.heap import rise, sink
from cachezoo.kernels.jit import specialise
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step, uncounted

OWN, COUNT, LAST, ENTERED = range(4)
Rank = Callable[[int, int, int, int, int], float]


class State(NamedTuple):
    """An indexed heap of the resident pages, ranks and times beside them; what is known of each page.

    `slot` int32[n_pages] is a page's place in the heap, -1 of one not resident. `facts` float64[n_pages, 4] has a row
    for each page, so that it is one place in memory: its rank; its accesses since it entered; the number of its last
    access, -1 of one never seen; that of the access at which it entered. `used` int64[1] counts the heap's entries.
    """

    pages: I32
    ranks: F64
    times: I64
    slot: I32
    facts: F64
    used: I64


def make(n_pages: int, capacity: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    size = min(capacity, n_pages)
    pages, ranks, times = np.empty(size, np.int32), np.empty(size, np.float64), np.empty(size, np.int64)
    facts = np.zeros((n_pages, 4), np.float64)
    facts[:, LAST] = -1
    return State(pages, ranks, times, np.full(n_pages, -1, np.int32), facts, np.zeros(1, np.int64))


def rank(page: int, i: int, count: int, last: int, entered: int) -> float:
    """The user's: what access number i of a page makes it worth; the least leaves. Never NaN.

    Args:
        page: its id.
        i: the access number.
        count: its accesses since it entered, this one included, so 1 when it enters.
        last: the number of its access before this one, whether or not it was resident since; -1 if this is its first.
        entered: the number of the access at which it entered; i when it enters.
    """
    raise NotImplementedError


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.slot[page] >= 0)


def touch(state: State, page: int, i: int) -> None:
    """Rank anew."""
    facts = state.facts[page]
    facts[COUNT] += 1
    worth = rank(page, i, int(facts[COUNT]), int(facts[LAST]), int(facts[ENTERED]))
    facts[OWN] = worth
    facts[LAST] = i
    k = state.slot[page]
    if worth < state.ranks[k]:
        state.ranks[k], state.times[k] = worth, i
        rise(state.pages, state.ranks, state.times, state.slot, k)


@step
def replace_least(state: State, page: int) -> int:
    """Put a page, whose rank is known, in the place of the resident one of least rank; returns that one."""
    pages, ranks, times, slot = state.pages, state.ranks, state.times, state.slot
    facts = state.facts
    while times[0] != int(facts[pages[0], LAST]):
        ranks[0], times[0] = facts[pages[0], OWN], int(facts[pages[0], LAST])
        sink(pages, ranks, times, slot, pages.size)
    victim = pages[0]
    slot[victim] = -1
    pages[0], ranks[0], times[0] = page, facts[page, OWN], int(facts[page, LAST])
    sink(pages, ranks, times, slot, pages.size)
    return int(victim)


@step
def add(state: State, page: int) -> None:
    """Put a page, whose rank is known, into a cache with room."""
    used = state.used[0]
    facts = state.facts[page]
    state.pages[used], state.ranks[used], state.times[used] = page, facts[OWN], int(facts[LAST])
    state.used[0] = used + 1
    rise(state.pages, state.ranks, state.times, state.slot, used)


def insert(state: State, page: int, i: int) -> int:
    """Insert in place of the page of least rank."""
    facts = state.facts[page]
    facts[COUNT], facts[ENTERED] = 1, i
    facts[OWN] = rank(page, i, 1, int(facts[LAST]), i)
    facts[LAST] = i
    if state.used[0] < state.pages.size:
        add(state, page)
        return NONE
    return replace_least(state, page)


def make_ranked(name: str, of: Rank) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """`has`, `touch` and `insert` of an eviction by a rank.

    Args:
        name: of the eviction, for the names of the copies.
        of: as `rank`; compiled by numba's njit, or a plain function, which makes the cache a plain Python one.
    """
    return has, _bind(touch, f"touch_{name}", of), _bind(insert, f"insert_{name}", of)


def _bind(template: Callable[..., Any], name: str, of: Rank) -> Callable[..., Any]:
    return uncounted(specialise(template, name, rank=of))
