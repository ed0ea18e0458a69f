"""What applications that share a cache do in each window: the part of `share_forecast.py` that no model is needed for.

A window is so many references of all applications together. Its histogram says of each application how many references
found their page at which depth of a least-recently-used queue, in fragments of 256 pages: what each fragment of cache
would have hit. A split gives each application a part of the cache, in units of equally many fragments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.jit import njit
from cachezoo.kernels.partition import partitioned
from cachezoo.kernels.stack_distance import stack_distances
from cachezoo.sharing.mix import by_clock
from cachezoo.sharing.mix import lockstep as in_turn
from cachezoo.tiers.stream import tier_stream
from cachezoo.traces.table import Trace

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

FRAGMENT = 256
FRAGMENTS = 1024
"""Fragments that are watched: 1 GiB of each application."""
UNITS = 96
"""At most so many parts of a cache are dealt out, so that dynamic programming stays cheap."""
LEAST = 500
"""References of an application, on average, of the shortest window; all others are so many of these."""
BLOCKS = 8
ALL_BEFORE = 1e-3
"""Weight of the mean of all windows before, in every forecast: it deals out what no other part sees a use for."""


@dataclass(frozen=True)
class Application:
    """A trace as a queue sees it.

    Attributes:
        name: of the trace.
        distances: int32[m] other pages since the page was last referenced; -1 at its first reference.
        time_us: int64[m].
        n_pages: distinct pages.
    """

    name: str
    distances: I32
    time_us: I64
    n_pages: int

    @classmethod
    def of(cls, name: str, trace: Trace) -> "Application":
        """Count distances."""
        stream = tier_stream(trace)
        return cls(
            name, stack_distances(stream.pages.page_ids, stream.pages.n_pages), stream.time_us, stream.pages.n_pages
        )


@dataclass(frozen=True)
class Mix:
    """Applications at once.

    Attributes:
        names: of the applications.
        lockstep: one reference of each in turn; else by their clocks.
        app: int32[M] whose reference it is.
        distances: int32[M].
        n_pages: distinct pages of all.
    """

    names: tuple[str, ...]
    lockstep: bool
    app: I32
    distances: I32
    n_pages: int

    @classmethod
    def of(cls, applications: Sequence[Application], *, lockstep: bool) -> "Mix":
        """Put references in order."""
        if lockstep:
            app = in_turn([len(one.distances) for one in applications])
        else:
            app = by_clock([one.time_us for one in applications])
        distances = np.empty(len(app), np.int32)
        for i, one in enumerate(applications):
            distances[app == i] = one.distances
        names = tuple(one.name for one in applications)
        return cls(names, lockstep, app, distances, sum(one.n_pages for one in applications))

    @cached_property
    def least(self) -> tuple[F64, F64]:
        """float64[k, A, FRAGMENTS] hits and float64[k, A] references of the shortest windows; a rest is left out."""
        a, window = len(self.names), LEAST * len(self.names)
        k = len(self.app) // window
        app, fragment = self.app[: k * window], self.distances[: k * window] // FRAGMENT
        cell = np.arange(k * window) // window * a + app
        held = (fragment >= 0) & (fragment < FRAGMENTS)
        hits = np.bincount(cell[held] * FRAGMENTS + fragment[held], minlength=k * a * FRAGMENTS)
        references = np.bincount(cell, minlength=k * a)
        return hits.reshape(k, a, FRAGMENTS).astype(np.float64), references.reshape(k, a).astype(np.float64)

    def windows(self, window: int) -> tuple[F64, F64]:
        """As `least`, of windows of `window` references an application, a multiple of LEAST."""
        hits, references = self.least
        times = window // LEAST
        k = len(hits) // times
        a = len(self.names)
        return (
            hits[: k * times].reshape(k, times, a, FRAGMENTS).sum(1),
            references[: k * times].reshape(k, times, a).sum(1),
        )

    def cache(self, share: float) -> tuple[int, int]:
        """Units of a cache that holds such a share of all pages, and the fragments of a unit."""
        fragments = max(2 * len(self.names), round(share * self.n_pages / FRAGMENT))
        step = -(-fragments // UNITS)
        return fragments // step, step


def decayed(hits: F64, decay: float) -> F64:
    """Mean of the windows before each, the latest weighing most.

    Args:
        hits: float64[k, ...].
        decay: what a window's weight is multiplied by with every later one; 0 is the last window alone, 1 all alike.

    Returns:
        float64[k, ...]; zeros for the first.
    """
    found = np.zeros_like(hits)
    total, weight = np.zeros_like(hits[0]), 0.0
    for k in range(1, len(hits)):
        total = decay * total + hits[k - 1]
        weight = decay * weight + 1
        found[k] = total / weight
    return found


def in_units(hits: F64, cache: tuple[int, int]) -> F64:
    """float64[k, A, units] of float64[k, A, FRAGMENTS]: a cache's units only."""
    units, step = cache
    wide = np.zeros((*hits.shape[:2], units * step))
    width = min(FRAGMENTS, units * step)
    wide[..., :width] = hits[..., :width]
    return wide.reshape(*hits.shape[:2], units, step).sum(3)


