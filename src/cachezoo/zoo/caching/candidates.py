"""The ways to run a caching model's cache, among which the choosing blocks of validation choose."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F32
from cachezoo.kernels.manager_limits import Cache
from cachezoo.settings.page_cache import ManagerPolicy

# Ends of every list of thresholds. No probability is above 1.
ADMIT_ALL, ADMIT_NONE = 0.0, 1.5
DIGITS = 3


@dataclass(frozen=True)
class Candidate:
    """One way to run a model's cache: which network of the fit, which oracle's heads, rules and threshold."""

    network: int
    teacher: str
    on_hit: str
    queues: str
    threshold: float

    @property
    def kind(self) -> tuple[int, str, str, str]:
        """What it is but for the threshold."""
        return self.network, self.teacher, self.on_hit, self.queues

    def cache(self, capacity: int) -> Cache:
        """The cache that it runs."""
        return Cache(capacity, self.threshold, self.on_hit, self.queues)


def thresholds_of(cached: F32, count: int) -> list[float]:
    """Thresholds that part a model's outputs into equal shares; between them lie every useful strictness.

    A fixed grid is not enough: a network may say 0.01 of most requests and 0.9 of none, and then the best threshold of
    the grid is its end. Values are rounded, so that few outputs equal a threshold to the last digit.

    Args:
        cached: float32[k] outputs of the requests that the oracle is asked about.
        count: thresholds wanted, both ends included; equal ones are given once.

    Returns:
        Rising, from `ADMIT_ALL` to `ADMIT_NONE`.
    """
    if not len(cached):
        return [ADMIT_ALL, ADMIT_NONE]
    inner = np.quantile(cached.astype(np.float64), np.linspace(0, 1, count)[1:-1])
    return sorted({ADMIT_ALL, *(_rounded(float(value)) for value in inner), ADMIT_NONE})


def _rounded(probability: float) -> float:
    """A probability to three digits of itself, or of what it lacks of 1 where that is less."""
    if probability <= 0.5:
        return float(f"{probability:.{DIGITS}g}")
    return round(1.0 - float(f"{1.0 - probability:.{DIGITS}g}"), 12)


def candidates_of(
    network: int, teachers: Sequence[str], thresholds: Sequence[Sequence[float]], manager: ManagerPolicy
) -> list[Candidate]:
    """Every way to run a network, teacher by teacher.

    Args:
        network: its place in the fit.
        teachers: the oracles that it has heads for.
        thresholds: of each teacher.
        manager: its lists of rules.
    """
    return [
        Candidate(network, teacher, on_hit, queues, threshold)
        for teacher, own in zip(teachers, thresholds, strict=True)
        for on_hit in manager.on_hit
        for queues in manager.queues
        for threshold in own
    ]
