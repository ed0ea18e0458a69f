"""The cache itself: pages into classes by the forest's score and the shadows of classics, then the most worth stay.

The forest's cache is one expert beside classics, and a follower (`cachezoo.policies.following`) runs what leads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.kernels.evict import worth
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.reuse import hazards
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition, Eviction
from cachezoo.policies.following import Followed, follow_runs
from cachezoo.policies.registry import policy
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
U8 = npt.NDArray[np.uint8]


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
        counts = hazards.make(stream.page_ids, classes, stream.n_pages, capacity, prior)
        return worth.make(counts, capacity, plan.candidates, plan.seed)

    eviction = Eviction(
        "worth", "the page worth least for its time leaves", make, worth.has, worth.touch, worth.insert
    )  # fmt: skip
    return Composition(eviction, ACCEPT_ALL)


def follow_forest(stream: Stream, capacity: int, classes: U8, plan: Plan) -> Followed:
    """Serve a stream from an empty cache: the forest's cache leads until a classic is ahead.

    Args:
        stream: what is asked.
        capacity: pages.
        classes: uint8[m] of `classes_of`.
        plan: how pages are ranked, and who stands beside.
    """
    experts = [parse(text).composition() for text in plan.experts]
    return follow_runs(stream, capacity, [forest_cache(classes, plan), *experts], plan.following)
