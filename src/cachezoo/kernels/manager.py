"""RC-RNN's online cache: three LRU queues by expected stay (Sec. 4.2, Fig. 6), one request a step.

A cache's state is three arrays, so that many caches run in lockstep as rows of stacked arrays:

* `nodes` int32[NODE_FIELDS, n_pages + 6]: per page its queue and its links; the last six columns are sentinels, for
  each queue one of the LRU list and one of the list by entry.
* `stamps` int64[n_pages]: the page access at which the page's clock in its queue began.
* `counters` int64[N_COUNTERS].

Each queue's LRU list has a border between its most recent share (the top) and the rest, so that "is it in the top
20 %" is one look. Clocks are equal within a queue, so the list by entry is also the order in which they run out.
"""

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import NONE, REFUSED
from cachezoo.kernels.step import step

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]

# Outcomes of a page access, as in `cachezoo.kernels.outcome`.
PASSED, TAKEN, HIT = 0, 1, 2
ABSENT, SOON, MEAN, LATE = 0, 1, 2, 3
QUEUES = 3
SENTINELS = 2 * QUEUES

# Columns of a cache's limits.
CAPACITY, PERIOD, PERCENT, FILL, REQUEUE, SINGLE = range(6)
N_LIMITS = 6

# Rows of `nodes`.
QUEUE, BEFORE, AFTER, OLDER, NEWER, TOP, DIRTY = range(7)
NODE_FIELDS = 7

# Places in `counters`; the last nine hold, for each queue, its length, its top's length and the top's last page.
USED, ACCESSES, HITS, ADMITTED, WRITE_HITS, EVICTED, DIRTY_EVICTED, BYPASSED = range(8)
LENGTH = 8
TOP_LENGTH = 11
TOP_LAST = 14
N_COUNTERS = 17


@njit
def reset(nodes: I32, stamps: I64, counters: I64) -> None:
    """Empty the cache."""
    nodes[:] = 0
    stamps[:] = 0
    counters[:] = 0
    n_pages = nodes.shape[1] - SENTINELS
    for node in range(n_pages, n_pages + SENTINELS):
        for field in (BEFORE, AFTER, OLDER, NEWER):
            nodes[field, node] = node
    for q in range(QUEUES):
        counters[TOP_LAST + q] = n_pages + q


@step
def _balance(nodes: I32, counters: I64, q: int, percent: int) -> None:
    """Move the border of queue q until the top holds its share, rounded down."""
    n_pages = nodes.shape[1] - SENTINELS
    share = counters[LENGTH + q] * percent // 100
    while counters[TOP_LENGTH + q] > share:
        page = counters[TOP_LAST + q]
        nodes[TOP, page] = 0
        counters[TOP_LAST + q] = nodes[BEFORE, page]
        counters[TOP_LENGTH + q] -= 1
    while counters[TOP_LENGTH + q] < share:
        last = counters[TOP_LAST + q]
        page = nodes[AFTER, last if counters[TOP_LENGTH + q] > 0 else n_pages + q]
        nodes[TOP, page] = 1
        counters[TOP_LAST + q] = page
        counters[TOP_LENGTH + q] += 1


@step
def _link(nodes: I32, counters: I64, page: int, q: int, percent: int) -> None:
    """Put a page at the head of queue q's LRU list."""
    head = nodes.shape[1] - SENTINELS + q
    first = nodes[AFTER, head]
    nodes[BEFORE, page] = head
    nodes[AFTER, page] = first
    nodes[BEFORE, first] = page
    nodes[AFTER, head] = page
    nodes[QUEUE, page] = q + 1
    nodes[TOP, page] = 1
    if counters[TOP_LENGTH + q] == 0:
        counters[TOP_LAST + q] = page
    counters[LENGTH + q] += 1
    counters[TOP_LENGTH + q] += 1
    _balance(nodes, counters, q, percent)


@step
def _link_tail(nodes: I32, counters: I64, page: int, q: int, percent: int) -> None:
    """Put a page at the tail of queue q's LRU list."""
    head = nodes.shape[1] - SENTINELS + q
    last = nodes[BEFORE, head]
    nodes[AFTER, page] = head
    nodes[BEFORE, page] = last
    nodes[AFTER, last] = page
    nodes[BEFORE, head] = page
    nodes[QUEUE, page] = q + 1
    nodes[TOP, page] = 0
    counters[LENGTH + q] += 1
    _balance(nodes, counters, q, percent)


@step
def _unlink(nodes: I32, counters: I64, page: int, percent: int) -> None:
    """Take a page out of its queue's LRU list."""
    q = nodes[QUEUE, page] - 1
    before, after = nodes[BEFORE, page], nodes[AFTER, page]
    nodes[AFTER, before] = after
    nodes[BEFORE, after] = before
    counters[LENGTH + q] -= 1
    if nodes[TOP, page]:
        if counters[TOP_LAST + q] == page:
            counters[TOP_LAST + q] = before
        counters[TOP_LENGTH + q] -= 1
        nodes[TOP, page] = 0
    nodes[QUEUE, page] = ABSENT
    _balance(nodes, counters, q, percent)


