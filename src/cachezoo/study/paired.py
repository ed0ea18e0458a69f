"""What a handful of seeds say of a mean, and how far two settings, or two studies, differ over them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

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
