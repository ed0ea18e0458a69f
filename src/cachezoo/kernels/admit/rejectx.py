"""RejectX: a page is rejected the first x times that it misses.

A miss is admitted if the page also missed x times within the last `window` accesses, those that were admitted among
them. Hits do not count. Asked for a unit of many pages, it remembers the page that it was asked about.

Source: Berg et al., "The CacheLib caching engine: design and experiences at scale", OSDI 2020, Sec. 4.2; x as in the
Baleen post, "Baselines". Parameters: x = 1, window_capacities = 4 (the window in capacities of accesses).

what            here                             CacheLib                     libCacheSim's BloomFilterAdmissioner
memory          each page's last x misses        filters (`bloom`)            a hash table (no filter)
window          accesses                         distinct pages that missed   all: a miss is never forgotten
x               a parameter                      1                            1

With x = 1 and a window longer than the trace it is libCacheSim's; miss ratios are equal.
"""

from typing import Any, NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.kernels.step import step


class State(NamedTuple):
    """`missed` int[n_pages * x]: the numbers of each page's last x misses, newest first, -1 where there is none."""

    missed: I32 | I64
    x: int
    window: int


def make(n_pages: int, window: int, x: int = 1, times: type[np.signedinteger[Any]] = np.int32) -> State:
    """Nothing missed so far; x numbers of accesses a page, of the type `times`."""
    missed: I32 | I64 = np.full(n_pages * x, -1, times)
    return State(missed, x, window)


@step
def admit(state: State, page: int, i: int) -> bool:
    """Did the page miss x times in the window? This miss is remembered either way."""
    first = int(page) * state.x
    last = first + state.x - 1
    oldest = state.missed[last]
    for k in range(last, first, -1):
        state.missed[k] = state.missed[k - 1]
    state.missed[first] = i
    return bool(oldest >= 0 and i - oldest <= state.window)


@step
def saw(state: State, page: int, i: int) -> None:
    """Nothing to note: hits do not count."""
