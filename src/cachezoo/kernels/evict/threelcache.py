"""3L-Cache-like: pages from both ends of the cache are predicted by the batch, and leave by the order of a heap.

Source: Zhou, Niu, Xiong, Fang, Wang, "3L-Cache: low overhead and precise learning-based eviction policy for caches",
FAST 2025; behaviour where the paper is short of detail as in libCacheSim's copy of the authors' code.

Training data: the window is the residents and a queue of evicted pages, at first as long as the cache. Every so often
a uniform page of it is marked; the label is the logarithm of the accesses from the mark to the page's next one. A page
that falls off the queue still marked gets its age plus the greatest age of any that fell off before the last training.
The queue grows, to five caches at most, while more than 1 % as many hits lie in it, a cache's length of it, as in the
cache (`cachezoo.policies.evictions.learned`).

Eviction: bidirectional sampling draws a batch, 1,024 or 1 % of the residents. From the young end: what entered longest
ago of the new pages, once these are more than a reserve. From the old end: a hand that walks the LRU list from its
tail takes all pages of the first `tail` percent, and further on those accessed no more often than 99 % of what left in
the pass before. The batch's predicted times of next access go to a heap; half as many pages as were predicted then
leave, farthest first, before the next batch. An access makes a page's prediction void, a pass of the hand all of them.
At the end of a pass, `tail` rises by 1 if a page taken there was more likely to leave than one taken later, else falls;
the reserve rises by 1 percent of the cache if more of the leaving came from the hand than new pages wait, else halves.

    where it differs     here                                         libCacheSim's ThreeLCache (the authors')
    features             age, 3 intervals, accesses, page age         age, 3 intervals, accesses, size
    missing intervals    a large number                               0
    marks                every 4th access, all used                   every access, a quarter used once trained
    training             the latest 16,384 rows, first after 2,048    65,536 rows, then the next 65,536
    window               reviewed every 4 capacities of accesses      every 10**6
    reserve              at most half the cache                       unbounded
    99 % of what left    within the frequency's own power of two      within the one below
    what left whence     kept for each page                           by its age against the hand's
    before the forest    pages that entered are not counted new       same
    heap runs dry        the list's tail leaves                       undefined
    sizes                all pages are alike                          sizes weigh, for object miss ratios
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64
from cachezoo.kernels import learning
from cachezoo.kernels.learning import (
    ABSENT,
    AFTER,
    BEFORE,
    COUNT,
    LAST,
    NUMBER,
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

# Places in `numbers`: the hand's page, its steps in this pass, residents when the pass began; evictions left before the
# next batch; entries of the heap; entries that ever came to and went from the queues of evicted and of new pages;
# the pass's settings; the window in caches; ages of what falls off; accesses, hits and hits in the queue since the
# window's last review; pages that left, and were predicted, by origin; pages that left, by log2 of their accesses.
HAND, STEPS, LENGTH, LEFT, HEAP = range(OWN, OWN + 5)
GONE_IN, GONE_OUT, NEW_IN, NEW_OUT = range(OWN + 5, OWN + 9)
OFTEN, TAIL, RESERVE, WINDOW, FAR, FARTHEST = range(OWN + 9, OWN + 15)
ACCESSES, HITS, NEAR_HITS = range(OWN + 15, OWN + 18)
LEAVERS, ASKED, HISTOGRAM = OWN + 18, OWN + 21, OWN + 24
YOUNG, OLD, FURTHER = range(3)
PAGE, DUE, ORIGIN = range(3)
BATCH = 1024
WINDOWS = 6
POWERS = 32


class Settings(NamedTuple):
    """The parameters: accesses for each mark, intervals that are features, how the forest is trained."""

    sample_every: int
    deltas: int
    training: Training


class State(NamedTuple):
    """Residents in an LRU list and in an array to draw from, what was evicted, what is new, what is predicted."""

    # see `cachezoo.kernels.learning`; a page's `NUMBER` is its entry in `fresh` while resident, in `gone` while not.
    # Its numbers are as there, and as above; it predicts 2.5 batches at most
    learner: Learner
    # float64[residents at most, 3], for each slot its page, when it is expected next (-1 unknown), and which way it was
    # drawn
    board: F64
    gone: I32  # int32, ring of evicted pages; an entry counts until its page enters again
    fresh: I32  # int32, ring of pages that entered; an entry counts until its page leaves
    heap: F64  # float64[entries, 2], time and page, the farthest on top; an entry counts while the board says the same
    drawn: I32  # int32, work space: the pages of a batch
    length: int  # accesses of the stream
    capacity: int  # pages
    settings: Settings  # the parameters


def make(length: int, n_pages: int, capacity: int, settings: Settings) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages), for a stream of so many accesses."""
    room = min(capacity, n_pages)
    most = BATCH * 5 // 2
    learner = learning.make(n_pages, settings.deltas, 0, most, settings.training)
    learner.numbers[[HAND, OFTEN, TAIL, RESERVE, WINDOW]] = n_pages, 1, 1, 2, 2
    return State(
        learner, np.full((room, 3), -1.0), np.zeros((WINDOWS - 1) * room + 2, np.int32),
        np.zeros(room + 2 * BATCH, np.int32), np.zeros((2 * room + 4 * BATCH, 2)), np.zeros(most, np.int32),
        length, capacity, settings,
    )  # fmt: skip


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.learner.pages[page, SLOT] >= 0)


