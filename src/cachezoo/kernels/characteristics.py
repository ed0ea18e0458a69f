"""What describes a trace, page by page: uses, windows of time, times between uses, updates, and who touched a page."""

import math
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8, U16, U32
from cachezoo.kernels.jit import njit

PER_OCTAVE = 4  # bins of a time between uses for each doubling
GAP_BINS = 2 + 63 * PER_OCTAVE
MOST_NAMES = 32


@njit
def _uses(page_ids: I32, start: I64, op: U8, reads: I32, writes: I32) -> None:
    for i in range(op.size):
        for k in range(start[i], start[i + 1]):
            if op[i]:
                writes[page_ids[k]] += 1
            else:
                reads[page_ids[k]] += 1


def page_uses(page_ids: I32, start: I64, op: U8, n_pages: int) -> tuple[I32, I32]:
    """How often each page was read and written.

    Args:
        page_ids: int32[m] in [0, n_pages).
        start: int64[n + 1] bounds of each request's page accesses.
        op: uint8[n] 0 read, 1 write.
        n_pages: distinct pages.

    Returns:
        int32[n_pages] reads, int32[n_pages] writes.
    """
    reads, writes = np.zeros(n_pages, np.int32), np.zeros(n_pages, np.int32)
    _uses(page_ids, start, op, reads, writes)
    return reads, writes


@njit
def _distinct(page_ids: I32, bounds: I64, seen: I32, distinct: I64, new: I64) -> None:
    for window in range(bounds.size - 1):
        for k in range(bounds[window], bounds[window + 1]):
            page = page_ids[k]
            if seen[page] < 0:
                new[window] += 1
            if seen[page] != window:
                distinct[window] += 1
                seen[page] = window


def distinct_pages(page_ids: I32, bounds: I64, n_pages: int) -> tuple[I64, I64]:
    """Distinct pages of each window of page accesses, and those of them that no earlier window had.

    Args:
        page_ids: int32[m] in [0, n_pages).
        bounds: int64[w + 1], rising; window i holds the accesses [bounds[i], bounds[i + 1]).
        n_pages: distinct pages.

    Returns:
        int64[w] distinct pages, int64[w] new pages.
    """
    distinct, new = np.zeros(len(bounds) - 1, np.int64), np.zeros(len(bounds) - 1, np.int64)
    _distinct(page_ids, bounds, np.full(n_pages, -1, np.int32), distinct, new)
    return distinct, new


@njit
def _again(page_ids: I32, start: I64, op: U8, time_us: I64, last: I64, wrote: U8, gaps: I64, pairs: I64) -> None:
    for i in range(op.size):
        for k in range(start[i], start[i + 1]):
            page = page_ids[k]
            if last[page] >= 0:
                gap = time_us[i] - last[page]
                gaps[0 if gap < 1 else 1 + int(PER_OCTAVE * math.log2(gap))] += 1
                pairs[wrote[page], op[i]] += 1
            last[page] = time_us[i]
            wrote[page] = op[i]


def reuse_times(page_ids: I32, start: I64, op: U8, time_us: I64, n_pages: int) -> tuple[I64, I64]:
    """Times between two uses of a page, and what the two were.

    Args:
        page_ids: int32[m] in [0, n_pages).
        start: int64[n + 1] bounds of each request's page accesses.
        op: uint8[n] 0 read, 1 write.
        time_us: int64[n] µs at 0 or later, never decreasing.
        n_pages: distinct pages.

    Returns:
        int64[GAP_BINS] accesses: bin 0 counts gaps of 0 µs, bin k those from 2**((k - 1) / PER_OCTAVE) µs to below
        2**(k / PER_OCTAVE); and int64[2, 2] accesses by the use before (row: 0 read, 1 write) and the present one.
    """
    gaps, pairs = np.zeros(GAP_BINS, np.int64), np.zeros((2, 2), np.int64)
    _again(page_ids, start, op, time_us, np.full(n_pages, -1, np.int64), np.zeros(n_pages, np.uint8), gaps, pairs)
    return gaps, pairs


@njit
def _mark(page_ids: I32, start: I64, places: I32, masks: U32, counts: I64) -> None:
    for i in range(places.size):
        if places[i] < 0:
            continue
        own = np.uint32(1) << np.uint32(places[i])
        for k in range(start[i], start[i + 1]):
            page = page_ids[k]
            if masks[page] & own == 0:
                masks[page] |= own
                counts[places[i]] += 1


def footprints(page_ids: I32, start: I64, places: I32, names: int, n_pages: int) -> I64:
    """Distinct pages that each of a few names touched.

    Args:
        page_ids: int32[m] in [0, n_pages).
        start: int64[n + 1] bounds of each request's page accesses.
        places: int32[n] each request's name in [0, names), or -1 where it does not matter.
        names: at most `MOST_NAMES`.
        n_pages: distinct pages.

    Returns:
        int64[names].
    """
    counts = np.zeros(names, np.int64)
    _mark(page_ids, start, places, np.zeros(n_pages, np.uint32), counts)
    return counts


class Updates(NamedTuple):
    """What writes do to units of the address space that were written before."""

    new: int  # write requests whose first unit nothing had written
    intervals: int  # times between two writes of one unit
    correlation: float  # lag-one autocorrelation of these, in the order in which they end; NaN where they never differ


@njit
def _updates(first: I32, count: U16, when: I64, last: I64, middle: float, sums: F64) -> tuple[int, int]:
    new, intervals, before = 0, 0, 0.0
    for i in range(first.size):
        if last[first[i]] < 0:
            new += 1
        for unit in range(first[i], first[i] + count[i]):
            if last[unit] >= 0:
                interval = when[i] - last[unit] - middle
                sums[0] += interval
                sums[1] += interval * interval
                if intervals:
                    sums[2] += before * interval
                before = interval
                intervals += 1
            last[unit] = when[i]
    return new, intervals


def updates(first: I32, count: U16, when: I64, units: int) -> Updates:
    """Updates among write requests, and how their intervals go on: two passes, memory of 8 bytes a unit.

    Args:
        first: int32[n] number of the first unit of each write; the others follow it.
        count: uint16[n] how many units, at least 1.
        when: int64[n] at 0 or later, never decreasing.
        units: how many there are.
    """
    sums = np.zeros(3)
    new, intervals = _updates(first, count, when, np.full(units, -1, np.int64), 0.0, sums)
    if intervals < 2:
        return Updates(new, intervals, math.nan)
    middle, sums = float(sums[0]) / intervals, np.zeros(3)
    _updates(first, count, when, np.full(units, -1, np.int64), middle, sums)
    constant = sums[1] <= 1e-12 * intervals * max(1.0, middle * middle)
    return Updates(new, intervals, math.nan if constant else float(sums[2] / sums[1]))
