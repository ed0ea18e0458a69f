"""mARC: ARC with a filter in front, by the hit ratio's trend: a cache that need not take every page that it misses.

The cache is in one of three states. Unstable: the working set changes, every miss enters, as in ARC. Stable: the hits
are steady or high, so a miss enters only if the filter still knows an earlier one. Unique: hardly anything comes back,
and the filter keeps that out too. The filter is an LRU list of ids, of adaptive size as in LARC; it is kept in all
states, and is asked only when the cache is full.

The state is judged once in a window of C accesses (C the capacity), after two windows where the unstable state has
just begun. With `recent` the hit ratio of the last window, `phase` that since the phase began (entering stable goes on
with the phase, entering another begins one):
    unstable to unique    recent < 0.5 phase, or recent < 0.05
    unstable to stable    otherwise, if phase is within 10 % of recent, or recent is no less than phase and 0.2
    stable to unstable    recent <= 0.7 phase
    unique to unstable    recent > 0.05, or the filter knew more than 10 % of the window's accesses

Source: Santana, Lyons, Koller, Rangaswami and Liu, "To ARC or not to ARC", HotStorage 2015: the states and the filter.
The numbers, the windows and the filter's sizes are those of the authors' own simulator (github.com/sylab/fomo,
src/algs/marc), restated from how it behaves; all but LARC's are parameters.

Where it differs from that simulator:
    what                            here                            there
    hit ratios, the filter's size   real numbers                    whole per cent, whole pages
    how often the filter knew       counted in every state          in the unstable state alone, so that in the unique
                                                                    one, which asks for it, it is 0
    a filter that has become small  drops ids at the next miss      drops one id an access
    accesses that bypass the cache  are not counted (what an        there are none
                                    admission keeps out)
libCacheSim has no mARC.

Parameters: `window` in capacities, and the six thresholds above by name.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32
from cachezoo.kernels.evict import arc
from cachezoo.kernels.lists import link_head, links, unlink
from cachezoo.kernels.outcome import REFUSED
from cachezoo.kernels.step import step

UNSTABLE, STABLE, UNIQUE = 0, 1, 2
# Places of `counts`.
MODE, LEFT, RECENT, PHASE_HITS, PHASE, KNEW, FILTERED = range(7)


class Thresholds(NamedTuple):
    """Of the hit ratio: see the table above."""

    low: float = 0.05
    high: float = 0.2
    drop: float = 0.5
    band: float = 0.1
    fall: float = 0.7
    known: float = 0.1


class State(NamedTuple):
    """ARC's state and the filter in front.

    `before`, `after` link the filter's ids, most recent first, and `known` uint8[n_pages] marks them; `size` float64[1]
    is its size. `counts` int64[7]: the state, the accesses left in the window, its hits, the phase's hits and accesses,
    how often the filter knew a miss of this window, the ids in the filter.
    """

    arc: arc.State
    before: I32
    after: I32
    known: npt.NDArray[np.uint8]
    size: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    window: int
    bounds: Thresholds


def make(n_pages: int, capacity: int, window: float = 1.0, bounds: Thresholds | None = None) -> State:
    """An empty cache of `capacity` pages over ids in [0, n_pages)."""
    accesses = max(1, int(window * capacity))
    counts = np.zeros(7, np.int64)
    counts[MODE], counts[LEFT] = UNSTABLE, 2 * accesses
    size = np.full(1, float(capacity))
    known = np.zeros(n_pages, np.uint8)
    inner = arc.make(n_pages, capacity)
    return State(inner, *links(n_pages, 1), known, size, counts, accesses, bounds or Thresholds())


@step
def has(state: State, page: int) -> bool:
    """Is the page in the cache?"""
    return arc.has(state.arc, page)


@step
def _next(state: State) -> int:
    """The state that the end of a window calls for."""
    counts, bounds = state.counts, state.bounds
    recent, phase = counts[RECENT] / state.window, counts[PHASE_HITS] / counts[PHASE]
    if counts[MODE] == STABLE:
        return UNSTABLE if recent <= bounds.fall * phase else STABLE
    if counts[MODE] == UNIQUE:
        return UNSTABLE if recent > bounds.low or counts[KNEW] > bounds.known * state.window else UNIQUE
    if recent < bounds.drop * phase or recent < bounds.low:
        return UNIQUE
    if abs(phase - recent) < bounds.band * recent or (recent >= phase and recent >= bounds.high):
        return STABLE
    return UNSTABLE


@step
def _judge(state: State) -> None:
    """The window ends."""
    counts = state.counts
    mode = _next(state)
    counts[LEFT] = state.window
    if mode != counts[MODE]:
        if mode == UNSTABLE:
            counts[LEFT] = 2 * state.window
        else:
            state.size[0] = 0.1 * state.arc.capacity
        if mode != STABLE:
            counts[PHASE_HITS] = counts[PHASE] = 0
        counts[MODE] = mode
    counts[RECENT] = counts[KNEW] = 0


@step
def _count(state: State, hit: int, knew: int) -> None:
    """One more access: a hit, or a miss that the filter knew."""
    counts = state.counts
    if counts[LEFT] == state.window:
        counts[RECENT] = counts[KNEW] = 0
    counts[RECENT] += hit
    counts[KNEW] += knew
    counts[PHASE_HITS] += hit
    counts[PHASE] += 1
    counts[LEFT] -= 1
    if counts[LEFT] == 0:
        _judge(state)


@step
def touch(state: State, page: int, i: int) -> None:
    """ARC's hit; the filter shrinks."""
    _count(state, 1, 0)
    capacity, size = state.arc.capacity, state.size[0]
    state.size[0] = max(0.1 * capacity, size - capacity / (capacity - size)) if size < capacity else 0.1 * capacity
    arc.touch(state.arc, page, i)


@step
def _forget(state: State, page: int) -> None:
    """Out of the filter."""
    unlink(state.before, state.after, page)
    state.known[page] = 0
    state.counts[FILTERED] -= 1


@step
def _remember(state: State, page: int) -> None:
    """To the head of the filter, which drops what is too many."""
    state.known[page] = 1
    state.counts[FILTERED] += 1
    link_head(state.before, state.after, state.known.size, page)
    while state.counts[FILTERED] > max(1.0, state.size[0]):
        _forget(state, state.before[state.known.size])


@step
def insert(state: State, page: int, i: int) -> int:
    """As ARC, unless the filter is asked and does not know the page; the filter grows."""
    length = state.arc.length
    if length[arc.T1] + length[arc.T2] < state.arc.capacity:
        _count(state, 0, 0)
        return arc.insert(state.arc, page, i)
    knew = int(state.known[page])
    _count(state, 0, knew)
    capacity, size = state.arc.capacity, state.size[0]
    state.size[0] = min(0.9 * capacity, size + capacity / size)
    if knew:
        _forget(state, page)
    if state.counts[MODE] == UNSTABLE:
        _remember(state, page)
    elif not knew:
        _remember(state, page)
        return REFUSED
    return arc.insert(state.arc, page, i)
