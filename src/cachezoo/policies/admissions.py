"""The admissions that a composition can take, and `by_decision`, which makes one of decisions known beforehand."""

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.kernels.admit import always, bloom, coinflip, mask, rejectx
from cachezoo.policies.parts import Admission, Parameter, Values
from cachezoo.policies.stream import Stream
from cachezoo.policies.whole import Whole

Bool = npt.NDArray[np.bool_]
SEEDS = 2**31 - 2


def _rejectx(stream: Stream, capacity: int, values: Values) -> rejectx.State:
    return rejectx.make(stream.n_pages, int(values["window_capacities"] * capacity), int(values["x"]))


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
        return mask.State(_for_each_access(decided, stream, admission_id))

    return Admission(admission_id, title, make, mask.admit, mask.saw)


def _for_each_access(decided: Bool, stream: Stream, admission_id: str) -> npt.NDArray[np.uint8]:
    """uint8[m]; a prefetch has the value 0, because no admission is asked about it."""
    decisions = np.asarray(decided, np.bool_).astype(np.uint8)
    if len(decisions) == len(stream):
        return decisions
    asked = stream.asked
    accesses, requests = int(asked.sum()), int(stream.request_of[-1]) + 1 if len(stream) else 0
    if len(decisions) not in (accesses, requests):
        message = (
            f"{admission_id}: {len(decisions)} decisions for a stream of {requests} requests and {accesses} accesses; "
            "give one for each request or each access"
        )
        raise ConfigError(message)
    each = np.zeros(len(stream), np.uint8)
    each[asked] = decisions if len(decisions) == accesses else decisions[stream.request_of[asked]]
    return each
