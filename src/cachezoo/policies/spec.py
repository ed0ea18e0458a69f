"""The text that names a cache: `[admission+]eviction[+prefetch]`, as in `coinflip(p=0.3)+twoq(kin=0.5)+next(n=4)`.

Without an eviction it is LRU, so `rejectx` is `rejectx+lru`. A name belongs to one table alone, so the components need
no labels. Bounds see the future and take no components: they stand alone. `follow(experts=lru|rejectx+arc)` stands
where an eviction does and follows the best of several caches, of which each has an admission of its own. So does
`vrm(queue=arc)`, a virtual I/O cache; it takes no admission and no prefetch.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from cachezoo.errors import ConfigError
from cachezoo.kernels.virtual.queues import QUEUES
from cachezoo.policies import bounds
from cachezoo.policies.admissions import ACCEPT_ALL, ADMISSIONS
from cachezoo.policies.components import Admission, Composition, Eviction
from cachezoo.policies.evictions import EVICTIONS
from cachezoo.policies.evictions.classics import LRU
from cachezoo.policies.following import DEFAULT_EXPERTS, EXPERTS, FOLLOW, MOST_EXPERTS
from cachezoo.policies.grammar import COMPONENT, meant, pieces, settled, split, written
from cachezoo.policies.prefetches import NONE, PREFETCHES, Plan, Prefetch
from cachezoo.policies.virtual import QUEUE, VRM, settings_of
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

FORM = "[admission+]eviction[+prefetch]"
BOUNDS = tuple(bound.id for bound in bounds.BOUNDS)
KINDS = ("admission", "eviction", "prefetch")
ADMISSION = {component.id: component for component in ADMISSIONS}
EVICTION = {component.id: component for component in EVICTIONS if component.id not in BOUNDS}
PREFETCH = {component.id: component for component in PREFETCHES}
TABLES: tuple[Mapping[str, Admission | Eviction | Prefetch], ...] = (ADMISSION, EVICTION, PREFETCH)  # as KINDS
FOLLOWER = re.compile(rf"\s*{FOLLOW.id}\s*(?:\((.*)\))?\s*")


@dataclass(frozen=True)
class Component:
    """A component as `parse` reads it."""

    id: str  # its name
    # its parameters that differ from their defaults, in the order that the component lists them
    values: tuple[tuple[str, float], ...] = ()
    experts: tuple["Spec", ...] = ()  # the caches that a follower follows; none of another component
    queue: str = ""  # the replacement queue of a virtual I/O cache; empty of another component

    def __str__(self) -> str:
        """The canonical text."""
        experts = tuple(str(expert) for expert in self.experts)
        given = [f"{EXPERTS}={'|'.join(experts)}"] if experts and experts != DEFAULT_EXPERTS else []
        given += [f"{QUEUE}={self.queue}"] if self.queue not in ("", QUEUES[0]) else []
        return written(self.id, self.values, given)


@dataclass(frozen=True)
class Spec:
    """A cache by its components, as `parse` reads them; equal caches are equal, and so are their texts."""

    eviction: Component  # a bound's id stands here too, a follower, and a virtual I/O cache
    admission: Component = Component(ACCEPT_ALL.id)  # `acceptall` where none is named
    prefetch: Component = Component(NONE.id)  # `none` where none is named

    def __str__(self) -> str:
        """The canonical text, which `parse` takes back: no component that does nothing, no value that is a default."""
        components = (self.admission, self.eviction, self.prefetch)
        return "+".join(str(component) for component in components if component.id not in (ACCEPT_ALL.id, NONE.id))

    @property
    def is_bound(self) -> bool:
        """It is no cache but the best that one could do."""
        return self.eviction.id in BOUNDS

    @property
    def is_follower(self) -> bool:
        """It is one cache that follows several."""
        return self.eviction.id == FOLLOW.id

    @property
    def is_virtual(self) -> bool:
        """It is a virtual I/O cache."""
        return self.eviction.id == VRM.id

    def composition(self) -> Composition:
        """The components that the engine runs.

        Raises:
            ConfigError: it is a bound, a follower or a virtual I/O cache.
        """
        if self.is_virtual:
            raise ConfigError(f"{self} is a virtual I/O cache, which is not composed of an eviction and an admission")
        if self.is_follower:
            raise ConfigError(f"{self} follows several compositions and is none; ask for those of its experts")
        if self.is_bound:
            raise ConfigError(f"{self} is a bound, which no cache is composed of")
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
        text: e.g. ``arc``, ``coinflip(p=0.5)+lru+next(n=4)``, ``follow(experts=lru|arc)``, ``belady``; blanks do not
            matter.

    Raises:
        ConfigError: it names nothing, or something unknown, twice, in another order or with other values than it takes.
    """
    text = " ".join(text.split())
    try:
        return _spec([_read(component) for component in split(text, "+")])
    except ConfigError as error:
        raise ConfigError(f"policy {text or '(empty)'}: {error}") from error


