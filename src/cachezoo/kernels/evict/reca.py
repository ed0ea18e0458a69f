"""ReCA-like: kinds of requests are characterised as they come, and who enters and who leaves is set anew each window.

A request is random or sequential (at least `sequential` pages), and a read or a write: four kinds. A page belongs to
the kind of its last access. For each kind is counted how many accesses it made and how many of these were followed by
another access of the page within `reach` * capacity accesses; refused misses count too. Every `window` * capacity
accesses the cache is reconfigured: a kind's worth becomes (reused + 1) / (made + 2), and both counts are halved, so
that older windows fade. Until the next time,
  a miss in a full cache is refused if its kind's worth is below `bar` times that of all kinds together;
  each kind has an LRU queue, and of the queues' tails the one of least worth / age leaves (age in accesses).
Before the first window all kinds are worth the same, and the cache is an LRU one; it stays that if there is one kind.

Source: Salkhordeh, Ebrahimi, Asadi, "ReCA: an efficient reconfigurable cache architecture for storage systems with
online workload characterization", IEEE TPDS 29(7), 2018. It classifies the workload into five classes by its requests
(sequential or random, read or write, and mixes of them), has a cache configuration for each, and reconfigures online
when the class changes. Its rules for each class come from the authors' own studies of workloads; what is here keeps
the principle, online characterisation by kind of request and a reconfiguration each window, and takes the worth of
each kind from what was just measured in place of a fixed table of five. So results are not the paper's.
Parameters: window 1, reach 2, bar 0.25, sequential 16 (64 KiB). All of them are choices of ours.
Addresses are not seen here, so a run of small requests to neighbouring addresses is not told from random ones.

libCacheSim has none.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.kernels.lists import link_head, links, unlink
from cachezoo.kernels.outcome import NONE, REFUSED, WRITE
from cachezoo.kernels.requests import by_size
from cachezoo.kernels.step import step

KINDS = 4
USED, SINCE = 0, 1


class State(NamedTuple):
    """A queue of resident pages for each kind, and what is measured of the kinds.

    `kinds` uint8[m] is each access's. `queue` uint8[n_pages] is 0 of a page not resident, else 1 + its kind. `seen`
    int64[n_pages] is access number * 4 + kind of a page's last access, -1 of one never seen. `made` and `reused`
    int64[4], `worth` float64[4] and `barred` uint8[4] are of the kinds. `counts` int64[2]: resident pages, accesses
    since the last reconfiguration.
    """

    kinds: U8
    queue: U8
    before: I32
    after: I32
    seen: I64
    made: I64
    reused: I64
    worth: F64
    barred: U8
    counts: I64
    capacity: int
    window: int
    reach: int
    bar: float


def kinds_of(flags: U8, request_pages: I32, sequential: int) -> U8:
    """uint8[m]: 1 for a write + 2 for a request of at least so many pages; prefetches are of their request's size."""
    table = np.zeros(sequential + 1, np.uint8)
    table[sequential] = 2
    kinds: U8 = by_size(request_pages, table)
    return kinds | (flags & np.uint8(WRITE))


def make(
    flags: U8, request_pages: I32, n_pages: int, capacity: int, window: float, reach: float, bar: float, sequential: int
) -> State:  # fmt: skip
    """An empty cache of `capacity` pages over ids in [0, n_pages), for the accesses with these flags and requests."""
    before, after = links(n_pages, KINDS)
    return State(
        kinds_of(flags, request_pages, sequential),
        np.zeros(n_pages, np.uint8),
        before,
        after,
        np.full(n_pages, -1, np.int64),
        np.zeros(KINDS, np.int64),
        np.zeros(KINDS, np.int64),
        np.full(KINDS, 0.5),
        np.zeros(KINDS, np.uint8),
        np.zeros(2, np.int64),
        capacity,
        max(1, int(window * capacity)),
        int(reach * capacity),
        float(bar),
    )


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.queue[page] != 0)


@step
def _reconfigure(state: State) -> None:
    """Set the kinds' worth by what was measured."""
    made, reused = 0, 0
    for kind in range(KINDS):
        state.worth[kind] = (state.reused[kind] + 1) / (state.made[kind] + 2)
        made += state.made[kind]
        reused += state.reused[kind]
    lowest = state.bar * (reused + 1) / (made + 2)
    for kind in range(KINDS):
        state.barred[kind] = state.worth[kind] < lowest
        state.made[kind] >>= 1
        state.reused[kind] >>= 1


@step
def _measure(state: State, page: int, i: int) -> None:
    """Count the access for its kind, and for the one before it if the page is used again in time."""
    seen = state.seen[page]
    if seen >= 0 and i - (seen >> 2) <= state.reach:
        state.reused[seen & 3] += 1
    kind = int(state.kinds[i])
    state.made[kind] += 1
    state.seen[page] = (i << 2) | kind
    state.counts[SINCE] += 1
    if state.counts[SINCE] == state.window:
        state.counts[SINCE] = 0
        _reconfigure(state)


@step
def touch(state: State, page: int, i: int) -> None:
    """To the head of the queue of this access's kind."""
    _measure(state, page, i)
    unlink(state.before, state.after, page)
    link_head(state.before, state.after, state.queue.size + state.kinds[i], page)
    state.queue[page] = 1 + state.kinds[i]


@step
def _least(state: State, i: int) -> int:
    """The tail of least worth for its age."""
    least, victim = np.inf, NONE
    for kind in range(KINDS):
        head = state.queue.size + kind
        tail = state.before[head]
        if tail != head:
            score = state.worth[kind] / (i - (state.seen[tail] >> 2))
            if score < least:
                least, victim = score, tail
    return int(victim)


@step
def insert(state: State, page: int, i: int) -> int:
    """In at the head of its kind's queue, unless the kind is barred."""
    _measure(state, page, i)
    kind = int(state.kinds[i])
    victim = NONE
    if state.counts[USED] == state.capacity:
        if state.barred[kind]:
            return REFUSED
        victim = _least(state, i)
        unlink(state.before, state.after, victim)
        state.queue[victim] = 0
    else:
        state.counts[USED] += 1
    link_head(state.before, state.after, state.queue.size + kind, page)
    state.queue[page] = 1 + kind
    return victim
