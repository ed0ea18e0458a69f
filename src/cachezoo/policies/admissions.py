"""The admissions that a composition can take, and `by_decision`, which makes one of decisions known beforehand."""

import numpy as np

from cachezoo.arrays import Bool
from cachezoo.kernels.admit import always, bloom, coinflip, mask, rejectx
from cachezoo.kernels.bounds.following import width_of
from cachezoo.policies.components import Admission, Parameter, Values, Whole
from cachezoo.policies.decisions import for_each_access
from cachezoo.policies.stream import Stream

SEEDS = 2**31 - 2


def _rejectx(stream: Stream, capacity: int, values: Values) -> rejectx.State:
    times = width_of(len(stream))
    return rejectx.make(stream.n_pages, int(values["window_capacities"] * capacity), int(values["x"]), times)


def _bloom(stream: Stream, capacity: int, values: Values) -> bloom.State:
    return bloom.make(stream.n_pages, round(values["capacities"] * capacity / 2), values["bits_per_entry"])


ACCEPT_ALL = Admission("acceptall", "every miss enters", lambda *_: always.State(0), always.admit, always.saw)
COIN_FLIP = Admission(
    "coinflip", "a miss enters with probability p",
    lambda _stream, _capacity, values: coinflip.make(values["p"], int(values["seed"])), coinflip.admit, coinflip.saw,
    (Parameter("p", 0.5, 0, 1, "the probability that a miss enters"),
     Whole("seed", 0, 0, SEEDS, "of the draws, a whole number")),
)  # fmt: skip
REJECT_X = Admission(
    "rejectx", "a page's first x misses within a window stay out", _rejectx, rejectx.admit, rejectx.saw,
    (Parameter("window_capacities", 4, 0, 1e6, "accesses that a miss is remembered for, in capacities"),
     Whole("x", 1, 1, 64, "misses that stay out, a whole number")),
)  # fmt: skip
BLOOM = Admission(
    "bloom", "a page's first miss stays out, misses remembered in two rotating Bloom filters",
    _bloom, bloom.admit, bloom.saw,
    (Parameter("capacities", 2, 0, 1e6, "distinct pages that both filters take together, in capacities"),
     Parameter("bits_per_entry", 10, 1, 64, "bits of memory for each page that a filter takes")),
)  # fmt: skip
ADMISSIONS = (ACCEPT_ALL, COIN_FLIP, REJECT_X, BLOOM)


def by_decision(decided: Bool, admission_id: str, title: str = "decided beforehand") -> Admission:
    """The admission of a model or an oracle that has already decided.

    Args:
        decided: bool, True where a miss enters; one for each access of the stream, prefetches included or not, or one
            for each request.
        admission_id: of the admission; lower case without punctuation.
        title: one line for people.

    Returns:
        An admission that takes no parameters. Where a unit has many accesses, the decision at its first miss counts.
        Its use raises ConfigError for a stream that has another number of accesses and of requests.
    """

    def make(stream: Stream, capacity: int, values: Values) -> mask.State:
        each = for_each_access(np.asarray(decided, np.bool_), stream, admission_id)
        return mask.State((each & stream.asked).astype(np.uint8))  # no admission is asked about a prefetch

    return Admission(admission_id, title, make, mask.admit, mask.saw)
