"""W-TinyLFU: a small LRU window for what is new, a segmented LRU behind it, and a count that decides who crosses.

A page missed enters the window. What falls out of the window is compared with what would leave the main part: the
one that was asked for more often, as far as a sketch of recent accesses knows, stays. The main part is an LRU in two
segments: pages enter on probation, a hit there makes them protected, and what the protected segment has no room for
goes back to probation. When `sample` times capacity accesses (rounded down, at least 2) are counted,
their number and all counts are halved, so that old fame fades.

Source: Einziger, Friedman, Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", ACM Transactions on Storage
13(4), 2017: the sketch with its halving and small counters, the window of 1 %, the 80 % that are protected. The length
of the sample is left open there; 10 capacities is what the authors' Caffeine takes, and so are four counters of a page
and 16 for each page of capacity. No doorkeeper. A tie keeps the page that is in the main part.

Parameters: window 0.01 of the capacity (at least a page), protected 0.8 of the main part, sample 10, libcachesim 0.

Where libCacheSim 0.3.5 differs. libcachesim = 1 with sample = 32 does as it does: miss ratios are then within 0.2
points on OLTP, P2 and a CloudPhysics disk at 1, 5, 10 and 20 % of their pages. What each is worth, in points of
miss ratio, is from `benchmarks/wtinylfu_peer.py`: a model that misses what libCacheSim misses, changed step by step.

    what                   here, as the paper         libCacheSim
    room in the main part  used when a page comes     Of M pages 20 % and 80 % are rounded down; where M is no multiple
                                                      of 5 a page is left over. Then a hit on probation throws the
                                                      oldest page there out though nothing enters, and the next page out
                                                      of the window passes without comparison. On OLTP 1.6 to 3.2 fewer
                                                      misses: 36.20 at 18,688 pages, 38.38 at 18,691, where M is 18,505.
                                                      (Here, with libcachesim = 1, the page goes when the other comes.)
    accesses counted       all                        misses, hits in the main part, and once more a page that leaves
                                                      the window; not hits in the window. Counting those is worth 2.0
                                                      on OLTP at 1 % and costs 8.3 on the disk at 20 %
    halved after           10 C accesses, then 5 C    32 M hits in the main part, hundreds of C where few hit: costs
                                                      OLTP 0.9 at 10 %, 2.1 at 1 %
    sketch                 4 counters of a page, 16 C 10 of a page, 14.4 M in all; all are raised, without limit. Seldom
                           in all, the least raised,  halved, it is full at small capacities: costs P2 3.2 at 1 %. At
                           up to 15                   1,868 pages on OLTP its hash decides (other seeds: 62.7 to 64.0)
    filling                window, then probation     all in the window until the cache is full
    1 % below a page       a page                     no page ever enters
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32
from cachezoo.kernels.lists import link_head, links, unlink
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.sketch import halve, note, noted, see, seen
from cachezoo.kernels.step import step

OUT, WINDOW, PROBATION, PROTECTED = 0, 1, 2, 3
AGE = 0  # in `counts`: accesses since they were last halved; then the length of each list
COUNTERS = 16  # of the sketch, for each page of capacity
LIMIT = 15  # of a count: 4 bits would hold it
OPEN = 4  # in `counts`, as libCacheSim: 1 lets the next page out of the window cross unweighed
THEIR_COUNTERS, THEIR_ROWS = 14.378, 10  # a Bloom filter's for one error in a thousand


class State(NamedTuple):
    """Three lists over the pages: window, probation, protected; the sentinel of list k is n_pages + k - 1.

    Attributes:
        where: uint8[n_pages], the list that a page is in, `OUT` of the cache.
        counts: int64[5].
        table: uint8, who was asked for how often.
        theirs: uint16, libCacheSim's table; empty where the paper is followed.
        window, main, probation, protected: pages that each may hold.
        period: accesses after which the counts are halved.
    """

    before: I32
    after: I32
    where: npt.NDArray[np.uint8]
    counts: npt.NDArray[np.int64]
    table: npt.NDArray[np.uint8]
    theirs: npt.NDArray[np.uint16]
    window: int
    main: int
    probation: int
    protected: int
    period: int


def make(n_pages: int, capacity: int, window: float, protected: float, sample: float, *, theirs: bool) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages); the parameters are the module's."""
    in_window = max(int(window * capacity), 1)
    main = capacity - in_window
    where, counts = np.zeros(n_pages, np.uint8), np.zeros(5, np.int64)
    table = np.zeros(1 if theirs else COUNTERS * min(capacity, n_pages), np.uint8)
    note_of = max(int(THEIR_COUNTERS * min(main, n_pages)) + 1, 2 * THEIR_ROWS) if theirs else 0
    period = max(int(sample * (main if theirs else capacity)), 2)
    segments = int((1 - protected) * main + 1e-9), int(protected * main + 1e-9)
    return State(
        *links(n_pages, 3), where, counts, table, np.zeros(note_of, np.uint16), in_window, main, *segments, period
    )


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.where[page] != OUT)