@step
def _clock_on(nodes: I32, stamps: I64, page: int, q: int, now: int) -> None:
    """Start a page's clock in queue q: it becomes the newest by entry."""
    head = nodes.shape[1] - SENTINELS + QUEUES + q
    newest = nodes[OLDER, head]
    nodes[OLDER, page] = newest
    nodes[NEWER, page] = head
    nodes[NEWER, newest] = page
    nodes[OLDER, head] = page
    stamps[page] = now


@step
def _clock_off(nodes: I32, page: int) -> None:
    older, newer = nodes[OLDER, page], nodes[NEWER, page]
    nodes[NEWER, older] = newer
    nodes[OLDER, newer] = older


@step
def demote(nodes: I32, stamps: I64, counters: I64, period: int, percent: int) -> None:
    """Move pages whose clock ran out one queue down; those in the top of their queue get another period."""
    now = counters[ACCESSES]
    n_pages = nodes.shape[1] - SENTINELS
    for queue in (MEAN, LATE):
        q = queue - 1
        head = n_pages + QUEUES + q
        page = nodes[NEWER, head]
        while page < n_pages and now - stamps[page] >= period:
            _clock_off(nodes, page)
            if nodes[TOP, page]:
                _clock_on(nodes, stamps, page, q, now)
            else:
                _unlink(nodes, counters, page, percent)
                _link(nodes, counters, page, q - 1, percent)
                _clock_on(nodes, stamps, page, q - 1, now)
            page = nodes[NEWER, head]


@step
def _evict(nodes: I32, counters: I64, percent: int) -> int:
    """Drop the tail of soon, else of mean, else of late; returns the page."""
    n_pages = nodes.shape[1] - SENTINELS
    q = 0
    while counters[LENGTH + q] == 0:
        q += 1
    page = int(nodes[BEFORE, n_pages + q])
    _unlink(nodes, counters, page, percent)
    _clock_off(nodes, page)
    counters[EVICTED] += 1
    counters[DIRTY_EVICTED] += nodes[DIRTY, page]
    nodes[DIRTY, page] = 0
    counters[USED] -= 1
    return page


@step
def _requeue(nodes: I32, stamps: I64, counters: I64, page: int, queue: int, percent: int) -> None:
    """Move a resident page to the head of the queue decided on, or to the tail of soon, and start its clock anew."""
    _unlink(nodes, counters, page, percent)
    _clock_off(nodes, page)
    if queue == ABSENT:
        _link_tail(nodes, counters, page, SOON - 1, percent)
    else:
        _link(nodes, counters, page, queue - 1, percent)
    _clock_on(nodes, stamps, page, nodes[QUEUE, page] - 1, counters[ACCESSES])


@step
def hit(nodes: I32, stamps: I64, counters: I64, page: int, queue: int, limits: I64) -> None:
    """Move a resident page to the head of its queue or, where a hit asks, to `queue`; arguments as `serve_request`."""
    percent = limits[PERCENT]
    if limits[REQUEUE]:
        _requeue(nodes, stamps, counters, page, queue, percent)
    else:
        held = nodes[QUEUE, page]
        _unlink(nodes, counters, page, percent)
        _link(nodes, counters, page, held - 1, percent)
    counters[HITS] += 1


@step
def enter(nodes: I32, stamps: I64, counters: I64, page: int, queue: int, limits: I64) -> int:
    """Put a missing page into `queue`, or keep it out; arguments as `serve_request`.

    Returns:
        The page driven out, or `NONE` or `REFUSED` of `cachezoo.kernels.outcome`.
    """
    capacity, percent = limits[CAPACITY], limits[PERCENT]
    into = queue
    if into == ABSENT and limits[FILL] and counters[USED] < capacity:
        into = SOON
    if into == ABSENT:
        counters[BYPASSED] += 1
        return REFUSED
    victim = NONE
    if counters[USED] == capacity:
        victim = _evict(nodes, counters, percent)
    _link(nodes, counters, page, into - 1, percent)
    _clock_on(nodes, stamps, page, into - 1, counters[ACCESSES])
    counters[USED] += 1
    counters[ADMITTED] += 1
    return victim


@njit
def _touch(
    nodes: I32, stamps: I64, counters: I64, pages: I32, write: int, queue: int, limits: I64, outcome: U8
) -> int:
    """Move resident pages within their queue or to another; returns how many pages are missing."""
    missing = 0
    for k in range(pages.size):
        page = pages[k]
        held = nodes[QUEUE, page]
        outcome[k] = HIT if held != ABSENT else PASSED
        if held == ABSENT:
            missing += 1
            continue
        hit(nodes, stamps, counters, page, queue, limits)
        if write:
            counters[WRITE_HITS] += 1
            nodes[DIRTY, page] = 1
    return missing


