"""How trainings of the cache are compared over seeds: by its hits on the choosing blocks of validation."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.contest.counting import first_access
from cachezoo.errors import TrainingError
from cachezoo.kernels.outcome import HIT
from cachezoo.models.trained import read_trained
from cachezoo.serving.requests import batch_of
from cachezoo.systems.base import Studied
from cachezoo.systems.reuse.fit import fit_reuse, model_id
from cachezoo.systems.reuse.judge import judge_reuse
from cachezoo.systems.reuse.model import load_reuse
from cachezoo.systems.reuse.prepared import Prepared, places
from cachezoo.traces.pages import capacity_pages

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def choosing(folder: Path) -> float:
    """Mean page hit ratio on the choosing blocks of validation.

    Raises:
        TrainingError: there was no validation trace.
    """
    found = read_trained(folder).validation.get("choosing_hit_ratio")
    if found is None:
        message = f"{folder}: no validation trace was judged, so there is nothing to compare; add one"
        raise TrainingError(message)
    return found


def tests(params: "Params") -> dict[str, float]:
    """Page hit ratio on each test trace of the page categories, at the capacity of the verdict; the corpus left out."""
    model, serving = load_reuse(paths.trained(model_id(params.model.reuse.arch)))
    found = {}
    for key, path in places(params.data.page_categories, params.data.roles, {}, "test").items():
        part = Prepared.read(key, path)
        capacity = capacity_pages(float(model.calibration["capacity"]), part.pages.n_pages)
        outcome = serving.run(batch_of(part.trace), part.pages, capacity).followed.run.outcome
        found[key] = float((outcome[first_access(part.pages) :] == HIT).mean())
    return found


STUDIED = Studied(
    fit=fit_reuse,
    judge=judge_reuse,
    choosing=choosing,
    choosing_is="mean page hit ratio on the choosing blocks of validation",
    lower_is_better=False,
    judging="hit_ratio",
    judging_is="mean page hit ratio on the judging blocks of validation",
    tests=tests,
    tests_are="page hit ratio",
)
