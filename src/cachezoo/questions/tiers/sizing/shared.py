"""Runs of many hierarchies over one trace: what several have in common is simulated once."""

from dataclasses import replace
from functools import cache

from cachezoo.policies.engine import Run
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_hierarchy
from cachezoo.questions.tiers.run import Questions, TierRun, questions, run_tiers
from cachezoo.questions.tiers.sizing.points import Point
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.sizes import PAGE_BYTES

ASKING = ("exclusive", "promotion", "inclusive")
"""Kinds whose SSD is asked the same whatever its size and policy."""

RATE = "rate"
"""The option of an L2ARC that is bytes a second."""
LEAST_BUFFER = 8
"""Pages that a transient buffer in miniature has; a smaller one is left out, as it would hold next to nothing."""


@cache
def hierarchy_of(text: str) -> Hierarchy:
    """The hierarchy that a point names; it is read once: reading it took a fifth of all points' time on a sample."""
    return parse_hierarchy(text)


class Shared:
    """Runs points of a stream; RAM's run and what it asks of the SSD are kept until another RAM is asked for."""

    def __init__(self, stream: TierStream) -> None:
        """Take a stream."""
        self._stream = stream
        self._of: tuple[str, int] | None = None
        self._ram: Run | None = None
        self._asked = dict[tuple[str, int], Questions]()

    def run(self, point: Point, part: float = 1.0) -> TierRun:
        """Simulate a point.

        Args:
            point: the point.
            part: of its sizes, where the stream is a sample with that part of the pages.
        """
        hierarchy = shrunk(hierarchy_of(point.hierarchy), part)
        ram, ssd = shrunk_sizes(point, part)
        if self._ram is None or self._of != (hierarchy.ram, ram):
            self._of, self._asked = (hierarchy.ram, ram), {}
            self._ram = hierarchy.ram_policy().simulate(self._stream.stream, ram)
        if hierarchy.kind not in ASKING:
            return run_tiers(hierarchy, self._stream, ram, ssd, self._ram)
        key = (hierarchy.kind, hierarchy.buffer_bytes)
        if key not in self._asked:
            self._asked[key] = questions(hierarchy, self._stream, self._ram)
        return run_tiers(hierarchy, self._stream, ram, ssd, self._ram, self._asked[key])


def shrunk_sizes(point: Point, part: float) -> tuple[int, int]:
    """Pages of RAM and SSD that are a part of a point's; a tier that is there has at least one."""
    ram, ssd = (max(1, round(size * part)) if size else 0 for size in (point.ram_pages, point.ssd_pages))
    return ram, ssd


def shrunk(hierarchy: Hierarchy, rate: float) -> Hierarchy:
    """The hierarchy whose transient buffer and feed are a part of another's."""
    if rate >= 1:
        return hierarchy
    options = {name: value * rate if name == RATE else value for name, value in hierarchy.options.items()}
    pages = round(hierarchy.buffer_bytes * rate / PAGE_BYTES)
    buffer = pages * PAGE_BYTES if pages >= LEAST_BUFFER else 0
    return replace(hierarchy, options=options, buffer_bytes=buffer)
