"""The evictions that a composition can take, a module for each family."""

from cachezoo.policies.evictions import adaptive, frequency, learned, queues, recency, sketch, storage

EVICTIONS = (
    *recency.EVICTIONS, *adaptive.EVICTIONS, *queues.EVICTIONS, *frequency.EVICTIONS, *storage.EVICTIONS,
    *sketch.EVICTIONS, *learned.EVICTIONS,
)  # fmt: skip
