"""What the trainings of a study come to: figures by category and setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.study.grid import Setting
from cachezoo.study.paired import mean_interval
from cachezoo.zoo.base import System, studied_of

# Names of figures of a verdict by which way is better; a test holds them to the systems' own.
JUDGED_LOWER, JUDGED_HIGHER = {"mean_dt", "waf"}, {"hit_ratio", "balanced_accuracy"}


@dataclass(frozen=True)
class Cell:
    """One setting in one category.

    Attributes:
        category: the category.
        setting: what was trained.
        found: what each seed's judging found, in the order of the seeds.
        judged: of another setting than params.yaml's, whether its verdicts were asked for.
    """

    category: str
    setting: Setting
    found: Sequence[Mapping[str, Any]]
    judged: bool = False


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
