"""The evictions that a composition can take, a module for each family."""

from cachezoo.policies.evictions import queues, recency

EVICTIONS = (*recency.EVICTIONS, *queues.EVICTIONS)
