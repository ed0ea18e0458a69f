"""Choices against a naive oracle, and that what cannot be compared is not chosen."""

from dataclasses import dataclass

import numpy as np
import pytest

from cachezoo.contest.choice import Case, Goal, Outcome, choose, judge, run_all
from cachezoo.contest.verdict import Verdict

CASES = [Case(f"trace{k}", 10 * (k + 1), 100 * k, 2000) for k in range(3)]


@dataclass(frozen=True)
class Constant:
    """Hits a part of the accesses in each case; None of a case that it cannot have."""

    id: str
    shares: tuple[float | None, ...]

    def run(self, case: Case) -> Outcome | None:
        """The same share at all times but for noise that depends on the place alone."""
        share = self.shares[CASES.index(case)]
        if share is None:
            return None
        values = share + 0.01 * np.sin(np.arange(case.total))
        return Outcome(float(values[case.first :].mean()), case.by_block(values))


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
        if found is not None and (second := found.runner_up) is not None:
            assert second == naive({name: own for name, own in table.items() if name != found.chosen}, goal)
            assert found.over(second) >= 0


def test_runs_choose_and_other_cases_judge() -> None:
    """The candidate that is best on the mean of the first cases leads on the last by what it has more there."""
    plain, good, small = (
        Constant("plain", (0.5, 0.5, 0.5)), Constant("good", (0.4, 0.7, 0.6)), Constant("small", (0.9, None, 0.9)),
    )  # fmt: skip
    seen: list[tuple[float, str]] = []
    chosen_on = run_all([plain, good, small], CASES[:2], lambda done, name="": seen.append((done, name)))
    assert seen == [(k, name) for k, name in enumerate(["plain"] * 2 + ["good"] * 2 + ["small"] * 2)]
    found = choose(
        {name: [None if one is None else one.mean for one in own] for name, own in chosen_on.items()}, Goal.GAIN
    )
    assert found is not None and found.chosen == "good" and found.runner_up == "plain"
    assert list(found.means) == ["plain", "good"]
    assert found.over("plain") == pytest.approx(0.05, abs=1e-3)
    ours, theirs = good.run(CASES[2]), plain.run(CASES[2])
    assert ours is not None and theirs is not None and ours.interval is not None
    lead, verdict = judge([ours], [theirs], Goal.GAIN)
    assert lead.value == pytest.approx(0.1)
    assert verdict == Verdict.BETTER
    assert judge([ours], [theirs], Goal.GAIN, least=0.2)[1] == Verdict.TRIFLE
    cost, worse = judge([ours, ours], [theirs, theirs], Goal.COST)
    assert cost.value == pytest.approx(1 - ours.mean / theirs.mean)
    assert worse == Verdict.WORSE


def test_short_case_has_no_interval() -> None:
    """Where too little counts there are no blocks, and the verdict says so."""
    short = Case("short", 1, 0, 100)
    values = np.ones(100)
    own = Outcome(1.0, short.by_block(values))
    assert (short.blocks, len(own.blocks), own.interval) == (0, 0, None)
    assert judge([own], [own], Goal.COST)[1] == Verdict.SHORT
    assert Goal.COST.lead(1.0, 0.0) == 0


def test_nothing_to_choose_from() -> None:
    """No candidate, or none that has every case, or none whose mean is known."""
    assert choose(dict[str, list[float | None]](), Goal.GAIN) is None
    assert choose({"a": [1.0, None], "b": []}, Goal.GAIN) is None
    assert choose({"a": [float("nan")]}, Goal.COST) is None
