"""Evictions of objects that learn as they go, by the forests of `cachezoo.policies.evictions.learned`."""

from cachezoo.kernels.evict.lrb import Settings as LrbSettings
from cachezoo.kernels.learning import Training
from cachezoo.kernels.sized import lrb
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


def learn_lrb(state: lrb.State, served: int) -> None:
    """Train anew if there are enough new rows, as for pages."""
    pages.learn_lrb(state.core, served)


LRB = Eviction(
    pages.LRB.id, pages.LRB.title, _lrb,
    lrb.touch, lrb.evict, lrb.insert, lrb.remove, lrb.wants, lrb.resize,
    (OBJECTS, *pages.LRB.parameters), learn=learn_lrb, learn_every=pages.LEARN_EVERY,
)  # fmt: skip
EVICTIONS = (LRB,)
