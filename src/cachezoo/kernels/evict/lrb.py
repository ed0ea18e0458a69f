"""LRB-like: of some residents drawn at random, the page leaves that a forest expects to be asked for last.

Source: Song, Berger, Li, Lloyd, "Learning relaxed Belady for content distribution network caching", NSDI 2020.
A sliding memory window of W accesses, shorter at first: half of what was seen, but at least two capacities. Of the
pages last accessed within it (resident or not) one is drawn now and then and marked; when it is accessed, the
logarithm of the accesses since the mark is the label of a training row, and when it leaves the window without an
access, log 2W: beyond the relaxed Belady boundary all pages are alike. A resident that has left the window leaves the
cache first; else a forest, trained anew as rows come in (see `cachezoo.policies.evictions.learned`), predicts the
next access of a sample of the residents. LRU until it is trained.

Parameters: window W in capacities, 8; candidates 64, the sample; sample_every 8, accesses for each draw of a page to
mark; patience 0.25; deltas, counters: features, see `cachezoo.kernels.learning`; and the forest's.

    where it differs     here                                         libCacheSim's LRB (the authors')
    memory window        a parameter, in capacities; grows to that    2**26 accesses unless set
    features             8 intervals, 5 EDC by 4x, page age           31 intervals, 10 EDC by 2x, size
    missing intervals    a large number                               0
    marks                every 8th access, one a page at a time       every access, any number a page
    who is marked        the last access of a page in the window,     a uniform page of the window
                         by trial of 8 random accesses
    training             the latest 16,384 rows, first after 2,048    131,072 rows, then the next 131,072
    forest               16 trees of 32 leaves, at most 6 deep        32 trees of 32 leaves
    predictions          kept until the page is accessed, the         made anew at each eviction
                         forest changes, or a share `patience` of
                         the predicted time has passed; 0 = never
    a resident past W    its mark is labelled when it passes W        when it is evicted
    sizes                all pages are alike                          an object's size is a feature and a weight
"""

from typing import NamedTuple

import numpy as np

from cachezoo.kernels.learning import (
    ABSENT,
    BEFORE,
    COUNT,
    F32,
    F64,
    I32,
    I64,
    LAST,
    OWN,
    SAMPLE,
    SLOT,
    TREES,
    U32,
    UNMARKED,
    USED,
    Nodes,
    blank_forest,
    blank_numbers,
    blank_pages,
    blank_rows,
    describe,
    draw,
    label,
    link_head,
    remember,
    score,
    unlink,
)
from cachezoo.kernels.step import step

CURSOR = OWN
PAGE, DUE, UNTIL = 0, 1, 2
TRIALS = 8


class State(NamedTuple):
    """Residents in an LRU list and in an array to draw from.

    Attributes:
        pages, decayed, rows, forest: see `cachezoo.kernels.learning`.
        numbers: as there; `CURSOR` is the next access to leave the window.
        board: float64[residents at most, 3], for each slot its page, when it is expected next, and the access number
            from which on that is to be predicted anew.
        chosen, asked: int32[candidates], work space: slots drawn, slots to predict.
        work, at, scores: float32[candidates, features], uint32 and float64[candidates], work space of `score`.
        page_ids: int32[m] the stream's, of which only what is past is read.
        capacity, window, sample_every: pages, accesses, accesses.
        patience: share of a predicted time for which the prediction stands.
        learning_rate, threads, seed: what the training takes.
    """

    pages: I32
    decayed: F32
    rows: F32
    forest: Nodes
    numbers: I64
    board: F64
    chosen: I32
    asked: I32
    work: F32
    at: U32
    scores: F64
    page_ids: I32
    capacity: int
    window: int
    sample_every: int
    patience: float
    learning_rate: float
    threads: int
    seed: int


def make(
    page_ids: I32, n_pages: int, capacity: int, *, window: int, candidates: int, sample_every: int, patience: float,
    deltas: int, counters: int, rows: int, trees: int, leaves: int, learning_rate: float, threads: int, seed: int,
) -> State:  # fmt: skip
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    return State(
        blank_pages(n_pages, deltas), np.zeros((n_pages, counters), np.float32), blank_rows(rows, deltas, counters),
        blank_forest(trees, leaves), blank_numbers(seed), np.zeros((min(capacity, n_pages), 3)),
        np.zeros(candidates, np.int32), np.zeros(candidates, np.int32),
        np.zeros((candidates, deltas + counters + 3), np.float32), np.zeros(candidates, np.uint32),
        np.zeros(candidates, np.float64), page_ids, capacity, window, sample_every, patience, learning_rate, threads,
        seed,
    )  # fmt: skip


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.pages[page, SLOT] >= 0)


