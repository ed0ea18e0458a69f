"""CACHEUS: two experts, one for recency and one for frequency, and weights that learn which of them to follow.

SR-LRU keeps the pages in two LRU lists: SR for new pages and for those that fell out of R, R for pages used again,
in the cache or as a ghost. Its victim is the last of SR, so a scan passes through SR alone. The sizes adapt: a hit in
SR on a page that R demoted shows that R is too small, a ghost that left SR unused and comes back shows that SR is.
CR-LFU gives up the page of the lowest count and, among equals, the one used most recently, so that a cycle larger than
the cache keeps a part of itself; a ghost's count waits for its return.

At each eviction the two name a page. If it is the same it goes and nobody is to blame. Otherwise one expert is drawn
by the weights, and its page becomes a ghost in that expert's history. A ghost asked for makes its expert's weight
smaller by exp(-rate). Every `capacity` accesses the rate takes a step in the direction that made the hit ratio better,
and back where it made it worse; when it stands still and ten periods brought nothing better, it is drawn anew.

Source: Rodriguez et al., "Learning Cache Replacement with CACHEUS", USENIX FAST 2021: Sec. 4 (experts), Sec. 5 (rate).
Each history has half the capacity. What the paper leaves open is as in the authors' code (github.com/sylab/cacheus):
the two histories are SR-LRU's too, new ghosts are counted in its own, SR starts small, weights stay in [0.01, 0.99].

Parameters: scan 0.01, SR's share of the capacity at the start; seed 0, of what is drawn.

Where libCacheSim 0.3.5 differs, as its source reads; on OLTP, P2 and a CloudPhysics disk at 1, 5, 10 and 20 % of their
pages it misses 0.2 points fewer to 11 more than this does, and it differs from run to run: the disk's first
pages of requests, at 20 %, 0.678 to 0.740 in twelve runs in a row; here 0.635 to 0.650 with twelve seeds.

    what                     here                          libCacheSim
    learning rate            as above                      stays as first drawn: its step is the absolute value of an
                                                           integer, so 0, and the hit ratio a division of integers
    eviction                 when the cache is full        also before, whenever SR exceeds its size
    SR at the start          1 % of the capacity           half of it
    SR-LRU's history         its own faults, half the      all that leaves, `capacity` pages, beside the two histories
                             capacity
    new ghosts               counted while they are there  never counted down
    chance                   seeded                        of all caches of the process together
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32
from cachezoo.kernels.admit.draws import draw
from cachezoo.kernels.lists import link_head, links, unlink
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

OUT, SCANNED, REUSED, LRU_GHOST, LFU_GHOST = range(5)
FRESH, DEMOTED = 1, 2  # of `marks`: not used since it came; fell out of R
# In `counts`: SR's size at present, lowest count of a resident page or below, pages marked DEMOTED, ghosts marked
# FRESH, numbers drawn, hits and accesses of the period, periods without gain. Places 1 to 4 are the lists' lengths.
ROOM, LENGTHS, LOWEST, DEMOTIONS, FRESH_GHOSTS, DRAWN, HITS, AGE, IDLE = 0, 0, 5, 6, 7, 8, 9, 10, 11
WEIGHT, RATE, RATE_BEFORE, GAIN_BEFORE = range(4)  # in `learned`: LRU's weight, the rate, and those a period ago
SLOWEST, LEAST_WEIGHT, PATIENCE = 0.001, 0.01, 10


class State(NamedTuple):
    """The pages in lists by recency and the resident ones in lists by count.

    Attributes:
        before, after: links of SR, R and the two histories; the sentinel of list k is n_pages + k - 1.
        lower, higher: links of the pages of count f; the sentinel is n_pages + f.
        where: uint8[n_pages], the list that a page is in.
        marks: uint8[n_pages].
        uses: int32[n_pages], each page's count.
        counts: int64[12].
        learned: float64[4].
        capacity, history: pages in the cache, and in each history.
        seed: of what is drawn.
    """

    before: I32
    after: I32
    lower: I32
    higher: I32
    where: npt.NDArray[np.uint8]
    marks: npt.NDArray[np.uint8]
    uses: I32
    counts: npt.NDArray[np.int64]
    learned: npt.NDArray[np.float64]
    capacity: int
    history: int
    seed: int


def make(n_pages: int, capacity: int, most: int, scan: float, seed: int) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages), none of them asked for more than `most` times."""
    counts, learned = np.zeros(12, np.int64), np.zeros(4)
    counts[ROOM] = min(max(int(scan * capacity + 0.5), 1), max(capacity - 1, 1))
    counts[LOWEST] = 1
    marks, where, uses = np.zeros(n_pages, np.uint8), np.zeros(n_pages, np.uint8), np.zeros(n_pages, np.int32)
    recency, frequency = links(n_pages, 4), links(n_pages, most + 1)
    history = capacity // 2
    state = State(*recency, *frequency, where, marks, uses, counts, learned, capacity, history, seed)
    learned[WEIGHT], learned[RATE] = 0.5, _drawn_rate(state)
    return state


