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

from cachezoo.arrays import I32, I64
from cachezoo.kernels.evict import lrb
from cachezoo.kernels.evict.lrb import Settings
from cachezoo.kernels.sized.learning import HOLE, by_size, fill, take_slot
from cachezoo.kernels.step import step


class State(NamedTuple):
    """As the state for pages.

    Attributes:
        core: of the pages' kernel, but: `learner` is of `cachezoo.kernels.sized.learning`; `board` has a row for each
            resident and the open slot; `page_ids` are the objects of the requests; `capacity` is the objects that fit
            at mean size.
        held: the loop's.
    """

    core: lrb.State
    held: I64


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
    core = lrb.make(ids, n, entries, settings)
    learner = by_size(core.learner, held if weighed else None)
    return State(core._replace(learner=learner, board=np.zeros((n, 3))), held)


@step
def touch(state: State, key: int, i: int) -> None:
    """Remember, and to the list's head."""
    fill(state.core.learner, state.core.board)
    lrb.touch(state.core, key, i)
    state.core.learner.sizes[key] = state.held[key]


@step
def wants(state: State, key: int, i: int, size: int) -> bool:
    """Everything."""
    lrb.slide(state.core, i)
    return True


@step
def insert(state: State, key: int, i: int) -> None:
    """In, where who left last was."""
    take_slot(state.core.learner, state.core.board, key)
    lrb.meet(state.core, key, i)
    state.core.learner.sizes[key] = state.held[key]


@step
def remove(state: State, key: int) -> None:
    """Out; what is known of it is forgotten if it has left the window."""
    fill(state.core.learner, state.core.board)
    state.core.learner.numbers[HOLE] = lrb.retire(state.core, key)


@step
def resize(state: State, key: int, more: int) -> None:
    """Nothing: the loop's bytes are read."""


@step
def evict(state: State, i: int) -> int:
    """Out with whom the forest expects last."""
    fill(state.core.learner, state.core.board)
    key = lrb.choose(state.core, i)
    remove(state, key)
    return key
