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

from cachezoo.arrays import F32, I64
from cachezoo.kernels.evict import threelcache
from cachezoo.kernels.evict.threelcache import (
    ACCESSES,
    BATCH,
    DUE,
    FAR,
    FARTHEST,
    GONE_IN,
    GONE_OUT,
    HAND,
    HEAP,
    HISTOGRAM,
    HITS,
    LEAVERS,
    LEFT,
    LENGTH,
    NEAR_HITS,
    NEW_IN,
    NEW_OUT,
    ORIGIN,
    RESERVE,
    WINDOW,
    WINDOWS,
    Settings,
    mark,
    pop,
    power,
    push,
    retire,
    take_new,
    walk,
)
from cachezoo.kernels.learning import (
    AFTER,
    BEFORE,
    COUNT,
    LAST,
    NUMBER,
    SAMPLE,
    SLOT,
    TREES,
    UNMARKED,
    USED,
    remember,
    score,
)
from cachezoo.kernels.lists import link_head, unlink
from cachezoo.kernels.sized.learning import HOLE, describe_bytes, fill, label_bytes, make_learner, take_slot
from cachezoo.kernels.step import step


class State(NamedTuple):
    """As the state for pages.

    Attributes:
        core: of the pages' kernel, but: `learner` is of `cachezoo.kernels.sized.learning`; rings, heap and board have
            room for all objects; `capacity` is the objects that fit at mean size.
        held: the loop's.
        bytes: float32[n_objects] of each object when it was last resident.
        weighed: do bytes weigh in who leaves?
    """

    core: threelcache.State
    held: I64
    bytes: F32
    weighed: bool


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
    learner = make_learner(n, settings.deltas, 0, len(core.drawn), settings.training)
    numbers = core.learner.numbers
    numbers[HOLE] = -1
    # Between two looks at the queue of what left, all residents may leave.
    gone = np.zeros(WINDOWS * n + 2, np.int32)
    core = core._replace(learner=learner._replace(numbers=numbers), gone=gone, capacity=entries)
    return State(core, held, np.zeros(n, np.float32), weighed)


@step
def meet(state: State, key: int, i: int) -> None:
    """A request of an object that is or was of the cache is its label; it is remembered."""
    learner = state.core.learner
    pages = learner.pages
    if pages[key, COUNT] > 0 and pages[key, SAMPLE] != UNMARKED:
        label_bytes(learner, state.bytes, key, i - pages[key, SAMPLE])
    remember(pages, learner.decayed, key, i)
    state.bytes[key] = state.held[key]


@step
def touch(state: State, key: int, i: int) -> None:
    """Remember, void what was predicted, and to the list's head."""
    learner, board = state.core.learner, state.core.board
    pages, numbers = learner.pages, learner.numbers
    fill(learner, board)
    numbers[ACCESSES] += 1
    numbers[HITS] += 1
    meet(state, key, i)
    board[pages[key, SLOT], DUE] = -1.0
    if numbers[HAND] == key:
        numbers[HAND] = pages[key, BEFORE]
    unlink(pages[:, BEFORE], pages[:, AFTER], key)
    link_head(pages[:, BEFORE], pages[:, AFTER], pages.shape[0] - 1, key)
    if i % state.core.settings.sample_every == 0:
        mark(state.core, i)


@step
def insert(state: State, key: int, i: int) -> None:
    """In, where who left last was."""
    learner, board, fresh = state.core.learner, state.core.board, state.core.fresh
    pages, numbers = learner.pages, learner.numbers
    numbers[ACCESSES] += 1
    numbers[NEAR_HITS] += pages[key, COUNT] > 0
    meet(state, key, i)
    replaces = numbers[HOLE] >= 0
    slot = take_slot(learner, board, key)
    pages[key, NUMBER] = -1
    board[slot, DUE] = -1.0
    link_head(pages[:, BEFORE], pages[:, AFTER], pages.shape[0] - 1, key)
    if numbers[TREES] > 0:
        numbers[NEW_OUT] += numbers[NEW_IN] - numbers[NEW_OUT] == fresh.size
        pages[key, NUMBER] = numbers[NEW_IN]
        fresh[numbers[NEW_IN] % fresh.size] = key
        numbers[NEW_IN] += 1
    if replaces:
        forget(state, i)
        if i % state.core.settings.sample_every == 0:
            mark(state.core, i)