@step
def touch(state: State, page: int, i: int) -> None:
    """Remember, void what was predicted, and to the list's head."""
    pages, numbers = state.learner.pages, state.learner.numbers
    numbers[HITS] += 1
    meet(state, page, i)
    state.board[pages[page, SLOT], DUE] = -1.0
    if numbers[HAND] == page:
        numbers[HAND] = pages[page, BEFORE]
    unlink(pages[:, BEFORE], pages[:, AFTER], page)
    link_head(pages[:, BEFORE], pages[:, AFTER], pages.shape[0] - 1, page)
    if i % state.settings.sample_every == 0:
        mark(state, i)


@step
def insert(state: State, page: int, i: int) -> int:
    """In, and out with the farthest on the heap."""
    pages, numbers = state.learner.pages, state.learner.numbers
    numbers[NEAR_HITS] += pages[page, COUNT] > 0
    meet(state, page, i)
    victim = NONE
    slot = numbers[USED]
    if slot == state.capacity:
        victim = choose(state, i)
        slot = pages[victim, SLOT]
        retire(state, victim)
    else:
        numbers[USED] += 1
    pages[page, SLOT] = slot
    state.board[slot, PAGE] = page
    enter(state, page)
    if victim >= 0:
        forget(state, i)
        if i % state.settings.sample_every == 0:
            mark(state, i)
    return int(victim)


@step
def meet(state: State, page: int, i: int) -> None:
    """An access: the label of a page that is marked and remembered; it is remembered."""
    learner = state.learner
    pages = learner.pages
    learner.numbers[ACCESSES] += 1
    if pages[page, COUNT] > 0 and pages[page, SAMPLE] != UNMARKED:
        label(learner, page, i - pages[page, SAMPLE])
    remember(pages, learner.decayed, page, i)


@step
def enter(state: State, page: int) -> None:
    """A page that has a slot goes to the list's head, and is new."""
    pages, numbers, fresh = state.learner.pages, state.learner.numbers, state.fresh
    pages[page, NUMBER] = -1
    state.board[pages[page, SLOT], DUE] = -1.0
    link_head(pages[:, BEFORE], pages[:, AFTER], pages.shape[0] - 1, page)
    if numbers[TREES] > 0:
        numbers[NEW_OUT] += numbers[NEW_IN] - numbers[NEW_OUT] == fresh.size
        pages[page, NUMBER] = numbers[NEW_IN]
        fresh[numbers[NEW_IN] % fresh.size] = page
        numbers[NEW_IN] += 1


@step
def retire(state: State, page: int) -> None:
    """A resident goes to the queue of evicted pages."""
    pages, numbers, gone = state.learner.pages, state.learner.numbers, state.gone
    if numbers[HAND] == page:
        numbers[HAND] = pages[page, BEFORE]
    unlink(pages[:, BEFORE], pages[:, AFTER], page)
    pages[page, SLOT] = ABSENT
    pages[page, NUMBER] = numbers[GONE_IN]
    gone[numbers[GONE_IN] % gone.size] = page
    numbers[GONE_IN] += 1


