"""Pages: what was touched, how unevenly they are used, how soon again, where they lie, and the working set.

Zipf's law says that the page of rank k gets a share in proportion to k^-s. The exponent is the one of greatest
likelihood given the ranks; the fit's quality is the greatest distance between the observed and the fitted share of
accesses up to any rank (Kolmogorov and Smirnov's statistic). Source: Clauset, Shalizi, Newman, "Power-law
distributions in empirical data", SIAM Review 51(4), 2009; the law over ranks: Breslau et al., INFOCOM '99.

The reuse distance of an access is the number of other pages accessed since its page's last access; LRU serves an
access exactly where its distance is below the cache's size (Mattson et al., IBM Systems Journal 9(2), 1970). Long
traces are sampled by page (SHARDS: Waldspurger et al., FAST '15): a sampled page keeps all its accesses, and distances
in the sample are multiplied by one over the rate.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I32, I64
from cachezoo.contest.lead import Mean
from cachezoo.kernels.characteristics import GAP_BINS, PER_OCTAVE, distinct_pages, page_uses, reuse_times
from cachezoo.kernels.stack_distance import COLD, stack_distances
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import PAGE_BYTES, Trace

TOP_SHARES = (0.001, 0.01, 0.1, 0.2)
LEAST_ACCESSES, LEAST_PAGES = 1_000, 10  # below which no law is fitted
STEEPEST = 5.0
POINTS = 120
COMPARED = 20_000  # ranks, evenly apart in logarithm, at which the fit is compared
AT_ONCE = 1 << 20
SUMMED = 10_000  # terms of the normalising sum that are added one by one; the rest by Euler and Maclaurin's formula
MARKS = (0.1, 0.25, 0.5, 0.75, 0.9)
REGION_BYTES = (1 << 20, 1 << 16, 1 << 12)  # the first of which enough are touched
HEAT_ROWS, HEAT_COLUMNS = 96, 160


@dataclass(frozen=True)
class Footprint:
    """Distinct pages of 4 KiB, in bytes.

    Attributes:
        bytes: touched at all.
        read_bytes, written_bytes: read at least once; written at least once.
        both_bytes: read and written.
        read_only_bytes, written_only_bytes: never written; never read.
        address_span_bytes: from each volume's lowest to its highest address touched, summed over the volumes.
    """

    bytes: int
    read_bytes: int
    written_bytes: int
    both_bytes: int
    read_only_bytes: int
    written_only_bytes: int
    address_span_bytes: int


@dataclass(frozen=True)
class Uses:
    """How often each page was used.

    Attributes:
        reads, writes: int32[n_pages].
    """

    reads: I32
    writes: I32


def uses(trace: Trace, pages: PageAccesses) -> Uses:
    """Count every page's reads and writes."""
    return Uses(*page_uses(pages.page_ids, pages.request_start, trace.op, pages.n_pages))


def footprint(trace: Trace, used: Uses) -> Footprint:
    """Measure the pages that were touched, and the room between the ends of each volume."""
    read, written = used.reads > 0, used.writes > 0
    count = {
        "bytes": len(read), "read_bytes": read.sum(), "written_bytes": written.sum(),
        "both_bytes": (read & written).sum(), "read_only_bytes": (read & ~written).sum(),
        "written_only_bytes": (written & ~read).sum(),
    }  # fmt: skip
    low = np.full(len(trace.volume.names), np.iinfo(np.int64).max)
    high = np.zeros(len(trace.volume.names), np.int64)
    np.minimum.at(low, trace.volume.codes, trace.offset)
    np.maximum.at(high, trace.volume.codes, trace.offset + trace.size)
    span = sum((high - low)[high > 0].tolist())  # Python's integers: many volumes may have ends near 2**62
    return Footprint(**{name: int(pages) * PAGE_BYTES for name, pages in count.items()}, address_span_bytes=span)


@dataclass(frozen=True)
class Zipf:
    """Zipf's law fitted: exponent, accesses of rank 1, and the greatest distance from the observed cumulative share."""

    exponent: float
    first_accesses: float
    distance: float


