"""How unevenly pages are used: rank and frequency, Zipf's law, shares of the busiest pages.

Zipf's law says that the page of rank k gets a share in proportion to k^-s. The exponent is the one of greatest
likelihood given the ranks; the fit's quality is the greatest distance between the observed and the fitted share of
accesses up to any rank (Kolmogorov and Smirnov's statistic). Source: Clauset, Shalizi, Newman, "Power-law
distributions in empirical data", SIAM Review 51(4), 2009; the law over ranks: Breslau et al., INFOCOM '99.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.characteristics.summary import Uses

TOP_SHARES = (0.001, 0.01, 0.1, 0.2)
LEAST_ACCESSES, LEAST_PAGES = 1_000, 10  # below which no law is fitted
STEEPEST = 5.0
POINTS = 120
COMPARED = 20_000  # ranks, evenly apart in logarithm, at which the fit is compared
AT_ONCE = 1 << 20
SUMMED = 10_000  # terms of the normalising sum that are added one by one; the rest by Euler and Maclaurin's formula


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
