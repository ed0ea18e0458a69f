"""LIRS: pages that come back after few others (LIR) keep almost all of the cache; the rest (HIR) pass through.

The stack holds pages by their last access, and its bottom is always LIR: a page still in the stack when it is asked
again came back after fewer others than the oldest LIR page has been waiting, so it becomes LIR and that one becomes
HIR. Resident HIR pages wait in a queue, whose front is the victim; a victim still in the stack stays there as a ghost.

The stack is held as two lists in order of access, the LIR pages and the HIR pages, and the time of each page's last
access; so pruning, the removal of HIR pages below the lowest LIR one, takes from the tail of the second list.

Source: Jiang and Zhang, "LIRS: an efficient low inter-reference recency set replacement policy to improve buffer cache
performance", SIGMETRICS 2002, Sec. 3. What bounds the stack, which may otherwise grow with the pages that never come
back, is a parameter: beyond it the lowest HIR page leaves the stack, whether resident or a ghost.

Parameters:
    hir 0.01: share of the capacity for resident HIR pages, at least one page; the paper's 1 %.
    stack 2.0: pages in the stack, resident or not, in multiples of the capacity; so at most 1.01 times the capacity
        in ghosts at the defaults.

Where it differs from libCacheSim's LIRS (`hir` and `stack` are its constants):
    what                            here                            libCacheSim
    hit on a resident HIR page      stays HIR, moves to the end of  the lowest LIR page is demoted as well, which drives
    that has left the stack         the queue (the paper)           a page out and leaves a LIR place for the next new
                                                                    page, whatever it is
    stack too long                  the lowest HIR page leaves it   the ghost that was evicted first leaves it
With both restated as libCacheSim has them the misses are equal. They matter little: on the ARC paper's OLTP trace with
1,869 pages it is 533,531 misses of 914,145 here and 533,564 there, with 9,344 pages 368,848 and 368,846.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32
from cachezoo.kernels.lists import link_head, links, pop_tail, unlink
from cachezoo.kernels.outcome import NONE
from cachezoo.kernels.step import step

# What a page is: LIR; HIR and resident, in the stack or not; HIR, gone, but in the stack; none of these.
LIR, HIR, QUEUED, GHOST, NOWHERE = 0, 1, 2, 3, 4
# The two lists of the stack.
LOW, HIGH = 0, 1


class State(NamedTuple):
    """The stack's two lists, most recent first, and the queue of resident HIR pages, newest first.

    `kind` uint8[n_pages] is what each page is, `last` int64[n_pages] its last access where the stack holds it,
    `counts` int64[3] the LIR pages, the HIR pages in the stack and the pages in the queue.
    """

    before: I32
    after: I32
    queue_before: I32
    queue_after: I32
    kind: npt.NDArray[np.uint8]
    last: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    lirs: int
    hirs: int
    stack: int


def make(n_pages: int, capacity: int, hir: float = 0.01, stack: float = 2.0) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    hirs = max(1, int(hir * capacity))
    kind = np.full(n_pages, NOWHERE, np.uint8)
    last, counts = np.zeros(n_pages, np.int64), np.zeros(3, np.int64)
    lists = (*links(n_pages, 2), *links(n_pages, 1))
    return State(*lists, kind, last, counts, capacity - hirs, hirs, int(stack * capacity))


@step
def has(state: State, page: int) -> bool:
    """Is the page LIR, or HIR and resident?"""
    return bool(state.kind[page] <= QUEUED)


@step
def _to_top(state: State, which: int, page: int, i: int) -> None:
    """On top of the stack."""
    state.last[page] = i
    link_head(state.before, state.after, state.kind.size + which, page)


@step
def _drop_high(state: State, page: int) -> None:
    """Take a HIR page out of the stack."""
    unlink(state.before, state.after, page)
    state.counts[1] -= 1
    state.kind[page] = NOWHERE if state.kind[page] == GHOST else QUEUED


@step
def _prune(state: State) -> None:
    """Take out of the stack what lies below its lowest LIR page."""
    n_pages = state.kind.size
    bottom = state.last[state.before[n_pages + LOW]]
    page = state.before[n_pages + HIGH]
    while page < n_pages and state.last[page] < bottom:
        _drop_high(state, page)
        page = state.before[n_pages + HIGH]


@step
def _queue(state: State, page: int) -> None:
    """To the end of the queue."""
    link_head(state.queue_before, state.queue_after, state.kind.size, page)


@step
def _promote(state: State, page: int, i: int) -> None:
    """A HIR page of the stack becomes LIR, the lowest LIR page becomes HIR and joins the queue."""
    n_pages = state.kind.size
    unlink(state.before, state.after, page)
    lowest = pop_tail(state.before, state.after, n_pages + LOW)
    state.kind[lowest] = QUEUED
    _queue(state, lowest)
    state.kind[page] = LIR
    _to_top(state, LOW, page, i)
    state.counts[1] -= 1
    _prune(state)


@step
def _stack_high(state: State, page: int, i: int) -> None:
    """A resident HIR page goes on top of the stack, which may then be too long."""
    if state.lirs == 0:
        state.kind[page] = QUEUED
        return
    state.kind[page] = HIR
    _to_top(state, HIGH, page, i)
    state.counts[1] += 1
    if state.counts[0] + state.counts[1] > state.stack:
        _drop_high(state, state.before[state.kind.size + HIGH])


@step
def _touch_seldom(state: State, page: int, i: int) -> None:
    """The hits that change more than the order of the LIR pages."""
    kind = state.kind[page]
    if kind == LIR:
        unlink(state.before, state.after, page)
        _to_top(state, LOW, page, i)
        _prune(state)
        return
    unlink(state.queue_before, state.queue_after, page)
    if kind == HIR:
        _promote(state, page, i)
    else:
        _stack_high(state, page, i)
        _queue(state, page)


@step
def touch(state: State, page: int, i: int) -> None:
    """On top of the stack; a HIR page that was in it becomes LIR, another goes to the end of the queue."""
    if state.kind[page] == LIR and state.after[page] != state.kind.size + LOW:
        unlink(state.before, state.after, page)
        _to_top(state, LOW, page, i)
    else:
        _touch_seldom(state, page, i)


@step
def _drive_out(state: State) -> int:
    """The front of the queue leaves the cache; in the stack it stays as a ghost."""
    page = pop_tail(state.queue_before, state.queue_after, state.kind.size)
    state.kind[page] = GHOST if state.kind[page] == HIR else NOWHERE
    return page


@step
def insert(state: State, page: int, i: int) -> int:
    """LIR while there is room or if the stack remembers it, else HIR; the front of the queue makes room."""
    counts = state.counts
    if counts[0] < state.lirs:
        counts[0] += 1
        state.kind[page] = LIR
        _to_top(state, LOW, page, i)
        return NONE
    victim = NONE
    if counts[2] < state.hirs:
        counts[2] += 1
    else:
        victim = _drive_out(state)
    if state.kind[page] == GHOST:
        _promote(state, page, i)
    else:
        _stack_high(state, page, i)
        _queue(state, page)
    return victim