@njit
def serve_request(
    nodes: I32, stamps: I64, counters: I64, pages: I32, write: int, queue: int, limits: I64, outcome: U8
) -> int:
    """Serve one request: hits go to the head of a queue, missing pages enter `queue` or are bypassed.

    Args:
        nodes: the cache's state (module docstring), changed in place.
        stamps: of the same.
        counters: of the same.
        pages: int32[k], the request's pages, each once.
        write: 1 if the request writes; a written resident page is dirty.
        queue: where missing pages go, `SOON`, `MEAN` or `LATE`; `ABSENT` bypasses them, unless space is free.
        limits: int64[N_LIMITS]: capacity in pages; demotion period in page accesses; the top's share in percent; 1
            where free space is filled whatever the decision (then `ABSENT` enters soon); 1 where a hit moves a page to
            `queue`, and to the tail of soon if that is `ABSENT`, instead of to the head of its own; 1 where what is
            admitted always enters mean.
        outcome: uint8[k], set to `PASSED`, `TAKEN` or `HIT`, the codes of `cachezoo.kernels.outcome`.

    Returns:
        How many pages were missing.
    """
    missing = _touch(nodes, stamps, counters, pages, write, queue, limits, outcome)
    for k in range(pages.size):
        if outcome[k] == HIT or enter(nodes, stamps, counters, pages[k], queue, limits) == REFUSED:
            continue
        nodes[DIRTY, pages[k]] = 1 if write else 0
        outcome[k] = TAKEN
    counters[ACCESSES] += pages.size
    demote(nodes, stamps, counters, limits[PERIOD], limits[PERCENT])
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
def decide_lanes(outputs: F32, thresholds: F32, limits: I64, queues: I32) -> None:
    """`decide` in every lane.

    Args:
        outputs: float32[L, 4] each lane's.
        thresholds: float32[L].
        limits: int64[L, N_LIMITS].
        queues: int32[L], written.
    """
    for lane in range(queues.size):
        queues[lane] = decide(outputs[lane], thresholds[lane], limits[lane, SINGLE])


@njit
def serve_lanes(
    nodes: I32, stamps: I64, counters: I64, limits: I64, pages: I32, write: int, queues: I32, outcome: U8,
    first: int, tags: F32,
) -> None:  # fmt: skip
    """Serve one request in every lane and write the tags that its next request is fed.

    Args:
        nodes: each lane's, stacked.
        stamps: each lane's.
        counters: each lane's.
        limits: int64[L, N_LIMITS] each lane's.
        pages: int32[k], the request's pages.
        write: 1 if the request writes.
        queues: int32[L] decisions; set to -1 where nothing was missing and hits do not ask, so that it was not read.
        outcome: uint8[L, m] of the whole trace.
        first: the request's first page access.
        tags: float32[L, 4]: cached, soon, mean, late; a hit's is the queue of its first page.
    """
    for lane in range(queues.size):
        before = counters[lane, ADMITTED]
        missing = serve_request(
            nodes[lane], stamps[lane], counters[lane], pages, write, queues[lane], limits[lane],
            outcome[lane, first : first + pages.size],
        )  # fmt: skip
        if missing == 0:
            held = nodes[lane, QUEUE, pages[0]]
            if not limits[lane, REQUEUE]:
                queues[lane] = -1
        elif counters[lane, ADMITTED] == before:
            held = ABSENT
        else:
            held = max(queues[lane], SOON)
        tags[lane] = 0.0
        if held != ABSENT:
            tags[lane, 0] = 1.0
            tags[lane, held] = 1.0


@njit
def serve_all(
    nodes: I32, stamps: I64, counters: I64, limits: I64, start: I64, page_ids: I32, op: U8, queues: I32, outcome: U8,
    evictions: I64,
) -> None:  # fmt: skip
    """Serve a whole trace in every lane by decisions that are known beforehand.

    Args:
        nodes: each lane's, stacked.
        stamps: each lane's.
        counters: each lane's.
        limits: int64[L, N_LIMITS] each lane's.
        start: int64[n + 1] bounds of each request's page accesses.
        page_ids: int32[m].
        op: uint8[n], 1 writes.
        queues: int32[n, L] decisions, as in `serve_lanes`.
        outcome: uint8[L, m], written.
        evictions: int64[n, L, 2] pages driven out so far and those of them that were dirty, written.
    """
    tags = np.zeros((queues.shape[1], 4), np.float32)
    for row in range(op.size):
        low, high = start[row], start[row + 1]
        pages = page_ids[low:high]
        serve_lanes(nodes, stamps, counters, limits, pages, op[row], queues[row], outcome, low, tags)
        for lane in range(queues.shape[1]):
            evictions[row, lane, 0] = counters[lane, EVICTED]
            evictions[row, lane, 1] = counters[lane, DIRTY_EVICTED]


@njit
def decide_all(outputs: F32, lane_of: I64, thresholds: F32, limits: I64, queues: I32) -> None:
    """`decide` for a whole trace in every lane.

    Args:
        outputs: float32[n, D, 4] of D models or capacities.
        lane_of: int64[L], which of them lane l reads.
        thresholds: float32[L].
        limits: int64[L, N_LIMITS].
        queues: int32[n, L], written.
    """
    for row in range(queues.shape[0]):
        for lane in range(queues.shape[1]):
            queues[row, lane] = decide(outputs[row, lane_of[lane]], thresholds[lane], limits[lane, SINGLE])
