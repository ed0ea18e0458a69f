"""A trace of objects ready to be simulated: the one runner of all commands about caches of objects."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cachezoo.arrays import Bool
from cachezoo.contest.blocks import block_means
from cachezoo.contest.choice import Outcome
from cachezoo.contest.counting import AUTO, SECOND_HALF, Count
from cachezoo.errors import ConfigError
from cachezoo.sized.components import Composition
from cachezoo.sized.requests import Requests
from cachezoo.sized.simulate import SizedRun, simulate
from cachezoo.sizes import BYTES, Size, human
from cachezoo.traces.objects import OP_DELETE, ObjectTrace

Row = dict[str, Any]


@dataclass(frozen=True)
class Rules:
    """What of a trace of objects a cache heeds."""

    deletes: bool = True  # a delete voids its object; else it is left out
    ttl: bool = True  # what is written expires as the trace says; else never
    sizes: bool = True  # a cache holds bytes; else every object is as large as any other, and it holds objects
    around: bool = False  # writes pass by and void what is held; else they enter


@dataclass(frozen=True)
class ObjectRun(Outcome):
    """One policy at one size where it counts: its object hit ratio as `mean`, by block of requests, and its figures.

    Deletes are no requests for an object, and count in none of them.
    """

    found: SizedRun
    unit: str  # of the capacity: ``bytes`` or ``objects``

    @property
    def hit(self) -> Bool:
        """bool[n]: which of all requests hit, warm-up included."""
        return self.found.hit

    @property
    def policy(self) -> str:
        """Its canonical text."""
        return self.found.policy

    @property
    def capacity(self) -> int:
        """Bytes, or objects where sizes are ignored."""
        return self.found.capacity

    def values(self) -> Row:
        """As JSON values."""
        own = self.found
        names = (
            "warmup", "requests", "hits", "hit_ratio", "byte_hit_ratio", "reads", "read_hits", "bytes", "byte_hits",
            "admitted", "bytes_written", "evictions", "evicted_bytes", "expired", "deletes", "deleted", "resized",
            "too_large", "unknown",
        )  # fmt: skip
        figures = {name: getattr(own, name) for name in names}
        if self.unit == "objects":  # every object has one byte
            for name in ("byte_hit_ratio", "bytes", "byte_hits", "bytes_written", "evicted_bytes"):
                figures[name] = None
        return {
            "policy": own.policy,
            f"capacity_{self.unit}": own.capacity,
            **figures,
            "requests_per_s": len(own.outcome) / max(own.kernel_s, 1e-9),
        }


class ObjectBench:
    """A trace of objects with what a cache heeds of it.

    Attributes:
        trace: the requests as read.
        requests: the same as a cache sees them: rows as often as they stand for, deletes and expiry by the rules.
        whole: bytes of all objects, each as large as it first was; where sizes are ignored, how many objects there are.
    """

    def __init__(self, trace: ObjectTrace, rules: Rules = Rules(), count: Count = SECOND_HALF) -> None:
        """Take a trace.

        Raises:
            ConfigError: nothing but deletes is left, or no size is known.
        """
        self.trace, self.rules, self.count = trace, rules, count
        given = Requests.of(trace, ttl=rules.ttl, deletes=rules.deletes)
        self.requests = given if rules.sizes else replace(given, size=np.ones(len(given), np.int64))
        self.whole = self.requests.footprint_bytes
        if not self.whole:
            message = f"{trace.meta.trace_id}: no request says how large an object is; --ignore sizes counts objects"
            raise ConfigError(message)

    @property
    def unit(self) -> str:
        """What a capacity counts."""
        return "bytes" if self.rules.sizes else "objects"

    def shown(self, capacity: int) -> str:
        """A capacity for people."""
        return human(capacity) if self.rules.sizes else f"{capacity:,} objects"

    def size(self, given: Size) -> int:
        """Bytes of a size, or objects where sizes are ignored; a share is of all objects.

        Raises:
            ConfigError: pages of objects, or bytes where sizes are ignored.
        """
        if given.unit == "%":
            return max(1, round(float(given.number) / 100 * self.whole))
        if given.unit not in BYTES or not self.rules.sizes:
            why = "objects are not pages" if given.unit not in BYTES else "sizes are ignored, so that it holds objects"
            raise ConfigError(f"--size {given}: {why}; give a share of them, such as 10%")
        return int(given.number * BYTES[given.unit])

    def first(self, capacity: int) -> int:
        """The request from which on a trace counts."""
        requests, rows = self.requests, self.requests.row
        filled = 0
        if self.count.text == AUTO:
            seen = np.zeros(len(requests), np.int64)
            _, at = np.unique(requests.ids, return_index=True)
            seen[at] = requests.object_bytes[requests.ids[at]]
            filled = int(np.searchsorted(np.cumsum(seen), capacity)) + 1
        times = self.trace.time_us if rows is None else self.trace.time_us[rows]
        return self.count.place(len(requests), filled, times)

    def run(self, policy: str | Composition, capacity: int) -> ObjectRun:
        """Run a policy, or its components, over the whole trace.

        Raises:
            ConfigError: as `cachezoo.sized.simulate.simulate`.
        """
        first = self.first(capacity)
        found = simulate(self.requests, policy, capacity, warmup=first, around=self.rules.around)
        return ObjectRun(found.hit_ratio, block_means(found.hit[first:][self.asked[first:]]), found, self.unit)

    def returns(self, since: int) -> int:
        """How many requests, from one on, ask for an object that was asked for before."""
        asked = np.flatnonzero(self.asked)
        _, first = np.unique(self.requests.ids[asked], return_index=True)
        return int((asked >= since).sum()) - int((asked[first] >= since).sum())

    @property
    def asked(self) -> Bool:
        """bool[n]: the requests that are no deletes."""
        asked: Bool = self.requests.op != OP_DELETE
        return asked
