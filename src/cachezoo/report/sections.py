"""What systems say on the page besides the common tables: their parts, found through the registry."""

from cachezoo.systems.base import ReportSection
from cachezoo.systems.registry import SYSTEMS


def report_sections() -> list[ReportSection]:
    """The parts of the systems that have one, in the registry's order."""
    return [system.report.load() for system in SYSTEMS.values() if system.report is not None]