@dataclass(frozen=True)
class Popularity:
    """How unevenly pages are used.

    Attributes:
        rank, accesses: int64[k] pages in order of their accesses, most first; ranks are spaced evenly in logarithm.
        top_share: share of all accesses that goes to the busiest 0.1, 1, 10 and 20 % of the pages (at least one page).
        once_share: pages that were accessed once alone.
        half_of_accesses_share: least share of the pages that gets half of all accesses.
        zipf: None below 1,000 accesses or 10 pages, or where all pages are used equally often.
    """

    rank: I64
    accesses: I64
    top_share: dict[str, float]
    once_share: float
    half_of_accesses_share: float
    zipf: Zipf | None


def zipf_sum(s: float, ranks: F64) -> F64:
    """Sum of k^-s for k from 1 to each rank, to about nine digits.

    Args:
        s: exponent, 0 or greater.
        ranks: float64[k] whole numbers of at least 1, rising.
    """
    head = np.concatenate([[0.0], np.cumsum(np.arange(1, SUMMED + 1, dtype=np.float64) ** -s)])
    near = np.minimum(ranks, SUMMED).astype(np.int64)
    a, b = float(SUMMED), np.maximum(ranks, SUMMED)
    between = np.log(b / a) if abs(s - 1) < 1e-9 else (b ** (1 - s) - a ** (1 - s)) / (1 - s)
    ends = (b**-s - a**-s) / 2 - s * (b ** (-s - 1) - a ** (-s - 1)) / 12
    found: F64 = head[near] + between + ends
    return found


def fit_zipf(counts: I64) -> Zipf | None:
    """Fit Zipf's law.

    Args:
        counts: int64[n] accesses of each page, most first, each at least 1.
    """
    from scipy.optimize import minimize_scalar

    total, pages = int(counts.sum()), len(counts)
    if total < LEAST_ACCESSES or pages < LEAST_PAGES or counts[0] == counts[-1]:
        return None
    mean_log = 0.0
    for k in range(0, pages, AT_ONCE):
        part = counts[k : k + AT_ONCE]
        mean_log += float(part @ np.log(np.arange(k + 1, k + 1 + len(part), dtype=np.float64))) / total
    last = np.array([float(pages)])

    def cost(s: float) -> float:
        return s * mean_log + float(np.log(zipf_sum(s, last)[0]))

    s = float(minimize_scalar(cost, bounds=(0.0, STEEPEST), method="bounded", options={"xatol": 1e-6}).x)
    ranks = np.unique(np.geomspace(1, pages, COMPARED).round())
    seen = np.cumsum(counts)[ranks.astype(np.int64) - 1] / total
    fitted = zipf_sum(s, ranks) / zipf_sum(s, last)
    return Zipf(s, total / float(zipf_sum(s, last)[0]), float(np.abs(seen - fitted).max()))


def popularity(used: Uses) -> Popularity:
    """Describe how unevenly pages are used."""
    counts = np.sort(used.reads.astype(np.int64) + used.writes)[::-1]
    pages, reached = len(counts), np.cumsum(counts)
    total = int(reached[-1])
    rank = np.unique(np.round(np.geomspace(1, pages, POINTS)).astype(np.int64))
    top = {f"{share:.1%}": float(reached[max(1, round(share * pages)) - 1]) / total for share in TOP_SHARES}
    half = (int(np.searchsorted(2 * reached, total)) + 1) / pages
    return Popularity(rank, counts[rank - 1], top, float((counts == 1).mean()), half, fit_zipf(counts))


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
    """Times between two uses of a page."""

    from_s: F64  # float64[b] where each bin begins, four to a doubling; the first holds times of 0
    accesses: I64  # int64[b]
    below_s: dict[str, float]  # times below which 10, 25, 50, 75, 90 % of them lie, to the end of a bin


@dataclass(frozen=True)
class Distances:
    """Reuse distances."""

    from_bytes: F64  # float64[b] where each bin begins, in bytes of distinct pages, four to a doubling
    accesses: F64  # float64[b] of the whole trace; of a sample, scaled up
    below_bytes: dict[str, float]  # distances below which 10, 25, 50, 75, 90 % of them lie, to the end of a bin
    first_share: float  # accesses of pages never seen before, which no cache can hold
    rate: float  # share of the pages that were looked at; 1 is all of them
    # half the widest 90 % interval of the share of accesses below any of these distances; None: exact
    error_90: float | None


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
    """Half the widest 90 % interval of the shares of accesses below the bounds: ratios over pages drawn by chance."""
    each = np.bincount(page_ids, minlength=n_pages).astype(np.float64)
    worst = 0.0
    for bound in bounds:
        below = np.bincount(page_ids, (distances != COLD) & (distances < bound), n_pages)
        rest = below - below.sum() / each.sum() * each
        worst = max(worst, float(np.sqrt((1 - rate) * (rest @ rest))) / float(each.sum()))
    return Mean(0.0, worst**2, np.inf).ends[1]


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


