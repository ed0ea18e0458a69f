"""RC-RNN's online cache: three LRU queues by expected stay (Sec. 4.2, Fig. 6), one request a step.

Caches run in lockstep as lanes, each a slice of stacked arrays. Each queue's LRU list has a border between its
most recent share (the top) and the rest, so that "is it in the top 20 %" is one look. Clocks are equal within a queue,
so the list by entry is also the order in which they run out.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, link_tail, unlink
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT
from cachezoo.kernels.step import step

ABSENT, SOON, MEAN, LATE = 0, 1, 2, 3
QUEUES = 3
SENTINELS = 2 * QUEUES

# Columns of a cache's limits.
CAPACITY, PERIOD, PERCENT, FILL, REQUEUE = range(5)
N_LIMITS = 5

# Rows of `nodes`.
QUEUE, BEFORE, AFTER, OLDER, NEWER, TOP, DIRTY = range(7)
NODE_FIELDS = 7

# Places in `counters`; the last nine hold, for each queue, its length, its top's length and the top's last page.
USED, ACCESSES, HITS, ADMISSIONS, WRITE_HITS, EVICTIONS, DIRTY_EVICTIONS, BYPASSES = range(8)
LENGTH = 8
TOP_LENGTH = 11
TOP_LAST = 14
N_COUNTERS = 17


class State(NamedTuple):
    """A cache, changed in place; or several, stacked, where each array has a first axis for the lane.

    Attributes:
        nodes: int32[NODE_FIELDS, n_pages + SENTINELS], per page its queue, its links in the queue's LRU list and in
            the list by entry, whether it is in the top, and whether it is dirty. The last six columns are the lists'
            sentinels, those of the LRU lists first.
        stamps: int64[n_pages], the page access at which the page's clock in its queue began.
        counters: int64[N_COUNTERS].
        limits: int64[N_LIMITS]: capacity in pages; demotion period in page accesses; the top's share in percent; 1
            where free space is filled whatever the decision (then `ABSENT` enters soon); 1 where a hit moves a page to
            the queue decided on, and to the tail of soon if that is `ABSENT`, instead of to the head of its own.
    """

    nodes: I32
    stamps: I64
    counters: I64
    limits: I64


def make(n_pages: int, limits: I64) -> State:
    """Lanes: empty caches over ids in [0, n_pages), one for each row of limits, int64[L, N_LIMITS], stacked."""
    lanes = len(limits)
    nodes = np.zeros((lanes, NODE_FIELDS, n_pages + SENTINELS), np.int32)
    counters = np.zeros((lanes, N_COUNTERS), np.int64)
    sentinels = np.arange(n_pages, n_pages + SENTINELS)
    nodes[:, BEFORE : NEWER + 1, n_pages:] = sentinels
    counters[:, TOP_LAST : TOP_LAST + QUEUES] = sentinels[:QUEUES]
    return State(nodes, np.zeros((lanes, n_pages), np.int64), counters, limits)


@step
def _balance(state: State, q: int) -> None:
    """Move the border of queue q until the top holds its share, rounded down."""
    nodes, counters = state.nodes, state.counters
    share = counters[LENGTH + q] * state.limits[PERCENT] // 100
    while counters[TOP_LENGTH + q] > share:
        page = counters[TOP_LAST + q]
        nodes[TOP, page] = 0
        counters[TOP_LAST + q] = nodes[BEFORE, page]
        counters[TOP_LENGTH + q] -= 1
    while counters[TOP_LENGTH + q] < share:
        last = counters[TOP_LAST + q]
        page = nodes[AFTER, last if counters[TOP_LENGTH + q] > 0 else state.stamps.size + q]
        nodes[TOP, page] = 1
        counters[TOP_LAST + q] = page
        counters[TOP_LENGTH + q] += 1


@step
def _enter_head(state: State, page: int, q: int) -> None:
    """Put a page at the head of queue q's LRU list."""
    nodes, counters = state.nodes, state.counters
    link_head(nodes[BEFORE], nodes[AFTER], state.stamps.size + q, page)
    nodes[QUEUE, page] = q + 1
    nodes[TOP, page] = 1
    if counters[TOP_LENGTH + q] == 0:
        counters[TOP_LAST + q] = page
    counters[LENGTH + q] += 1
    counters[TOP_LENGTH + q] += 1
    _balance(state, q)