@step
def _uniform(state: State) -> float:
    """The next draw, in [0, 1)."""
    number = state.counts[DRAWN]
    state.counts[DRAWN] = number + 1
    return draw(state.seed, number) / 4294967296.0


@step
def _drawn_rate(state: State) -> float:
    return SLOWEST + (1.0 - SLOWEST) * _uniform(state)


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    where = state.where[page]
    return bool(where == SCANNED or where == REUSED)


@step
def _enter(state: State, page: int, to: int) -> None:
    """To the head of a list."""
    link_head(state.before, state.after, state.where.size + to - 1, page)
    state.counts[LENGTHS + to] += 1
    state.where[page] = to


@step
def _leave(state: State, page: int) -> None:
    """Out of its list."""
    unlink(state.before, state.after, page)
    state.counts[LENGTHS + state.where[page]] -= 1
    state.where[page] = OUT


@step
def _last(state: State, of: int) -> int:
    """The page that has been in a list longest."""
    return int(state.before[state.where.size + of - 1])


@step
def _reuse(state: State, page: int) -> None:
    """To the head of R; what R has no room for goes back to SR."""
    _enter(state, page, REUSED)
    while state.counts[LENGTHS + REUSED] > state.capacity - state.counts[ROOM]:
        oldest = _last(state, REUSED)
        _leave(state, oldest)
        _enter(state, oldest, SCANNED)
        state.marks[oldest] = DEMOTED
        state.counts[DEMOTIONS] += 1


@step
def _resize(state: State, grow: bool) -> None:
    """SR gains, or R: by the ratio of the evidence against it to the evidence for it, and by at least a page."""
    fresh, demoted = max(state.counts[FRESH_GHOSTS], 1), max(state.counts[DEMOTIONS], 1)
    if grow:
        room = state.counts[ROOM] + max(int(demoted / fresh + 0.5), 1)
        state.counts[ROOM] = max(min(room, state.capacity - 1), 1)
    else:
        state.counts[ROOM] = max(state.counts[ROOM] - max(int(fresh / demoted + 0.5), 1), 1)


@step
def _learn(state: State) -> None:
    """An access more; at the end of a period, the rate's next step."""
    state.counts[AGE] += 1
    if state.counts[AGE] < state.capacity:
        return
    learned = state.learned
    ratio = state.counts[HITS] / state.capacity
    gain, change = ratio - learned[GAIN_BEFORE], learned[RATE] - learned[RATE_BEFORE]
    learned[GAIN_BEFORE], learned[RATE_BEFORE] = ratio, learned[RATE]
    if change != 0.0:
        width = abs(learned[RATE] * change)
        better = gain * change > 0.0
        learned[RATE] = min(learned[RATE] + width, 1.0) if better else max(learned[RATE] - width, SLOWEST)
        state.counts[IDLE] = 0
    elif ratio == 0.0 or gain <= 0.0:
        state.counts[IDLE] += 1
        if state.counts[IDLE] >= PATIENCE:
            state.counts[IDLE] = 0
            learned[RATE] = _drawn_rate(state)
    state.counts[AGE] = 0
    state.counts[HITS] = 0


