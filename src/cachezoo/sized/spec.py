"""The text that names a cache of objects: `[admission+]eviction`, in the grammar of the page caches.

Without an eviction it is LRU. What reads ahead by address is refused: objects have no neighbours.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cachezoo.errors import ConfigError
from cachezoo.policies.grammar import COMPONENT, meant, pieces, settled, split, written
from cachezoo.policies.prefetches import PREFETCHES
from cachezoo.sized import foresight, learned, modelled
from cachezoo.sized.admissions import ACCEPT_ALL, ADMISSIONS
from cachezoo.sized.components import Admission, Composition, Eviction
from cachezoo.sized.evictions import EVICTIONS, LRU

FORM = "[admission+]eviction"
KINDS = ("admission", "eviction")
ADMISSION = {component.id: component for component in (*ADMISSIONS, *modelled.ADMISSIONS)}
EVICTION = {
    component.id: component for component in (*EVICTIONS, *modelled.EVICTIONS, *learned.EVICTIONS, *foresight.EVICTIONS)
}
TABLES: tuple[Mapping[str, Admission | Eviction], ...] = (ADMISSION, EVICTION)  # as KINDS
NEIGHBOURS = tuple(component.id for component in PREFETCHES)


@dataclass(frozen=True)
class Component:
    """A component as `parse` reads it: its name, and its parameters that differ from their defaults."""

    id: str
    values: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        """The canonical text."""
        return written(self.id, self.values)


@dataclass(frozen=True)
class Spec:
    """A cache of objects by its components; equal caches are equal, and so are their texts."""

    eviction: Component = Component(LRU.id)
    admission: Component = Component(ACCEPT_ALL.id)

    def __str__(self) -> str:
        """The canonical text, which `parse` takes back."""
        return "+".join(str(part) for part in (self.admission, self.eviction) if part.id != ACCEPT_ALL.id)

    def composition(self) -> Composition:
        """The components that the loop runs."""
        return Composition(
            EVICTION[self.eviction.id], ADMISSION[self.admission.id],
            dict(self.eviction.values), dict(self.admission.values),
        )  # fmt: skip


def parse(text: str) -> Spec:
    """Read the text that names a cache of objects.

    Args:
        text: e.g. ``gdsf``, ``coinflip(p=0.5)+lru``; blanks do not matter.

    Raises:
        ConfigError: it names nothing, or something unknown, twice, in another order or with other values than it takes.
    """
    text = " ".join(text.split())
    try:
        return _spec([_read(component) for component in split(text, "+")])
    except ConfigError as error:
        raise ConfigError(f"policy {text or '(empty)'}: {error}") from error


def _spec(components: list[tuple[str, Component]]) -> Spec:
    found: dict[str, Component] = {}
    for kind, component in components:
        if kind in found:
            raise ConfigError(f"a cache has one {kind}, not {found[kind].id} and {component.id}; name one")
        found[kind] = component
    if list(found) == ["eviction", "admission"]:
        raise ConfigError(f"components stand as {FORM}; write {found['admission']}+{found['eviction']}")
    return Spec(**found)


def _read(text: str) -> tuple[str, Component]:
    """A component and its kind."""
    match = COMPONENT.fullmatch(text)
    if match is None:
        raise ConfigError(f"{text.strip()} is no component; write an id, or an id with values as in coinflip(p=0.3)")
    name, given = match.groups()
    for kind, table in zip(KINDS, TABLES, strict=True):
        if name in table:
            return kind, Component(name, settled(name, table[name].parameters, pieces(given or "")))
    if name in NEIGHBOURS:
        raise ConfigError(f"{name} reads ahead by address, and objects have no neighbours: leave it out")
    known = [one for table in TABLES for one in table]
    listed = "; ".join(f"{kind}: {', '.join(table)}" for kind, table in zip(KINDS, TABLES, strict=True))
    said = f"{name} is unknown{meant(name, known)}" if name else "a component is missing"
    raise ConfigError(f"{said}; a policy for objects is {FORM}, {listed}")
