"""What the trainings of a study come to: figures by category and setting, as JSON and as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo.measures.bootstrap import interval, resampled_means
from cachezoo.study.grid import Setting
from cachezoo.systems.base import System, studied_of

if TYPE_CHECKING:
    from rich.table import Table

RESAMPLES, SEED = 10_000, 1
HEADS = ("mean", "standard deviation", "median", "90 % interval of the mean", "each seed")


@dataclass(frozen=True)
class Cell:
    """One setting in one category: what each seed's judging found, in the order of the seeds."""

    category: str
    setting: Setting
    found: Sequence[Mapping[str, Any]]


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation, median, and the 90 % interval of the mean by resampling the seeds."""
    if not values:
        return {"mean": None, "sd": None, "median": None, "low": None, "high": None, "each": []}
    column = np.asarray(values, np.float64)
    low, high = interval(resampled_means(np.repeat(column[:, None], RESAMPLES, axis=1), SEED))
    return {
        "mean": float(column.mean()),
        "sd": float(column.std(ddof=1)) if len(column) > 1 else None,
        "median": float(np.median(column)),
        "low": low,
        "high": high,
        "each": column.tolist(),
    }


def summary(system: System, seeds: int, cells: Sequence[Cell]) -> dict[str, Any]:
    """The whole study as plain values; equal trainings give equal values.

    The judging blocks and the test traces speak of the setting of params.yaml alone, so that they can choose none.
    """
    studied = studied_of(system)
    categories: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        categories.setdefault(cell.category or "all", []).append(_row(cell))
    return {
        "system": system.id,
        "seeds": seeds,
        "choosing": studied.choosing_is,
        "lower_is_better": studied.lower_is_better,
        "judging": studied.judging_is,
        "tests": studied.tests_are,
        "categories": categories,
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
    if not cell.setting.changed:
        row["promoted"] = sum(one["promoted"] for one in trained)
        row["judging"] = spread([one["judging"] for one in trained if one["judging"] is not None])
        keys = trained[0]["tests"] if trained else {}
        row["test"] = {key: spread([one["tests"][key] for one in trained]) for key in keys}
    return row


def tables(found: Mapping[str, Any]) -> "list[Table]":
    """Of each category the choosing figures of every setting; then, of params.yaml's, what is judged and tested."""
    from rich.markup import escape
    from rich.table import Table

    made = []
    for category, rows in found["categories"].items():
        less = ", less is better" if found["lower_is_better"] else ""
        title = f"{category}: {found['choosing']}{less}; {found['seeds']} seeds. This alone may choose a setting."
        table = Table("setting", *HEADS, title=title)
        for row in rows:
            trained = len(row["trained"])
            few = "" if trained == found["seeds"] else f" ({trained} of {found['seeds']} trained)"
            table.add_row(escape(row["setting"]) + few, *_cells(row["choosing"]))
        made.append(table)
        for row in rows:
            if row["is_params_yaml"]:
                promoted = f"{row['promoted']} of {found['seeds']} promoted"
                kept = Table("figure", *HEADS, title=f"{category}: the setting of params.yaml, {promoted}")
                kept.add_row(found["judging"], *_cells(row["judging"]))
                for key, own in row["test"].items():
                    kept.add_row(f"{key}: {found['tests']}", *_cells(own))
                made.append(kept)
    return made


def _cells(own: Mapping[str, Any]) -> list[str]:
    def shown(value: float | None) -> str:
        return "-" if value is None else f"{value:.4f}"

    span = f"{shown(own['low'])} to {shown(own['high'])}"
    return [*(shown(own[name]) for name in ("mean", "sd", "median")), span, " ".join(map(shown, own["each"]))]
