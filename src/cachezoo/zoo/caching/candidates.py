"""Ways to run a caching model's cache: a network of the fit, an oracle to imitate, the manager's rules, a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F32
from cachezoo.kernels.manager_limits import Cache

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

    def cache(self, capacity: int) -> Cache:
        """The cache that it runs."""
        return Cache(capacity, self.threshold, self.on_hit, self.queues)


def candidates_of(
    network: int, thresholds: dict[str, list[float]], on_hit: Sequence[str], queues: Sequence[str]
) -> list[Candidate]:
    """Every way to run a network by the thresholds of each teacher, teacher by teacher."""
    return [
        Candidate(network, teacher, rule, queue, threshold)
        for teacher, own in thresholds.items()
        for rule in on_hit
        for queue in queues
        for threshold in own
    ]


def thresholds_of(cached: F32, count: int) -> list[float]:
    """Thresholds that part a model's outputs into equal shares; between them lies every useful strictness.

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