@step
def touch(state: State, page: int, i: int) -> None:
    """Remember, and to the list's head."""
    pages, decayed, numbers = state.pages, state.decayed, state.numbers
    window = reach(state.window, state.capacity, i)
    slide(pages, decayed, state.rows, numbers, state.page_ids, window, i)
    if pages[page, SAMPLE] != UNMARKED:
        label(pages, decayed, state.rows, numbers, page, i - pages[page, SAMPLE])
    remember(pages, decayed, page, i)
    state.board[pages[page, SLOT], UNTIL] = 0
    unlink(pages, page)
    link_head(pages, page)
    if i % state.sample_every == 0:
        mark(pages, state.page_ids, numbers, window, i)


@step
def insert(state: State, page: int, i: int) -> int:
    """In, and out with whom the forest expects last."""
    pages, decayed, numbers = state.pages, state.decayed, state.numbers
    window = reach(state.window, state.capacity, i)
    slide(pages, decayed, state.rows, numbers, state.page_ids, window, i)
    victim = -1
    slot = numbers[USED]
    if slot == state.capacity:
        victim = choose(state, i, window)
        slot = pages[victim, SLOT]
        pages[victim, SLOT] = ABSENT
        unlink(pages, victim)
        if pages[victim, LAST] <= i - window:
            pages[victim, COUNT] = 0
    else:
        numbers[USED] += 1
    if pages[page, COUNT] > 0 and pages[page, SAMPLE] != UNMARKED:
        label(pages, decayed, state.rows, numbers, page, i - pages[page, SAMPLE])
    remember(pages, decayed, page, i)
    pages[page, SLOT] = slot
    state.board[slot, PAGE] = page
    state.board[slot, UNTIL] = 0
    link_head(pages, page)
    if i % state.sample_every == 0:
        mark(pages, state.page_ids, numbers, window, i)
    return int(victim)


@step
def reach(window: int, capacity: int, i: int) -> int:
    """The window at access i: half of what was seen, from two capacities on."""
    return min(window, max(2 * capacity, i // 2))


@step
def slide(pages: I32, decayed: F32, rows: F32, numbers: I64, page_ids: I32, window: int, i: int) -> None:
    """The window moves on to access i: pages last accessed W ago or more are labelled, and forgotten if outside."""
    for t in range(numbers[CURSOR], i - window + 1):
        page = page_ids[t]
        if pages[page, LAST] == t and pages[page, COUNT] > 0:
            if pages[page, SAMPLE] != UNMARKED:
                label(pages, decayed, rows, numbers, page, 2 * window)
            if pages[page, SLOT] < 0:
                pages[page, COUNT] = 0
    numbers[CURSOR] = max(numbers[CURSOR], i - window + 1)


@step
def mark(pages: I32, page_ids: I32, numbers: I64, window: int, i: int) -> None:
    """Mark a page of the window, unless it has a mark: one whose last access is one of a few drawn at random."""
    span = min(i + 1, window)
    for _ in range(TRIALS):
        t = i - draw(numbers, span)
        page = page_ids[t]
        if pages[page, LAST] == t and pages[page, COUNT] > 0:
            if pages[page, SAMPLE] == UNMARKED:
                pages[page, SAMPLE] = i
            return


@step
def choose(state: State, i: int, window: int) -> int:
    """The resident to leave."""
    pages, numbers, board = state.pages, state.numbers, state.board
    oldest = pages[pages.shape[0] - 1, BEFORE]
    if numbers[TREES] == 0 or pages[oldest, LAST] <= i - window:
        return int(oldest)
    chosen, asked, scores = state.chosen, state.asked, state.scores
    count = 0
    for c in range(chosen.size):
        slot = draw(numbers, numbers[USED])
        chosen[c] = slot
        if board[slot, UNTIL] <= i:
            board[slot, UNTIL] = i + 1
            asked[count] = slot
            describe(pages, state.decayed, int(board[slot, PAGE]), i, state.work, count)
            count += 1
    score(state.forest, numbers[TREES], state.work, count, state.at, scores)
    for k in range(count):
        distance = np.exp(scores[k])
        board[asked[k], DUE] = i + distance
        board[asked[k], UNTIL] = i + max(1.0, state.patience * distance)
    best = chosen[0]
    for c in range(1, chosen.size):
        if board[chosen[c], DUE] > board[best, DUE]:
            best = chosen[c]
    return int(board[best, PAGE])
