"""The text that names a cache: `[admission+]eviction[+prefetch]`, as in `coinflip(p=0.3)+twoq(kin=0.5)+next(n=4)`.

Without an eviction it is LRU, so `rejectx` is `rejectx+lru`. A name belongs to one table alone, so the components need
no labels. Bounds see the future and take no components: they stand alone.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from cachezoo.errors import ConfigError
from cachezoo.policies import bounds
from cachezoo.policies.admissions import ACCEPT_ALL, ADMISSIONS
from cachezoo.policies.components import Admission, Composition, Eviction, settle
from cachezoo.policies.evictions import EVICTIONS
from cachezoo.policies.evictions.recency import LRU
from cachezoo.policies.prefetches import NONE, PREFETCHES, Plan, Prefetch
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

FORM = "[admission+]eviction[+prefetch]"
BOUNDS = tuple(bound.id for bound in bounds.BOUNDS)
KINDS = ("admission", "eviction", "prefetch")
ADMISSION = {component.id: component for component in ADMISSIONS}
EVICTION = {component.id: component for component in EVICTIONS if component.id not in BOUNDS}
PREFETCH = {component.id: component for component in PREFETCHES}
TABLES: tuple[Mapping[str, Admission | Eviction | Prefetch], ...] = (ADMISSION, EVICTION, PREFETCH)  # as KINDS
BETWEEN = re.compile(r"\+(?![^()]*\))")  # the sign in kin=1e+2 is none
COMPONENT = re.compile(r"\s*([^\s()=,]*)\s*(?:\(([^()]*)\))?\s*")


@dataclass(frozen=True)
class Component:
    """An id, and its parameters that differ from their defaults in the order that the component lists them."""

    id: str
    values: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        """The canonical text."""
        given = ", ".join(f"{name}={_number(value)}" for name, value in self.values)
        return f"{self.id}({given})" if given else self.id


@dataclass(frozen=True)
class Spec:
    """A cache by its components, as `parse` reads them; equal caches are equal, and so are their texts.

    Attributes:
        eviction: a bound's id stands here too.
        admission: `acceptall` where none is named.
        prefetch: `none` where none is named.
    """

    eviction: Component
    admission: Component = Component(ACCEPT_ALL.id)
    prefetch: Component = Component(NONE.id)

    def __str__(self) -> str:
        """The canonical text, which `parse` takes back: no component that does nothing, no value that is a default."""
        components = (self.admission, self.eviction, self.prefetch)
        return "+".join(str(component) for component in components if component.id not in (ACCEPT_ALL.id, NONE.id))

    @property
    def is_bound(self) -> bool:
        """It is no cache but the best that one could do."""
        return self.eviction.id in BOUNDS

    def composition(self) -> Composition:
        """The components that the engine runs.

        Raises:
            ConfigError: it is a bound.
        """
        if self.is_bound:
            message = f"{self} is a bound, which no cache is composed of"
            raise ConfigError(message)
        return Composition(
            EVICTION[self.eviction.id], ADMISSION[self.admission.id],
            dict(self.eviction.values), dict(self.admission.values),
        )  # fmt: skip

    def plan(self, trace: Trace, pages: PageAccesses) -> Plan:
        """What it fetches beside each request of a trace.

        Raises:
            ConfigError: as `Prefetch.planned`.
        """
        return PREFETCH[self.prefetch.id].planned(trace, pages, dict(self.prefetch.values))


def parse(text: str) -> Spec:
    """Read the text that names a cache.

    Args:
        text: e.g. ``arc``, ``coinflip(p=0.5)+lru+next(n=4)``, ``belady``; blanks do not matter.

    Raises:
        ConfigError: it names nothing, or something unknown, twice, in another order or with other values than it takes.
    """
    text = " ".join(text.split())
    try:
        return _spec([_read(component) for component in BETWEEN.split(text)])
    except ConfigError as error:
        message = f"policy {text or '(empty)'}: {error}"
        raise ConfigError(message) from error


def _spec(components: list[tuple[int, Component]]) -> Spec:
    """The cache of components with the places of their kinds in `KINDS`."""
    for _, component in components:
        if component.id in BOUNDS and len(components) > 1:
            message = f"{component.id} is a bound: it takes no other component; name it alone"
            raise ConfigError(message)
    kinds = [kind for kind, _ in components]
    if kinds != sorted(kinds):
        ordered = "+".join(str(component) for _, component in sorted(components, key=lambda one: one[0]))
        message = f"components stand as {FORM}; write {ordered}"
        raise ConfigError(message)
    for (kind, one), (other_kind, other) in pairwise(components):
        if kind == other_kind:
            message = f"a cache has one {KINDS[kind]}, not {one.id} and {other.id}; name one"
            raise ConfigError(message)
    return Spec(**{"eviction": Component(LRU.id), **{KINDS[kind]: component for kind, component in components}})


def _read(text: str) -> tuple[int, Component]:
    """A component and the place of its kind."""
    match = COMPONENT.fullmatch(text)
    if match is None:
        message = f"{text.strip()} is no component; write an id, or an id with values as in next(n=4)"
        raise ConfigError(message)
    name, given = match.groups()
    if name in BOUNDS:
        if given is not None:
            message = f"{name} is a bound and takes no values"
            raise ConfigError(message)
        return KINDS.index("eviction"), Component(name)
    for kind, table in enumerate(TABLES):
        if name in table:
            return kind, _component(table[name], given or "")
    known = [*(name for table in TABLES for name in table), *BOUNDS]
    listed = "; ".join(f"{kind}: {', '.join(table)}" for kind, table in zip(KINDS, TABLES, strict=True))
    said = f"{name} is unknown{_meant(name, known)}" if name else "a component is missing"
    message = f"{said}; a policy is {FORM}, {listed}; or alone: {', '.join(BOUNDS)}"
    raise ConfigError(message)


def _component(component: Admission | Eviction | Prefetch, text: str) -> Component:
    """A component with its values, checked."""
    known = [parameter.name for parameter in component.parameters]
    given: dict[str, float] = {}
    for piece in text.split(",") if text.strip() else ():
        name, equals, value = (word.strip() for word in piece.partition("="))
        takes = f"it takes {', '.join(known)}" if known else "it takes no values"
        if not equals:
            message = f"{component.id}: {piece.strip() or 'nothing'} stands where name=value should; {takes}"
            raise ConfigError(message)
        if name not in known:
            message = f"{component.id} takes no {name or 'value without a name'}{_meant(name, known)}; {takes}"
            raise ConfigError(message)
        if name in given:
            message = f"{component.id}: {name} is given twice"
            raise ConfigError(message)
        given[name] = _value(component.id, name, value)
    settled = settle(component.id, component.parameters, given)
    changed = [(one.name, settled[one.name]) for one in component.parameters if settled[one.name] != one.default]
    return Component(component.id, tuple(changed))


def _value(component: str, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        message = f"{component}: {name} = {text or 'nothing'} is no number"
        raise ConfigError(message) from error


def _number(value: float) -> str:
    """The shortest text that `float` reads back."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _meant(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name.lower(), list(known), n=1)
    return f", did you mean {close[0]}?" if close else ""
