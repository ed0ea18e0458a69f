"""When requests come: how many in each window of time, and how unevenly in it."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.synth.model import TIME_STEPS, Times

WINDOWS, REQUESTS_A_WINDOW, KINDS = 300, 50, 8
MOST = 0.999  # of a window that the gaps at both of its edges may take


def fit_times(time_us: I64) -> Times:
    """Count the requests of each window, and keep quantiles of the gaps.

    Windows are sorted by how uneven the gaps in them are into kinds of equal number, each with its own quantiles: a
    burst and a steady stream of as many requests differ. Gaps across the edge of two windows are long ones, as a long
    gap meets an edge more often; so they have quantiles of their own, and are as long as they are.

    Args:
        time_us: int64[n] rising.
    """
    n, span = len(time_us), int(time_us[-1] - time_us[0])
    even = [1.0] * len(TIME_STEPS)
    if span == 0:
        return Times(rate=[n], kinds=[0], gaps=[even], across=[even], idle=even)
    windows = int(np.clip(n // REQUESTS_A_WINDOW, 1, WINDOWS))
    at = (time_us - time_us[0]) * (windows / span)  # in windows
    window = np.minimum(at.astype(np.int64), windows - 1)
    rate = np.bincount(window, minlength=windows)
    live = np.flatnonzero(rate)
    begin = np.cumsum(rate) - rate
    low, high = at[begin[live]] - live, at[begin[live] + rate[live] - 1] - live
    mean = np.ones(windows)
    mean[live] = np.where(high > low, (high - low) / np.maximum(rate[live] - 1, 1), 1.0)
    within = window[1:] == window[:-1]
    own = window[1:][within]
    gaps = np.diff(at)[within] / mean[own]
    uneven = np.bincount(own, gaps * gaps, windows) / np.maximum(rate - 1, 1)
    kinds = np.zeros(windows, np.int64)
    kinds[live[np.argsort(uneven[live], kind="stable")]] = np.arange(len(live)) * KINDS // len(live)
    next_to, before = np.diff(live) == 1, kinds[live[:-1]]
    return Times(
        rate=rate.tolist(),
        kinds=kinds.tolist(),
        gaps=[_quantiles(gaps[kinds[own] == kind]) for kind in range(KINDS)],
        across=[_quantiles((low[1:] + 1 - high[:-1])[next_to & (before == kind)]) for kind in range(KINDS)],
        idle=_quantiles(np.concatenate([1 - high[:-1][~next_to], low[1:][~next_to]])),
    )


def _quantiles(values: F64) -> list[float]:
    if not len(values):
        return [1.0] * len(TIME_STEPS)
    return [float(f"{value:.6g}") for value in np.quantile(values, TIME_STEPS)]


def draw_times(known: Times, n: int, span: int, random: np.random.Generator) -> I64:
    """Microseconds: each window of time gets its share of the requests, at gaps as the trace's were.

    Quantiles are drawn without chance where they can be: of the k gaps of a window one from each kth of them, in any
    order, so that one that is rare comes neither twice nor not at all.

    Args:
        known: of the trace.
        n: requests.
        span: microseconds from the first to the last.
        random: draws.

    Returns:
        int64[n], from 0, rising, the last one at the span.
    """
    share = np.asarray(known.rate, np.float64) * (n / sum(known.rate))
    rate = np.floor(share).astype(np.int64)
    rate[np.argsort(rate - share, kind="stable")[: n - int(rate.sum())]] += 1
    window = np.repeat(np.arange(len(rate)), rate)
    begin = np.cumsum(rate) - rate
    edges = _edges(known, rate, sum(known.rate) / n, random)
    gaps = _gaps(known, rate, window, begin, random)
    total = np.bincount(window, gaps, len(rate))
    total[total == 0] = 1.0
    since = np.cumsum(gaps)
    since -= since[np.minimum(begin, n - 1)][window]
    inside = since / total[window] * (1 - edges.leading - edges.trailing)[window]
    times = np.rint((window + edges.leading[window] + inside) * (span / len(rate))).astype(np.int64)
    times -= times[0]
    times[-1] = max(span, int(times[-1]))
    found: I64 = np.maximum.accumulate(np.minimum(times, span))
    return found


@dataclass(frozen=True)
class _Edges:
    """Of each window the part before its first request and that after its last."""

    leading: F64
    trailing: F64


def _edges(known: Times, rate: I64, dense: float, random: np.random.Generator) -> _Edges:
    """Gaps across the edges, cut anywhere; they are the shorter the more requests there are."""
    live = np.flatnonzero(rate)
    leading, trailing = np.zeros(len(rate)), np.zeros(len(rate))
    next_to = np.diff(live) == 1
    left, right = live[:-1][next_to], live[1:][next_to]
    gap = np.zeros(len(left))
    for kind, quantiles in enumerate(known.across):
        of = np.flatnonzero(np.asarray(known.kinds)[left] == kind)
        gap[of] = np.interp(_spread(len(of), random), TIME_STEPS, quantiles)
    gap = np.minimum(gap * dense, 2.0)
    least = np.maximum(0.0, gap - 1.0)  # neither part is longer than a window
    trailing[left] = least + random.random(len(left)) * (gap - 2 * least)
    leading[right] = gap - trailing[left]
    left, right = live[:-1][~next_to], live[1:][~next_to]
    parts = np.interp(_spread(2 * len(left), random), TIME_STEPS, known.idle)
    trailing[left], leading[right] = parts[: len(left)], parts[len(left) :]
    shrink = MOST / np.maximum(leading + trailing, MOST)
    return _Edges(leading * shrink, trailing * shrink)


def _gaps(known: Times, rate: I64, window: I64, begin: I64, random: np.random.Generator) -> F64:
    """The gap before each request in its window, 0 of the first, in any unit that the window's gaps share."""
    n = len(window)
    place = np.arange(n) - begin[window]
    order = np.lexsort((random.random(n) - (place == 0), window))
    rank = np.empty(n, np.int64)
    rank[order] = place
    draw = (rank - 1 + random.random(n)) / np.maximum(rate[window] - 1, 1)
    kinds = np.asarray(known.kinds, np.int64)[window]
    gaps = np.zeros(n)
    for kind, quantiles in enumerate(known.gaps):
        of = np.flatnonzero((kinds == kind) & (place > 0))
        gaps[of] = np.interp(draw[of], TIME_STEPS, quantiles)
    return gaps


def _spread(n: int, random: np.random.Generator) -> F64:
    """One number from each nth of [0, 1), in any order."""
    found: F64 = (random.permutation(n) + random.random(n)) / max(n, 1)
    return found
