"""Cases, candidates and the choice between them: the core of every comparison.

A *case* is what candidates are compared on: a trace, a mix or a drive at one size or budget, with what counts of it. A
*candidate* runs on a case and leaves an *outcome*: the mean of one gain or cost, and the same by block of time. The
candidates are chosen on some cases or blocks by the mean, and the choice is judged on others.

A question's own cases and outcomes are subclasses with what else it needs and reports.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64
from cachezoo.console import Advance
from cachezoo.contest.blocks import block_means, blocks_in
from cachezoo.contest.lead import Interval, Lead, Mean, ahead, average, mean_of, saving
from cachezoo.contest.verdict import LEAST_HITS, LEAST_SAVING, Verdict, verdict


class Goal(StrEnum):
    """What the mean of an outcome is."""

    GAIN = "gain"
    """More is better, as of hit ratios; a lead is the difference."""
    COST = "cost"
    """Less is better, as of times and writes; a lead is the share that is saved."""

    @property
    def least(self) -> float:
        """The least effect worth having, where a setting names no other."""
        return LEAST_HITS if self is Goal.GAIN else LEAST_SAVING

    def lead(self, ours: float, theirs: float) -> float:
        """How far one mean is ahead of another; 0 where the rival costs nothing."""
        if self is Goal.GAIN:
            return ours - theirs
        return 1 - ours / theirs if theirs else 0.0


@dataclass(frozen=True)
class Case:
    """What candidates are compared on.

    Attributes:
        name: of the trace, mix or drive.
        size: of the cache in pages, or the budget in the question's unit.
        first: the first page access, page write, request or reference that counts.
        total: how many there are of them.
    """

    name: str
    size: float
    first: int
    total: int

    @property
    def counted(self) -> int:
        """How many count."""
        return self.total - self.first

    @property
    def blocks(self) -> int:
        """Blocks of time of what counts; 0 where it is too little for an interval."""
        return blocks_in(self.counted)

    def by_block(self, values: npt.NDArray[Any]) -> F64:
        """float64[B]: means over the blocks of time of what counts.

        Args:
            values: [total] of each access, request or reference, in the order of time.
        """
        return block_means(values[self.first :], self.blocks)


@dataclass(frozen=True)
class Outcome:
    """What a candidate gains or costs on a case.

    Attributes:
        mean: over all that counts.
        blocks: float64[B] the same of each block of time; empty where too little counts.
    """

    mean: float
    blocks: F64

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


CaseT_contra = TypeVar("CaseT_contra", bound=Case, contravariant=True)
CaseT = TypeVar("CaseT", bound=Case)
OutcomeT_co = TypeVar("OutcomeT_co", bound=Outcome, covariant=True)
OutcomeT = TypeVar("OutcomeT", bound=Outcome)
Key = TypeVar("Key", bound=Hashable)


class Candidate(Protocol[CaseT_contra, OutcomeT_co]):
    """One of the alternatives."""

    @property
    def id(self) -> str:
        """Its name, which no other candidate has."""

    def run(self, case: CaseT_contra) -> OutcomeT_co | None:
        """Run it; None where it cannot have the case, as of a cache that is too small for it."""


def run_all(
    candidates: Sequence[Candidate[CaseT, OutcomeT]], cases: Sequence[CaseT], advance: Advance | None = None
) -> dict[str, list[OutcomeT | None]]:
    """The outcomes of every candidate on every case, by id.

    Args:
        candidates: in the order of preference among equals.
        cases: at least one.
        advance: progress, in runs.
    """
    found: dict[str, list[OutcomeT | None]] = {one.id: [] for one in candidates}
    for place, candidate in enumerate(candidates):
        for done, case in enumerate(cases):
            if advance is not None:
                advance(place * len(cases) + done, candidate.id)
            found[candidate.id].append(candidate.run(case))
    return found


@dataclass(frozen=True)
class Choice(Generic[Key]):
    """The best candidate.

    Attributes:
        chosen: which.
        means: of every candidate that has all cases, over the cases, in the order given.
        goal: what the means are.
    """

    chosen: Key
    means: Mapping[Key, float]
    goal: Goal

    @property
    def mean(self) -> float:
        """Of the chosen one."""
        return self.means[self.chosen]

    @property
    def runner_up(self) -> Key | None:
        """The best of the others; None without one."""
        return _best({key: mean for key, mean in self.means.items() if key != self.chosen}, self.goal)

    def over(self, other: Key) -> float:
        """How far the chosen one is ahead of another on what chose; it flatters the choice, other cases judge it."""
        return self.goal.lead(self.mean, self.means[other])


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
    chosen = _best(known, goal)
    return None if chosen is None else Choice(chosen, known, goal)


def _best(means: Mapping[Key, float], goal: Goal) -> Key | None:
    sign = 1 if goal is Goal.GAIN else -1
    return max((key for key in means if not np.isnan(means[key])), key=lambda key: sign * means[key], default=None)


def judge(
    ours: Sequence[Outcome], theirs: Sequence[Outcome], goal: Goal, least: float | None = None
) -> tuple[Mean, Verdict]:
    """The lead of a candidate over its rival on cases that did not choose it, mean of the cases, and what it is worth.

    Args:
        ours: the candidate's outcome on each case; at least one.
        theirs: the rival's.
        goal: what the outcomes are.
        least: effect worth having; None as of the goal.
    """
    leads = [own.lead(other, goal) for own, other in zip(ours, theirs, strict=True)]
    found = leads[0] if len(leads) == 1 else average(leads)
    return found, verdict(found, goal.least if least is None else least)
