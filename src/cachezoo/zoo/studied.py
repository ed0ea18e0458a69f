"""What the studies of several systems share; see `cachezoo.zoo.base.Studied`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.contest.counting import first_access
from cachezoo.errors import TrainingError
from cachezoo.kernels.outcome import HIT
from cachezoo.models.trained import read_trained

if TYPE_CHECKING:
    import numpy as np

    from cachezoo.settings.params import Params
    from cachezoo.traces.pages import PageAccesses

NONE_JUDGED = "no validation trace was judged, so there is nothing to compare; add one"


def validated(name: str, missing: str = NONE_JUDGED) -> Callable[[Path], float]:
    """What chooses is a figure of that name among `validation` of train.json; without it a TrainingError says why."""

    def choosing(folder: Path) -> float:
        found = read_trained(folder).validation.get(name)
        if found is None:
            raise TrainingError(f"{folder}: {missing}")
        return found

    return choosing


def chosen(evaluate: Callable[["Params", str], Any], name: str) -> Callable[["Params", str], dict[str, float]]:
    """A figure of what validation chose on each test trace, as the stage evaluate has it."""

    def tests(params: "Params", category: str) -> dict[str, float]:
        metrics = evaluate(params, category)
        rows = {key: metrics.chosen(trace) for key, trace in metrics.traces.items()}
        return {key: getattr(row, name) for key, row in rows.items() if row is not None}

    return tests


def counted_hit_ratio(outcome: "np.ndarray", pages: "PageAccesses") -> float:
    """Page hits per page access where a trace counts, as the stage evaluate has them."""
    return float((outcome[first_access(pages) :] == HIT).mean())
