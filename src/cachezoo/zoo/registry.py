"""The one registry of systems; a system is its folder, and a line here."""

from collections.abc import Iterable, Mapping

from cachezoo.errors import ConfigError
from cachezoo.zoo.admission.record import ADMISSION
from cachezoo.zoo.base import Bundling, System
from cachezoo.zoo.caching.record import CACHING
from cachezoo.zoo.policy import record as policy
from cachezoo.zoo.reuse.record import REUSE
from cachezoo.zoo.streams.record import STREAMS
from cachezoo.zoo.virtual.record import VIRTUAL
from cachezoo.zoo.workload.record import WORKLOAD


def build(systems: Iterable[System]) -> dict[str, System]:
    """Index systems by id.

    Raises:
        ConfigError: two have the same id.
    """
    found: dict[str, System] = {}
    for system in systems:
        if system.id in found:
            raise ConfigError(f"system {system.id}: registered twice; give one of them another id")
        found[system.id] = system
    return found


SYSTEMS = build((CACHING, REUSE, ADMISSION, STREAMS, VIRTUAL, WORKLOAD))
# Kinds of bundle that nothing is learned for: there is no system behind them, and nothing is fitted or judged.
UNTRAINED: Mapping[str, Bundling] = {"policy": policy.POLICY}
_TITLES = {"policy": policy.TITLE}


def bundling_of(kind: str) -> Bundling:
    """How bundles of a kind are made and read: of a system's models, or of what nothing is learned for.

    Raises:
        ConfigError: there is no such kind, or its models become no bundles.
    """
    system = SYSTEMS.get(kind)
    found = UNTRAINED.get(kind) if system is None else system.bundling
    if found is None:
        able = [*(name for name, one in SYSTEMS.items() if one.bundling is not None), *UNTRAINED]
        raise ConfigError(f"system {kind}: has no bundles; {', '.join(able)} have")
    return found


def title_of(kind: str) -> str:
    """What a kind of bundle does, in one line for people."""
    return SYSTEMS[kind].title if kind in SYSTEMS else _TITLES[kind]