@step
def forget(state: State, i: int) -> None:
    """What the window no longer covers falls off the queue, with a label if it is marked."""
    learner, gone = state.learner, state.gone
    pages, numbers = learner.pages, learner.numbers
    while numbers[GONE_IN] - numbers[GONE_OUT] > (numbers[WINDOW] - 1) * numbers[USED]:
        page = gone[numbers[GONE_OUT] % gone.size]
        if pages[page, SLOT] < 0 and pages[page, NUMBER] == numbers[GONE_OUT]:
            age = i - pages[page, LAST]
            if pages[page, SAMPLE] != UNMARKED:
                label(learner, page, numbers[FAR] + age)
            numbers[FARTHEST] = max(numbers[FARTHEST], age)
            pages[page, COUNT] = 0
        numbers[GONE_OUT] += 1


@step
def mark(state: State, i: int) -> None:
    """Mark a uniform page of the residents and the queue, unless it has a mark or the entry no longer counts."""
    pages, numbers, gone = state.learner.pages, state.learner.numbers, state.gone
    k = draw(numbers, numbers[USED] + numbers[GONE_IN] - numbers[GONE_OUT])
    if k < numbers[USED]:
        page = int(state.board[k, PAGE])
    else:
        entry = numbers[GONE_OUT] + k - numbers[USED]
        page = gone[entry % gone.size]
        if pages[page, SLOT] >= 0 or pages[page, NUMBER] != entry:
            return
    if pages[page, SAMPLE] == UNMARKED:
        pages[page, SAMPLE] = i


