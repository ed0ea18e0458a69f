"""What no cache of objects can beat, and what hindsight reaches, at a capacity in bytes."""

from dataclasses import dataclass, replace

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.pfoo import Bounds
from cachezoo.kernels.jit import njit
from cachezoo.kernels.sized import loop, offline
from cachezoo.kernels.sized.pfoo import pfoo
from cachezoo.policies.components import Values
from cachezoo.sized.admissions import ACCEPT_ALL
from cachezoo.sized.components import Composition, Place
from cachezoo.sized.foresight import BELADY, RELAXED_BELADY
from cachezoo.sized.requests import Requests
from cachezoo.sized.simulate import SizedRun, simulate


@dataclass(frozen=True)
class HitBounds:
    """Between what the hits of the best cache lie, which may bypass; each pair is from a bound of its own.

    Attributes:
        capacity: bytes.
        requests, bytes: that count: of reads and writes, from the warm-up on.
        hits, byte_hits: of the best cache for hits, and of the best one for bytes.
    """

    capacity: int
    requests: int
    bytes: int
    hits: Bounds
    byte_hits: Bounds

    @property
    def hit_ratio(self) -> Bounds:
        """Hits per request."""
        return _per(self.hits, self.requests)

    @property
    def byte_hit_ratio(self) -> Bounds:
        """Bytes hit per byte asked for."""
        return _per(self.byte_hits, self.bytes)


def _per(bounds: Bounds, whole: int) -> Bounds:
    return Bounds(bounds.lower / max(whole, 1), bounds.upper / max(whole, 1))


@njit
def _reachable(
    asked: loop.Asked,
    lives: tuple[I64, I64] | None,
    n_objects: int,
    capacity: int,
    around: bool,
    found: tuple[Bool, Bool, I64],
) -> None:
    """Which requests can hit at all, and which do if the object was kept since the request before.

    The two differ where times to live do: whether a request finds an object that an earlier one brought, or brings it
    itself, says when it expires.
    """
    could, surely, kept = found
    # Of each object: can a cache hold it now, and would it if it could; bytes; the last and first time it may be void.
    there, sure = np.zeros(n_objects, np.bool_), np.zeros(n_objects, np.bool_)
    last, first = np.zeros(n_objects, np.int64), np.zeros(n_objects, np.int64)
    known = np.zeros(n_objects, np.int64)
    for i in range(asked.ids.size):
        key = asked.ids[i]
        kind = asked.op[i]
        size = asked.size[i]
        could[i] = surely[i] = False
        if kind == loop.DELETE or (around and kind == loop.WRITE):
            there[key] = sure[key] = False
            continue
        if size > 0:
            known[key] = size
        kept[i] = known[key]
        maybe, certain = there[key], sure[key]
        if lives is not None:
            now, until = lives[0][i], lives[1][i]
            maybe = maybe and now < last[key]
            certain = certain and now < first[key]
            if kind == loop.WRITE or not maybe:
                last[key] = first[key] = until
            else:
                last[key] = max(last[key], until)
                first[key] = min(first[key] if certain else now, until)
        could[i] = maybe and known[key] <= capacity
        surely[i] = certain and size > 0 and size <= capacity
        there[key] = known[key] > 0 and (maybe or size > 0) and known[key] <= capacity
        sure[key] = size > 0 and size <= capacity


def hit_bounds(requests: Requests, capacity: int, *, warmup: int = 0, around: bool = False) -> HitBounds:
    """Bounds of the hits, and of the bytes hit, of the best cache in which objects take the size of each request.

    Source: PFOO, as `cachezoo.kernels.sized.pfoo`. Deletes and times to live break what can be kept.

    Args:
        requests: those of the trace.
        capacity: bytes, at least 1.
        warmup: requests served before counting.
        around: writes pass by and void what is held.

    Raises:
        ConfigError: capacity below 1, or a warm-up below 0.
    """
    if warmup < 0:
        raise ConfigError(f"warm-up {warmup}: it is 0 requests or more")
    n = len(requests)
    asked, lives = loop.Asked(requests.ids, requests.size, requests.op), None
    if requests.time_us is not None and requests.expires_us is not None:
        lives = (requests.time_us, requests.expires_us)
    could, surely, kept = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    _reachable(asked, lives, requests.n_objects, capacity, around, (could, surely, kept))
    counts = (requests.op != loop.DELETE) & (np.arange(n) >= warmup)
    size = requests.size.astype(np.float64)

    def between(worth: F64) -> Bounds:
        found = pfoo(requests.ids, kept, np.where(could & counts, worth, 0.0), capacity)
        if (could == surely).all():
            return found
        lower = pfoo(requests.ids, kept, np.where(surely & counts, worth, 0.0), capacity).lower
        return Bounds(lower, found.upper)

    hits, byte_hits = between(np.ones(n)), between(size)
    return HitBounds(capacity, int(counts.sum()), int(requests.size[counts].sum()), hits, byte_hits)


def belady_boundary(requests: Requests, capacity: int) -> int:
    """Least number of requests to the next one of what MIN evicts; that of all where it evicts nothing still needed.

    Args:
        requests: those of the trace.
        capacity: bytes, at least 1.

    Raises:
        ConfigError: capacity below 1.
    """
    states: list[offline.State] = []

    def make(place: Place, values: Values) -> offline.State:
        states.append(BELADY.make(place, values))
        return states[-1]

    simulate(requests, Composition(replace(BELADY, make=make), ACCEPT_ALL), capacity)
    return int(states[-1].numbers[offline.NEAREST])


def relaxed_belady(requests: Requests, capacity: int, *, warmup: int = 0) -> tuple[SizedRun, int]:
    """Relaxed Belady at the Belady boundary of the requests, and that boundary.

    Source: as `cachezoo.kernels.bounds.relaxed` of pages.

    Args:
        requests: those of the trace.
        capacity: bytes, at least 1.
        warmup: requests served before counting.

    Raises:
        ConfigError: as `simulate`.
    """
    boundary = belady_boundary(requests, capacity)
    parts = Composition(RELAXED_BELADY, ACCEPT_ALL, {"boundary": max(boundary, 1)})
    return simulate(requests, parts, capacity, warmup=warmup), boundary
