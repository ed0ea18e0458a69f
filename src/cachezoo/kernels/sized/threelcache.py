"""3L-Cache-like, of objects: objects from both ends of the cache are predicted by the batch, and leave by a heap.

What `cachezoo.kernels.evict.threelcache` is for pages, whose module says how it learns and where it differs from the
authors'; here a size is one feature more, an eviction goes on until there is room, and what is void counts as evicted.
With objects of one byte it is the page cache.

Source: Zhou, Niu, Xiong, Fang, Wang, "3L-Cache: low overhead and precise learning-based eviction policy for caches",
FAST 2025.

Parameters: those for pages; objects 0: what is expected last leaves, for bytes hit; 1: the predicted requests to the
next one are weighed by the bytes, for objects hit.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I64
from cachezoo.kernels.evict import threelcache
from cachezoo.kernels.evict.threelcache import NEAR_HITS, WINDOWS, Settings
from cachezoo.kernels.learning import COUNT, SLOT
from cachezoo.kernels.sized.learning import HOLE, by_size, fill, take_slot
from cachezoo.kernels.step import step


class State(NamedTuple):
    """As the state for pages.

    Attributes:
        core: of the pages' kernel, but: `learner` is of `cachezoo.kernels.sized.learning`; rings, heap and board have
            room for all objects; `capacity` is the objects that fit at mean size.
        held: the loop's.
    """

    core: threelcache.State
    held: I64


def make(held: I64, length: int, entries: int, settings: Settings, weighed: bool) -> State:
    """Nothing resident.

    Args:
        held: int64[n_objects], the loop's.
        length: requests.
        entries: objects that fit at mean size.
        settings: the parameters.
        weighed: do bytes weigh in who leaves?
    """
    n = len(held)
    core = threelcache.make(length, n, n, settings)
    learner = by_size(core.learner, held if weighed else None)
    # Between two looks at the queue of what left, all residents may leave.
    gone = np.zeros(WINDOWS * n + 2, np.int32)
    return State(core._replace(learner=learner, gone=gone, capacity=entries), held)


@step
def touch(state: State, key: int, i: int) -> None:
    """Remember, void what was predicted, and to the list's head."""
    fill(state.core.learner, state.core.board)
    threelcache.touch(state.core, key, i)
    state.core.learner.sizes[key] = state.held[key]


@step
def insert(state: State, key: int, i: int) -> None:
    """In, where who left last was."""
    core = state.core
    learner = core.learner
    learner.numbers[NEAR_HITS] += learner.pages[key, COUNT] > 0
    threelcache.meet(core, key, i)
    learner.sizes[key] = state.held[key]
    replaces = learner.numbers[HOLE] >= 0
    take_slot(learner, core.board, key)
    threelcache.enter(core, key)
    if replaces:
        threelcache.forget(core, i)
        if i % core.settings.sample_every == 0:
            threelcache.mark(core, i)


@step
def remove(state: State, key: int) -> None:
    """To the queue of what left; its slot is open."""
    learner = state.core.learner
    fill(learner, state.core.board)
    learner.numbers[HOLE] = learner.pages[key, SLOT]
    threelcache.retire(state.core, key)


@step
def resize(state: State, key: int, more: int) -> None:
    """Nothing: the loop's bytes are read."""


@step
def evict(state: State, i: int) -> int:
    """Out with the first of the heap."""
    fill(state.core.learner, state.core.board)
    key = threelcache.choose(state.core, i)
    remove(state, key)
    return key
