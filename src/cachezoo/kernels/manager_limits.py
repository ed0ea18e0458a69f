"""What `cachezoo.kernels.manager` is told of each cache of three queues: its size and its rules, from a policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import I64
from cachezoo.errors import ConfigError
from cachezoo.kernels import manager

ON_HIT = ("stay", "requeue")
QUEUE_RULES = ("three", "single")


@dataclass(frozen=True)
class Cache:
    """One lane."""

    capacity: int  # pages
    threshold: float  # admit where the cached probability reaches it
    # what a hit does to a page: `stay` in its queue, at the head; or `requeue`, to the head of the queue that the model
    # names now, and to the tail of soon where it names none
    on_hit: str
    queues: str  # where admitted pages enter: one of `three`, by expected stay, or a `single` one


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
    limits[:, manager.SINGLE] = [cache.queues == "single" for cache in caches]
    return limits
