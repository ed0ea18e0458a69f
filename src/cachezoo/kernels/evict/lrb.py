"""LRB-like: of some residents drawn at random, the page leaves that a forest expects to be asked for last.

Source: Song, Berger, Li, Lloyd, "Learning relaxed Belady for content distribution network caching", NSDI 2020.
A sliding memory window of W accesses, shorter at first: half of what was seen, but at least two capacities. Of the
pages last accessed within it (resident or not) one is drawn now and then and marked, however many marks it has. When it
is accessed, the logarithm of the accesses since each mark is the label of a training row, and when it leaves the window
without an access, log 2W: beyond the relaxed Belady boundary all pages are alike. A resident that has left the window
leaves the cache first; else a forest, trained anew as rows come in (see `cachezoo.policies.evictions.learned`),
predicts the next access of a sample of the residents. LRU until it is trained.

Parameters: window W in capacities, 8; candidates 64, the sample; sample_every 8, accesses for each draw of a page to
mark; patience 0.25; deltas, counters: features, see `cachezoo.kernels.learning`; and the forest's.

    where it differs     here                                         libCacheSim's LRB (the authors')
    memory window        a parameter, in capacities; grows to that    2**26 accesses unless set
    features             8 intervals, 5 EDC by 4x, page age           31 intervals, 10 EDC by 2x, size
    missing intervals    a large number                               0
    marks                every 8th access                             every access
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

from cachezoo.arrays import F64, I32
from cachezoo.kernels import learning
from cachezoo.kernels.learning import (
    ABSENT,
    AFTER,
    BEFORE,
    COUNT,
    LAST,
    OWN,
    SAMPLE,
    SLOT,
    TREES,
    UNMARKED,
    USED,
    Learner,
    Training,
    describe,
    draw,
    label,
    remember,
    score,
)
from cachezoo.kernels.lists import link_head, unlink
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

CURSOR = OWN
PAGE, DUE, UNTIL = 0, 1, 2
TRIALS = 8


class Settings(NamedTuple):
    """The module's parameters, the window in accesses."""

    window: int
    candidates: int
    sample_every: int
    patience: float
    deltas: int
    counters: int
    training: Training


class State(NamedTuple):
    """Residents in an LRU list and in an array to draw from.

    Attributes:
        learner: see `cachezoo.kernels.learning`; of its numbers, `CURSOR` is the next access to leave the window.
        board: float64[residents at most, 3], for each slot its page, when it is expected next, and the access number
            from which on that is to be predicted anew.
        drawn, stale: int32[candidates], work space: slots drawn, slots to predict.
        marks: int32[those of a window and one, 2], ring: the access at which a mark was made, and the place of the
            page's mark before it, or `UNMARKED`. A page's `SAMPLE` is the place of its latest.
        page_ids: int32[m] the stream's, of which only what is past is read.
        capacity: pages.
        settings: the parameters.
    """

    learner: Learner
    board: F64
    drawn: I32
    stale: I32
    marks: I32
    page_ids: I32
    capacity: int
    settings: Settings


def make(page_ids: I32, n_pages: int, capacity: int, settings: Settings) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages), for these accesses."""
    most = settings.candidates
    learner = learning.make(n_pages, settings.deltas, settings.counters, most, settings.training)
    board, drawn, stale = np.zeros((min(capacity, n_pages), 3)), np.zeros(most, np.int32), np.zeros(most, np.int32)
    marks = np.zeros((min(settings.window, len(page_ids)) // settings.sample_every + 2, 2), np.int32)
    return State(learner, board, drawn, stale, marks, page_ids, capacity, settings)


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.learner.pages[page, SLOT] >= 0)


@step
def touch(state: State, page: int, i: int) -> None:
    """Remember, and to the list's head."""
    pages = state.learner.pages
    slide(state, i)
    unlink(pages[:, BEFORE], pages[:, AFTER], page)
    meet(state, page, i)


@step
def insert(state: State, page: int, i: int) -> int:
    """In, and out with whom the forest expects last."""
    pages, numbers = state.learner.pages, state.learner.numbers
    slide(state, i)
    victim = NONE
    slot = numbers[USED]
    if slot == state.capacity:
        victim = choose(state, i)
        slot = retire(state, victim)
    else:
        numbers[USED] += 1
    pages[page, SLOT] = slot
    state.board[slot, PAGE] = page
    meet(state, page, i)
    return int(victim)


