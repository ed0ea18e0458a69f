"""Choices against a naive oracle, and that what cannot be compared is not chosen."""

import numpy as np
import pytest

from cachezoo.contest.blocks import block_means
from cachezoo.contest.choice import Case, Goal, Outcome, choose
from cachezoo.contest.verdict import LEAST_HITS, LEAST_SAVING, Verdict, verdict


def naive(means: dict[str, list[float | None]], goal: Goal) -> str | None:
    """One pass over all, keeping the best so far."""
    best, found = None, None
    for name, own in means.items():
        known = [value for value in own if value is not None]
        if len(known) < len(own):
            continue
        total = sum(known) / len(known)
        if best is None or (total > best if goal is Goal.GAIN else total < best):
            best, found = total, name
    return found


@pytest.mark.parametrize("goal", list(Goal))
def test_choice_is_the_naive_one(goal: Goal) -> None:
    """Of few distinct values, so that ties are common."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        table: dict[str, list[float | None]] = {
            name: [None if rng.random() < 0.1 else float(rng.integers(3)) for _ in range(2)] for name in "abcde"
        }
        found = choose(table, goal)
        assert (None if found is None else found.chosen) == naive(table, goal)
        if found is not None:
            assert found.mean == found.means[found.chosen]


def outcome(share: float, case: Case) -> Outcome:
    """The same share at all times but for noise that depends on the place alone."""
    values = share + 0.01 * np.sin(np.arange(case.total))
    return Outcome(float(values[case.first :].mean()), block_means(values[case.first :], case.blocks))


def test_outcomes_lead_by_what_they_have_more_of_a_gain_or_less_of_a_cost() -> None:
    case = Case("trace", 10, 100, 2000)
    ours, theirs = outcome(0.6, case), outcome(0.5, case)
    assert ours.interval is not None and len(ours.blocks) == case.blocks == 20
    gain, cost = (ours.lead(theirs, goal) for goal in Goal)
    assert gain.value == pytest.approx(0.1)
    assert verdict(gain, LEAST_HITS) == Verdict.BETTER
    assert verdict(gain, 0.2) == Verdict.TRIFLE
    assert cost.value == pytest.approx(1 - ours.mean / theirs.mean)
    assert verdict(cost, LEAST_SAVING) == Verdict.WORSE


def test_short_case_has_no_interval() -> None:
    """Where too little counts there are no blocks, and the verdict says so."""
    short = Case("short", 1, 0, 100)
    values = np.ones(100)
    own = Outcome(1.0, block_means(values, short.blocks))
    assert (short.blocks, len(own.blocks), own.interval) == (0, 0, None)
    assert verdict(own.lead(own, Goal.COST), LEAST_SAVING) == Verdict.SHORT
    assert Goal.COST.lead(1.0, 0.0) == 0


def test_nothing_to_choose_from() -> None:
    """No candidate, or none that has every case, or none whose mean is known."""
    assert choose(dict[str, list[float | None]](), Goal.GAIN) is None
    assert choose({"a": [1.0, None], "b": []}, Goal.GAIN) is None
    assert choose({"a": [float("nan")]}, Goal.COST) is None
