"""The cache itself: pages into classes by the forest's score and the shadows of classics, then the most worth stay.

The score is corrected by a forest of the trace's own past (`cachezoo.kernels.reuse.own`). The forest's cache is one
expert beside classics, and a follower (`cachezoo.policies.following`) runs what leads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, F64, U8
from cachezoo.errors import ConfigError
from cachezoo.features.reuse import input_rows
from cachezoo.kernels.evict import worth
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.reuse import hazards, own
from cachezoo.kernels.reuse.hazards import BINS
from cachezoo.kernels.reuse.past import Asked
from cachezoo.labels.reuse import HORIZON, next_use
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition, Eviction
from cachezoo.policies.following import Followed, follow_runs
from cachezoo.policies.registry import policy
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import PageAccesses

DIGITS = 3
FOLLOWING = ("half_life", "lead", "price", "head_start")  # the follower's values that a model states
OF_MODEL = ("shadows", "experts", "candidates", "own_trees", "own_rows", "own_pace", *FOLLOWING)


@dataclass(frozen=True)
class Plan:
    """How the forest's cache ranks pages, and who stands beside it.

    Attributes:
        quantiles: float32[Q - 1], scores at which classes are cut, rising.
        shadows: classics whose hit or miss cuts each class in two; K = Q * 2**len(shadows) classes.
        events, risks: float64[K, BINS], counts to start from.
        candidates: residents compared at each eviction.
        experts: texts of the caches beside the forest's.
        following: values of the follower.
        seed: of the draws.
    """

    quantiles: F32
    shadows: Sequence[str]
    events: F64
    risks: F64
    candidates: int
    experts: Sequence[str]
    following: Mapping[str, float]
    seed: int


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


def shadow_bits(stream: Stream, capacity: int, shadows: Sequence[str]) -> U8:
    """uint8[m]: bit k is set where the cache of the k-th of `shadows` had the page."""
    bits = np.zeros(len(stream), np.uint8)
    for k, name in enumerate(shadows):
        hit = policy(name).simulate(stream, capacity).outcome == HIT
        bits |= hit.astype(np.uint8) << np.uint8(k)
    return bits


def classes_of(scores: npt.NDArray[Any], quantiles: F32, bits: U8, shadows: int) -> U8:
    """uint8[m]: the score's place among the quantiles, and the bits of so many shadows below it."""
    places = np.searchsorted(quantiles, np.asarray(scores, np.float32)).astype(np.uint8)
    found: U8 = (places << np.uint8(shadows)) | bits
    return found


def forest_cache(classes: U8, plan: Plan) -> Composition:
    """The cache of a stream whose accesses have these classes, uint8[m].

    It raises ConfigError on a stream of another length, such as a sampled shadow's.
    """

    def make(stream: Stream, capacity: int, values: Mapping[str, float]) -> worth.State:
        if len(classes) != len(stream):
            message = f"worth: {len(classes)} classes for a stream of {len(stream)} accesses; give it full shadows"
            raise ConfigError(message)
        prior = plan.events, plan.risks
        counts = hazards.make(classes, stream.n_pages, capacity, prior)
        return worth.make(counts, capacity, plan.candidates, plan.seed)

    eviction = Eviction(
        "worth", "the page worth least for its time leaves", make, worth.has, worth.touch, worth.insert
    )  # fmt: skip
    return Composition(eviction, ACCEPT_ALL)


@dataclass(frozen=True)
class Seen:
    """What page accesses show at one capacity, whichever forest scores them."""

    stream: Stream  # what is asked
    capacity: int  # C, pages
    inputs: F32  # float32[m, F] of the forests
    bits: U8  # uint8[m] of the shadows
    own: F32  # float32[m], scores of the trace's own forest, not a number where there is none
    target: F32  # float32[m], what scores predict; of an access it is read 4 C accesses later

    def corrected(self, scores: npt.NDArray[Any]) -> F32:
        """float32[m]: a forest's scores, float[m], moved towards the own forest's as far as that one earned it."""
        given = np.asarray(scores, np.float32)
        found: F32 = own.believe(given, self.own, self.target, HORIZON * self.capacity, self.capacity)
        return found

    def classes(self, scores: npt.NDArray[Any], plan: Plan) -> U8:
        """uint8[m]: the class of each access that a forest gave these scores, float[m]."""
        return classes_of(self.corrected(scores), plan.quantiles, self.bits, len(plan.shadows))

    def serve(self, scores: npt.NDArray[Any], plan: Plan) -> Followed:
        """Serve all from an empty cache: the forest's cache leads until a classic is ahead."""
        experts = [parse(text).composition() for text in plan.experts]
        caches = [forest_cache(self.classes(scores, plan), plan), *experts]
        return follow_runs(self.stream, self.capacity, caches, plan.following)


def look(asked: Asked, pages: PageAccesses, stream: Stream, capacity: int, policy: Mapping[str, Any]) -> Seen:
    """Go through page accesses once, before any forest scores them.

    Of `policy` it reads `shadows`, `own_trees`, `own_rows`, `seed`, and `own_pace`, which models of before lack.

    Raises:
        ConfigError: capacity below 1.
    """
    inputs, target = input_rows(asked, capacity), next_use(pages, capacity).target
    trees, rows, seed = (int(policy[name]) for name in ("own_trees", "own_rows", "seed"))
    pace = int(policy.get("own_pace", 0))
    found = own.foresee(inputs, target, HORIZON * capacity, capacity, own.blank(trees), rows, seed, pace)
    return Seen(stream, capacity, inputs, shadow_bits(stream, capacity, policy["shadows"]), found, target)
