"""The components that a cache of objects is composed of: an eviction and an admission, each with its parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cachezoo.arrays import I32, I64
from cachezoo.kernels.sized import fifo
from cachezoo.policies.components import Parameter, Parts, Step, Values
from cachezoo.sized.requests import Requests


@dataclass(frozen=True)
class Place:
    """Where a component works.

    Attributes:
        requests: those of the trace; only a bound may look ahead in it.
        capacity: bytes.
        held: int64[n_objects] bytes that the cache holds of each object, 0 of none: the loop's, for reading.
        links: the two columns of `cachezoo.kernels.sized.table`, for an eviction's lists.
    """

    requests: Requests
    capacity: int
    held: I64
    links: tuple[I32, I32]

    @property
    def n_objects(self) -> int:
        """Distinct objects."""
        return self.requests.n_objects

    @cached_property
    def entries(self) -> int:
        """Objects of mean size that fit, at least one: what an operator would set up a memory of objects for."""
        known = self.requests.object_bytes
        known = known[known > 0]
        return max(1, int(self.capacity * len(known) // max(1, int(known.sum()))))


@dataclass(frozen=True)
class Eviction:
    """Who leaves.

    Attributes:
        id: lower case without punctuation.
        title: one line for people.
        make: (place, values) to an empty state, as in `cachezoo.kernels.sized.loop`.
        touch, evict, insert, remove: its steps, as there.
        wants, resize: likewise; those that let everything in and ignore sizes, unless given.
        parameters: what `values` holds.
        competes: an object enters before room is made for it, and may be what leaves: it then stayed out.
        learn: for one that learns as it goes: called with (state, requests served so far) each `learn_every` requests.
        learn_every: requests.
    """

    id: str
    title: str
    make: Callable[[Place, Values], Any]
    touch: Step
    evict: Step
    insert: Step
    remove: Step
    wants: Step = fifo.wants
    resize: Step = fifo.resize
    parameters: tuple[Parameter, ...] = ()
    competes: bool = False
    learn: Callable[[Any, int], None] | None = None
    learn_every: int = 0


@dataclass(frozen=True)
class Admission:
    """Who enters: `make`, `parameters`, `learn`, `learn_every` as an eviction's, and the steps `admit` and `saw`."""

    id: str
    title: str
    make: Callable[[Place, Values], Any]
    admit: Step
    saw: Step
    parameters: tuple[Parameter, ...] = ()
    learn: Callable[[Any, int], None] | None = None
    learn_every: int = 0


Composition = Parts[Eviction, Admission]