@step
def _enter_tail(state: State, page: int, q: int) -> None:
    """Put a page at the tail of queue q's LRU list."""
    nodes = state.nodes
    link_tail(nodes[BEFORE], nodes[AFTER], state.stamps.size + q, page)
    nodes[QUEUE, page] = q + 1
    nodes[TOP, page] = 0
    state.counters[LENGTH + q] += 1
    _balance(state, q)


@step
def _leave(state: State, page: int) -> None:
    """Take a page out of its queue's LRU list."""
    nodes, counters = state.nodes, state.counters
    q = nodes[QUEUE, page] - 1
    unlink(nodes[BEFORE], nodes[AFTER], page)
    counters[LENGTH + q] -= 1
    if nodes[TOP, page]:
        if counters[TOP_LAST + q] == page:
            counters[TOP_LAST + q] = nodes[BEFORE, page]
        counters[TOP_LENGTH + q] -= 1
        nodes[TOP, page] = 0
    nodes[QUEUE, page] = ABSENT
    _balance(state, q)


@step
def _clock_on(state: State, page: int, q: int) -> None:
    """Start a page's clock in queue q: it becomes the newest by entry."""
    nodes = state.nodes
    link_tail(nodes[OLDER], nodes[NEWER], state.stamps.size + QUEUES + q, page)
    state.stamps[page] = state.counters[ACCESSES]


@step
def _clock_off(state: State, page: int) -> None:
    """Stop a page's clock."""
    unlink(state.nodes[OLDER], state.nodes[NEWER], page)


@step
def _demote(state: State) -> None:
    """Move pages whose clock ran out one queue down; those in the top of their queue get another period."""
    nodes, now, period = state.nodes, state.counters[ACCESSES], state.limits[PERIOD]
    n_pages = state.stamps.size
    for queue in (MEAN, LATE):
        q = queue - 1
        head = n_pages + QUEUES + q
        page = nodes[NEWER, head]
        while page < n_pages and now - state.stamps[page] >= period:
            _clock_off(state, page)
            if nodes[TOP, page]:
                _clock_on(state, page, q)
            else:
                _leave(state, page)
                _enter_head(state, page, q - 1)
                _clock_on(state, page, q - 1)
            page = nodes[NEWER, head]


@step
def _forget(state: State, page: int) -> None:
    """Count a page that has left its queue as evicted."""
    nodes, counters = state.nodes, state.counters
    counters[EVICTIONS] += 1
    counters[DIRTY_EVICTIONS] += nodes[DIRTY, page]
    nodes[DIRTY, page] = 0
    counters[USED] -= 1


@step
def _evict(state: State) -> None:
    """Drop the tail of soon, else of mean, else of late."""
    nodes, counters = state.nodes, state.counters
    q = 0
    while counters[LENGTH + q] == 0:
        q += 1
    page = nodes[BEFORE, state.stamps.size + q]
    _leave(state, page)
    _clock_off(state, page)
    _forget(state, page)


@step
def _hit(state: State, page: int, queue: int) -> None:
    """Move a resident page to the head of its queue or, where a hit asks, to the queue decided on."""
    state.counters[HITS] += 1
    if not state.limits[REQUEUE]:
        held = state.nodes[QUEUE, page]
        _leave(state, page)
        _enter_head(state, page, held - 1)
        return
    _leave(state, page)
    _clock_off(state, page)
    if queue == ABSENT:
        _enter_tail(state, page, SOON - 1)
    else:
        _enter_head(state, page, queue - 1)
    _clock_on(state, page, state.nodes[QUEUE, page] - 1)


