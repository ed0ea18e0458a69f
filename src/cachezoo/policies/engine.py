"""Run a composition over a stream: the bridge from parts to the compiled loops."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np

from cachezoo.arrays import I32, U8
from cachezoo.errors import ConfigError
from cachezoo.kernels import loops
from cachezoo.kernels.jit import specialise
from cachezoo.kernels.near import is_at_hand, is_far
from cachezoo.kernels.outcome import NONE, REQUEST
from cachezoo.kernels.step import unlocked
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition, Step, Values, settle
from cachezoo.policies.stream import Stream


@dataclass(frozen=True)
class Run:
    """What a cache did at each access of a stream.

    Attributes:
        outcome: uint8[m], codes of `cachezoo.kernels.outcome`.
        victim: int32[m], the page that the access evicted, or `NONE`.
        says_who_left: False for a cache whose run is known by its outcomes alone; `victim` is then `NONE` throughout.
        moved: int32[m], pages read from the disk into the cache besides the one asked and those prefetched; None of a
            cache that reads no others.
    """

    outcome: U8
    victim: I32
    says_who_left: bool = True
    moved: I32 | None = None

    @classmethod
    def of_outcomes(cls, outcome: U8) -> "Run":
        """The run of a cache of which nothing else is known."""
        return cls(outcome, np.full(len(outcome), NONE, np.int32), False)


Span = tuple[int, int, Run]


@cache
def _fast(name: str, has: Step, touch: Step, insert: Step) -> Step:
    return specialise(loops.run, f"run_{name}", has=has, touch=touch, insert=insert)


@cache
def _full(
    name: str, has: Step, touch: Step, insert: Step, admit: Step, saw: Step, near: Step, soon: Step, far: bool
) -> Step:
    steps = {"has": has, "touch": touch, "insert": insert, "admit": admit, "saw": saw, "near": near, "soon": soon}
    if far:
        return unlocked(specialise(loops.simulate, f"simulate_{name}_far", **steps, far=is_far))
    return specialise(loops.simulate, f"simulate_{name}", **steps, far=is_at_hand)


def check_capacity(capacity: int) -> None:
    """Refuse what is no cache.

    Raises:
        ConfigError: below one page, or no whole number of pages.
    """
    if not isinstance(capacity, Integral):
        raise ConfigError(f"capacity {capacity}: give a whole number of pages")
    if capacity < 1:
        raise ConfigError(f"capacity {capacity}: a cache has at least one page")


def _state(part: Any, stream: Stream, capacity: int, given: Values) -> Any:  # noqa: ANN401 - each part's own
    return part.make(stream, capacity, settle(part.id, part.parameters, given))


class Course:
    """A composition at work on a stream, which it serves a span at a time, from an empty cache on.

    Attributes:
        served: accesses so far, those before the first served included.
    """

    def __init__(
        self, composition: Composition, stream: Stream, capacity: int, first: int = 0, *, far: bool = False
    ) -> None:
        """Start.

        Args:
            composition: the parts.
            stream: what is asked.
            capacity: pages, at least 1.
            first: access to begin with, a request's first.
            far: whether the state is too large for the processor's caches, so that what a step reads is brought near
                beforehand.

        Raises:
            ConfigError: capacity below 1, or a parameter outside its range.
        """
        check_capacity(capacity)
        eviction, admission = composition.eviction, composition.admission
        self.served = first
        self._stream, self._eviction = stream, eviction
        self._state = _state(eviction, stream, capacity, composition.eviction_values)
        self._gate = _state(admission, stream, capacity, composition.admission_values)
        gate_module = str(admission.admit.__module__).rpartition(".")[2]  # one loop for all that decide by one's steps
        self._loop = _full(
            f"{gate_module}_{eviction.id}", eviction.has, eviction.touch, eviction.insert, admission.admit,
            admission.saw, eviction.near or eviction.has, eviction.soon or eviction.has, far,
        )  # fmt: skip
        self._lessons = pauses(stream, eviction.learn_every) if eviction.learn else []

    def serve(self, high: int, outcome: U8, victim: I32) -> None:
        """Serve what was not yet served before access `high`, the first of a request or the stream's end.

        Args:
            high: past the last access.
            outcome: uint8[high - served], written, as `Run`'s.
            victim: int32[high - served], written, as `Run`'s.
        """
        first = self.served
        lessons = self._lessons[bisect_right(self._lessons, first) : bisect_right(self._lessons, high)]
        for stop in dict.fromkeys((*lessons, high)):
            part = slice(self.served - first, stop - first)
            span = (self.served, stop)
            self._loop(
                self._stream.page_ids, self._stream.flags, self._state, self._gate, span, outcome[part], victim[part]
            )
            self.served = stop
            if self._eviction.learn is not None and stop in lessons:
                self._eviction.learn(self._state, stop)


def simulate(composition: Composition, stream: Stream, capacity: int) -> Run:
    """Serve a stream from an empty cache.

    Args:
        composition: the parts.
        stream: what is asked.
        capacity: pages, at least 1.

    Raises:
        ConfigError: capacity below 1, or a parameter outside its range.
    """
    run = Run(np.empty(len(stream), np.uint8), np.empty(len(stream), np.int32))
    Course(composition, stream, capacity).serve(len(stream), run.outcome, run.victim)
    return run


def spans(composition: Composition, stream: Stream, capacity: int, every: int) -> Iterator[Span]:
    """Serve a long stream from an empty cache, about so many accesses at a time.

    Args:
        composition: the parts.
        stream: the accesses.
        capacity: pages, at least 1.
        every: accesses.

    Yields:
        First and past-last access of each span, whole requests one after the other, and the run of them, which the span
        after the next writes over.

    Raises:
        ConfigError: as `simulate`.
    """
    course, low = Course(composition, stream, capacity, far=True), 0
    stops = pauses(stream, every)
    longest = max(np.diff([0, *stops]).tolist())
    rooms = [Run(np.empty(longest, np.uint8), np.empty(longest, np.int32)) for _ in range(2)]
    for k, high in enumerate(stops):
        room, part = rooms[k % 2], slice(0, high - low)
        run = Run(room.outcome[part], room.victim[part])
        course.serve(high, run.outcome, run.victim)
        yield low, high, run
        low = high


def pauses(stream: Stream, every: int) -> list[int]:
    """Where a span of a stream ends: at the first request from each multiple of `every` on, and at the stream's end.

    Of a multiple within the last request that is where this request begins.
    """
    stops = {first_request(stream, low) for low in range(every, len(stream), every)}
    if len(stream) in stops:
        stops.add(_last_request(stream))
    return [*sorted(stop for stop in stops if 0 < stop < len(stream)), len(stream)]


def first_request(stream: Stream, low: int) -> int:
    """The first access from `low` on that is a request's first; the stream's length where there is none."""
    reach = 64
    while low < len(stream):
        starts = stream.flags[low : low + reach] & REQUEST != 0
        if starts.any():
            return low + int(starts.argmax())
        low, reach = low + reach, 2 * reach
    return len(stream)


def _last_request(stream: Stream) -> int:
    """The access at which the last request begins."""
    reach = 64
    while not (starts := stream.flags[-reach:] & REQUEST != 0).any() and reach < len(stream):
        reach *= 2
    return len(stream) - 1 - int(starts[::-1].argmax())


def hits_only(composition: Composition, page_ids: I32, n_pages: int, capacity: int) -> U8:
    """Outcomes uint8[m] of single page reads, by the fast loop where everything is admitted and nothing is learned.

    Raises:
        ConfigError: as `simulate`.
    """
    check_capacity(capacity)
    stream = Stream.of_pages(page_ids, n_pages)
    eviction = composition.eviction
    if composition.admission is not ACCEPT_ALL or eviction.learn is not None:
        return simulate(composition, stream, capacity).outcome
    outcome = np.empty(len(page_ids), np.uint8)
    loop = _fast(eviction.id, eviction.has, eviction.touch, eviction.insert)
    loop(stream.page_ids, _state(eviction, stream, capacity, composition.eviction_values), outcome)
    return outcome
