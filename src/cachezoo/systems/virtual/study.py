"""How virtual caches are compared over seeds: by hits on validation; the seed is that of the searches."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.errors import TrainingError
from cachezoo.models.trained import read_trained
from cachezoo.systems.base import Studied
from cachezoo.systems.virtual.evaluate import evaluate_virtual
from cachezoo.systems.virtual.fit import fit_virtual
from cachezoo.systems.virtual.judge import judge_virtual

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def choosing(folder: Path) -> float:
    """Hit ratio on the choosing blocks of validation.

    Raises:
        TrainingError: there was nothing to judge on.
    """
    found = read_trained(folder, "virtual").validation.get("choosing_hit_ratio")
    if found is None:
        message = f"{folder}: no validation trace was judged, so there is nothing to compare; add one"
        raise TrainingError(message)
    return found


def tests(params: "Params", category: str) -> dict[str, float]:
    """Hit ratio of the tuned cache on each test trace, with the start that validation chose."""
    metrics = evaluate_virtual(params, category)
    return {key: row.hit_ratio for key, trace in metrics.traces.items() if (row := metrics.chosen(trace)) is not None}


STUDIED = Studied(
    fit=fit_virtual,
    judge=judge_virtual,
    choosing=choosing,
    choosing_is="page hit ratio on the choosing blocks of validation, within the limit of transfers",
    lower_is_better=False,
    judging="hit_ratio",
    judging_is="page hit ratio on the judging blocks of validation",
    tests=tests,
    tests_are="page hit ratio",
)