@step
def _enter(state: State, page: int, queue: int) -> bool:
    """Put a missing page into `queue`; False if it is kept out."""
    counters, capacity = state.counters, state.limits[CAPACITY]
    into = queue
    if into == ABSENT and state.limits[FILL] and counters[USED] < capacity:
        into = SOON
    if into == ABSENT:
        counters[BYPASSES] += 1
        return False
    if counters[USED] == capacity:
        _evict(state)
    _enter_head(state, page, into - 1)
    _clock_on(state, page, into - 1)
    counters[USED] += 1
    counters[ADMISSIONS] += 1
    return True


@njit
def _touch(state: State, pages: I32, write: int, queue: int, outcome: U8) -> int:
    """Move resident pages within their queue or to another; returns how many pages are missing."""
    missing = 0
    for k in range(pages.size):
        page = pages[k]
        if state.nodes[QUEUE, page] == ABSENT:
            outcome[k] = BYPASSED
            missing += 1
            continue
        outcome[k] = HIT
        _hit(state, page, queue)
        if write:
            state.counters[WRITE_HITS] += 1
            state.nodes[DIRTY, page] = 1
    return missing


@njit
def _serve(state: State, pages: I32, write: int, queue: int, outcome: U8) -> int:
    """Serve one request: hits go to the head of a queue, missing pages enter `queue` or are bypassed.

    Args:
        state: the cache, changed in place.
        pages: int32[k], the request's pages, each once.
        write: 1 if the request writes; a written resident page is dirty.
        queue: where missing pages go, `SOON`, `MEAN` or `LATE`; `ABSENT` bypasses them, unless space is free.
        outcome: uint8[k], set to `BYPASSED`, `ADMITTED` or `HIT` of `cachezoo.kernels.outcome`.

    Returns:
        How many pages were missing.
    """
    missing = _touch(state, pages, write, queue, outcome)
    for k in range(pages.size):
        if outcome[k] == HIT or not _enter(state, pages[k], queue):
            continue
        state.nodes[DIRTY, pages[k]] = 1 if write else 0
        outcome[k] = ADMITTED
    state.counters[ACCESSES] += pages.size
    _demote(state)
    return missing


@njit
def decide(outputs: F32, threshold: float, single: int) -> int:
    """The queue for what a request misses: `ABSENT` below the threshold, else the likeliest duration.

    Args:
        outputs: float32[4], probabilities of cached, soon, mean and late.
        threshold: float32, admit at or above.
        single: 1 takes mean for every duration.
    """
    if outputs[0] < threshold:
        return ABSENT
    if single:
        return MEAN
    best = SOON
    for queue in (MEAN, LATE):
        if outputs[queue] > outputs[best]:
            best = queue
    return best


@njit
def decide_lanes(outputs: F32, thresholds: F32, single: U8, queues: I32) -> None:
    """`decide` in every lane.

    Args:
        outputs: float32[L, 4] each lane's.
        thresholds: float32[L].
        single: uint8[L], 1 where what is admitted enters mean.
        queues: int32[L], written.
    """
    for lane in range(queues.size):
        queues[lane] = decide(outputs[lane], thresholds[lane], single[lane])


@njit
def serve_lanes(lanes: State, pages: I32, write: int, queues: I32, outcome: U8, first: int, tags: F32) -> None:
    """Serve one request in every lane and write the tags that its next request is fed.

    Args:
        lanes: the caches, changed in place.
        pages: int32[k], the request's pages.
        write: 1 if the request writes.
        queues: int32[L] decisions; set to -1 where nothing was missing and hits do not ask, so that it was not read.
        outcome: uint8[L, m] of the whole trace.
        first: the request's first page access.
        tags: float32[L, 4]: cached, soon, mean, late; a hit's is the queue of its first page.
    """
    for lane in range(queues.size):
        state = State(lanes.nodes[lane], lanes.stamps[lane], lanes.counters[lane], lanes.limits[lane])
        before = state.counters[ADMISSIONS]
        missing = _serve(state, pages, write, queues[lane], outcome[lane, first : first + pages.size])
        if missing == 0:
            held = state.nodes[QUEUE, pages[0]]
            if not state.limits[REQUEUE]:
                queues[lane] = -1
        elif state.counters[ADMISSIONS] == before:
            held = ABSENT
        else:
            held = max(queues[lane], SOON)
        tags[lane] = 0.0
        if held != ABSENT:
            tags[lane, 0] = 1.0
            tags[lane, held] = 1.0


