"""How far one candidate is ahead of another, and how sure that is: the one estimator of all comparisons.

Both candidates serve the same requests, so their costs are compared block by block of time (paired): what both owe to
the load drops out. A busy block follows a busy one, so blocks are no independent draws. Resampling them one by one
gives intervals that are about half as wide as they should be where neighbours correlate by 0.65. Here the long-run
variance of a mean is estimated from the series' projections on its three slowest cosines, which gives an interval by
Student's t of three degrees of freedom (equal-weighted cosines: Lazarus, Lewis, Stock, Watson, "HAR Inference:
Recommendations for Practice", 2018). Trainings that differ in their seed, and traces, add their variances; the degrees
of freedom of such a sum are Satterthwaite's ("An Approximate Distribution of Estimates of Variance Components", 1946).
Tests hold the coverage of a 90 % interval of 20 blocks between 85 and 95 %, for correlations of neighbours up to 0.6.

There is no interval of a *maximum* of blocks, nor of their 95th percentile: of 20 to 72 blocks one or a few decide it,
and what a busier block would have been is not in the data. None is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F64
from cachezoo.contest.blocks import LEAST_BLOCKS, LEAST_IN_BLOCK
from cachezoo.errors import TraceError

Interval = tuple[float, float]
COSINES = 3
UPPER = 0.95


@dataclass(frozen=True)
class Mean:
    """An estimated mean: of a cost, of a lead, or of the share that is saved."""

    value: float
    variance: float | None  # of the estimate; None where there are too few blocks to know it
    freedom: float  # degrees of freedom of the variance; infinite where it is 0

    @property
    def interval(self) -> Interval | None:
        """The 90 % interval; None where there are too few blocks."""
        if self.variance is None:
            return None
        half = _quantile(self.freedom) * float(np.sqrt(self.variance))
        return self.value - half, self.value + half

    @property
    def ends(self) -> Interval:
        """The 90 % interval.

        Raises:
            TraceError: there are too few blocks.
        """
        if self.interval is None:
            message = (
                f"too little counts for an interval: it takes {LEAST_BLOCKS} blocks of {LEAST_IN_BLOCK} accesses or "
                "requests; give longer traces"
            )
            raise TraceError(message)
        return self.interval

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.interval is None else self.interval[0]

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.interval is None else self.interval[1]

    @property
    def told_apart(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)

    def worth(self, least: float) -> bool:
        """Whether it is above chance, and at least the least effect worth having."""
        return self.interval is not None and self.interval[0] > 0 and self.value >= least


@dataclass(frozen=True)
class Lead(Mean):
    """How far a candidate is ahead of a rival."""

    by_block: F64  # float64[B] the same of each block of time; empty where there are too few

    @property
    def won(self) -> int:
        """Blocks in which the candidate was ahead."""
        return int((self.by_block > 0).sum())

    @property
    def blocks(self) -> int:
        """How many there are."""
        return len(self.by_block)

    def values(self) -> dict[str, Any]:
        """For JSON."""
        return {"gain": self.value, "low": self.low, "high": self.high, "won": self.won, "blocks": self.blocks}


def _quantile(freedom: float) -> float:
    """Of Student's t, within which 90 % of the draws lie on both sides of 0."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(freedom, UPPER)) if np.isfinite(freedom) else float(ndtri(UPPER))


def mean_of(blocks: F64, value: float | None = None) -> Mean:
    """The mean of a series.

    Args:
        blocks: float64[B] of (almost) equally many accesses or seconds each, in the order of time.
        value: the mean where it is known more exactly than from blocks, which differ by an access.
    """
    found = value if value is not None else float(blocks.mean()) if len(blocks) else float("nan")
    n = len(blocks)
    if n < LEAST_BLOCKS:
        return Mean(found, None, 0.0)
    phase = np.pi * (np.arange(n) + 0.5) / n
    waves = np.sqrt(2.0 / n) * np.cos(np.arange(1, COSINES + 1)[:, None] * phase)
    # Summed without BLAS, whose last digits depend on the CPU.
    projections = (waves * (blocks - blocks.mean())).sum(axis=1)
    return Mean(found, float(np.mean(projections**2)) / n, float(COSINES))