@step
def _enter(state: State, page: int, to: int) -> None:
    """To the head of a list."""
    link_head(state.before, state.after, state.where.size + to - 1, page)
    state.counts[to] += 1
    state.where[page] = to


@step
def _leave(state: State, page: int) -> None:
    """Out of its list."""
    unlink(state.before, state.after, page)
    state.counts[state.where[page]] -= 1
    state.where[page] = OUT


@step
def _count(state: State, page: int) -> None:
    """An access; at the end of a period all counts are halved."""
    see(state.table, LIMIT, page)
    state.counts[AGE] += 1
    if state.counts[AGE] >= state.period:
        halve(state.table)
        state.counts[AGE] >>= 1


@step
def touch(state: State, page: int, i: int) -> None:
    """To the head of its list, or from probation to the protected."""
    if state.theirs.size:
        _touch_theirs(state, page)
        return
    where = state.where[page]
    _leave(state, page)
    _enter(state, page, WINDOW if where == WINDOW else PROTECTED)
    if state.counts[PROTECTED] > state.protected:
        oldest = state.before[state.where.size + PROTECTED - 1]
        _leave(state, oldest)
        _enter(state, oldest, PROBATION)
    _count(state, page)


@step
def insert(state: State, page: int, i: int) -> int:
    """Into the window; what falls out of it is weighed against what would leave the main part."""
    if state.theirs.size:
        return _insert_theirs(state, page)
    _enter(state, page, WINDOW)
    loser = NONE
    if state.counts[WINDOW] > state.window:
        candidate = state.before[state.where.size]
        _leave(state, candidate)
        if state.counts[PROBATION] + state.counts[PROTECTED] < state.main:
            _enter(state, candidate, PROBATION)
        else:
            loser = candidate
            rival = state.before[state.where.size + (1 if state.counts[PROBATION] > 0 else 2)]
            if state.main > 0 and seen(state.table, candidate) > seen(state.table, rival):
                _leave(state, rival)
                _enter(state, candidate, PROBATION)
                loser = rival
    _count(state, page)
    return loser


@step
def _touch_theirs(state: State, page: int) -> None:
    """As libCacheSim: a hit in the window is not counted, and one on probation may leave a page's room open."""
    where = state.where[page]
    _leave(state, page)
    _enter(state, page, WINDOW if where == WINDOW else PROTECTED)
    if state.counts[PROTECTED] > state.protected:
        oldest = state.before[state.where.size + PROTECTED - 1]
        _leave(state, oldest)
        _enter(state, oldest, PROBATION)
        if state.counts[PROBATION] > state.probation:
            state.counts[OPEN] = 1
    if where != WINDOW:
        note(state.theirs, THEIR_ROWS, page)
        state.counts[AGE] += 1
        if state.counts[AGE] >= state.period:
            halve(state.theirs)
            state.counts[AGE] = 0


@step
def _cross(state: State, page: int) -> None:
    """Out of the window into the lowest segment that has room."""
    _leave(state, page)
    room = state.counts[PROBATION] < state.probation or state.counts[PROTECTED] >= state.protected
    _enter(state, page, PROBATION if room else PROTECTED)


@step
def _insert_theirs(state: State, page: int) -> int:
    """As libCacheSim: the window takes all until the cache is full; who leaves it is counted once more."""
    held = state.counts[WINDOW] + state.counts[PROBATION] + state.counts[PROTECTED]
    loser = NONE
    if held == state.window + state.main:
        while state.counts[PROBATION] + state.counts[PROTECTED] < state.main:
            oldest = state.before[state.where.size]
            _cross(state, oldest)
            note(state.theirs, THEIR_ROWS, oldest)
        candidate = state.before[state.where.size]
        rival = state.before[state.where.size + (1 if state.counts[PROBATION] > 0 else 2)]
        crosses = state.main > 0 and (
            state.counts[OPEN] > 0
            or noted(state.theirs, THEIR_ROWS, candidate) > noted(state.theirs, THEIR_ROWS, rival)
        )
        state.counts[OPEN] = 0
        loser = rival if crosses else candidate
        _leave(state, loser)
        if crosses:
            _cross(state, candidate)
        note(state.theirs, THEIR_ROWS, candidate)
    _enter(state, page, WINDOW)
    note(state.theirs, THEIR_ROWS, page)
    return loser
