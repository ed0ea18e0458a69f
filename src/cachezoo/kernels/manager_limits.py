"""What `cachezoo.kernels.manager` is told of each cache of three queues: its size and its rules, from a policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, I64, U8, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels import manager

ON_HIT = ("stay", "requeue")
QUEUE_RULES = ("three", "single")
NEARER = 0.5
SLACK = 0.5  # octaves


@dataclass(frozen=True)
class ByCapacity:
    """Thresholds and queue rules by how large a cache is against what was used of late.

    The size is log2(capacity / distinct pages of the recent window) before each request, the number that the model's
    input `capacity.ratio` is made of. It sways while a trace runs, so an entry holds for a quarter of the way to the
    next; in the half between the threshold is linear, and the queue rule is that of the nearer entry. Beyond the first
    and the last entry theirs hold.
    """

    ratio: F64  # [K] log2, rising, K at least 2
    threshold: F64  # [K] probabilities
    single: Bool  # [K] what is admitted enters mean

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "ByCapacity | None":
        """From a bundle's `calibration.by_capacity`; None where it has no entry.

        Raises:
            ConfigError: one entry alone, sizes that do not rise, or an unknown rule.
        """
        if not rows:
            return None
        ratio = np.array([row["ratio_log2"] for row in rows], np.float64)
        if len(rows) < 2 or not (np.diff(ratio) > 0).all():
            raise ConfigError("calibration.by_capacity: give two entries or more, by rising ratio_log2")
        if unknown := [row["queues"] for row in rows if row["queues"] not in QUEUE_RULES]:
            raise ConfigError(f"calibration.by_capacity: queues {unknown[0]}: not among {QUEUE_RULES}")
        single = np.array([row["queues"] == "single" for row in rows], np.bool_)
        return cls(ratio, np.array([row["threshold"] for row in rows], np.float64), single)

    def at(self, ratio: F32) -> tuple[F32, Bool]:
        """Thresholds float32[n], and bool[n] where what is admitted enters mean, at sizes float32[n]."""
        within = np.clip(ratio.astype(np.float64), self.ratio[0], self.ratio[-1])
        low = np.clip(np.searchsorted(self.ratio, within, side="right") - 1, 0, len(self.ratio) - 2)
        part = (within - self.ratio[low]) / (self.ratio[low + 1] - self.ratio[low])
        along = np.clip(2.0 * part - NEARER, 0.0, 1.0)
        threshold = self.threshold[low] + along * (self.threshold[low + 1] - self.threshold[low])
        return threshold.astype(np.float32), np.where(part < NEARER, self.single[low], self.single[low + 1])

    def covers(self, ratio: F32) -> Bool:
        """bool[n]: sizes float32[n] that the entries are for: no more than half an octave beyond them."""
        inside: Bool = (ratio >= self.ratio[0] - SLACK) & (ratio <= self.ratio[-1] + SLACK)
        return inside


@dataclass(frozen=True)
class Cache:
    """One lane."""

    capacity: int  # pages
    threshold: float  # admit where the cached probability reaches it
    # what a hit does to a page: `stay` in its queue, at the head; or `requeue`, to the head of the queue that the model
    # names now, and to the tail of soon where it names none
    on_hit: str
    queues: str  # where admitted pages enter: one of `three`, by expected stay, or a `single` one
    by_capacity: ByCapacity | None = None  # in place of the threshold and the queue rule


def manager_limits(policy: Mapping[str, Any], caches: Sequence[Cache]) -> I64:
    """Limits of each lane's cache, int64[L, N_LIMITS], from a bundle's policy (see `kernels.manager.State`).

    Raises:
        ConfigError: no cache, one of no page, a rule that this release does not know, or no time till demotion.
    """
    if min((cache.capacity for cache in caches), default=0) < 1:
        raise ConfigError(f"capacities {[cache.capacity for cache in caches]}: a cache has at least one page")
    for cache in caches:
        if cache.on_hit not in ON_HIT or cache.queues not in QUEUE_RULES:
            raise ConfigError(f"on_hit {cache.on_hit}, queues {cache.queues}: not among {ON_HIT} and {QUEUE_RULES}")
    if int(policy["demote_capacities"]) < 1:
        message = f"demote_capacities {policy['demote_capacities']}: a page stays in a queue for 1 capacity at least"
        raise ConfigError(message)
    limits = np.zeros((len(caches), manager.N_LIMITS), np.int64)
    limits[:, manager.CAPACITY] = [cache.capacity for cache in caches]
    limits[:, manager.PERIOD] = int(policy["demote_capacities"]) * limits[:, manager.CAPACITY]
    limits[:, manager.PERCENT] = policy["protected_percent"]
    limits[:, manager.FILL] = int(policy["fill_free"])
    limits[:, manager.REQUEUE] = [cache.on_hit == "requeue" for cache in caches]
    return limits


def lane_rules(caches: Sequence[Cache], ratio: F32) -> tuple[F32, U8]:
    """What each lane decides by: thresholds float32[n, L], and uint8[n, L], 1 where what is admitted enters mean.

    Args:
        caches: the lanes.
        ratio: float32[n, L], log2(capacity / distinct pages of the recent window) before each request.
    """
    thresholds, single = np.empty(ratio.shape, np.float32), np.empty(ratio.shape, np.uint8)
    for lane, cache in enumerate(caches):
        if cache.by_capacity is None:
            thresholds[:, lane], single[:, lane] = cache.threshold, cache.queues == "single"
        else:
            thresholds[:, lane], single[:, lane] = cache.by_capacity.at(ratio[:, lane])
    return thresholds, single
