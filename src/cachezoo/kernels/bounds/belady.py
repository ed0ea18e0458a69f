"""MIN: the page whose next access is farthest leaves; with bypass it is the optimum of page hits.

Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966; that
it is optimal, Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970. MIN
always inserts; a cache that may bypass gains a little more, and never loses.

A resident page is known by the position of its next access alone: a bit at each such position. So the access at
position i hits iff bit i is set, and the page to evict is at the highest bit (`cachezoo.kernels.bounds.bitset`);
there is no hash, no heap and no table of pages. Pages that are never accessed again lie on a stack, and the one last
accessed leaves first.

    where it differs    here                                 libCacheSim's Belady
    next accesses       found in a pass over the stream      read from the trace (oracleGeneral)
    victim              the farthest of all                  the same
    ties (never again)  the page accessed last leaves first  by its heap's order; hits are the same

Miss ratios are equal.
"""

import numpy as np

from cachezoo.arrays import I32, I64, U8, U64
from cachezoo.kernels.bounds.bitset import add, empty, highest, holds, remove
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT, NONE

Next = I32 | I64


@njit
def _simulate(
    page_ids: I32, following: Next, bypass: bool, words: U64, start: I64, never: Next, outcome: U8, victim: I32
) -> None:
    m = page_ids.size
    free = never.size
    n_never = 0
    farthest = 0
    for i in range(m):
        then = int(following[i])
        if holds(words, i):
            outcome[i] = HIT
        elif free > 0:
            free -= 1
            outcome[i] = ADMITTED
        elif n_never > 0:
            if bypass and then >= m:
                continue
            n_never -= 1
            outcome[i] = ADMITTED
            if victim.size > 0:
                victim[i] = page_ids[never[n_never]]
        else:
            farthest = highest(words, start, farthest)
            if bypass and farthest < then:
                continue
            remove(words, start, farthest)
            outcome[i] = ADMITTED
            if victim.size > 0:
                victim[i] = page_ids[farthest]
        # Bits at positions gone by stay: they are below every resident page's.
        if then < m:
            add(words, start, then)
            farthest = max(farthest, then)
        else:
            never[n_never] = i
            n_never += 1


def _run(page_ids: I32, following: Next, capacity: int, bypass: bool, outcome: U8, victim: I32) -> None:
    outcome.fill(BYPASSED)
    victim.fill(NONE)
    never = np.empty(min(capacity, len(page_ids)), following.dtype)
    _simulate(page_ids, following, bypass, *empty(len(page_ids)), never, outcome, victim)


def belady(page_ids: I32, following: Next, capacity: int, outcome: U8, victim: I32) -> None:
    """MIN that always inserts.

    Args:
        page_ids: int32[m].
        following: int32[m] or int64[m] from `cachezoo.kernels.bounds.following.next_access`; m or more is never.
        capacity: pages, at least 1.
        outcome: uint8[m], written: `ADMITTED` or `HIT`.
        victim: int32[m], written: the page evicted, or `NONE`; or of size 0 where nobody asks.
    """
    _run(page_ids, following, capacity, False, outcome, victim)


def belady_bypass(page_ids: I32, following: Next, capacity: int, outcome: U8, victim: I32) -> None:
    """MIN with bypass: a miss whose page is needed later than all that a full cache holds does not enter.

    Args:
        page_ids: as of `belady`, and so are the others.
        following: see there.
        capacity: pages, at least 1.
        outcome: uint8[m], written: `BYPASSED`, `ADMITTED` or `HIT`.
        victim: see there.
    """
    _run(page_ids, following, capacity, True, outcome, victim)