@step
def remove(state: State, key: int) -> None:
    """To the queue of what left; its slot is open."""
    learner = state.core.learner
    fill(learner, state.core.board)
    learner.numbers[HOLE] = learner.pages[key, SLOT]
    retire(state.core, key)


@step
def resize(state: State, key: int, more: int) -> None:
    """Nothing: the loop's bytes are read."""


@step
def evict(state: State, i: int) -> int:
    """Out with the first of the heap."""
    fill(state.core.learner, state.core.board)
    key = choose(state, i)
    remove(state, key)
    return key


@step
def forget(state: State, i: int) -> None:
    """What the window no longer covers falls off the queue, with a label if it is marked."""
    learner, gone = state.core.learner, state.core.gone
    pages, numbers = learner.pages, learner.numbers
    while numbers[GONE_IN] - numbers[GONE_OUT] > (numbers[WINDOW] - 1) * numbers[USED]:
        key = gone[numbers[GONE_OUT] % gone.size]
        if pages[key, SLOT] < 0 and pages[key, NUMBER] == numbers[GONE_OUT]:
            age = i - pages[key, LAST]
            if pages[key, SAMPLE] != UNMARKED:
                label_bytes(learner, state.bytes, key, numbers[FAR] + age)
            numbers[FARTHEST] = max(numbers[FARTHEST], age)
            pages[key, COUNT] = 0
        numbers[GONE_OUT] += 1


@step
def choose(state: State, i: int) -> int:
    """The resident to leave."""
    core = state.core
    pages, numbers, board = core.learner.pages, core.learner.numbers, core.board
    oldest = pages[pages.shape[0] - 1, BEFORE]
    if numbers[TREES] == 0:
        return int(oldest)
    if numbers[LEFT] <= 0 or numbers[HEAP] == 0:
        count = predict(state, i)
        numbers[LEFT] = max(1, count // 2)
    numbers[LEFT] -= 1
    while numbers[HEAP] > 0:
        due, key = core.heap[0, 0], int(core.heap[0, 1])
        pop(core.heap, numbers)
        slot = pages[key, SLOT]
        if slot >= 0 and board[slot, DUE] == due:
            numbers[LEAVERS + int(board[slot, ORIGIN])] += 1
            numbers[HISTOGRAM + power(pages[key, COUNT])] += 1
            return key
    return int(pages[pages.shape[0] - 1, BEFORE])


@step
def predict(state: State, i: int) -> int:
    """Draw a batch from both ends, predict it, and put it on the heap; how many objects it was."""
    core = state.core
    learner, drawn = core.learner, core.drawn
    numbers = learner.numbers
    if numbers[LENGTH] == 0:
        numbers[LENGTH] = numbers[USED]
    batch = max(1, min(BATCH, numbers[USED] // 100 + 2, numbers[USED] // 2))
    count = take_new(core, batch + batch // 2)
    if (numbers[NEW_IN] - numbers[NEW_OUT]) * 10 <= numbers[USED] * numbers[RESERVE]:
        count = walk(core, count, batch)
    for k in range(count):
        describe_bytes(learner, state.bytes, drawn[k], i, k)
    score(learner, count)
    for k in range(count):
        distance = np.exp(learner.scores[k])
        if state.weighed:
            distance *= state.held[drawn[k]]
        due = i + distance
        core.board[learner.pages[drawn[k], SLOT], DUE] = due
        push(core.heap, numbers, due, drawn[k])
    return int(count)