@njit
def serve_all(lanes: State, start: I64, page_ids: I32, op: U8, queues: I32, outcome: U8, evictions: I64) -> None:
    """Serve a whole trace in every lane by decisions that are known beforehand.

    Args:
        lanes: the caches, changed in place.
        start: int64[n + 1] bounds of each request's page accesses.
        page_ids: int32[m].
        op: uint8[n], 1 writes.
        queues: int32[n, L] decisions, as in `serve_lanes`.
        outcome: uint8[L, m], written.
        evictions: int64[n, L, 2] pages evicted so far and those of them that were dirty, written.
    """
    tags = np.zeros((queues.shape[1], 4), np.float32)
    for row in range(op.size):
        low, high = start[row], start[row + 1]
        serve_lanes(lanes, page_ids[low:high], op[row], queues[row], outcome, low, tags)
        for lane in range(queues.shape[1]):
            evictions[row, lane, 0] = lanes.counters[lane, EVICTIONS]
            evictions[row, lane, 1] = lanes.counters[lane, DIRTY_EVICTIONS]


@njit
def requeue(lanes: State, lane: int, pages: I32, queues: I32, stamps: I64, drop: int) -> int:
    """Put the resident pages of a lane where another model's decisions want them.

    The cache is then as if every page had entered at its last access by these decisions: the most recent at the head
    of its queue, its clock begun at that access. A page that is not wanted goes to the tail of soon, the least recent
    of them last, or leaves at once. No page enters, and what stays and is dirty stays so.

    Args:
        lanes: the caches, one of them changed in place.
        lane: which.
        pages: int32[k], all its resident pages, each once, the least recently used first.
        queues: int32[k], decisions: `SOON`, `MEAN`, `LATE`, or `ABSENT`.
        stamps: int64[k], page accesses before each page's last request; never falling.
        drop: 1 evicts the pages that are not wanted.

    Returns:
        How many pages are in another queue than before, or gone.
    """
    state = State(lanes.nodes[lane], lanes.stamps[lane], lanes.counters[lane], lanes.limits[lane])
    nodes, moved = state.nodes, 0
    for k in range(pages.size):
        into = ABSENT if drop else SOON
        moved += nodes[QUEUE, pages[k]] != max(queues[k], into)
        _leave(state, pages[k])
        _clock_off(state, pages[k])
    for k in range(pages.size):
        if queues[k] == ABSENT and drop:
            _forget(state, pages[k])
            continue
        q = max(queues[k], SOON) - 1
        if queues[k] != ABSENT:
            _enter_head(state, pages[k], q)
        _clock_on(state, pages[k], q)
        state.stamps[pages[k]] = stamps[k]
    for k in range(pages.size - 1, -1, -1):
        if queues[k] == ABSENT and not drop:
            _enter_tail(state, pages[k], SOON - 1)
    return moved


@njit
def decide_all(outputs: F32, lane_of: I64, thresholds: F32, single: U8, queues: I32) -> None:
    """`decide` for a whole trace in every lane.

    Args:
        outputs: float32[n, D, 4] of D models or capacities.
        lane_of: int64[L], which of them lane l reads.
        thresholds: float32[n, L].
        single: uint8[n, L], 1 where what is admitted enters mean.
        queues: int32[n, L], written.
    """
    for row in range(queues.shape[0]):
        for lane in range(queues.shape[1]):
            queues[row, lane] = decide(outputs[row, lane_of[lane]], thresholds[row, lane], single[row, lane])
