"""Evictions of objects that learn as they go, by the forests of `cachezoo.policies.evictions.learned`."""

from cachezoo.kernels.evict.lrb import Settings as LrbSettings
from cachezoo.kernels.evict.threelcache import Settings as ThreeLCacheSettings
from cachezoo.kernels.learning import Training
from cachezoo.kernels.sized import lrb, threelcache
from cachezoo.policies.components import Values, Whole
from cachezoo.policies.evictions import learned as pages
from cachezoo.sized.components import Eviction, Place

OBJECTS = Whole("objects", 0, 0, 1, "1: for objects hit, so that bytes weigh in who leaves; 0: for bytes hit")


def _training(values: Values) -> Training:
    rows, trees, leaves, threads, seed = (int(values[name]) for name in ("rows", "trees", "leaves", "threads", "seed"))
    return Training(rows, trees, leaves, threads, seed, float(values["learning_rate"]))


def _lrb(place: Place, values: Values) -> lrb.State:
    settings = LrbSettings(
        window=max(1, round(values["window"] * place.entries)), candidates=int(values["candidates"]),
        sample_every=int(values["sample_every"]), patience=float(values["patience"]), deltas=int(values["deltas"]),
        counters=int(values["counters"]), training=_training(values),
    )  # fmt: skip
    return lrb.make(place.held, place.requests.ids, place.entries, settings, bool(values["objects"]))


def _threelcache(place: Place, values: Values) -> threelcache.State:
    settings = ThreeLCacheSettings(int(values["sample_every"]), int(values["deltas"]), _training(values))
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
