"""Evictions of objects that learn as they go, by the forests of `cachezoo.policies.evictions.learned`."""

from cachezoo.kernels.sized import lrb, threelcache
from cachezoo.policies.components import Values, Whole
from cachezoo.policies.evictions import learned as pages
from cachezoo.sized.components import Eviction, Place

OBJECTS = Whole("objects", 0, 0, 1, "1: for objects hit, so that bytes weigh in who leaves; 0: for bytes hit")


def _lrb(place: Place, values: Values) -> lrb.State:
    settings = pages.lrb_settings(values, place.entries)
    return lrb.make(place.held, place.requests.ids, place.entries, settings, bool(values["objects"]))


def _threelcache(place: Place, values: Values) -> threelcache.State:
    settings = pages.threelcache_settings(values)
    return threelcache.make(place.held, len(place.requests), place.entries, settings, bool(values["objects"]))


def learn_threelcache(state: threelcache.State, served: int) -> None:
    """Review the window, and train anew if there are enough new rows, as for pages."""
    pages.learn_threelcache(state.core, served)


def learn_lrb(state: lrb.State, served: int) -> None:
    """Train anew if there are enough new rows, as for pages."""
    pages.learn_lrb(state.core, served)


LRB = Eviction(
    pages.LRB.id, pages.LRB.title, _lrb,
    lrb.touch, lrb.evict, lrb.insert, lrb.remove, lrb.wants, lrb.resize,
    (OBJECTS, *pages.LRB.parameters), learn=learn_lrb, learn_every=pages.LEARN_EVERY,
)  # fmt: skip
THREELCACHE = Eviction(
    pages.THREELCACHE.id, pages.THREELCACHE.title, _threelcache,
    threelcache.touch, threelcache.evict, threelcache.insert, threelcache.remove, resize=threelcache.resize,
    parameters=(OBJECTS, *pages.THREELCACHE.parameters), learn=learn_threelcache, learn_every=pages.LEARN_EVERY,
)  # fmt: skip
EVICTIONS = (LRB, THREELCACHE)