def _spec(components: list[tuple[int, Component]]) -> Spec:
    """The cache of components with the places of their kinds in `KINDS`."""
    for _, component in components:
        if component.id in BOUNDS and len(components) > 1:
            raise ConfigError(f"{component.id} is a bound: it takes no other component; name it alone")
    kinds = [kind for kind, _ in components]
    if kinds != sorted(kinds):
        ordered = "+".join(str(component) for _, component in sorted(components, key=lambda one: one[0]))
        raise ConfigError(f"components stand as {FORM}; write {ordered}")
    for (kind, one), (other_kind, other) in pairwise(components):
        if other.id == FOLLOW.id and kind != other_kind:
            message = f"{other.id} takes no {KINDS[kind]}: each of its experts has its own; write it before an expert"
            raise ConfigError(message)
        if VRM.id in (one.id, other.id) and kind != other_kind and not {one.id, other.id} & {ACCEPT_ALL.id, NONE.id}:
            beside = KINDS[kind] if other.id == VRM.id else KINDS[other_kind]
            raise ConfigError(f"{VRM.id} takes no {beside}: its queue alone says what it holds; name it alone")
        if kind == other_kind:
            raise ConfigError(f"a cache has one {KINDS[kind]}, not {one.id} and {other.id}; name one")
    return Spec(**{"eviction": Component(LRU.id), **{KINDS[kind]: component for kind, component in components}})


def _read(text: str) -> tuple[int, Component]:
    """A component and the place of its kind."""
    follower = FOLLOWER.fullmatch(text)
    if follower is not None:
        return KINDS.index("eviction"), _follower(follower[1] or "")
    match = COMPONENT.fullmatch(text)
    if match is None:
        raise ConfigError(f"{text.strip()} is no component; write an id, or an id with values as in next(n=4)")
    name, given = match.groups()
    if name in BOUNDS:
        if given is not None:
            raise ConfigError(f"{name} is a bound and takes no values")
        return KINDS.index("eviction"), Component(name)
    if name == VRM.id:
        return KINDS.index("eviction"), _virtual(given or "")
    for kind, table in enumerate(TABLES):
        if name in table:
            one = table[name]
            return kind, Component(one.id, settled(one.id, one.parameters, pieces(given or "")))
    known = [*(name for table in TABLES for name in table), FOLLOW.id, VRM.id, *BOUNDS]
    listed = "; ".join(f"{kind}: {', '.join(table)}" for kind, table in zip(KINDS, TABLES, strict=True))
    said = f"{name} is unknown{meant(name, known)}" if name else "a component is missing"
    message = f"{said}; a policy is {FORM}, {listed}; or {FOLLOW.form}; or alone: {VRM.form}, {', '.join(BOUNDS)}"
    raise ConfigError(message)


def _apart(component: str, text: str, word: str) -> tuple[str | None, list[str]]:
    """What stands in brackets: the text of the one value that is no number, None if it is not given, and the others."""
    found, values = [], []
    for piece in pieces(text):
        name, equals, value = piece.partition("=")
        if equals and name.strip() == word:
            found.append(value)
        else:
            values.append(piece)
    if len(found) > 1:
        raise ConfigError(f"{component}: {word} is given twice")
    return (found[0] if found else None), values


def _virtual(text: str) -> Component:
    """A virtual I/O cache by what stands in its brackets."""
    word, values = _apart(VRM.id, text, QUEUE)
    queue = QUEUES[0] if word is None else word.strip()
    if queue not in QUEUES:
        message = f"{VRM.id}: {QUEUE} = {queue or 'nothing'} is unknown{meant(queue, QUEUES)}; use {', '.join(QUEUES)}"
        raise ConfigError(message)
    numbers = settled(VRM.id, VRM.parameters, values, (QUEUE,))
    settings_of(dict(numbers))
    return Component(VRM.id, numbers, queue=queue)


def _follower(text: str) -> Component:
    """A follower by what stands in its brackets."""
    listed, values = _apart(FOLLOW.id, text, EXPERTS)
    numbers = settled(FOLLOW.id, FOLLOW.parameters, values, (EXPERTS,))
    experts: dict[Spec, None] = {}
    for expert in map(_expert, DEFAULT_EXPERTS if listed is None else split(listed, "|")):
        if expert in experts:
            raise ConfigError(f"{FOLLOW.id}: expert {expert} is named twice; each is followed once")
        experts[expert] = None
    if len(experts) > MOST_EXPERTS:
        raise ConfigError(f"{FOLLOW.id}: {len(experts)} experts are too many; name at most {MOST_EXPERTS}")
    return Component(FOLLOW.id, numbers, tuple(experts))


def _expert(text: str) -> Spec:
    """A cache to follow, by its text between two bars."""
    components = split(text, "+")
    if any(FOLLOWER.fullmatch(component) for component in components):
        raise ConfigError(f"{FOLLOW.id}: an expert follows no others; name its experts instead")
    try:
        expert = _spec([_read(component) for component in components])
    except ConfigError as error:
        raise ConfigError(f"{FOLLOW.id}: expert {text.strip() or '(empty)'}: {error}") from error
    if expert.is_bound:
        raise ConfigError(f"{FOLLOW.id}: expert {expert} is a bound, which no cache can follow; name caches")
    if expert.is_virtual:
        message = f"{FOLLOW.id}: expert {expert} does not say which pages leave, so none can follow it; name others"
        raise ConfigError(message)
    if expert.prefetch.id != NONE.id:
        message = f"{FOLLOW.id}: expert {expert} prefetches; write +{expert.prefetch} behind {FOLLOW.id}, for all"
        raise ConfigError(message)
    return expert
