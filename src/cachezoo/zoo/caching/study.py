"""How trainings of caching models are compared over seeds: by page hits on the choosing blocks of validation."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.models.trained import read_trained
from cachezoo.params import traces_of
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.zoo.base import Studied
from cachezoo.zoo.caching.evaluate import evaluate_caching
from cachezoo.zoo.caching.fit import fit_caching, model_id
from cachezoo.zoo.caching.judge import judge_caching
from cachezoo.zoo.studied import counted_hit_ratio

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


def choosing(folder: Path) -> float:
    """Page hit ratio of the best candidate on the choosing blocks."""
    return max(float(row["hit_ratio"]) for row in read_trained(folder).calibration["candidates"])


def tests(params: "Params", category: str) -> dict[str, float]:
    """Page hit ratio on each test trace after warm-up, as the stage evaluate counts it."""
    folder = paths.trained(model_id(category, params.model.caching.arch))
    found = {}
    for key in traces_of(params, category, "test"):
        path = paths.requests(category, key)
        trace, pages = read_trace(path), read_pages(path)
        capacity = capacity_pages(params.policy.manager.capacity, pages.n_pages)
        outcome = evaluate_caching(folder, trace, pages, capacity).outcomes.outcome
        found[key] = counted_hit_ratio(outcome, pages)
    return found


STUDIED = Studied(
    fit=fit_caching,
    judge=judge_caching,
    choosing=choosing,
    choosing_is="page hit ratio on the choosing blocks of validation",
    lower_is_better=False,
    judging="hit_ratio",
    judging_is="page hit ratio on the judging blocks of validation",
    tests=tests,
    tests_are="page hit ratio",
)
