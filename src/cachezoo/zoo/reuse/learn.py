"""Every seed's forest of some rows, with the plan of its cache: what fits beside the stage fit_reuse's are made of."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.cache import Plan, counts_and_cuts, plan_of


class Learned(NamedTuple):
    """A seed's forest, LightGBM's text, and the plan of its cache."""

    text: str
    plan: Plan


def learn(rows: fit.Rows, settings: fit.Settings, policy: Mapping[str, Any], weight: float) -> list[Learned]:
    """Fit every seed's forest."""
    found = []
    for seed in fit.seeds_of(settings):
        forest, learned = fit.fit_seed(rows, settings, seed)
        found.append(Learned(forest.text, plan_of(policy, counts_and_cuts(learned, weight))))
    return found
