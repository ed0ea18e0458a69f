"""How soon a page is used again: in time, and in other pages (reuse distance).

The reuse distance of an access is the number of other pages accessed since its page's last access; LRU serves an
access exactly where its distance is below the cache's size (Mattson et al., IBM Systems Journal 9(2), 1970). Long
traces are sampled by page (SHARDS: Waldspurger et al., FAST '15): a sampled page keeps all its accesses, and distances
in the sample are multiplied by one over the rate.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I32, I64
from cachezoo.kernels.characteristics import GAP_BINS, PER_OCTAVE, reuse_times
from cachezoo.kernels.stack_distance import COLD, stack_distances
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import PAGE_BYTES, Trace

MARKS = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Again:
    """Accesses of pages that were accessed before, by what the use before and the present one were.

    Attributes:
        share: of all page accesses.
        read_after_read, read_after_write, write_after_read, write_after_write: shares of all page accesses.
    """

    share: float
    read_after_read: float
    read_after_write: float
    write_after_read: float
    write_after_write: float


@dataclass(frozen=True)
class Times:
    """Times between two uses of a page.

    Attributes:
        from_s: float64[b] where each bin begins, four to a doubling; the first holds times of 0.
        accesses: int64[b].
        below_s: times below which 10, 25, 50, 75, 90 % of them lie, to the end of a bin.
    """

    from_s: F64
    accesses: I64
    below_s: dict[str, float]


@dataclass(frozen=True)
class Distances:
    """Reuse distances.

    Attributes:
        from_bytes: float64[b] where each bin begins, in bytes of distinct pages, four to a doubling.
        accesses: float64[b] of the whole trace; of a sample, scaled up.
        below_bytes: distances below which 10, 25, 50, 75, 90 % of them lie, to the end of a bin.
        first_share: accesses of pages never seen before, which no cache can hold.
        rate: share of the pages that were looked at; 1 is all of them.
        error: greatest standard error of the share of accesses below any of these distances; None: exact.
    """

    from_bytes: F64
    accesses: F64
    below_bytes: dict[str, float]
    first_share: float
    rate: float
    error: float | None


@dataclass(frozen=True)
class Reuse:
    """How soon a page is used again; `times` is None without a clock, or where no page is."""

    again: Again
    times: Times | None
    distances: Distances


def _below(counts: npt.NDArray[np.float64], ends: F64) -> dict[str, float]:
    """The end of the bin in which each of `MARKS` is reached; nothing where there is nothing to count."""
    total = float(counts.sum())
    if total == 0:
        return {}
    reached = np.cumsum(counts) / total
    return {f"{mark:.0%}": float(ends[np.searchsorted(reached, mark - 1e-12)]) for mark in MARKS}


def _times(gaps: I64) -> Times | None:
    used = np.flatnonzero(gaps)
    if len(used) == 0:
        return None
    edges = np.concatenate([[0.0], 2.0 ** (np.arange(GAP_BINS) / PER_OCTAVE)]) / 1e6
    most = int(used[-1]) + 1
    return Times(edges[:most], gaps[:most], _below(gaps[:most].astype(np.float64), edges[1 : most + 1]))


def _error(page_ids: I32, n_pages: int, distances: I32, bounds: I64, rate: float) -> float:
    """Greatest standard error over the bounds of the share of accesses below: a ratio over pages drawn by chance."""
    each = np.bincount(page_ids, minlength=n_pages).astype(np.float64)
    worst = 0.0
    for bound in bounds:
        below = np.bincount(page_ids, (distances != COLD) & (distances < bound), n_pages)
        rest = below - below.sum() / each.sum() * each
        worst = max(worst, float(np.sqrt((1 - rate) * (rest @ rest))) / float(each.sum()))
    return worst


def distances_of(pages: PageAccesses, accesses: int, rate: float) -> Distances:
    """Reuse distances.

    Args:
        pages: all page accesses, or those of a sample of the pages.
        accesses: page accesses of the whole trace.
        rate: share of the pages in the sample; 1 for all.
    """
    found = stack_distances(pages.page_ids, pages.n_pages)
    counts = np.bincount(found[found != COLD], minlength=1)
    # Edges in pages of the sample: whole numbers from 0, then four to a doubling; equal ones fall together.
    octaves = int(np.ceil(PER_OCTAVE * np.log2(len(counts) + 1))) + 1
    edges = np.unique(np.concatenate([[0, 1], np.ceil(2.0 ** (np.arange(octaves) / PER_OCTAVE))]).astype(np.int64))
    held = np.add.reduceat(np.append(counts, np.zeros(max(0, edges[-1] + 1 - len(counts)), np.int64)), edges[:-1])
    scaled_up = (held * (accesses / len(pages.page_ids))).astype(np.float64)
    scaled = (edges * (PAGE_BYTES / rate)).astype(np.float64)
    error = _error(pages.page_ids, pages.n_pages, found, edges[1::PER_OCTAVE], rate) if rate < 1 else None
    first = pages.n_pages / len(pages.page_ids)
    return Distances(scaled[:-1], scaled_up, _below(scaled_up, scaled[1:]), first, rate, error)


def reuse(trace: Trace, pages: PageAccesses, clock: bool, sample: tuple[PageAccesses, float] | None = None) -> Reuse:
    """Describe how soon pages are used again.

    Args:
        trace: requests.
        pages: their page accesses.
        clock: whether the trace has times.
        sample: page accesses of a sample of the pages, and its rate, for the distances alone; None: all are looked at.
    """
    gaps, pairs = reuse_times(pages.page_ids, pages.request_start, trace.op, trace.time_us, pages.n_pages)
    accesses = len(pages.page_ids)
    share = pairs / accesses
    again = Again(float(share.sum()), *(float(share[a, b]) for a, b in ((0, 0), (1, 0), (0, 1), (1, 1))))
    looked, rate = sample or (pages, 1.0)
    return Reuse(again, _times(gaps) if clock else None, distances_of(looked, accesses, rate))