def ratio_of(part: F64, whole: F64, value: float | None = None) -> Mean:
    """mean(part) / mean(whole), by linearisation.

    Args:
        part: float64[B] in the order of time.
        whole: float64[B] in the same blocks, of a mean above 0.
        value: as of `mean_of`.
    """
    mean = float(whole.mean()) if len(whole) else float("nan")
    ratio = float(part.mean()) / mean if len(part) else float("nan")
    spread = mean_of((part - ratio * whole) / mean)
    return Mean(ratio if value is None else value, spread.variance, spread.freedom)


def ahead(ours: F64, theirs: F64, value: float | None = None) -> Lead:
    """By how much more a candidate has of what is good, such as hits.

    Args:
        ours: float64[B] in the order of time.
        theirs: float64[B] the rival's in the same blocks.
        value: as of `mean_of`.
    """
    found = mean_of(ours - theirs, value)
    return Lead(found.value, found.variance, found.freedom, ours - theirs)


def saving(ours: F64, theirs: F64, value: float | None = None) -> Lead:
    """The share of a rival's mean cost that is saved; where the rival costs nothing, nothing is saved.

    Args:
        ours: float64[B] cost in the order of time.
        theirs: float64[B] the rival's in the same blocks.
        value: as of `mean_of`.
    """
    if len(theirs) and not theirs.any():
        return Lead(0.0, 0.0, np.inf, np.zeros(len(theirs)))
    found = ratio_of(theirs - ours, theirs, value)
    by_block = np.divide(theirs - ours, theirs, out=np.zeros(len(theirs)), where=theirs > 0)
    return Lead(found.value, found.variance, found.freedom, by_block)


def over_seeds(series: Sequence[F64], value: float | None = None) -> Mean:
    """The mean of several trainings, with the variance of time and of the seed.

    Args:
        series: float64[B] of each training, in the same blocks; at least one.
        value: as of `mean_of`.
    """
    stacked = np.stack(series)
    found = mean_of(stacked.mean(axis=0), value)
    if len(stacked) == 1 or found.variance is None:
        return found
    between = float(np.var(stacked.mean(axis=1), ddof=1)) / len(stacked)
    return summed(found.value, [(found.variance, found.freedom), (between, len(stacked) - 1.0)])


def over_savings(ours: Sequence[F64], theirs: Sequence[F64], value: float | None = None) -> Mean:
    """The share of a rival's mean cost that several trainings save, with the variance of time and of the seed.

    Args:
        ours: float64[B] cost of each training in the order of time.
        theirs: float64[B] that of the rival that each is held against, of a mean above 0, in the same blocks.
        value: as of `mean_of`.
    """
    shares = [1 - own.mean() / rival.mean() for own, rival in zip(ours, theirs, strict=True)]
    trios = zip(ours, theirs, shares, strict=True)
    return over_seeds([(rival * (1 - share) - own) / rival.mean() + share for own, rival, share in trios], value)


def over_trainings(ours: Sequence[Sequence[F64]], theirs: Sequence[F64]) -> Mean:
    """The lead of several trainings over a rival, mean of the traces.

    Blocks of the same place are averaged over the traces, so that a seed, which all traces share, counts once.

    Args:
        ours: float64[B] of each trace, of each training.
        theirs: float64[B] the rival's on each trace.
    """
    rival = np.mean(np.stack(theirs), axis=0)
    return over_seeds([np.mean(np.stack(traces), axis=0) - rival for traces in ours])


def average(means: Sequence[Mean]) -> Mean:
    """The mean of independent ones, at least one: of traces, or of categories."""
    value, count = float(np.mean([one.value for one in means])), len(means)
    known = [(one.variance / count**2, one.freedom) for one in means if one.variance is not None]
    return summed(value, known) if len(known) == count else Mean(value, None, 0.0)


def summed(value: float, parts: Sequence[tuple[float, float]]) -> Mean:
    """A value whose variance is a sum of independent estimates, each with its degrees of freedom."""
    variance = sum(own for own, _ in parts)
    squares = sum(own**2 / freedom for own, freedom in parts if own)
    return Mean(value, variance, variance**2 / squares if squares else np.inf)
