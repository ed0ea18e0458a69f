"""Evictions and admissions of objects by counts and models of their past, in the order in which they are listed."""

from cachezoo.kernels.sized import adaptsize, lhd, wtinylfu
from cachezoo.policies.components import Parameter, Values, Whole
from cachezoo.sized.components import Admission, Eviction, Place

GREATEST_SEED = 2**31 - 1


def _lhd(place: Place, values: Values) -> lhd.State:
    candidates, every, seed = (int(values[name]) for name in ("candidates", "every", "seed"))
    return lhd.make(place.held, place.capacity, candidates, every, seed)


def _wtinylfu(place: Place, values: Values) -> wtinylfu.State:
    shares = (values["window"], values["protected"], values["sample"])
    return wtinylfu.make(place.held, place.capacity, place.entries, *shares)


def _adaptsize(place: Place, values: Values) -> adaptsize.State:
    asked = place.requests
    return adaptsize.make(
        asked.ids, asked.size, place.n_objects, place.capacity, int(values["every"]), values["start"],
        int(values["seed"]),
    )  # fmt: skip


WTINYLFU = Eviction(
    "wtinylfu", "window, then a segmented LRU behind a frequency filter, by bytes (ACM TOS 2017, 2022)", _wtinylfu,
    wtinylfu.touch, wtinylfu.evict, wtinylfu.insert, wtinylfu.remove, wtinylfu.wants, wtinylfu.resize,
    (
        Parameter("window", 0.01, 0, 1, "part of the bytes for what is new"),
        Parameter("protected", 0.8, 0, 1, "part of the rest for what was hit there"),
        Parameter("sample", 10, 0.01, 2**20, "accesses between halvings, over the objects that fit"),
    ),
)  # fmt: skip
LHD = Eviction(
    "lhd", "least hit density: hits to come for each byte and request (NSDI 2018)", _lhd,
    lhd.touch, lhd.evict, lhd.insert, lhd.remove, resize=lhd.resize,
    parameters=(
        Whole("candidates", 32, 1, 4096, "residents drawn for each eviction"),
        Whole("every", 65_536, 1, 2**30, "requests between reviews of what is known"),
        Whole("seed", 0, 0, GREATEST_SEED, "of the draws"),
    ),
)  # fmt: skip
ADAPT_SIZE = Admission(
    "adaptsize", "the larger an object, the less likely it enters, tuned by a model (NSDI 2017)", _adaptsize,
    adaptsize.admit, adaptsize.saw,
    (
        Whole("every", 262_144, 1, 2**30, "requests between tunings"),
        Parameter("start", 32_768, 1, 2**50, "bytes that enter with probability 1/e, until the first tuning"),
        Whole("seed", 0, 0, GREATEST_SEED, "of the draws"),
    ),
)  # fmt: skip
EVICTIONS = (WTINYLFU, LHD)
ADMISSIONS = (ADAPT_SIZE,)
