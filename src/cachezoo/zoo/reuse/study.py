"""How trainings of the cache are compared over seeds: by its hits on the choosing blocks of validation."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.base import Studied
from cachezoo.zoo.reuse.fit import fit_reuse, model_id
from cachezoo.zoo.reuse.judge import judge_reuse
from cachezoo.zoo.reuse.model import load_reuse
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.studied import counted_hit_ratio, validated

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


def tests(params: "Params") -> dict[str, float]:
    """Page hit ratio on each test trace of the page categories, at the capacity of the verdict; the corpus left out."""
    model, serving = load_reuse(paths.trained(model_id(params.model.reuse.arch)))
    found = {}
    for key, path in places(params.data.page_categories, params.data.roles, {}, "test").items():
        part = Prepared.read(key, path)
        capacity = capacity_pages(float(model.calibration["capacity"]), part.pages.n_pages)
        outcome = serving.run(batch_of(part.trace), part.pages, capacity).followed.run.outcome
        found[key] = counted_hit_ratio(outcome, part.pages)
    return found


STUDIED = Studied(
    fit=fit_reuse,
    judge=judge_reuse,
    choosing=validated("choosing_hit_ratio"),
    choosing_is="mean page hit ratio on the choosing blocks of validation",
    lower_is_better=False,
    judging="hit_ratio",
    judging_is="mean page hit ratio on the judging blocks of validation",
    tests=tests,
    tests_are="page hit ratio",
)
