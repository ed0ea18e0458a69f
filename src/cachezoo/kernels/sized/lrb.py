"""LRB-like, of objects: of some residents drawn at random, the one leaves that a forest expects to be asked for last.

What `cachezoo.kernels.evict.lrb` is for pages, whose module says how it learns and where it differs from the authors';
here a size is one feature more, an eviction goes on until there is room, and windows are counted in as many objects as
fit at mean size. With objects of one byte it is the page cache.

Source: Song, Berger, Li, Lloyd, "Learning relaxed Belady for content distribution network caching", NSDI 2020.

Parameters: those for pages; objects 0: what is expected last leaves, for bytes hit, as in the paper; 1: the requests to
the next one are weighed by the bytes, for objects hit, as libCacheSim's LRB does at objective=object-miss-ratio.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, I32, I64
from cachezoo.kernels.evict import lrb
from cachezoo.kernels.evict.lrb import CURSOR, DUE, PAGE, UNTIL, Settings, mark, reach
from cachezoo.kernels.learning import (
    ABSENT,
    AFTER,
    BEFORE,
    COUNT,
    LAST,
    SAMPLE,
    SLOT,
    TREES,
    UNMARKED,
    USED,
    draw,
    remember,
    score,
)
from cachezoo.kernels.lists import link_head, unlink
from cachezoo.kernels.sized.learning import HOLE, describe_bytes, fill, label_bytes, make_learner, take_slot
from cachezoo.kernels.step import step


class State(NamedTuple):
    """As the state for pages.

    Attributes:
        core: of the pages' kernel, but: `learner` is of `cachezoo.kernels.sized.learning`; `board` has a row for each
            resident and the open slot; `page_ids` are the objects of the requests; `capacity` is the objects that fit
            at mean size.
        held: the loop's.
        bytes: float32[n_objects] of each object when it was last resident.
        weighed: do bytes weigh in who leaves?
    """

    core: lrb.State
    held: I64
    bytes: F32
    weighed: bool


def make(held: I64, ids: I32, entries: int, settings: Settings, weighed: bool) -> State:
    """Nothing resident.

    Args:
        held: int64[n_objects], the loop's.
        ids: int32[n] of the requests.
        entries: objects that fit at mean size.
        settings: the parameters.
        weighed: do bytes weigh in who leaves?
    """
    n = len(held)
    learner = make_learner(n, settings.deltas, settings.counters, settings.candidates, settings.training)
    core = lrb.make(ids, n, entries, settings)._replace(learner=learner, board=np.zeros((n, 3)))
    return State(core, held, np.zeros(n, np.float32), weighed)


@step
def slide(state: State, window: int, i: int) -> None:
    """The window moves on to request i: what was last asked for W ago or more is labelled, and forgotten if outside."""
    learner = state.core.learner
    pages, numbers = learner.pages, learner.numbers
    for t in range(numbers[CURSOR], i - window + 1):
        key = state.core.page_ids[t]
        if pages[key, LAST] == t and pages[key, COUNT] > 0:
            if pages[key, SAMPLE] != UNMARKED:
                label_bytes(learner, state.bytes, key, 2 * window)
            if pages[key, SLOT] < 0:
                pages[key, COUNT] = 0
    numbers[CURSOR] = max(numbers[CURSOR], i - window + 1)


@step
def meet(state: State, key: int, i: int) -> None:
    """A request of an object that the cache has or takes in: remembered, at the list's head, its prediction void."""
    learner = state.core.learner
    pages = learner.pages
    if pages[key, COUNT] > 0 and pages[key, SAMPLE] != UNMARKED:
        label_bytes(learner, state.bytes, key, i - pages[key, SAMPLE])
    remember(pages, learner.decayed, key, i)
    state.bytes[key] = state.held[key]
    state.core.board[pages[key, SLOT], UNTIL] = 0
    link_head(pages[:, BEFORE], pages[:, AFTER], pages.shape[0] - 1, key)
    if i % state.core.settings.sample_every == 0:
        mark(state.core, reach(state.core, i), i)


@step
def touch(state: State, key: int, i: int) -> None:
    """Remember, and to the list's head."""
    fill(state.core.learner, state.core.board)
    slide(state, reach(state.core, i), i)
    unlink(state.core.learner.pages[:, BEFORE], state.core.learner.pages[:, AFTER], key)
    meet(state, key, i)


@step
def wants(state: State, key: int, i: int, size: int) -> bool:
    """Everything."""
    slide(state, reach(state.core, i), i)
    return True


@step
def insert(state: State, key: int, i: int) -> None:
    """In, where who left last was."""
    take_slot(state.core.learner, state.core.board, key)
    meet(state, key, i)


@step
def remove(state: State, key: int) -> None:
    """Out; what is known of it is forgotten if it has left the window."""
    fill(state.core.learner, state.core.board)
    pages, numbers = state.core.learner.pages, state.core.learner.numbers
    numbers[HOLE] = pages[key, SLOT]
    pages[key, SLOT] = ABSENT
    unlink(pages[:, BEFORE], pages[:, AFTER], key)
    if pages[key, LAST] < numbers[CURSOR]:
        pages[key, COUNT] = 0


@step
def resize(state: State, key: int, more: int) -> None:
    """Nothing: the loop's bytes are read."""


@step
def evict(state: State, i: int) -> int:
    """Out with whom the forest expects last."""
    fill(state.core.learner, state.core.board)
    key = choose(state, i)
    remove(state, key)
    return key


@step
def worth(state: State, slot: int, i: int) -> float:
    """What speaks for leaving."""
    due = state.core.board[slot, DUE]
    if state.weighed:
        return float((due - i) * state.held[int(state.core.board[slot, PAGE])])
    return float(due)


@step
def choose(state: State, i: int) -> int:
    """The resident to leave."""
    learner, board = state.core.learner, state.core.board
    pages, numbers = learner.pages, learner.numbers
    oldest = pages[pages.shape[0] - 1, BEFORE]
    if numbers[TREES] == 0 or pages[oldest, LAST] < numbers[CURSOR]:
        return int(oldest)
    drawn, stale, scores = state.core.drawn, state.core.stale, learner.scores
    count = 0
    for c in range(drawn.size):
        slot = draw(numbers, numbers[USED])
        drawn[c] = slot
        if board[slot, UNTIL] <= i:
            board[slot, UNTIL] = i + 1
            stale[count] = slot
            describe_bytes(learner, state.bytes, int(board[slot, PAGE]), i, count)
            count += 1
    score(learner, count)
    for k in range(count):
        distance = np.exp(scores[k])
        board[stale[k], DUE] = i + distance
        board[stale[k], UNTIL] = i + max(1.0, state.core.settings.patience * distance)
    best = drawn[0]
    for c in range(1, drawn.size):
        if worth(state, drawn[c], i) > worth(state, best, i):
            best = drawn[c]
    return int(board[best, PAGE])
