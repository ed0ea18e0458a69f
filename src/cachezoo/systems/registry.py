"""The one registry of systems; a system is its folder, and a line here."""

from collections.abc import Iterable

from cachezoo.errors import ConfigError
from cachezoo.systems.admission.record import ADMISSION
from cachezoo.systems.base import Bundling, System
from cachezoo.systems.caching.record import CACHING
from cachezoo.systems.prefetch.record import PREFETCH
from cachezoo.systems.reuse.record import REUSE
from cachezoo.systems.streams.record import STREAMS
from cachezoo.systems.virtual.record import VIRTUAL
from cachezoo.systems.workload.record import WORKLOAD


def build(systems: Iterable[System]) -> dict[str, System]:
    """Index systems by id.

    Raises:
        ConfigError: two have the same id.
    """
    found: dict[str, System] = {}
    for system in systems:
        if system.id in found:
            message = f"system {system.id}: registered twice; give one of them another id"
            raise ConfigError(message)
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
        message = f"system {system_id}: has no bundles; {', '.join(able)} have"
        raise ConfigError(message)
    return system.bundling
