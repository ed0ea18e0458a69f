"""The components that a cache is composed of: an eviction, an admission, a prefetch, each with its parameters.

A component is a frozen record of plain functions; `policies/evictions`, `policies/admissions` and `policies/prefetches`
list those that there are, docs/howto-add-a-policy.md says how to write one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from cachezoo.errors import ConfigError
from cachezoo.policies.stream import Stream

E = TypeVar("E")
A = TypeVar("A")
Step = Callable[..., Any]
Values = Mapping[str, float]


@dataclass(frozen=True)
class Parameter:
    """A number that a component takes, within [low, high]."""

    name: str
    default: float
    low: float
    high: float
    meaning: str

    def check(self, component: str, value: float) -> float:
        """The value.

        Raises:
            ConfigError: outside its range.
        """
        if not self.low <= value <= self.high:
            message = f"{component}: {self.name} = {value:g} is outside [{self.low:g}, {self.high:g}]; {self.meaning}"
            raise ConfigError(message)
        return value


@dataclass(frozen=True)
class Whole(Parameter):
    """A whole number within [low, high]."""

    def check(self, component: str, value: float) -> float:
        """The value.

        Raises:
            ConfigError: outside its range, or no whole number.
        """
        value = super().check(component, value)
        if value != int(value):
            raise ConfigError(f"{component}: {self.name} = {value:g} is no whole number; {self.meaning}")
        return value


def settle(component: str, parameters: tuple[Parameter, ...], given: Values) -> dict[str, float]:
    """All values of a component, defaults where none is given.

    Raises:
        ConfigError: a value is outside its range, or its name is unknown.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise ConfigError(f"{component} takes no {name}; it takes {', '.join(known) or 'no parameters'}")
    return {name: known[name].check(component, given.get(name, known[name].default)) for name in known}


@dataclass(frozen=True)
class Eviction:
    """Who leaves.

    Attributes:
        id: lower case without punctuation.
        title: one line for people.
        make: (stream, capacity in pages, values) to an empty state, as in `cachezoo.kernels.loops`.
        has, touch, insert: its steps, as there.
        parameters: what `values` holds.
        learn: for an eviction that learns as it goes: called with (state, accesses served so far) about every
            `learn_every` accesses, between two requests.
        learn_every: accesses.
        near: on long streams, brings near what the steps read of a page, as in `cachezoo.kernels.loops`; None looks if
            it is resident.
        soon: the same of what that in turn points to.
    """

    id: str
    title: str
    make: Callable[[Stream, int, Values], Any]
    has: Step
    touch: Step
    insert: Step
    parameters: tuple[Parameter, ...] = ()
    learn: Callable[[Any, int], None] | None = None
    learn_every: int = 0
    near: Step | None = None
    soon: Step | None = None


@dataclass(frozen=True)
class Admission:
    """Who enters: `make`, `parameters` as an eviction's, and the steps `admit` and `saw`."""

    id: str
    title: str
    make: Callable[[Stream, int, Values], Any]
    admit: Step
    saw: Step
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Parts(Generic[E, A]):
    """An eviction behind an admission, with the values of their parameters that differ from the defaults."""

    eviction: E
    admission: A
    eviction_values: Values = field(default_factory=dict)
    admission_values: Values = field(default_factory=dict)


Composition = Parts[Eviction, Admission]
