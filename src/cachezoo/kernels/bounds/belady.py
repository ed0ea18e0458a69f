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


FREE, NEVER, FARTHEST = 0, 1, 2


@njit
def _serve(
    page_ids: I32, following: Next, bypass: bool, words: U64, start: I64, never: Next, numbers: I64, low: int,
    outcome: U8, victim: I32
) -> None:  # fmt: skip
    m = page_ids.size
    free, n_never, farthest = numbers
    for at in range(outcome.size):
        i = low + at
        then = int(following[i])
        if holds(words, i):
            outcome[at] = HIT
        elif free > 0:
            free -= 1
            outcome[at] = ADMITTED
        elif n_never > 0:
            if bypass and then >= m:
                continue
            n_never -= 1
            outcome[at] = ADMITTED
            if victim.size > 0:
                victim[at] = page_ids[never[n_never]]
        else:
            farthest = highest(words, start, farthest)
            if bypass and farthest < then:
                continue
            remove(words, start, farthest)
            outcome[at] = ADMITTED
            if victim.size > 0:
                victim[at] = page_ids[farthest]
        # Bits at positions gone by stay: they are below every resident page's.
        if then < m:
            add(words, start, then)
            farthest = max(farthest, then)
        else:
            never[n_never] = i
            n_never += 1
    numbers[FREE], numbers[NEVER], numbers[FARTHEST] = free, n_never, farthest


class Min:
    """MIN at work on a stream, which it serves a span at a time, from an empty cache on."""

    def __init__(self, page_ids: I32, following: Next, capacity: int, bypass: bool) -> None:
        """Start; arguments as of `belady`, and whether a miss may stay out."""
        self._asked, self._bypass, self._served = (page_ids, following), bypass, 0
        never: Next = np.empty(min(capacity, len(page_ids)), following.dtype)
        # The room for what is free and for what is never accessed again counts in pages, the farthest in accesses.
        self._bits, self._never, self._numbers = empty(len(page_ids)), never, np.array([len(never), 0, 0], np.int64)

    def serve(self, outcome: U8, victim: I32) -> None:
        """Serve the next accesses, as many as there is room for what becomes of them; as of `belady`."""
        outcome.fill(BYPASSED)
        victim.fill(NONE)
        _serve(
            *self._asked, self._bypass, *self._bits, self._never, self._numbers, self._served, outcome, victim
        )  # fmt: skip
        self._served += len(outcome)


def belady(page_ids: I32, following: Next, capacity: int, outcome: U8, victim: I32) -> None:
    """MIN that always inserts.

    Args:
        page_ids: int32[m].
        following: int32[m] or int64[m] from `cachezoo.kernels.bounds.following.next_access`; m or more is never.
        capacity: pages, at least 1.
        outcome: uint8[m], written: `ADMITTED` or `HIT`.
        victim: int32[m], written: the page evicted, or `NONE`; or of size 0 where nobody asks.
    """
    Min(page_ids, following, capacity, False).serve(outcome, victim)


def belady_bypass(page_ids: I32, following: Next, capacity: int, outcome: U8, victim: I32) -> None:
    """MIN with bypass: a miss whose page is needed later than all that a full cache holds does not enter.

    Args:
        page_ids: as of `belady`, and so are the others.
        following: see there.
        capacity: pages, at least 1.
        outcome: uint8[m], written: `BYPASSED`, `ADMITTED` or `HIT`.
        victim: see there.
    """
    Min(page_ids, following, capacity, True).serve(outcome, victim)
