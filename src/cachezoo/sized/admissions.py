"""The admissions of objects: those of pages, whose memories count objects of mean size for pages, and one by size."""

from cachezoo.kernels.admit import always, bloom, coinflip, rejectx
from cachezoo.kernels.sized import bysize
from cachezoo.policies import admissions as pages
from cachezoo.policies.components import Values, Whole
from cachezoo.sized.components import Admission, Place
from cachezoo.traces.objects import MAX_OBJECT_BYTES


def _rejectx(place: Place, values: Values) -> rejectx.State:
    return rejectx.make(place.n_objects, int(values["window_capacities"] * place.entries), int(values["x"]))


def _bloom(place: Place, values: Values) -> bloom.State:
    return bloom.make(place.n_objects, round(values["capacities"] * place.entries / 2), values["bits_per_entry"])


ACCEPT_ALL = Admission("acceptall", pages.ACCEPT_ALL.title, lambda *_: always.State(0), always.admit, always.saw)
COIN_FLIP = Admission(
    "coinflip", pages.COIN_FLIP.title, lambda _, values: coinflip.make(values["p"], int(values["seed"])),
    coinflip.admit, coinflip.saw, pages.COIN_FLIP.parameters,
)  # fmt: skip
REJECT_X = Admission(
    "rejectx", "an object's first x misses within a window stay out", _rejectx, rejectx.admit, rejectx.saw,
    pages.REJECT_X.parameters,
)  # fmt: skip
BLOOM = Admission(
    "bloom", "an object's first miss stays out, misses remembered in two rotating Bloom filters",
    _bloom, bloom.admit, bloom.saw, pages.BLOOM.parameters,
)  # fmt: skip
BY_SIZE = Admission(
    "bysize", "objects above a size stay out",
    lambda place, values: bysize.State(place.requests.size, int(values["largest"])), bysize.admit, bysize.saw,
    (Whole("largest", 65_536, 1, MAX_OBJECT_BYTES, "bytes of the largest object that enters, a whole number"),),
)  # fmt: skip
ADMISSIONS = (ACCEPT_ALL, COIN_FLIP, REJECT_X, BLOOM, BY_SIZE)
