"""What the trainings of a study come to: figures by category and setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.study.grid import Setting
from cachezoo.zoo.base import System, studied_of

LEVEL = 0.9
ROUNDING = 1e-9  # of differences of figures near each other


def difference(first: Mapping[int, float], second: Mapping[int, float]) -> dict[str, Any]:
    """The mean of `second` less that of `first`, with its 90 % interval.

    Pairs of one seed where at least two seeds are in both, for the seed then moves both alike; else all values of
    both. The interval is Student's t, of the pairs or in Welch's form: a handful of values is too few to resample.

    Args:
        first: a figure by seed.
        second: the same figure of the other one.

    Returns:
        `seeds` (pairs; of unpaired values the fewer), `paired`, `mean`, `low`, `high`, and `apart`: whether the
        interval leaves out 0. Means and bounds are None where there are too few values.
    """
    both = sorted(set(first) & set(second))
    if len(both) >= 2:
        steps = np.asarray([second[seed] - first[seed] for seed in both], np.float64)
        return _found(len(both), True, float(steps.mean()), *mean_interval(steps))
    few = min(len(first), len(second))
    if few < 2:
        return {"seeds": few, "paired": False, "mean": None, "low": None, "high": None, "apart": False}
    one, other = (np.asarray(list(values.values()), np.float64) for values in (first, second))
    mean = float(other.mean() - one.mean())
    if max(np.ptp(one), np.ptp(other)) <= ROUNDING * abs(mean):
        return _found(few, False, mean, mean, mean)
    from scipy.stats import ttest_ind

    bounds = ttest_ind(other, one, equal_var=False).confidence_interval(LEVEL)
    return _found(few, False, mean, float(bounds.low), float(bounds.high))


def mean_interval(values: np.ndarray) -> tuple[float, float]:
    """The 90 % interval of the mean by Student's t; values that are equal but for rounding have no spread.

    Args:
        values: float64[n], at least two: one says nothing of how far the next would lie.

    Source: Student, "The probable error of a mean", Biometrika 6(1), 1908.
    """
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        return float(values.mean()), float(values.mean())
    from scipy.stats import ttest_1samp

    bounds = ttest_1samp(values, 0.0).confidence_interval(LEVEL)
    return float(bounds.low), float(bounds.high)


def _found(seeds: int, paired: bool, mean: float, low: float, high: float) -> dict[str, Any]:
    apart = low > 0 or high < 0
    return {"seeds": seeds, "paired": paired, "mean": mean, "low": low, "high": high, "apart": apart}


def verdict(found: Mapping[str, Any], lower_is_better: bool, better: str, worse: str) -> str:
    """A difference in words.

    Args:
        found: see `difference`.
        lower_is_better: of the figure.
        better: what to say where it is.
        worse: what to say where it is.
    """
    if found["mean"] is None:
        return "too few seeds"
    if found["low"] == found["high"] == 0:
        return "the same"
    if not found["apart"]:
        return "not told apart"
    return better if (found["mean"] < 0) == lower_is_better else worse


# Names of figures of a verdict by which way is better; a test holds them to the systems' own.
JUDGED_LOWER, JUDGED_HIGHER = {"mean_dt", "waf"}, {"hit_ratio", "balanced_accuracy"}


@dataclass(frozen=True)
class Cell:
    """One setting in one category."""

    category: str  # the category
    setting: Setting  # what was trained
    found: Sequence[Mapping[str, Any]]  # what each seed's judging found, in the order of the seeds
    judged: bool = False  # of another setting than params.yaml's, whether its verdicts were asked for


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation, median, and the 90 % interval of the mean by Student's t; one seed has no interval."""
    if not values:
        return {"mean": None, "sd": None, "median": None, "low": None, "high": None, "each": []}
    column = np.asarray(values, np.float64)
    low, high = mean_interval(column) if len(column) > 1 else (None, None)
    return {
        "mean": float(column.mean()),
        "sd": float(column.std(ddof=1)) if len(column) > 1 else None,
        "median": float(np.median(column)),
        "low": low,
        "high": high,
        "each": column.tolist(),
    }


def summary(
    system: System, seed: int, seeds: int, cells: Sequence[Cell], made_from: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The whole study as plain values; equal trainings give equal values.

    The judging blocks and the test traces speak of a setting only where they choose none: of params.yaml's, and the
    judging blocks of one that a search has chosen already.

    Args:
        system: what was trained.
        seed: that of the first training of each setting; the others follow it.
        seeds: trainings of each setting.
        cells: what they found.
        made_from: see `cachezoo.study.depends.Pipeline.made_from`.
    """
    studied = studied_of(system)
    categories: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        categories.setdefault(cell.category or "all", []).append(_row(cell))
    return {
        "system": system.id,
        "seed": seed,
        "seeds": seeds,
        "choosing": studied.choosing_is,
        "lower_is_better": studied.lower_is_better,
        "judging": studied.judging_is,
        "judging_lower_is_better": studied.judging in JUDGED_LOWER,
        "tests": studied.tests_are,
        "categories": categories,
        "made_from": made_from,
    }


def _row(cell: Cell) -> dict[str, Any]:
    seeds = [seed for seed, one in enumerate(cell.found) if one["trained"]]
    trained = [cell.found[seed] for seed in seeds]
    row: dict[str, Any] = {
        "setting": cell.setting.name,
        "set": dict(cell.setting.values),
        "is_params_yaml": not cell.setting.changed,
        "trained": seeds,
        "choosing": spread([one["choosing"] for one in trained]),
    }
    if not trained and (cell.judged or not cell.setting.changed):
        return {**row, "promoted": 0, "judging": spread([]), "test": {}}
    if trained and "judging" in trained[0]:
        row["promoted"] = sum(one["promoted"] for one in trained)
        row["judging"] = spread([one["judging"] for one in trained if one["judging"] is not None])
    if trained and "tests" in trained[0]:
        row["test"] = {key: spread([one["tests"][key] for one in trained]) for key in trained[0]["tests"]}
    return row