@njit
def _programmed(hits: F64, charge: float, splits: I32) -> None:
    """The split of most hits less what growing costs, each application a unit at least, by dynamic programming."""
    k, a, units = hits.shape
    best = np.empty((a + 1, units + 1))
    taken = np.zeros((a + 1, units + 1), np.int32)
    curve = np.zeros(units + 1)
    for w in range(k):
        if not hits[w].any():
            for i in range(a):
                splits[w, i] = units // a + (1 if i < units % a else 0)
            continue
        best[:] = -np.inf
        best[0, 0] = 0.0
        for i in range(a):
            for u in range(units):
                grown = w > 0 and u >= splits[w - 1, i]
                curve[u + 1] = curve[u] + hits[w, i, u] - (charge if grown else 0.0)
            for u in range(i + 1, units + 1):
                for own in range(1, u - i + 1):
                    if best[i, u - own] + curve[own] > best[i + 1, u]:
                        best[i + 1, u] = best[i, u - own] + curve[own]
                        taken[i + 1, u] = own
        left = units
        for i in range(a, 0, -1):
            splits[w, i - 1] = taken[i, left]
            left -= taken[i, left]


@njit
def _looked_ahead(hits: F64, splits: I32) -> None:
    """The lookahead of UCP: as many units at once as bring most hits a unit."""
    k, a, units = hits.shape
    for w in range(k):
        if not hits[w].any():
            for i in range(a):
                splits[w, i] = units // a + (1 if i < units % a else 0)
            continue
        splits[w] = 1
        left = units - a
        while left > 0:
            best, who, many = -1.0, 0, 1
            for i in range(a):
                gain = 0.0
                for j in range(left):
                    gain += hits[w, i, splits[w, i] + j]
                    if gain / (j + 1) > best:
                        best, who, many = gain / (j + 1), i, j + 1
            splits[w, who] += many
            left -= many


def split(forecast: F64, *, lookahead: bool = False, charge: float = 0.0) -> I32:
    """The split for each window.

    Args:
        forecast: float64[k, A, units] hits; none means that nothing is known, and each gets an equal part.
        charge: hits that a unit must be told to bring to an application beyond those of the one that has it.
        lookahead: Qureshi and Patt's, "Utility-based cache partitioning", MICRO 2006, Alg. 2; else the best there is.

    Returns:
        int32[k, A] units.
    """
    splits = np.empty(forecast.shape[:2], np.int32)
    if lookahead:
        _looked_ahead(forecast, splits)
    else:
        _programmed(forecast, charge, splits)
    return splits


def simulate(mix: Mix, splits: I32, step: int, window: int) -> I64:
    """Transfers when a cache is split so: what has left does not come back by itself.

    Args:
        mix: the applications.
        splits: int32[k, A] units; the last holds to the end.
        step: fragments of a unit.
        window: references of an application, on average.

    Returns:
        int64[BLOCKS] misses in equal parts of the references.
    """
    hit = np.empty(len(mix.app), np.bool_)
    begins = np.arange(len(splits), dtype=np.int64) * window * len(mix.names)
    partitioned(mix.app, mix.distances, begins, splits.astype(np.int64) * step * FRAGMENT, hit)
    misses: I64 = np.add.reduceat(~hit, np.arange(BLOCKS) * len(hit) // BLOCKS, dtype=np.int64)
    return misses


def believed(forecast: F64, hits: F64) -> F64:
    """A forecast with the little weight of all windows before: what every way of forecasting is split by."""
    return forecast + ALL_BEFORE * decayed(hits, 1.0)
