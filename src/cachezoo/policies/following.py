"""`follow`: a cache that follows the best of several experts, each simulated beside it as a shadow, full or sampled.

An expert is any composition: an eviction with its admission and their values. It does not see the follower, so its
outcomes and victims are simulated first, a span of the stream at a time, and the follower is computed from them; see
`cachezoo.kernels.follow` for what it does, ADR 17 for why. A sampled shadow serves the accesses to some pages alone and
only measures: the leader's cache is then run in full, and a new leader's is built up from what was asked lately
(`cachezoo.policies.following`).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, U8, U32
from cachezoo.errors import ConfigError, TooSmallError
from cachezoo.kernels import follow as kernel
from cachezoo.kernels.outcome import ADMITTED, HIT, NONE, PREFETCHED, REQUEST
from cachezoo.policies.components import Composition, Parameter, Values, Whole, settle
from cachezoo.policies.engine import Course, Run, Span, check_capacity, pauses
from cachezoo.policies.sampling import sample
from cachezoo.policies.stream import Stream

EXPERTS = "experts"
MOST_EXPERTS = kernel.MOST_EXPERTS
SPAN = 2**16  # accesses at least for which the experts' outcomes and victims are in memory
SAMPLED_SPAN = 2**12  # the same of sampled shadows; what the old leader served past a change is thrown away
LEAST_SHADOW = 64  # pages of a sampled shadow; smaller ones say little
SEEDS = 2**31 - 2


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
        Parameter("sample", 1, 1e-3, 1, "part of the pages that the shadows see, in as small a part of the capacity"),
        Parameter("history", 16, 0, 1e6, "with sampled shadows: accesses shown to a new leader, over the capacity"),
        Whole("seed", 0, 0, SEEDS, "of the sample, a whole number"),
    ),
    "follow(experts=A|B|...)[+prefetch]",
)  # fmt: skip
# They and the values above were chosen on the captured train and validation traces: `benchmarks/following.py`.
DEFAULT_EXPERTS = ("s3fifo", "lirs", "lfu", "azor", "reca", "hystor", "twoq", "lru")


@dataclass(frozen=True)
class Followed:
    """A follower's run."""

    run: Run  # what it did at each access
    leader: U8  # uint8[m], the expert that it followed at each access, by its place among the experts
    hits: npt.NDArray[np.int64]  # int64[experts], hits of each expert's shadow
    measured: int  # accesses asked of each shadow: all of the stream's, or those to the sampled pages


def follow_runs(
    stream: Stream, capacity: int, experts: Sequence[Composition], values: Values | None = None, span: int | None = None
) -> Followed:
    """Serve a stream from an empty cache that follows the best of several.

    Args:
        stream: what is asked.
        capacity: pages, at least 1, of the follower and of each full shadow.
        experts: 1 to `MOST_EXPERTS`; the first leads until another is ahead, and among equals. With sampled shadows
            each has to serve any stream, so none may hang on decisions that were made for this one.
        values: of `FOLLOW.parameters`; defaults where none is given.
        span: accesses at least that are simulated at a time, up to the next request; the run is the same with any.

    Raises:
        ConfigError: capacity below 1, no expert or too many, a parameter outside its range, or a sample so small that
            its shadows have less than `LEAST_SHADOW` pages.
    """
    served = _server(stream, capacity, experts, values)
    run, leader = _empty(len(stream))
    low = 0
    for high in pauses(stream, span or served.span):
        part = slice(low, high)
        served.serve(low, high, (run.outcome[part], run.victim[part], leader[part]))
        low = high
    return Followed(run, leader, served.hits, served.measured())


def follow_spans(
    stream: Stream, capacity: int, experts: Sequence[Composition], values: Values, every: int
) -> Iterator[Span]:
    """The same of a long stream, about so many accesses at a time; see `cachezoo.policies.engine.spans`.

    Raises:
        ConfigError: as `follow_runs`.
    """
    served = _server(stream, capacity, experts, values)
    inner, low = pauses(stream, served.span), 0
    for last in pauses(stream, every):
        run, leader = _empty(last - low)
        first = low
        for high in inner[bisect_right(inner, low) : bisect_right(inner, last)]:
            part = slice(low - first, high - first)
            served.serve(low, high, (run.outcome[part], run.victim[part], leader[part]))
            low = high
        if low < last:
            part = slice(low - first, last - first)
            served.serve(low, last, (run.outcome[part], run.victim[part], leader[part]))
            low = last
        yield first, last, run


Room = tuple[U8, I32, U8]
"""Outcome, victim and leader of a span, to be written."""


def _server(stream: Stream, capacity: int, experts: Sequence[Composition], values: Values | None) -> "_Full | _Sampled":
    check_capacity(capacity)
    if not 1 <= len(experts) <= MOST_EXPERTS:
        raise ConfigError(f"{FOLLOW.id}: {len(experts)} experts; name 1 to {MOST_EXPERTS}")
    own = settle(FOLLOW.id, FOLLOW.parameters, values or {})
    return (_Sampled if own["sample"] < 1 else _Full)(stream, capacity, experts, own)


class _Full:
    """A follower whose shadows see all pages."""

    span = SPAN

    def __init__(self, stream: Stream, capacity: int, experts: Sequence[Composition], own: Values) -> None:
        self._stream, self.hits = stream, np.zeros(len(experts), np.int64)
        self._state = _state(stream, capacity, capacity, len(experts), own)
        self._courses = [Course(expert, stream, capacity) for expert in experts]

    def serve(self, low: int, high: int, room: Room) -> None:
        """Serve accesses low to before high, which come next."""
        shadows, part = _served(self._courses, high), slice(low, high)
        kernel.follow(self._stream.page_ids[part], self._stream.flags[part], self._state, shadows, room)
        self.hits += np.count_nonzero(shadows[0] == HIT, axis=1)

    def measured(self) -> int:
        """Accesses asked of each shadow."""
        return int(self._stream.asked.sum())