@step
def meet(state: State, page: int, i: int) -> None:
    """An access to a page that has a slot: remembered, at the list's head, its prediction void."""
    learner = state.learner
    pages = learner.pages
    if pages[page, COUNT] > 0:
        settle(state, page, i, 0)
    remember(pages, learner.decayed, page, i)
    state.board[pages[page, SLOT], UNTIL] = 0
    link_head(pages[:, BEFORE], pages[:, AFTER], pages.shape[0] - 1, page)
    if i % state.settings.sample_every == 0:
        mark(state, i)


@step
def retire(state: State, page: int) -> int:
    """A resident leaves, and is forgotten if it has left the window; the slot that it had."""
    pages = state.learner.pages
    slot = pages[page, SLOT]
    pages[page, SLOT] = ABSENT
    unlink(pages[:, BEFORE], pages[:, AFTER], page)
    if pages[page, LAST] < state.learner.numbers[CURSOR]:
        pages[page, COUNT] = 0
    return int(slot)


@step
def reach(state: State, i: int) -> int:
    """The window at access i: half of what was seen, from two capacities on."""
    return min(state.settings.window, max(2 * state.capacity, i // 2))


@step
def slide(state: State, i: int) -> None:
    """The window moves on to access i: pages last accessed W ago or more are labelled, and forgotten if outside."""
    learner, window = state.learner, reach(state, i)
    pages, numbers = learner.pages, learner.numbers
    for t in range(numbers[CURSOR], i - window + 1):
        page = state.page_ids[t]
        if pages[page, LAST] == t and pages[page, COUNT] > 0:
            settle(state, page, i, 2 * window)
            if pages[page, SLOT] < 0:
                pages[page, COUNT] = 0
    numbers[CURSOR] = max(numbers[CURSOR], i - window + 1)


@step
def settle(state: State, page: int, i: int, beyond: int) -> None:
    """Each mark of a page becomes a row: of the accesses from it to access i or, where that is not 0, of `beyond`."""
    pages, marks = state.learner.pages, state.marks
    place = pages[page, SAMPLE]
    while place != UNMARKED:
        made, before = marks[place, 0], marks[place, 1]
        pages[page, SAMPLE] = made
        label(state.learner, page, beyond if beyond > 0 else i - made)
        place = before


@step
def mark(state: State, i: int) -> None:
    """Mark a page of the window: one whose last access is one of a few drawn at random."""
    pages = state.learner.pages
    span = min(i + 1, reach(state, i))
    for _ in range(TRIALS):
        t = i - draw(state.learner.numbers, span)
        page = state.page_ids[t]
        if pages[page, LAST] == t and pages[page, COUNT] > 0:
            # A mark is settled before it is a window old, so its place is free when it comes round.
            place = (i // state.settings.sample_every) % state.marks.shape[0]
            state.marks[place, 0] = i
            state.marks[place, 1] = pages[page, SAMPLE]
            pages[page, SAMPLE] = place
            return


@step
def worth(state: State, slot: int, i: int) -> float:
    """What speaks for leaving: when the page is expected, or the accesses until then, weighed."""
    due, weights = state.board[slot, DUE], state.learner.weights
    if weights.size > 0:
        return float((due - i) * weights[int(state.board[slot, PAGE])])
    return float(due)


@step
def choose(state: State, i: int) -> int:
    """The resident to leave."""
    learner, board = state.learner, state.board
    pages, numbers = learner.pages, learner.numbers
    oldest = pages[pages.shape[0] - 1, BEFORE]
    if numbers[TREES] == 0 or pages[oldest, LAST] < numbers[CURSOR]:
        return int(oldest)
    drawn, stale, scores = state.drawn, state.stale, learner.scores
    count = 0
    for c in range(drawn.size):
        slot = draw(numbers, numbers[USED])
        drawn[c] = slot
        if board[slot, UNTIL] <= i:
            board[slot, UNTIL] = i + 1
            stale[count] = slot
            describe(pages, learner.decayed, learner.sizes, int(board[slot, PAGE]), i, learner.inputs, count)
            count += 1
    score(learner, count)
    for k in range(count):
        distance = np.exp(scores[k])
        board[stale[k], DUE] = i + distance
        board[stale[k], UNTIL] = i + max(1.0, state.settings.patience * distance)
    best = drawn[0]
    for c in range(1, drawn.size):
        if worth(state, drawn[c], i) > worth(state, best, i):
            best = drawn[c]
    return int(board[best, PAGE])
