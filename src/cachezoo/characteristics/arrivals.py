"""When requests come: load over time, gaps between requests, and how bursty they are at each scale of time.

Index of dispersion: variance over mean of the requests in windows of one width. It is 1 for arrivals by chance
(Poisson) at every width; it grows with the width where bursts come in bursts. Source: Gusella, "Characterizing the
variability of arrival processes with indexes of dispersion", IEEE JSAC 9(2), 1991. Hurst's exponent is estimated from
the same growth by aggregated variances: the variance of a mean over w windows falls with w^(2H - 2), so H is 0.5 by
chance and nears 1 where busy stretches come at all scales. Source: Taqqu, Teverovsky, Willinger, "Estimators for
long-range dependence", Fractals 3(4), 1995, Sec. 2.1.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.characteristics.values import CDF_SHARES, quantiles
from cachezoo.contest.series import autocorrelation
from cachezoo.traces.table import OP_READ, Trace

WIDTHS_US = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 60_000_000, 300_000_000, 3_600_000_000)
LEAST_WINDOWS, MOST_WINDOWS = 30, 2_000_000
HURST_WINDOWS, HURST_LEVELS, HURST_REQUESTS = 1 << 13, 8, 1 << 13
HOUR_US, DAY_HOURS, DAILY_DAYS = 3_600_000_000, 24, 2


@dataclass(frozen=True)
class Scale:
    """Requests in windows of one width."""

    window_s: float  # width
    windows: int  # how many whole ones
    peak_per_s: float  # requests of the busiest
    peak_to_mean: float  # over the mean
    index_of_dispersion: float  # variance over mean of the requests in a window
    idle_share: float  # windows without a request
    autocorrelation: float | None  # of neighbouring windows; None where they never change


@dataclass(frozen=True)
class Hurst:
    """Hurst's exponent, the slope's standard error (in H), and the share of variance that the line explains."""

    exponent: float
    error: float
    r2: float


@dataclass(frozen=True)
class Gaps:
    """Times between a request and the next.

    Attributes:
        mean_us, median_us, p99_us, max_us: of them.
        variation: standard deviation over mean; 1 by chance (Poisson).
        zero_share: gaps of 0 µs.
        autocorrelation: of neighbouring gaps; None where they never change.
        cdf_share, cdf_us: float64[k]; such a share of them is at most so long.
    """

    mean_us: float
    median_us: float
    p99_us: float
    max_us: float
    variation: float
    zero_share: float
    autocorrelation: float | None
    cdf_share: F64
    cdf_us: F64


@dataclass(frozen=True)
class Daily:
    """Load by the hour of a day that begins with the trace.

    Attributes:
        days: span.
        requests_per_s: float64[24] mean of each hour.
        busiest_to_quietest: ratio of the busiest hour's mean to the quietest's; None where that has no request.
        autocorrelation: of the hours with those a day later; None where they never change, or of less than three days.
    """

    days: float
    requests_per_s: F64
    busiest_to_quietest: float | None
    autocorrelation: float | None


@dataclass(frozen=True)
class Load:
    """Requests and bytes over time, in windows of one width.

    Attributes:
        window_s: width.
        reads_per_s, writes_per_s, read_mib_per_s, written_mib_per_s: float64[w].
    """

    window_s: float
    reads_per_s: F64
    writes_per_s: F64
    read_mib_per_s: F64
    written_mib_per_s: F64


@dataclass(frozen=True)
class Arrivals:
    """When requests come; see the classes above.

    `scales` has no windows shorter than the clock's tick. `hurst` is None below 8,192 requests or ticks, `daily` below
    two days.
    """

    tick_us: int  # what all times are multiples of, counted from the first
    load: Load
    scales: tuple[Scale, ...]
    gaps: Gaps
    hurst: Hurst | None
    daily: Daily | None


def counts_of(time_us: I64, width_us: int) -> I64:
    """Requests in each whole window of a width; what comes after the last whole window is left out."""
    whole = int(time_us[-1] - time_us[0]) // width_us
    place = (time_us - time_us[0]) // width_us
    return np.bincount(place[place < whole], minlength=whole)


def tick_of(time_us: I64) -> int:
    """The greatest step of which all times are multiples, counted from the first; of times that are not all equal."""
    return int(np.gcd.reduce(np.diff(time_us)))


def ticks(time_us: I64) -> int:
    """How often the clock ticks from the first to the last request; of times that are not all equal."""
    return int(time_us[-1] - time_us[0]) // tick_of(time_us)


def _scale(time_us: I64, width_us: int) -> Scale:
    counts = counts_of(time_us, width_us)
    mean = max(float(counts.mean()), 1e-300)
    return Scale(
        width_us / 1e6, len(counts), float(counts.max()) / (width_us / 1e6), float(counts.max()) / mean,
        float(counts.var()) / mean, float((counts == 0).mean()), autocorrelation(counts, 1),
    )  # fmt: skip


def _gaps(time_us: I64) -> Gaps:
    gaps = np.diff(time_us)
    median, p99 = quantiles(gaps, [0.5, 0.99]).tolist()
    mean = float(gaps.mean())
    return Gaps(
        mean, median, p99, float(gaps.max()), float(gaps.std()) / mean, float((gaps == 0).mean()),
        autocorrelation(gaps, 1), CDF_SHARES, quantiles(gaps),
    )  # fmt: skip


def hurst(time_us: I64) -> Hurst | None:
    """Hurst's exponent of the requests in 8,192 windows, from means over 1 to 128 of them."""
    span = int(time_us[-1] - time_us[0])
    if len(time_us) < HURST_REQUESTS or span == 0 or ticks(time_us) < HURST_WINDOWS:
        return None
    place = np.minimum((time_us - time_us[0]).astype(np.float64) * (HURST_WINDOWS / span), HURST_WINDOWS - 1)
    counts = np.bincount(place.astype(np.int64), minlength=HURST_WINDOWS)
    levels = np.arange(HURST_LEVELS)
    spread = np.array([counts.reshape(-1, 1 << level).mean(axis=1).var() for level in levels])
    if not (spread > 0).all():
        return None
    from scipy.stats import linregress

    line = linregress(levels, np.log2(spread))
    return Hurst(1 + float(line.slope) / 2, float(line.stderr) / 2, float(line.rvalue) ** 2)


