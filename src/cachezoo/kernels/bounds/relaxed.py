"""Relaxed Belady: which of the pages needed far enough ahead leaves does not matter much.

Source: Song, Berger, Li, Lloyd, "Learning Relaxed Belady for Content Distribution Network Caching", NSDI 2020, Sec. 3.
The Belady boundary is the minimum of the time to next request over all pages that MIN evicts (MIN always inserts);
an eviction is a good decision if the page's next request is not before the boundary. The relaxed policy evicts any
page beyond the boundary, and the farthest one if there is none.

Time is counted in page accesses. "Any" is here the page used longest ago, so that a run has one result; the paper draws
one at random. A page that is never requested again is beyond every boundary.

It is no upper bound: it shows what a policy reaches that tells near from far at one threshold and knows nothing else.
The minimum of a whole trace is that of its tightest moment, so where demand changes it lies well below what MIN does
most of the time, and the policy well below MIN.
"""

import numpy as np

from cachezoo.arrays import I32, I64, U8, U64
from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.belady import belady
from cachezoo.kernels.bounds.bitset import add, empty, highest, holds, remove
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, HIT, NONE

Next = I32 | I64


@njit
def _ahead(page_ids: I32, following: Next, victim: I32, upcoming: I64, ahead: I64) -> None:
    m = page_ids.size
    for i in range(m):
        ahead[i] = -1
        if victim[i] >= 0:
            then = upcoming[victim[i]]
            ahead[i] = then - i if then < m else m
        upcoming[page_ids[i]] = following[i]


def eviction_ahead(page_ids: I32, following: Next, victim: I32, n_pages: int) -> I64:
    """How far ahead the next request of each page evicted was, by any policy.

    Args:
        page_ids: int32[m].
        following: int32[m] or int64[m] from `cachezoo.kernels.bounds.following.next_access`; m or more is never.
        victim: int32[m], the page that each access evicted, or `NONE`.
        n_pages: distinct pages.

    Returns:
        int64[m] accesses; m where the page is never requested again, -1 where nothing was evicted.
    """
    ahead = np.empty(len(page_ids), np.int64)
    _ahead(page_ids, following, victim, np.full(n_pages, len(page_ids), np.int64), ahead)
    return ahead


def belady_boundary(page_ids: I32, following: Next, n_pages: int, capacity: int) -> int:
    """The Belady boundary of a trace at a capacity, in accesses; m if MIN evicts nothing that is requested again.

    Args:
        page_ids: int32[m].
        following: as of `eviction_ahead`.
        n_pages: distinct pages.
        capacity: pages, at least 1.
    """
    outcome, victim = np.empty(len(page_ids), np.uint8), np.empty(len(page_ids), np.int32)
    belady(page_ids, following, capacity, outcome, victim)
    return int(eviction_ahead(page_ids, following, victim, n_pages).min(initial=len(page_ids), where=victim >= 0))


@njit
def _simulate(
    page_ids: I32, following: Next, free: int, boundary: int, words: U64, start: I64, outcome: U8, victim: I32
) -> None:
    m = page_ids.size
    farthest = 0
    oldest = 0
    for i in range(m):
        then = int(following[i])
        victim[i] = NONE
        if holds(words, i):
            outcome[i] = HIT
        else:
            outcome[i] = ADMITTED
            if free > 0:
                free -= 1
            else:
                # A resident page is known by the access that it was last used at. Once within the boundary it stays
                # within until it is used again, and what is beyond has not been used again: so those beyond, from
                # the one used longest ago on, are what this pointer meets, and it never goes back.
                while oldest < i and following[oldest] < m and following[oldest] - i < boundary:
                    oldest += 1
                if oldest < i:
                    out = int(following[oldest])
                    victim[i] = page_ids[oldest]
                    oldest += 1
                    if out < m:
                        remove(words, start, out)
                else:
                    farthest = highest(words, start, farthest)
                    remove(words, start, farthest)
                    victim[i] = page_ids[farthest]
        if then < m:
            add(words, start, then)
            farthest = max(farthest, then)


def relaxed_belady(page_ids: I32, following: Next, capacity: int, boundary: int, outcome: U8, victim: I32) -> None:
    """Evict the page used longest ago of those beyond the boundary, or the farthest if there is none.

    Args:
        page_ids: int32[m].
        following: as of `eviction_ahead`.
        capacity: pages, at least 1.
        boundary: accesses, at least 1; from m on only what is never requested again is beyond it.
        outcome: uint8[m], written: `ADMITTED` or `HIT`.
        victim: int32[m], written: the page evicted, or `NONE`.

    Raises:
        ConfigError: a boundary below 1.
    """
    if boundary < 1:
        raise ConfigError(f"boundary {boundary}: at least one access")
    _simulate(page_ids, following, capacity, boundary, *empty(len(page_ids)), outcome, victim)
