"""What stands on the page besides the common tables: the systems' parts, by the registry, and those of no system."""

from typing import TYPE_CHECKING

from cachezoo.report import sharing, tiers
from cachezoo.zoo.base import ReportSection
from cachezoo.zoo.registry import SYSTEMS

if TYPE_CHECKING:
    from cachezoo.report.gather import Sources


# Of evaluations that no model is trained for.
OF_NO_SYSTEM = (tiers.PART, sharing.PART)


def report_sections() -> "list[ReportSection[Sources]]":
    """The parts of the systems that have one, in the registry's order, and then those of no system."""
    return [*(system.report.load() for system in SYSTEMS.values() if system.report is not None), *OF_NO_SYSTEM]


def carried(sources: "Sources", kind: str, category: str) -> str:
    """What a system's model does on other set-ups and programs of a category; empty where nothing was tried."""
    report = SYSTEMS[kind].report
    said: ReportSection[Sources] | None = report.load() if report is not None else None
    return said.carried(sources, category) if said is not None and said.carried is not None else ""