def _daily(time_us: I64) -> Daily | None:
    span = int(time_us[-1] - time_us[0])
    if span < DAILY_DAYS * DAY_HOURS * HOUR_US:
        return None
    counts = counts_of(time_us, HOUR_US)
    hour = np.arange(len(counts)) % DAY_HOURS
    means = np.bincount(hour, counts, DAY_HOURS) / np.bincount(hour, minlength=DAY_HOURS) / 3600
    ratio = float(means.max() / means.min()) if means.min() > 0 else None
    return Daily(span / (DAY_HOURS * HOUR_US), means, ratio, autocorrelation(counts, DAY_HOURS, 3 * DAY_HOURS))


def _load(trace: Trace, windows: int) -> Load:
    time_us = trace.time_us - trace.time_us[0]
    width = float(time_us[-1]) / windows
    place = np.minimum((time_us / width).astype(np.int64), windows - 1)
    read = trace.op == OP_READ
    per = []
    for weights in (None, trace.size / 2**20):
        for rows in (read, ~read):
            own = None if weights is None else weights[rows]
            per.append(np.bincount(place[rows], own, windows) / (width / 1e6))
    return Load(width / 1e6, *per)


def arrivals(trace: Trace, windows: int) -> Arrivals:
    """Describe when requests come.

    Args:
        trace: with a clock, so with two requests at least.
        windows: of the load over time.
    """
    time_us = trace.time_us
    span = int(time_us[-1] - time_us[0])
    tick = tick_of(time_us)
    widths = [width for width in WIDTHS_US if width >= tick and LEAST_WINDOWS <= span // width <= MOST_WINDOWS]
    scales = tuple(_scale(time_us, width) for width in widths)
    return Arrivals(tick, _load(trace, windows), scales, _gaps(time_us), hurst(time_us), _daily(time_us))
