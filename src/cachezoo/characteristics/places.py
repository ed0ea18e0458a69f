"""Where requests go: addresses over time, and the working set."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I64
from cachezoo.kernels.characteristics import distinct_pages
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import PAGE_BYTES, Trace

REGION_BYTES = (1 << 20, 1 << 16, 1 << 12)  # the first of which enough are touched
HEAT_ROWS, HEAT_COLUMNS = 96, 160


@dataclass(frozen=True)
class HeatMap:
    """Requests by address and time.

    Attributes:
        region_bytes: addresses go by regions of so many bytes; those that no request began in are left out.
        regions: how many are left, volume after volume and by rising address.
        row_bytes: touched regions of one row of the map, in bytes.
        window_s: time of one column; None without a clock, when columns are equal numbers of requests.
        requests: int64[rows, columns], the lowest addresses and the earliest requests first; a request counts where
            it begins.
        busiest_share: requests in the busiest tenth of the rows, of all.
        stays_share: requests of the second half of the time in the rows that were the busiest tenth in the first.
    """

    region_bytes: int
    regions: int
    row_bytes: float
    window_s: float | None
    requests: I64
    busiest_share: float
    stays_share: float


@dataclass(frozen=True)
class WorkingSet:
    """Distinct pages over time.

    Attributes:
        window_s: width of a window; None without a clock, when windows are equal numbers of page accesses.
        accesses: int64[w] page accesses of each window.
        bytes: int64[w] distinct pages of each window, in bytes.
        new_bytes: int64[w] those that no window before it had.
        total_bytes: int64[w] distinct pages up to each window's end.
    """

    window_s: float | None
    accesses: I64
    bytes: I64
    new_bytes: I64
    total_bytes: I64


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
