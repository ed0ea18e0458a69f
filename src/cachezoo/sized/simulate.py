"""Serve requests of objects from an empty cache, and count."""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from cachezoo.arrays import U8, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import specialise
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.sized import loop, table
from cachezoo.policies.components import Parts, Step, settle
from cachezoo.sized.components import Composition, Place
from cachezoo.sized.requests import Requests
from cachezoo.sized.spec import parse


@dataclass(frozen=True)
class SizedRun:
    """A cache of objects at work, counted from the warm-up on; deletes are no requests for an object.

    Attributes:
        policy: its canonical text.
        capacity: bytes.
        warmup: requests served before counting.
        requests, hits: of reads and writes.
        reads, read_hits: of reads alone.
        bytes, byte_hits: that the requests ask for, and those of hits; a request of unknown size asks for none.
        admitted: objects that entered.
        bytes_written: to the cache, by objects that entered and by writes that hit.
        evictions, evicted_bytes: objects that left for others, and their bytes.
        expired: objects found void by their time to live.
        deletes, deleted: requests to delete, and resident objects that they (or writes around) made void.
        resized: requests that changed a resident object's size.
        too_large, unknown: misses of objects larger than the cache, and of those whose size is not known.
        outcome: uint8[n] of all requests, warm-up included: codes of `cachezoo.kernels.outcome`.
        kernel_s: seconds in the loop and, of a policy that learns, in learning.
    """

    policy: str
    capacity: int
    warmup: int
    requests: int
    hits: int
    reads: int
    read_hits: int
    bytes: int
    byte_hits: int
    admitted: int
    bytes_written: int
    evictions: int
    evicted_bytes: int
    expired: int
    deletes: int
    deleted: int
    resized: int
    too_large: int
    unknown: int
    outcome: U8
    kernel_s: float

    @property
    def hit_ratio(self) -> float:
        """Hits per request."""
        return self.hits / max(self.requests, 1)

    @property
    def byte_hit_ratio(self) -> float:
        """Bytes hit per byte asked for."""
        return self.byte_hits / max(self.bytes, 1)

    @property
    def hit(self) -> Bool:
        """bool[n]: requests that hit."""
        hit: Bool = self.outcome == HIT
        return hit


@cache
def _loop(touch: Step, wants: Step, evict: Step, insert: Step, remove: Step, resize: Step, admit: Step, saw: Step,
          name: str) -> Step:  # fmt: skip
    steps = {"touch": touch, "wants": wants, "evict": evict, "insert": insert, "remove": remove, "resize": resize}
    return specialise(loop.serve, f"serve_{name}", **steps, admit=admit, saw=saw)


def compiled(parts: Composition) -> Step:
    """The loop of a composition."""
    eviction, admission = parts.eviction, parts.admission
    gate = str(admission.admit.__module__).rpartition(".")[2]
    return _loop(
        eviction.touch, eviction.wants, eviction.evict, eviction.insert, eviction.remove, eviction.resize,
        admission.admit, admission.saw, f"{gate}_{eviction.id}",
    )  # fmt: skip


