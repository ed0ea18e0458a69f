"""The evictions that a composition can take."""

from cachezoo.policies.evictions import classics, learned

EVICTIONS = (*classics.EVICTIONS, *learned.EVICTIONS)
