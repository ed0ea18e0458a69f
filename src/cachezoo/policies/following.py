"""`follow`: a cache that follows the best of several experts, each simulated beside it as a full shadow.

An expert is any composition: an eviction with its admission and their values. It does not see the follower, so its
outcomes and victims are simulated first, a span of the stream at a time, and the follower is computed from them; see
`cachezoo.kernels.follow` for what it does, ADR 17 for why.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.kernels import follow as kernel
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.components import Composition, Parameter, Values, settle
from cachezoo.policies.engine import Course, Run, check_capacity, pauses
from cachezoo.policies.stream import Stream

U8 = npt.NDArray[np.uint8]
EXPERTS = "experts"
MOST_EXPERTS = kernel.MOST_EXPERTS
SPAN = 2**16  # accesses at least for which the experts' outcomes and victims are in memory


@dataclass(frozen=True)
class Follower:
    """What the text of a follower is made of; `form` says how."""

    id: str
    title: str
    parameters: tuple[Parameter, ...]
    form: str


FOLLOW = Follower(
    "follow", "follows the best of several caches, whose shadows run beside it",
    (
        Parameter("half_life", 16, 1e-3, 1e6, "accesses after which a hit counts half, over the capacity"),
        Parameter("lead", 0.003, 0, 1e6, "hits by which another expert must be ahead, over the capacity"),
        Parameter("price", 0.1, 0, 1e6, "hits more for each page that would have to be read again"),
        Parameter("head_start", 0, 0, 1e6, "hits that the first expert begins with, over the capacity"),
    ),
    "follow(experts=A|B|...)[+prefetch]",
)  # fmt: skip
# They and the values above were chosen on the captured train and validation traces; see docs/experiments.md.
DEFAULT_EXPERTS = ("s3fifo", "lirs", "lfu", "azor", "reca", "hystor", "twoq", "lru")


@dataclass(frozen=True)
class Followed:
    """A follower's run.

    Attributes:
        run: what it did at each access.
        leader: uint8[m], the expert that it followed at each access, by its place among the experts.
        hits: int64[experts], hits of each expert's shadow.
    """

    run: Run
    leader: U8
    hits: npt.NDArray[np.int64]


def follow_runs(
    stream: Stream, capacity: int, experts: Sequence[Composition], values: Values | None = None, span: int = SPAN
) -> Followed:
    """Serve a stream from an empty cache that follows the best of several.

    Args:
        stream: what is asked.
        capacity: pages, at least 1, of the follower and of each shadow.
        experts: 1 to `MOST_EXPERTS`; the first leads until another is ahead, and among equals.
        values: of `FOLLOW.parameters`; defaults where none is given.
        span: accesses at least that are simulated at a time, up to the next request; the run is the same with any.

    Raises:
        ConfigError: capacity below 1, no expert or too many, or a parameter outside its range.
    """
    check_capacity(capacity)
    if not 1 <= len(experts) <= MOST_EXPERTS:
        message = f"{FOLLOW.id}: {len(experts)} experts; name 1 to {MOST_EXPERTS}"
        raise ConfigError(message)
    own = settle(FOLLOW.id, FOLLOW.parameters, values or {})
    state = kernel.make(
        stream.n_pages, capacity, len(experts), own["half_life"] * capacity, own["lead"] * capacity, own["price"]
    )
    state.credit[0] = own["head_start"] * capacity
    courses = [Course(expert, stream, capacity) for expert in experts]
    run = Run(np.empty(len(stream), np.uint8), np.empty(len(stream), np.int32))
    leader, hits, low = np.empty(len(stream), np.uint8), np.zeros(len(experts), np.int64), 0
    for high in pauses(stream, span):
        shadows = np.empty((len(experts), high - low), np.uint8), np.empty((len(experts), high - low), np.int32)
        for course, outcome, victim in zip(courses, *shadows, strict=True):
            course.serve(high, outcome, victim)
        part = slice(low, high)
        followed = run.outcome[part], run.victim[part], leader[part]
        kernel.follow(stream.page_ids[part], stream.flags[part], state, shadows, followed)
        hits += np.count_nonzero(shadows[0] == HIT, axis=1)
        low = high
    return Followed(run, leader, hits)