def stops(parts: Composition, first: int, end: int) -> list[int]:
    """Where the loop pauses after request `first`, to learn, and its end."""
    found = {end}
    for part in (parts.eviction, parts.admission):
        if part.learn is not None:
            found.update(range(-(-(first + 1) // part.learn_every) * part.learn_every, end, part.learn_every))
    return sorted(found)


class Course:
    """A composition at work on requests, which it serves a span at a time, from an empty cache on.

    Attributes:
        served: requests so far.
        outcome: uint8[n], written as far as they are served.
        store: the loop's: what is resident, and what was counted.
    """

    def __init__(self, parts: Composition, requests: Requests, capacity: int, *, around: bool, resizing: bool) -> None:
        """Start.

        Args:
            parts: the components.
            requests: those of the trace.
            capacity: bytes, at least 1.
            around: writes pass by and void what is held.
            resizing: an object takes the size of each request of it.

        Raises:
            ConfigError: capacity below 1, or a parameter outside its range.
        """
        if capacity < 1:
            raise ConfigError(f"capacity {capacity}: a cache has at least one byte")
        self._parts, self._loop = parts, compiled(parts)
        self._asked = loop.Asked(requests.ids, requests.size, requests.op)
        self._lives = None
        if requests.time_us is not None and requests.expires_us is not None:
            self._lives = loop.Lives(requests.time_us, requests.expires_us, np.zeros(requests.n_objects, np.int64))
        held, *links = table.make(requests.n_objects)
        resident, used, counts = np.zeros(len(held), np.uint8), np.zeros(1, np.int64), np.zeros(loop.N_COUNTS, np.int64)
        resizing = resizing and requests.sizes_change
        self.store = loop.Store(held, resident, used, counts, capacity, around, resizing, parts.eviction.competes)
        place = Place(requests, capacity, held, (links[0], links[1]))
        eviction, admission = parts.eviction, parts.admission
        self._state = eviction.make(place, settle(eviction.id, eviction.parameters, parts.eviction_values))
        self._gate = admission.make(place, settle(admission.id, admission.parameters, parts.admission_values))
        self.outcome = np.zeros(len(requests), np.uint8)
        self.served = 0

    def serve(self, end: int) -> None:
        """Serve what was not yet served before request `end`."""
        for stop in stops(self._parts, self.served, end):
            self._loop(self._asked, self._lives, self.store, self._state, self._gate, (self.served, stop), self.outcome)
            self.served = stop
            for part, state in ((self._parts.eviction, self._state), (self._parts.admission, self._gate)):
                if part.learn is not None and stop % part.learn_every == 0:
                    part.learn(state, stop)


ONE = Requests(np.zeros(1, np.int32), np.ones(1, np.int64), np.zeros(1, np.uint8), 1)
ONE_TIMED = Requests(ONE.ids, ONE.size, ONE.op, 1, np.zeros(1, np.int64), np.ones(1, np.int64))


def simulate(
    requests: Requests, policy: str | Composition, capacity: int, *, warmup: int = 0, around: bool = False,
    resizing: bool = True,
) -> SizedRun:  # fmt: skip
    """Run one policy over requests of objects.

    Args:
        requests: those of the trace.
        policy: a text as `cachezoo.sized.spec` reads it, or its components.
        capacity: bytes, at least 1.
        warmup: requests served before counting.
        around: writes pass by and void what is held; otherwise they enter as reads do.
        resizing: an object takes the size of each request of it; False: it keeps that with which it entered.

    Raises:
        ConfigError: unknown policy, a parameter outside its range, capacity below 1, or a warm-up below 0.
    """
    spec = parse(policy) if isinstance(policy, str) else None
    parts = spec.composition() if spec is not None else policy
    assert isinstance(parts, Parts)
    if warmup < 0:
        raise ConfigError(f"warm-up {warmup}: it is 0 requests or more")
    Course(parts, ONE if requests.time_us is None else ONE_TIMED, 1, around=around, resizing=resizing).serve(1)
    course = Course(parts, requests, capacity, around=around, resizing=resizing)
    warmup = min(warmup, len(requests))
    start = time.perf_counter()
    course.serve(warmup)
    before = course.store.counts.copy()
    course.serve(len(requests))
    kernel_s = time.perf_counter() - start
    counts = (course.store.counts - before).tolist()
    return _counted(requests, course.outcome, counts, str(spec or parts.eviction.id), capacity, warmup, kernel_s)


def _counted(
    requests: Requests, outcome: U8, counts: list[int], policy: str, capacity: int, warmup: int, kernel_s: float
) -> SizedRun:
    """A run's figures by its outcomes, and by what the loop counted."""
    said = loop.tally(requests.size, requests.op, outcome, warmup)
    return SizedRun(
        policy=policy,
        capacity=capacity,
        warmup=warmup,
        requests=int(said[loop.REQUESTS]),
        hits=int(said[loop.HITS]),
        reads=int(said[loop.READS]),
        read_hits=int(said[loop.READ_HITS]),
        bytes=int(said[loop.BYTES]),
        byte_hits=int(said[loop.BYTE_HITS]),
        admitted=int(said[loop.ADMISSIONS]),
        bytes_written=int(said[loop.BYTES_WRITTEN]),
        evictions=counts[loop.EVICTIONS],
        evicted_bytes=counts[loop.EVICTED_BYTES],
        expired=counts[loop.EXPIRED],
        deletes=len(outcome) - warmup - int(said[loop.REQUESTS]),
        deleted=counts[loop.DELETED],
        resized=counts[loop.RESIZED],
        too_large=counts[loop.TOO_LARGE],
        unknown=counts[loop.UNKNOWN],
        outcome=outcome,
        kernel_s=kernel_s,
    )