@step
def choose(state: State, i: int) -> int:
    """The resident to leave."""
    pages, numbers, board = state.learner.pages, state.learner.numbers, state.board
    oldest = pages[pages.shape[0] - 1, BEFORE]
    if numbers[TREES] == 0:
        return int(oldest)
    if numbers[LEFT] <= 0 or numbers[HEAP] == 0:
        count = predict(state, i)
        numbers[LEFT] = max(1, count // 2)
    numbers[LEFT] -= 1
    while numbers[HEAP] > 0:
        due, page = state.heap[0, 0], int(state.heap[0, 1])
        pop(state.heap, numbers)
        slot = pages[page, SLOT]
        if slot >= 0 and board[slot, DUE] == due:
            numbers[LEAVERS + int(board[slot, ORIGIN])] += 1
            numbers[HISTOGRAM + power(pages[page, COUNT])] += 1
            return page
    return int(oldest)


@step
def power(count: int) -> int:
    """Whole part of the logarithm to base 2."""
    k = 0
    while count > 1:
        count >>= 1
        k += 1
    return k


@step
def predict(state: State, i: int) -> int:
    """Draw a batch from both ends, predict it, and put it on the heap; how many pages it was."""
    learner, drawn = state.learner, state.drawn
    numbers, weights = learner.numbers, learner.weights
    if numbers[LENGTH] == 0:
        numbers[LENGTH] = numbers[USED]
    batch = max(1, min(BATCH, numbers[USED] // 100 + 2, numbers[USED] // 2))
    count = take_new(state, batch + batch // 2)
    if (numbers[NEW_IN] - numbers[NEW_OUT]) * 10 <= numbers[USED] * numbers[RESERVE]:
        count = walk(state, count, batch)
    for k in range(count):
        describe(learner.pages, learner.decayed, learner.sizes, drawn[k], i, learner.inputs, k)
    score(learner, count)
    for k in range(count):
        distance = np.exp(learner.scores[k])
        if weights.size > 0:
            distance *= weights[drawn[k]]
        due = i + distance
        state.board[learner.pages[drawn[k], SLOT], DUE] = due
        push(state.heap, numbers, due, drawn[k])
    return int(count)


@step
def take_new(state: State, most: int) -> int:
    """Of the new pages beyond the reserve those that entered first; how many."""
    pages, numbers, fresh = state.learner.pages, state.learner.numbers, state.fresh
    count = 0
    while (numbers[NEW_IN] - numbers[NEW_OUT]) * 100 > numbers[USED] * numbers[RESERVE] and count < most:
        page = fresh[numbers[NEW_OUT] % fresh.size]
        slot = pages[page, SLOT]
        if slot >= 0 and pages[page, NUMBER] == numbers[NEW_OUT]:
            state.drawn[count] = page
            state.board[slot, ORIGIN] = YOUNG
            count += 1
        numbers[NEW_OUT] += 1
    numbers[ASKED + YOUNG] += count
    return count


@step
def walk(state: State, count: int, batch: int) -> int:
    """The hand takes a batch on its way from the list's tail, at most once around; how many are drawn then."""
    pages, numbers = state.learner.pages, state.learner.numbers
    sentinel = pages.shape[0] - 1
    most = count + batch
    for _ in range(numbers[USED]):
        if count == most:
            break
        if numbers[STEPS] >= numbers[LENGTH] or numbers[HAND] == sentinel:
            tune(numbers)
            numbers[HAND] = pages[sentinel, BEFORE]
            numbers[LENGTH] = numbers[USED]
        page = numbers[HAND]
        old = numbers[STEPS] * 100 <= numbers[LENGTH] * numbers[TAIL]
        if old or pages[page, COUNT] <= numbers[OFTEN]:
            origin = OLD if old else FURTHER
            state.drawn[count] = page
            state.board[pages[page, SLOT], ORIGIN] = origin
            numbers[ASKED + origin] += 1
            count += 1
        numbers[STEPS] += 1
        numbers[HAND] = pages[page, BEFORE]
    return count


@step
def tune(numbers: I64) -> None:
    """The pass is over: settings of the next, from what left in this one; the heap is empty."""
    total = 0
    for k in range(POWERS):
        total += numbers[HISTOGRAM + k]
    if total > 0:
        seen, k = 0, 0
        while (seen + numbers[HISTOGRAM + k]) * 100 < total * 99:
            seen += numbers[HISTOGRAM + k]
            k += 1
        share = (0.99 * total - seen) / numbers[HISTOGRAM + k]
        numbers[OFTEN] = 2**k + int(np.ceil((2**k - 1) * share))
        old, further = numbers[LEAVERS + OLD], numbers[LEAVERS + FURTHER]
        better = old * numbers[ASKED + FURTHER] > further * numbers[ASKED + OLD]
        numbers[TAIL] = min(100, numbers[TAIL] + 1) if better else max(1, numbers[TAIL] - 1)
        wanted = old + further > numbers[NEW_IN] - numbers[NEW_OUT]
        numbers[RESERVE] = min(50, numbers[RESERVE] + 1) if wanted else max(1, numbers[RESERVE] // 2)
    for k in range(LEAVERS, HISTOGRAM + POWERS):
        numbers[k] = 0
    numbers[STEPS] = 0
    numbers[HEAP] = 0


@step
def sooner(heap: F64, k: int, due: float, page: int) -> bool:
    """Does what the heap holds at k leave before the page: is it expected later, or, of equals, has a lower id?"""
    return bool(heap[k, 0] > due or (heap[k, 0] == due and heap[k, 1] < page))


@step
def push(heap: F64, numbers: I64, due: float, page: int) -> None:
    """Onto the heap; nothing happens if it is full."""
    k = numbers[HEAP]
    if k == heap.shape[0]:
        return
    numbers[HEAP] += 1
    while k > 0 and not sooner(heap, (k - 1) // 2, due, page):
        heap[k, 0] = heap[(k - 1) // 2, 0]
        heap[k, 1] = heap[(k - 1) // 2, 1]
        k = (k - 1) // 2
    heap[k, 0] = due
    heap[k, 1] = page


@step
def pop(heap: F64, numbers: I64) -> None:
    """The top off the heap."""
    numbers[HEAP] -= 1
    size = numbers[HEAP]
    due, page = heap[size, 0], int(heap[size, 1])
    k = 0
    while 2 * k + 1 < size:
        kid = 2 * k + 1
        if kid + 1 < size and sooner(heap, kid + 1, heap[kid, 0], int(heap[kid, 1])):
            kid += 1
        if not sooner(heap, kid, due, page):
            break
        heap[k, 0] = heap[kid, 0]
        heap[k, 1] = heap[kid, 1]
        k = kid
    heap[k, 0] = due
    heap[k, 1] = page