@dataclass(frozen=True)
class HeatMap:
    """Requests by address and time."""

    region_bytes: int  # addresses go by regions of so many bytes; those that no request began in are left out
    regions: int  # how many are left, volume after volume and by rising address
    row_bytes: float  # touched regions of one row of the map, in bytes
    window_s: float | None  # time of one column; None without a clock, when columns are equal numbers of requests
    # int64[rows, columns], the lowest addresses and the earliest requests first; a request counts where it begins
    requests: I64
    busiest_share: float  # requests in the busiest tenth of the rows, of all
    stays_share: float  # requests of the second half of the time in the rows that were the busiest tenth in the first


@dataclass(frozen=True)
class WorkingSet:
    """Distinct pages over time."""

    window_s: float | None  # width of a window; None without a clock, when windows are equal numbers of page accesses
    accesses: I64  # int64[w] page accesses of each window
    bytes: I64  # int64[w] distinct pages of each window, in bytes
    new_bytes: I64  # int64[w] those that no window before it had
    total_bytes: I64  # int64[w] distinct pages up to each window's end


def _columns_of(trace: Trace, clock: bool, columns: int) -> tuple[I64, float | None]:
    """Each request's column of time, and a column's width in seconds."""
    if not clock:
        return np.arange(len(trace), dtype=np.int64) * columns // len(trace), None
    time_us = trace.time_us - trace.time_us[0]
    width = float(time_us[-1]) / columns
    return np.minimum((time_us / width).astype(np.int64), columns - 1), width / 1e6


def heat_map(trace: Trace, clock: bool) -> HeatMap:
    """Count requests by address and time."""
    for region_bytes in REGION_BYTES:
        shift = int(region_bytes).bit_length() - 1
        # Numbered by rank, so that a volume and a region fit into one number however many volumes there are.
        regions, rank = np.unique(trace.offset >> shift, return_inverse=True)
        key = trace.volume.codes.astype(np.int64) * len(regions) + rank
        touched, place = np.unique(key, return_inverse=True)
        if len(touched) >= 4 * HEAT_ROWS:
            break
    rows = min(HEAT_ROWS, len(touched))
    column, window_s = _columns_of(trace, clock, HEAT_COLUMNS)
    cell = (place * rows // len(touched)) * HEAT_COLUMNS + column
    counts = np.bincount(cell, minlength=rows * HEAT_COLUMNS).reshape(rows, HEAT_COLUMNS)
    row_bytes = len(touched) / rows * region_bytes
    return HeatMap(region_bytes, len(touched), row_bytes, window_s, counts, *_hot(counts))


def _hot(counts: I64) -> tuple[float, float]:
    """`busiest_share` and `stays_share` of a map."""
    tenth = max(1, round(len(counts) / 10))
    rows, half = counts.sum(axis=1), counts.shape[1] // 2
    first, second = counts[:, :half].sum(axis=1), counts[:, half:].sum(axis=1)
    then = np.argsort(-first, kind="stable")[:tenth]
    return float(np.sort(rows)[-tenth:].sum() / rows.sum()), float(second[then].sum() / max(1, second.sum()))


def working_set(trace: Trace, pages: PageAccesses, clock: bool, windows: int) -> WorkingSet:
    """Count the distinct pages of windows of time; of page accesses where there is no clock."""
    accesses = len(pages.page_ids)
    if clock:
        column, window_s = _columns_of(trace, clock, windows)
        first = np.searchsorted(column, np.arange(windows + 1))
        bounds = pages.request_start[first].astype(np.int64)
    else:
        windows, window_s = min(windows, accesses), None
        bounds = np.arange(windows + 1, dtype=np.int64) * accesses // windows
    distinct, new = distinct_pages(pages.page_ids, bounds, pages.n_pages)
    return WorkingSet(window_s, np.diff(bounds), distinct * PAGE_BYTES, new * PAGE_BYTES, np.cumsum(new) * PAGE_BYTES)
