"""Replacement queues by positions: where each reference's page was, where it went, and which position became free.

A queue has its pages in order of what they are worth; the head, position 0, is worth most, and a queue of n pages
forgets what would be at position n. Each reference is one move: the position `vacated` becomes free, the pages from
`filled` up to there move back by one, and the page asked is at `filled`. These three say all that a cache of the
queue's positions has to know, so one pass over the references serves every such cache.

Source: Frasca, Prabhakar, Raghavan and Kandemir, "Virtual I/O caching: dynamic storage cache management for concurrent
workloads", SC '11, Sec. 3.1 and 3.4.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32
from cachezoo.kernels.evict import arc
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.stack_distance import stack_distances
from cachezoo.kernels.virtual.ranked import LENGTH, Ranked, insert, make, page_at, remove

QUEUES = ("lru", "lfu", "arc")
ABSENT = -1


class Moves(NamedTuple):
    """What each reference does to the queue."""

    position: I32  # int32[m], where the page was, `ABSENT` if it was not in the queue
    vacated: I32  # int32[m], the position that became free; the end of a queue that is not full
    filled: I32  # int32[m], at most `vacated`, where the page is now


def _empty(references: int) -> Moves:
    return Moves(*(np.empty(references, np.int32) for _ in range(3)))


@njit
def _lru(distances: I32, n: int, moves: Moves) -> None:
    """Recency: a page lies behind those asked since its last reference."""
    length = 0
    for i in range(distances.size):
        distance = distances[i]
        known = 0 <= distance < n
        moves.position[i] = distance if known else ABSENT
        moves.vacated[i] = distance if known else min(length, n - 1)
        moves.filled[i] = 0
        if distance < 0:
            length += 1


@njit
def _lfu(page_ids: I32, n: int, queue: Ranked, count: I32, above: I32, moves: Moves) -> None:
    """Counts, then recency. `above[c]` pages of the queue have counts above c, so there the class of count c begins."""
    for i in range(page_ids.size):
        page = page_ids[i]
        own = count[page]
        length = queue.counts[LENGTH]
        position, vacated = ABSENT, length
        if own > 0:
            position = vacated = remove(queue, page)
        elif length == n:
            last = page_at(queue, n - 1)
            vacated = remove(queue, last)
            for below in range(1, count[last]):  # no more steps than references to that page
                above[below] -= 1
            count[last] = 0
        filled = above[own + 1]
        insert(queue, page, filled)
        if own > 0:
            above[own] += 1
        count[page] = own + 1
        moves.position[i], moves.vacated[i], moves.filled[i] = position, vacated, filled


@njit
def _arc(page_ids: I32, queue: Ranked, state: arc.State, moves: Moves) -> None:
    """ARC's lists T2, then T1, each most recent first; what its histories know is not in the queue."""
    for i in range(page_ids.size):
        page = page_ids[i]
        position, filled = ABSENT, 0
        if arc.has(state, page):
            position = vacated = remove(queue, page)
            arc.touch(state, page, i)
        else:
            victim = arc.insert(state, page, i)
            vacated = queue.counts[LENGTH] if victim == NONE else remove(queue, victim)
            if state.place[page] == arc.T1:
                filled = state.length[arc.T2]
        insert(queue, page, filled)
        moves.position[i], moves.vacated[i], moves.filled[i] = position, vacated, filled


def moves(queue: str, page_ids: I32, n_pages: int, n: int) -> Moves:
    """What each reference does to a queue that was empty.

    lru: by recency. lfu: by references since the page came into the queue, then by recency. arc: the lists T2 and T1
    of ARC with a capacity of n, whose histories B1 and B2 have no positions.

    Args:
        queue: one of `QUEUES`.
        page_ids: int32[m] in [0, n_pages), in order.
        n_pages: distinct pages, below 2**29.
        n: pages that the queue holds at most, at least 1.

    Returns:
        int32[m] each.
    """
    found = _empty(len(page_ids))
    if queue == "lru":
        _lru(stack_distances(page_ids, n_pages), n, found)
    elif queue == "lfu":
        most = int(np.bincount(page_ids).max()) if len(page_ids) else 0
        count, above = np.zeros(n_pages, np.int32), np.zeros(most + 1, np.int32)
        _lfu(page_ids, n, make(n_pages, min(n, n_pages)), count, above, found)
    else:
        _arc(page_ids, make(n_pages, min(n, n_pages)), arc.make(n_pages, n), found)
    return found