@step
def touch(state: State, page: int, i: int) -> None:
    """One use more, and to the head of R."""
    state.counts[HITS] += 1
    unlink(state.lower, state.higher, page)
    state.uses[page] += 1
    link_head(state.lower, state.higher, state.where.size + state.uses[page], page)
    if state.marks[page] == DEMOTED:
        _resize(state, False)
        state.counts[DEMOTIONS] -= 1
    state.marks[page] = 0
    _leave(state, page)
    _reuse(state, page)
    _learn(state)


@step
def _blame(state: State, ghost: int) -> None:
    """Less weight to the expert in whose history the page asked for is."""
    lru, lfu = state.learned[WEIGHT], 1.0 - state.learned[WEIGHT]
    if ghost == LRU_GHOST:
        lru *= math.exp(-state.learned[RATE])
    else:
        lfu *= math.exp(-state.learned[RATE])
    state.learned[WEIGHT] = min(max(lru / (lru + lfu), LEAST_WEIGHT), 1.0 - LEAST_WEIGHT)


@step
def _remember(state: State, page: int, history: int) -> None:
    """The page as a ghost; the oldest ghost is forgotten where there are too many."""
    if history != LRU_GHOST:
        state.marks[page] = 0
    state.counts[FRESH_GHOSTS] += state.marks[page] == FRESH
    _enter(state, page, history)
    if state.counts[LENGTHS + history] > state.history:
        oldest = _last(state, history)
        _leave(state, oldest)
        state.counts[FRESH_GHOSTS] -= state.marks[oldest] == FRESH
        state.marks[oldest] = 0


@step
def _evict(state: State) -> int:
    """Let the experts name a page each, follow one."""
    while state.higher[state.where.size + state.counts[LOWEST]] == state.where.size + state.counts[LOWEST]:
        state.counts[LOWEST] += 1
    rare = int(state.higher[state.where.size + state.counts[LOWEST]])
    old = _last(state, SCANNED if state.counts[LENGTHS + SCANNED] > 0 else REUSED)
    history, victim = OUT, old
    if old != rare:
        history = LRU_GHOST if _uniform(state) < state.learned[WEIGHT] else LFU_GHOST
        victim = old if history == LRU_GHOST else rare
    _leave(state, victim)
    unlink(state.lower, state.higher, victim)
    if state.marks[victim] == DEMOTED:
        state.counts[DEMOTIONS] -= 1
        state.marks[victim] = 0
    if history == OUT:
        state.marks[victim] = 0
    else:
        _remember(state, victim, history)
    return victim


@step
def insert(state: State, page: int, i: int) -> int:
    """A ghost into R, another page into SR."""
    ghost = state.where[page]
    uses = 1
    if ghost != OUT:
        uses = state.uses[page] + 1
        _leave(state, page)
        _blame(state, ghost)
        if state.marks[page] == FRESH:
            _resize(state, True)
            state.counts[FRESH_GHOSTS] -= 1
        state.marks[page] = 0
    victim = NONE
    if state.counts[LENGTHS + SCANNED] + state.counts[LENGTHS + REUSED] == state.capacity:
        victim = _evict(state)
    if ghost != OUT:
        _reuse(state, page)
    else:
        _enter(state, page, SCANNED)
        state.marks[page] = FRESH
    state.uses[page] = uses
    link_head(state.lower, state.higher, state.where.size + uses, page)
    state.counts[LOWEST] = min(state.counts[LOWEST], uses)
    _learn(state)
    return victim
