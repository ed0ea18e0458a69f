"""Cases, outcomes and the choice between candidates: the core of every comparison.

A *case* is what candidates are compared on: a trace, a mix or a drive at one size or budget, with what counts of it. A
candidate leaves an *outcome* on a case: the mean of one gain or cost, and the same by block of time. The candidates are
chosen on some cases or blocks by the mean, and the choice is compared with its rivals on others.

A question's own cases and outcomes are subclasses with what else it needs and reports.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Generic, TypeVar

import numpy as np

from cachezoo.arrays import F64
from cachezoo.contest.blocks import blocks_in
from cachezoo.contest.lead import Interval, Lead, Mean, ahead, mean_of, saving


class Goal(StrEnum):
    """What the mean of an outcome is."""

    GAIN = "gain"
    """More is better, as of hit ratios; a lead is the difference."""
    COST = "cost"
    """Less is better, as of times and writes; a lead is the share that is saved."""

    def lead(self, ours: float, theirs: float) -> float:
        """How far one mean is ahead of another; 0 where the rival costs nothing."""
        if self is Goal.GAIN:
            return ours - theirs
        return 1 - ours / theirs if theirs else 0.0


@dataclass(frozen=True)
class Case:
    """What candidates are compared on."""

    name: str  # of the trace, mix or drive
    size: float  # of the cache in pages, or the budget in the question's unit
    first: int  # the first page access, page write, request or reference that counts
    total: int  # how many there are of them

    @property
    def counted(self) -> int:
        """How many count."""
        return self.total - self.first

    @property
    def blocks(self) -> int:
        """Blocks of time of what counts; 0 where it is too little for an interval."""
        return blocks_in(self.counted)


@dataclass(frozen=True)
class Outcome:
    """What a candidate gains or costs on a case."""

    mean: float  # over all that counts
    blocks: F64  # float64[B] the same of each block of time; empty where too little counts

    @property
    def estimate(self) -> Mean:
        """The mean with its interval."""
        return mean_of(self.blocks, self.mean)

    @property
    def interval(self) -> Interval | None:
        """The 90 % interval of the mean; None where too little counts."""
        return self.estimate.interval

    def lead(self, rival: "Outcome", goal: Goal) -> Lead:
        """How far it is ahead of a rival's on the same case."""
        value = goal.lead(self.mean, rival.mean)
        return (ahead if goal is Goal.GAIN else saving)(self.blocks, rival.blocks, value)


Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Choice(Generic[Key]):
    """The best candidate."""

    chosen: Key
    means: Mapping[Key, float]  # of every candidate that has all cases, over the cases, in the order given

    @property
    def mean(self) -> float:
        """Of the chosen one."""
        return self.means[self.chosen]


def choose(means: Mapping[Key, Sequence[float | None]], goal: Goal) -> Choice[Key] | None:
    """The candidate of the best mean over the cases; of equals the first.

    Args:
        means: of each candidate its mean on each case; None where it cannot have the case, so that it is not chosen. In
            the order of preference among equals: the simplest first.
        goal: what the means are.

    Returns:
        None where no candidate has all cases.
    """
    complete = {key: [mean for mean in own if mean is not None] for key, own in means.items() if None not in own}
    known = {key: fmean(own) for key, own in complete.items() if own}
    sign = 1 if goal is Goal.GAIN else -1
    chosen = max((key for key in known if not np.isnan(known[key])), key=lambda key: sign * known[key], default=None)
    return None if chosen is None else Choice(chosen, known)
