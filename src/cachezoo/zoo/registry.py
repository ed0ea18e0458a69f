"""The one registry of systems; a system is its folder, and a line here."""

from collections.abc import Iterable

from cachezoo.errors import ConfigError
from cachezoo.zoo.admission.record import ADMISSION
from cachezoo.zoo.base import Bundling, System
from cachezoo.zoo.caching.record import CACHING
from cachezoo.zoo.prefetch.record import PREFETCH
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


SYSTEMS = build((CACHING, REUSE, ADMISSION, PREFETCH, STREAMS, VIRTUAL, WORKLOAD))


def bundling_of(system_id: str) -> Bundling:
    """How a system's models become bundles.

    Raises:
        ConfigError: there is no such system, or its models become none.
    """
    system = SYSTEMS.get(system_id)
    if system is None or system.bundling is None:
        able = [name for name, one in SYSTEMS.items() if one.bundling is not None]
        raise ConfigError(f"system {system_id}: has no bundles; {', '.join(able)} have")
    return system.bundling