def _state(stream: Stream, capacity: int, measured: float, experts: int, own: Values) -> kernel.State:
    """A follower of `capacity` pages whose counts are those of shadows of `measured` pages."""
    state = kernel.make(
        stream.n_pages, capacity, experts, own["half_life"] * measured, own["lead"] * measured, own["price"]
    )
    state.credit[0] = own["head_start"] * measured
    return state


def _empty(length: int) -> tuple[Run, U8]:
    return Run(np.empty(length, np.uint8), np.empty(length, np.int32)), np.empty(length, np.uint8)


def _served(courses: Sequence[Course], high: int) -> tuple[U8, I32]:
    """Outcomes and victims of caches that serve what is left before access `high`."""
    size = len(courses), high - courses[0].served
    outcome, victim = np.empty(size, np.uint8), np.empty(size, np.int32)
    for course, did, left in zip(courses, outcome, victim, strict=True):
        course.serve(high, did, left)
    return outcome, victim


def least_capacity(values: Values) -> int:
    """Pages from which on a follower with these values of `FOLLOW.parameters` can run."""
    rate = settle(FOLLOW.id, FOLLOW.parameters, values)["sample"]
    return 1 if rate == 1 else ceil(LEAST_SHADOW / rate)


def _size(capacity: int, rate: float) -> int:
    """Pages of a sampled shadow.

    Raises:
        TooSmallError: too few.
    """
    size = round(capacity * rate)
    if size < LEAST_SHADOW:
        enough = ceil(1000 * LEAST_SHADOW / capacity) / 1000
        message = (
            f"{FOLLOW.id}: sample = {rate:g} of {capacity} pages makes shadows of {size}, and less than "
            f"{LEAST_SHADOW} say too little; give sample = {min(1, enough):g} or more"
        )
        raise TooSmallError(message)
    return size


class _Sampled:
    """A follower whose shadows are sampled, and the leader's cache of all pages."""

    span = SAMPLED_SPAN

    def __init__(self, stream: Stream, capacity: int, experts: Sequence[Composition], own: Values) -> None:
        size = _size(capacity, own["sample"])
        self._stream, self._capacity, self._experts = stream, capacity, experts
        self._reach = round(own["history"] * capacity)
        self._sample = sample(stream, own["sample"], int(own["seed"]))
        self._shadows = [Course(expert, self._sample.stream, size) for expert in experts]
        self._state = _state(stream, capacity, capacity * own["sample"], len(experts), own)
        self._course, self._leads = built(experts[0], stream, capacity, 0, 0)
        self._row, self.hits = 0, np.zeros(len(experts), np.int64)

    def measured(self) -> int:
        """Accesses asked of each shadow."""
        return int(self._sample.stream.asked.sum())

    def serve(self, low: int, high: int, room: Room) -> None:
        """Serve accesses low to before high, which come next, through all changes of leader in them."""
        last, first = int(np.searchsorted(self._sample.rows, high)), low
        outcome, victim = _served(self._shadows, last)
        victim = np.where(victim == NONE, NONE, self._sample.pages[victim])
        rows = self._sample.rows[self._row : last]
        did, left_for, leader = room
        self.hits += np.count_nonzero(outcome == HIT, axis=1)
        self._row = last
        while low < high:
            left = int(np.searchsorted(rows, low))
            part = slice(low, high)
            own, evicted = _served([self._course], high)
            taken, ahead = kernel.follow_sampled(
                self._stream.page_ids[part], self._stream.flags[part], self._state,
                (rows[left:] - low, outcome[:, left:], victim[:, left:]), (self._leads, own[0], evicted[0]),
                (did[low - first :], left_for[low - first :], leader[low - first :]),
            )  # fmt: skip
            low += taken
            if ahead != self._state.numbers[kernel.LEADER] and low < len(self._stream):
                self._follow(ahead, low)

    def _follow(self, leader: int, low: int) -> None:
        """Another leads from access `low` on."""
        self._course, self._leads = built(self._experts[leader], self._stream, self._capacity, low, self._reach)
        kernel.change(self._state, leader, self._leads)


def first_of(stream: Stream, high: int, reach: int) -> int:
    """The first access of a request, at most `reach` accesses before access `high`, a request's first too."""
    low = max(0, high - reach)
    return low + int(np.argmax(stream.flags[low : high + 1] & REQUEST != 0))


def built(expert: Composition, stream: Stream, capacity: int, high: int, reach: int) -> tuple[Course, U32]:
    """An expert's cache that was empty and then shown what was asked lately.

    Args:
        expert: the parts.
        stream: what is asked.
        capacity: pages.
        high: the access that it is to serve next, a request's first.
        reach: accesses before it that it is shown, from a request's first on; 0 for an empty cache.

    Returns:
        The cache, which has served the accesses before `high`, and uint32[n_pages], 1 where it holds a page.
    """
    low = first_of(stream, high, reach)
    course = Course(expert, stream, capacity, low)
    outcome, victim = np.empty(high - low, np.uint8), np.empty(high - low, np.int32)
    course.serve(high, outcome, victim)
    return course, holding(stream.page_ids[low:high], outcome, victim, stream.n_pages)


def holding(page_ids: I32, outcome: U8, victim: I32, n_pages: int) -> U32:
    """uint32[n_pages], 1 where a cache that was empty before these accesses holds a page after them."""
    came = (outcome == ADMITTED) | (outcome == PREFETCHED)
    left = victim[victim != NONE]
    held = np.bincount(page_ids[came], minlength=n_pages) - np.bincount(left, minlength=n_pages)
    return held.astype(np.uint32)
