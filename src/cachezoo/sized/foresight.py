"""Evictions of objects that know the requests to come: what hindsight reaches, and no policy for a cache at work."""

from cachezoo.kernels.sized import offline
from cachezoo.policies.components import Values, Whole
from cachezoo.sized.components import Eviction, Place

BYPASS = Whole("bypass", 0, 0, 1, "1: what would leave at once does not enter")


def _make(place: Place, values: Values) -> offline.State:
    asked = place.requests
    candidates, seed, boundary = (int(values.get(name, 0)) for name in ("candidates", "seed", "boundary"))
    return offline.make(
        place.held, asked.ids, asked.op, place.capacity, candidates, seed, boundary, bool(values.get("bypass", 0))
    )


BELADY = Eviction(
    "belady", "MIN: the next request farthest ahead, whatever the size", _make,
    offline.touch, offline.evict_farthest, offline.insert, offline.remove, offline.wants_farther, offline.resize,
    (BYPASS,),
)  # fmt: skip
BELADY_SIZE = Eviction(
    "beladysize", "the most bytes times requests until the next", _make,
    offline.touch, offline.evict_costliest, offline.insert, offline.remove, offline.wants_cheaper, offline.resize,
    (
        BYPASS,
        Whole("candidates", 128, 0, 2**20, "residents drawn for each eviction; 0: all are looked at"),
        Whole("seed", 0, 0, 2**31 - 1, "of the draws"),
    ),
)  # fmt: skip
RELAXED_BELADY = Eviction(
    "relaxedbelady", "the object used longest ago of those beyond a boundary (NSDI 2020)", _make,
    offline.touch, offline.evict_relaxed, offline.insert, offline.remove, resize=offline.resize,
    parameters=(Whole("boundary", 1, 1, 2**31 - 1, "requests to the next one from which on all are alike"),),
)  # fmt: skip
EVICTIONS = (BELADY, BELADY_SIZE, RELAXED_BELADY)
