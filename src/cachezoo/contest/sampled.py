"""How far an estimate from a sample of a trace's pages may be off: the one estimator of all of them.

A sample is dealt out to `GROUPS` samples that share no page: a cache is simulated on each, and the estimates differ by
as much as samples of that size do. The sample's own standard error is theirs over the root of their number. What a
small cache gets wrong because it is small is no part of that spread: it shows in the mean of the groups, whose caches
are smaller still, and is added. By Student's t of `GROUPS` - 1 degrees of freedom it becomes half a 90 % interval.
"""

from dataclasses import dataclass, field

import numpy as np

from cachezoo.arrays import F64
from cachezoo.contest.choice import Goal, Outcome
from cachezoo.contest.lead import Lead, Mean, summed

GROUPS = 8


def _variances(whole: F64, groups: F64) -> F64:
    small = (groups.mean(axis=0) - whole) / (GROUPS - 1)
    found: F64 = groups.var(axis=0, ddof=1) / GROUPS + small**2
    return found


def half_widths(whole: F64, groups: F64) -> F64:
    """Half the 90 % interval of what was estimated from a sample.

    Args:
        whole: float64[...] estimates from the whole sample.
        groups: float64[GROUPS, ...] the same from each group of its pages, in caches as much smaller.

    Returns:
        float64[...]; not a number where an estimate is none.
    """
    widths: F64 = Mean(0.0, 1.0, GROUPS - 1).ends[1] * np.sqrt(_variances(whole, groups))
    return widths


def _widened(over_time: Mean, whole: float, groups: F64) -> Mean:
    """A mean over blocks of time, with what the sample may be off besides."""
    if over_time.variance is None:
        return over_time
    own = float(_variances(np.array(whole), groups))
    return summed(over_time.value, [(over_time.variance, over_time.freedom), (own, GROUPS - 1)])


@dataclass(frozen=True)
class Estimated(Outcome):
    """What a candidate gains or costs, of the whole trace or estimated from a sample of it."""

    # float64[GROUPS], the mean of each group of the sample; None of the whole trace
    groups: F64 | None = field(default=None, kw_only=True)

    @property
    def error_90(self) -> float | None:
        """Half the 90 % interval of what the sample may be off; None of the whole trace."""
        return None if self.groups is None else float(half_widths(np.array(self.mean), self.groups))

    @property
    def estimate(self) -> Mean:
        """The mean with its interval, over time and over samples."""
        found = super().estimate
        return found if self.groups is None else _widened(found, self.mean, self.groups)

    def lead(self, rival: Outcome, goal: Goal) -> Lead:
        """As of any outcome; of two from one sample what it has too much or too little of, both have."""
        found = super().lead(rival, goal)
        if self.groups is None or not isinstance(rival, Estimated) or rival.groups is None:
            return found
        leads = np.array([goal.lead(*both) for both in zip(self.groups.tolist(), rival.groups.tolist(), strict=True)])
        both = _widened(found, found.value, leads)
        return Lead(both.value, both.variance, both.freedom, found.by_block)
