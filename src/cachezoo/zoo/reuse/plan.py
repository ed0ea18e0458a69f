"""The plan of a cache from a model's records: the values that its judge chose, or one of its candidates."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cachezoo.arrays import F64
from cachezoo.errors import ConfigError
from cachezoo.kernels.reuse.hazards import BINS
from cachezoo.seeds import derive_seed
from cachezoo.zoo.reuse.cache import Plan

DIGITS = 3
FOLLOWING = ("half_life", "lead", "price", "head_start")  # the follower's values that a model states
OF_MODEL = ("shadows", "experts", "candidates", "own_trees", "own_rows", *FOLLOWING)


def weighted(events: Any, risks: Any, weight: float) -> tuple[F64, F64]:  # noqa: ANN401 - lists or arrays
    """Counts of train traces, thinned so that no class and age begins with more than `weight` accesses at risk."""
    each, reached = np.asarray(events, np.float64), np.asarray(risks, np.float64)
    share = np.minimum(1.0, weight / np.maximum(reached, 1.0))
    return np.round(each * share, DIGITS), np.round(reached * share, DIGITS)


def counts_and_cuts(learned: Mapping[str, Any], weight: float) -> dict[str, Any]:
    """What a plan takes of a fit's values: quantiles, and the counts thinned to a weight."""
    events, risks = weighted(learned["events"], learned["risks"], weight)
    return {"quantiles": learned["quantiles"], "events": events.tolist(), "risks": risks.tolist()}


def policy_of(model: Mapping[str, Any], first_seed: int) -> dict[str, Any]:
    """How a runtime uses the scores, of the values of `model.reuse`; draws are derived from the first forest's seed."""
    return {**{name: model[name] for name in OF_MODEL}, "seed": derive_seed(first_seed, "draws")}


def plan_of(policy: Mapping[str, Any], calibration: Mapping[str, Any]) -> Plan:
    """The plan that `train.json` or a manifest states.

    Raises:
        ConfigError: the counts are not of the classes that quantiles and shadows make.
    """
    quantiles = np.asarray(calibration["quantiles"], np.float32)
    events, risks = (np.asarray(calibration[name], np.float64) for name in ("events", "risks"))
    shadows: Sequence[str] = policy["shadows"]
    kinds = (len(quantiles) + 1) << len(shadows)
    if events.shape != (kinds, BINS) or risks.shape != events.shape or not 2 <= kinds <= 256:
        raise ConfigError(f"calibration: events and risks have {kinds} rows of {BINS} counts, one row for each class")
    if not (np.diff(quantiles) >= 0).all() or (events < 0).any() or (risks < 0).any():
        raise ConfigError("calibration: quantiles do not fall, and counts are not below 0")
    following = {name: float(policy[name]) for name in FOLLOWING}
    candidates, seed = int(policy["candidates"]), int(policy["seed"])
    return Plan(quantiles, shadows, events, risks, candidates, policy["experts"], following, seed)
