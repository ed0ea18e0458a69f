"""What can be bought for a sum: sizes of RAM and SSD that together cost no more."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.sizes import PAGE_BYTES

GB = 1e9
LEAST_RAM = 16
"""Pages of RAM below which no hierarchy is tried."""
SMALLEST_SHARE = 1 / 4096
"""Of the trace's pages, the least RAM that is tried."""
FINEST = 4
"""Steps of RAM between a size and twice as much, in the finest search."""


@dataclass(frozen=True)
class Unit:
    """What room costs.

    Attributes:
        ram: dollars a byte of RAM.
        ssd: dollars a byte of SSD.
    """

    ram: float
    ssd: float

    @classmethod
    def of_gb(cls, ram_gb: float, ssd_gb: float) -> "Unit":
        """From dollars a GB (10**9 bytes)."""
        return cls(ram_gb / GB, ssd_gb / GB)


@dataclass(frozen=True, order=True)
class Point:
    """A hierarchy of some size.

    Attributes:
        hierarchy: canonical text.
        ram_pages: of RAM, the transient buffer not counted.
        ssd_pages: of the SSD; 0 where there is none.
    """

    hierarchy: str
    ram_pages: int
    ssd_pages: int


def cost(point: Point, buffer_bytes: int, unit: Unit) -> float:
    """Dollars for a point's RAM, its transient buffer, and its SSD.

    Args:
        point: the point.
        buffer_bytes: of its transient buffer, which is RAM.
        unit: what room costs.
    """
    return (point.ram_pages * PAGE_BYTES + buffer_bytes) * unit.ram + point.ssd_pages * PAGE_BYTES * unit.ssd


def rungs(low: float, high: float, factor: float) -> list[float]:
    """From `high` down by a factor each, to the last that is not below `low`; rising."""
    count = max(0, math.floor(math.log(high / low, factor) + 1e-9)) if high > low > 0 else 0
    return [high / factor**k for k in range(count, -1, -1)]


def ram_sizes(n_pages: int, steps: int = 1) -> list[int]:
    """Pages of RAM that are tried: the least, and from all pages down `steps` between a size and its double.

    The least is a small share of all pages. It is tried even where the steps pass it over: of a trace with few pages, a
    sum that buys hardly more RAM would otherwise have no SSD.
    """
    least = min(n_pages, max(LEAST_RAM, n_pages * SMALLEST_SHARE))
    return sorted({max(1, round(size)) for size in (least, *rungs(least, n_pages, 2 ** (1 / steps)))})


def between(point: Point, around: int, n_pages: int) -> list[int]:
    """RAM sizes beside a point's, a `around`-th of a doubling below and above."""
    beside = (point.ram_pages * 2 ** (step / around) for step in (-1, 1))
    return [size for own in beside if 1 <= (size := round(own)) <= n_pages]


def affordable(
    hierarchy: Hierarchy, budget: float, unit: Unit, n_pages: int, ram: Iterable[int]
) -> list[Point]:  # fmt: skip
    """A hierarchy's points that a budget buys: RAM of the given sizes, and the rest spent on SSD.

    Where the budget buys an SSD for all pages, the most RAM beside that is tried too. Where none of the sizes leaves
    money for an SSD, the most RAM is tried that leaves money for one page of it. RAM alone is bought for all the money,
    as any less is a worse point.

    Args:
        hierarchy: what is built.
        budget: dollars.
        unit: what room costs.
        n_pages: distinct pages of the trace; more of them than that are never bought.
        ram: pages of RAM to try.

    Returns:
        Points by rising RAM; none where the budget does not buy a page of each tier.
    """
    text, page_ram, page_ssd = str(hierarchy), PAGE_BYTES * unit.ram, PAGE_BYTES * unit.ssd
    left = budget - hierarchy.buffer_bytes * unit.ram
    if budget * (1 + 1e-9) < least_cost([hierarchy], unit):
        return []
    most = min(n_pages, max(1, int(left / page_ram + 1e-9)))
    if hierarchy.kind == "ram":
        return [Point(text, most, 0)]
    whole = int((left - n_pages * page_ssd) / page_ram + 1e-9)  # RAM beside an SSD for all pages
    sizes = sorted({size for size in (*ram, min(whole, n_pages)) if 1 <= size <= most})
    points = [Point(text, size, min(n_pages, int((left - size * page_ram) / page_ssd + 1e-9))) for size in sizes]
    if found := [point for point in points if point.ssd_pages >= 1]:
        return found
    size = min(n_pages, max(1, int((left - page_ssd) / page_ram + 1e-9)))
    return [Point(text, size, min(n_pages, max(1, int((left - size * page_ram) / page_ssd + 1e-9))))]


def least_cost(hierarchies: Sequence[Hierarchy], unit: Unit) -> float:
    """Dollars that the smallest of the hierarchies costs: a page in each tier, and the transient buffer."""
    ssd = [0 if one.kind == "ram" else 1 for one in hierarchies]
    return min(cost(Point("", 1, pages), one.buffer_bytes, unit) for one, pages in zip(hierarchies, ssd, strict=True))


def all_cost(n_pages: int, unit: Unit) -> float:
    """Dollars that RAM for all pages of a trace costs: more buys nothing."""
    return n_pages * PAGE_BYTES * unit.ram
