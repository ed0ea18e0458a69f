"""Naive inputs of a window: each request beside every earlier one, on Python's integers."""

import math
from collections.abc import Sequence
from statistics import fmean, pstdev

Request = tuple[int, int, str, int, int]
"""time_us, op, volume, offset, size."""


def _steps(distance: int) -> float:
    return math.copysign(math.log2(1 + abs(distance) / 512), distance)


def _run(own: Sequence[Request]) -> int:
    """How many of the last requests to a volume each began where the one before ended."""
    run = 0
    for before, after in zip(own[-2::-1], own[:0:-1], strict=True):
        if after[3] != before[3] + before[4]:
            break
        run += 1
    return run


def naive_row(window: Sequence[Request], i: int) -> list[float]:
    """The inputs of request i of a window, in the order of `WINDOW_FORMULAS`."""
    time, op, volume, offset, size = window[i]
    own = [request for request in window[: i + 1] if request[2] == volume]
    earlier = own[:-1]
    overlaps = [
        j for j in range(i)
        if window[j][2] == volume and window[j][3] < offset + size and offset < window[j][3] + window[j][4]
    ]  # fmt: skip
    apart = [max(0, other[3] - offset - size, offset - other[3] - other[4]) for other in earlier]
    starts = sorted(request[3] for request in window if request[2] == volume)
    span = window[-1][0] - window[0][0]
    gap = time - window[i - 1][0] if i else 0
    return [
        _steps(offset - earlier[-1][3] - earlier[-1][4]) if earlier else 0.0,
        math.log2(1 + min(apart) / 512) if earlier else -1.0,
        _steps(offset - starts[len(starts) // 2]),
        math.log2(1 + _run(own)),
        float(any(other[3] + other[4] == offset for other in earlier)),
        math.log2(1 + len(overlaps)),
        math.log2(1 + i - overlaps[-1]) if overlaps else 0.0,
        math.log(1 + gap * (len(window) - 1) / span) if span else 0.0,
        math.log2(size),
        float(op),
    ]


def naive_statistics(rows: Sequence[Sequence[float]]) -> list[float]:
    """Mean of every input's magnitude over a window, then its standard deviation."""
    columns = [[abs(value) for value in column] for column in zip(*rows, strict=True)]
    return [*map(fmean, columns), *map(pstdev, columns)]
