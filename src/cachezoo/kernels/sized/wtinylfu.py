"""W-TinyLFU of objects: an LRU window for what is new, a segmented LRU behind it, and counts that decide who crosses.

What `cachezoo.kernels.evict.wtinylfu` is for pages, with window and segments in bytes. An object that falls out of the
window and finds the main part full is weighed against all that would have to leave there for it, from the tail on: it
crosses if it was asked for more often than all of them together, and then they leave; else it leaves itself. An object
larger than the window is weighed so at once, and stays out if it loses. With objects of one size it is the page cache.

Source: Einziger, Eytan, Friedman, Manes, "Lightweight robust size aware cache management", ACM Transactions on Storage
18(3), 2022 (aggregated victims); the rest as for pages: Einziger, Friedman, Manes, ACM Transactions on Storage 13(4),
2017. The sketch and the period of halving are sized for as many objects as fit at mean size.

Parameters: window 0.01 of the bytes, protected 0.8 of the main part, sample 10 (times the objects that fit).

    where it differs     here                                    libCacheSim's WTinyLFU
    who is weighed       against all that must leave for it      against one, which may be smaller than it
    larger than window   weighed when it comes                   never enters
    counts, filling      as for pages                            see `cachezoo.kernels.evict.wtinylfu`
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.evict.wtinylfu import COUNTERS, LIMIT, OUT, PROBATION, PROTECTED, WINDOW
from cachezoo.kernels.lists import link_head, links, unlink
from cachezoo.kernels.sketch import halve, see, seen
from cachezoo.kernels.step import step

CROSSING = 4  # list of those that won, until what they won against has left
LISTS = 4
# Places in `numbers`: accesses since the counts were last halved; bytes of each list; bytes that the main part still
# has to give up; bytes that are about to enter the window, and whether what is about to enter goes to the main part.
AGE, DEBT, PENDING, LARGE = 0, 5, 6, 7


class State(NamedTuple):
    """Lists over the objects: window, probation, protected, crossing; the sentinel of list k is n_objects + k - 1.

    Attributes:
        held: the loop's.
        before, after: the lists.
        where: uint8[n_objects], the list that an object is in, `OUT` of the cache.
        table: uint8, who was asked for how often.
        numbers: int64[8].
        capacity, window, main, protected: bytes of all, and that each may hold.
        period: accesses after which the counts are halved.
    """

    held: I64
    before: I32
    after: I32
    where: U8
    table: U8
    numbers: I64
    capacity: int
    window: int
    main: int
    protected: int
    period: int


def make(held: I64, capacity: int, entries: int, window: float, protected: float, sample: float) -> State:
    """Nothing resident.

    Args:
        held: int64[n_objects], the loop's.
        capacity: bytes.
        entries: objects that fit at mean size.
        window: part of the bytes.
        protected: part of the rest.
        sample: accesses between halvings, over the objects that fit.
    """
    n = len(held)
    in_window = max(int(window * capacity), 1)
    main = capacity - in_window
    return State(
        held, *links(n, LISTS), np.zeros(n, np.uint8), np.zeros(COUNTERS * min(entries, n), np.uint8),
        np.zeros(8, np.int64), capacity, in_window, main, int(protected * main + 1e-9), max(int(sample * entries), 2),
    )  # fmt: skip


@step
def _enter(state: State, key: int, to: int) -> None:
    """To the head of a list."""
    link_head(state.before, state.after, state.where.size + to - 1, key)
    state.numbers[to] += state.held[key]
    state.where[key] = to


@step
def _leave(state: State, key: int) -> None:
    """Out of its list."""
    unlink(state.before, state.after, key)
    state.numbers[state.where[key]] -= state.held[key]
    state.where[key] = OUT


@step
def _tail(state: State, of: int) -> int:
    """The last of a list, or its sentinel."""
    return int(state.before[state.where.size + of - 1])


@step
def _count(state: State, key: int) -> None:
    """An access; at the end of a period all counts are halved."""
    see(state.table, LIMIT, key)
    state.numbers[AGE] += 1
    if state.numbers[AGE] >= state.period:
        halve(state.table)
        state.numbers[AGE] >>= 1


@step
def _settle(state: State) -> None:
    """Those that won are in the main part; nothing is about to enter."""
    key = _tail(state, CROSSING)
    while key < state.where.size:
        _leave(state, key)
        _enter(state, key, PROBATION)
        key = _tail(state, CROSSING)
    state.numbers[DEBT] = state.numbers[PENDING] = state.numbers[LARGE] = 0


@step
def _in_main(state: State) -> int:
    """Bytes of the main part, with those that won."""
    numbers = state.numbers
    return int(numbers[PROBATION] + numbers[PROTECTED] + numbers[CROSSING])


@step
def _next_out(state: State, key: int) -> int:
    """Of the main part who leaves after `key`, or first of all if that is at least n_objects; then -1 for none."""
    n = state.where.size
    if key < n:
        before = int(state.before[key])
        if before < n or state.where[key] == PROTECTED:
            return before if before < n else -1
    else:
        before = _tail(state, PROBATION)
        if before < n:
            return before
    before = _tail(state, PROTECTED)
    return before if before < n else -1


@step
def _wins(state: State, key: int, needed: int) -> bool:
    """Was the object asked for more often than all who must leave the main part to free so many bytes?"""
    own = seen(state.table, key)
    rival = _next_out(state, state.where.size)
    rivals = 0
    while needed > 0:
        if rival < 0:
            return False
        rivals += seen(state.table, rival)
        if own <= rivals:
            return False
        needed -= state.held[rival]
        rival = _next_out(state, rival)
    return True


@step
def touch(state: State, key: int, i: int) -> None:
    """To the head of its list, or from probation to the protected."""
    _settle(state)
    where = state.where[key]
    _leave(state, key)
    _enter(state, key, WINDOW if where == WINDOW else PROTECTED)
    while state.numbers[PROTECTED] > state.protected:
        oldest = _tail(state, PROTECTED)
        _leave(state, oldest)
        _enter(state, oldest, PROBATION)
    _count(state, key)


@step
def wants(state: State, key: int, i: int, size: int) -> bool:
    """All that the window can hold; what is larger must win a place in the main part at once."""
    _settle(state)
    numbers = state.numbers
    if size <= state.window:
        numbers[PENDING] = size
        return True
    _count(state, key)
    if numbers[WINDOW] + _in_main(state) + size > state.capacity:
        needed = _in_main(state) + size - state.main
        if size > state.main or not _wins(state, key, needed):
            return False
        numbers[DEBT] = max(needed, 0)
    numbers[LARGE] = 1
    return True


@step
def insert(state: State, key: int, i: int) -> None:
    """Into the window, or the main part if it won; what the window has no room for crosses, as there is room."""
    large = state.numbers[LARGE]
    _settle(state)
    if large:
        _enter(state, key, PROBATION)
        return
    _enter(state, key, WINDOW)
    while state.numbers[WINDOW] > state.window:
        oldest = _tail(state, WINDOW)
        _leave(state, oldest)
        _enter(state, oldest, PROBATION)
    _count(state, key)


@step
def evict(state: State, i: int) -> int:
    """The loser of what falls out of the window and what would leave the main part for it."""
    numbers = state.numbers
    n = state.where.size
    while True:
        if numbers[DEBT] > 0 and _next_out(state, n) >= 0:
            loser = _next_out(state, n)
            numbers[DEBT] -= state.held[loser]
            break
        numbers[DEBT] = 0
        candidate = _tail(state, WINDOW)
        if candidate == n or numbers[WINDOW] + numbers[PENDING] <= state.window:
            loser = _next_out(state, n)
            if loser < 0:
                loser = candidate if candidate < n else _tail(state, CROSSING)
            break
        needed = _in_main(state) + state.held[candidate] - state.main
        if needed > 0 and (state.main == 0 or not _wins(state, candidate, needed)):
            loser = candidate
            break
        _leave(state, candidate)
        _enter(state, candidate, CROSSING)
        numbers[DEBT] = max(needed, 0)
    _leave(state, loser)
    return int(loser)


@step
def remove(state: State, key: int) -> None:
    """Out of its list; its count stays."""
    _leave(state, key)


@step
def resize(state: State, key: int, more: int) -> None:
    """Its list has so many bytes more."""
    state.numbers[state.where[key]] += more
