import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from cachezoo.errors import ConfigError
from cachezoo.study.grid import Axis, Setting, Settings
from cachezoo.study.optimize import STARTUP, Budget, Trial, propose

ROOT = Path(__file__).resolve().parents[3]
AXES = [
    Axis("rate", FloatDistribution(1e-4, 1.0, log=True), 0.5),
    Axis("leaves", IntDistribution(2, 64), 60),
    Axis("kind", CategoricalDistribution(("a", "b")), "a"),
]


class Free(Settings):
    """Settings of keys that there are not."""

    def __init__(self) -> None:
        pass

    def of(self, values) -> Setting:
        return Setting(values, None, frozenset(values))


def loss(setting: Setting) -> float:
    """Least where rate is 0.01, leaves 20 and kind b."""
    rate, leaves, kind = setting.values.values()
    return abs(math.log10(float(rate)) + 2) + abs(int(leaves) - 20) / 20 + (kind == "a")


def answers(settings: Sequence[Setting]) -> list[tuple[float | None, ...]]:
    return [(loss(one), loss(one) + 0.01) for one in settings]


def searched(trials: int, seed: int = 5, lower: bool = True) -> list[Trial]:
    sign = 1 if lower else -1
    return propose(
        AXES, Free(), trials, seed, lambda asked: [tuple(sign * own for own in each) for each in answers(asked)], lower
    )


def said(trials: Sequence[Trial]) -> list[dict]:
    return [trial.plain() for trial in trials]


def test_the_same_search_asks_for_the_same_trials_and_a_longer_one_begins_alike() -> None:
    whole = said(searched(20))
    assert said(searched(20)) == whole and len({str(trial["set"]) for trial in whole}) > 15
    for few in (3, STARTUP, STARTUP + 1, 17):
        assert said(searched(few)) == whole[:few]
    assert said(searched(20, seed=6))[1:] != whole[1:]
    assert whole[0]["set"] == {"rate": "0.5", "leaves": "60", "kind": "a"}  # params.yaml's


@pytest.mark.parametrize("lower", [True, False])
def test_a_search_finds_better_settings_than_as_many_draws_at_random(lower: bool) -> None:
    best, drawn = [], []
    for seed in range(8):
        found = [abs(trial.mean) for trial in searched(40, seed, lower)]
        best.append(min(found[STARTUP:]))
        drawn.append(min(found[1:STARTUP]))
    assert sum(late < early for late, early in zip(best, drawn, strict=True)) >= 7
    assert sum(best) < 0.5 * sum(drawn)


def test_a_setting_that_does_not_train_with_every_seed_has_no_mean_and_is_shunned() -> None:
    def diverging(settings: Sequence[Setting]) -> list[tuple[float | None, ...]]:
        return [(1.0, None) if one.values["kind"] == "b" else (float(one.values["rate"]), 0.0) for one in settings]

    trials = propose(AXES, Free(), 40, 1, diverging, True)
    assert all((trial.mean is None) == (trial.setting.values["kind"] == "b") for trial in trials)
    late = [trial for trial in trials if trial.number >= 20]
    assert sum(trial.mean is None for trial in late) < len(late) / 4
    assert trials[0].plain()["mean"] == 0.25 and trials[0].plain()["each"] == [0.5, 0.0]


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(1, 2, 5), "--trials 1: a search takes two at least"),
        (Budget(10, 0, 5), "--trial-seeds 0: is to be from 1 to --seeds 5"),
        (Budget(10, 6, 5), "--trial-seeds 6"),
        (Budget(10, 1, 1), "--seeds 1: a spread takes two at least"),
    ],
)
def test_a_budget_that_chooses_nothing_is_refused(budget: Budget, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        budget.check()


def test_a_budget_counts_its_trainings() -> None:
    assert Budget(20, 2, 5).trainings == 20 * 2 + 3 * 5 + 2 * 5
