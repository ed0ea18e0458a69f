"""Inputs of windows of requests, from each window's own requests alone.

Addresses enter as differences on one volume within the window and times as parts of its mean gap, so that neither
where the data lies on the disk nor the clock's unit reaches them: differences of integers do not change when all are
shifted, and neither does a quotient of two differences when both are multiplied.

Only `math` functions on float64 are used and the results rounded to float32, so that compiled and interpreted runs
agree.
"""

import math
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, I32, I64, U8
from cachezoo.kernels.jit import njit

SECTOR = 512
DELTA, NEAREST, PLACE, RUN, CONTINUES, REPEATS, AGE, GAP, SIZE, OP = range(10)
N_COLUMNS = 10
NONE = -1.0  # NEAREST of a request without an earlier one


class Requests(NamedTuple):
    """Requests in issue order."""

    time_us: I64  # int64[n] µs
    op: U8  # uint8[n] 0 read, 1 write
    volume: I32  # int32[n], the volume that an offset counts on; addresses on two volumes are never compared
    offset: I64  # int64[n] bytes
    size: I64  # int64[n] bytes, at least 1


@njit
def _steps(distance: int) -> float:
    """log2(1 + sectors), with the distance's sign."""
    steps = math.log2(1.0 + abs(distance) / SECTOR)
    return steps if distance >= 0 else -steps


@njit
def _middle(requests: Requests, first: int, end: int, i: int) -> int:
    """The middle start, in order of address, of a window's requests to the volume of request i."""
    starts = requests.offset[first:end][requests.volume[first:end] == requests.volume[i]]
    return int(np.sort(starts)[len(starts) // 2])


@njit
def _look_back(requests: Requests, first: int, i: int, row: F32) -> int:
    """Fill what compares request i with the window's earlier ones to its volume; the last of these, -1 for none."""
    volume, offset, size = requests.volume, requests.offset, requests.size
    low, high = offset[i], offset[i] + size[i]
    before, nearest, repeats, age, continues = -1, -1, 0, 0, 0
    for j in range(i - 1, first - 1, -1):
        if volume[j] != volume[i]:
            continue
        before = j if before < 0 else before
        apart = int(max(low, offset[j]) - min(high, offset[j] + size[j]))
        if apart < 0:
            repeats += 1
            age = i - j if age == 0 else age
        if low == offset[j] + size[j]:
            continues = 1
        nearest = max(apart, 0) if nearest < 0 else min(nearest, max(apart, 0))
    row[NEAREST] = _steps(nearest) if before >= 0 else NONE
    row[CONTINUES] = continues
    row[REPEATS] = math.log2(1.0 + repeats)
    row[AGE] = math.log2(1.0 + age)
    return before


@njit
def _window(requests: Requests, first: int, end: int, rows: F32) -> None:
    time_us, op, _, offset, size = requests
    span = int(time_us[end - 1] - time_us[first])
    runs, middles = np.zeros(end - first, np.int64), np.zeros(end - first, np.int64)
    for i in range(first, end):
        k = i - first
        row = rows[k]
        before = _look_back(requests, first, i, row)
        delta = int(offset[i] - offset[before] - size[before]) if before >= 0 else 0
        gap = int(time_us[i] - time_us[i - 1]) if i > first else 0
        runs[k] = runs[before - first] + 1 if before >= 0 and delta == 0 else 0
        middles[k] = middles[before - first] if before >= 0 else _middle(requests, first, end, i)
        row[DELTA] = _steps(delta)
        row[PLACE] = _steps(int(offset[i] - middles[k]))
        row[RUN] = math.log2(1.0 + runs[k])
        row[GAP] = math.log1p(gap * (end - first - 1) / span) if span > 0 else 0.0
        row[SIZE] = math.log2(float(size[i]))
        row[OP] = float(op[i])


@njit
def _windows(requests: Requests, starts: I64, length: int, rows: F32) -> None:
    for k in range(starts.size):
        _window(requests, starts[k], min(starts[k] + length, requests.time_us.size), rows[k])


def window_columns(requests: Requests, starts: I64, length: int) -> F32:
    """Columns of windows of consecutive requests.

    Args:
        requests: n of them.
        starts: int64[w], the first request of each window, below n.
        length: requests in a window; the last one's may be fewer, and its missing rows are 0.

    Returns:
        float32[w, length, N_COLUMNS], numbered as above; formulas and units in `cachezoo.features.window`.
    """
    rows = np.zeros((len(starts), length, N_COLUMNS), np.float32)
    _windows(requests, starts, length, rows)
    return rows
