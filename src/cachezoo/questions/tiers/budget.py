"""What a sum buys: sizes of RAM and SSD that together cost no more."""

import math
from dataclasses import dataclass, replace

from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.settings.prices import Prices
from cachezoo.sizes import PAGE_BYTES

GB = 10**9
ROUNDING = 1e-9
"""Part of a sum by which rounding may exceed it."""
RATE = "rate"
"""The option of an L2ARC that is bytes a second."""
LEAST_BUFFER = 8
"""Pages that a transient buffer in miniature has; a smaller one is left out, as it would hold next to nothing."""


@dataclass(frozen=True)
class Point:
    """A hierarchy with its sizes in pages; the transient buffer, which is RAM too, is not in `ram_pages`."""

    hierarchy: Hierarchy
    ram_pages: int
    ssd_pages: int  # 0 without an SSD

    @property
    def key(self) -> tuple[str, int, int]:
        """What distinguishes it, in an order that no hash decides."""
        return str(self.hierarchy), self.ram_pages, self.ssd_pages

    @property
    def ram_key(self) -> tuple[str, int]:
        """RAM's cache and size: points that have these alike share RAM's simulation."""
        return self.hierarchy.ram, self.ram_pages

    @property
    def ram_bytes(self) -> int:
        """Of RAM, the transient buffer included."""
        return self.ram_pages * PAGE_BYTES + self.hierarchy.buffer_bytes


def shrunk(point: Point, rate: float) -> Point:
    """A point of which every tier, the transient buffer and the feed are a part; a tier that is there has a page."""
    ram, ssd = (max(1, round(size * rate)) if size else 0 for size in (point.ram_pages, point.ssd_pages))
    hierarchy = point.hierarchy
    if rate < 1:
        options = {name: value * rate if name == RATE else value for name, value in hierarchy.options.items()}
        pages = round(hierarchy.buffer_bytes * rate / PAGE_BYTES)
        buffer = pages * PAGE_BYTES if pages >= LEAST_BUFFER else 0
        hierarchy = replace(hierarchy, options=options, buffer_bytes=buffer)
    return Point(hierarchy, ram, ssd)


@dataclass(frozen=True)
class Market:
    """What there is to buy, and for whom."""

    ram: float  # $ of a page
    ssd: float
    pages: int  # distinct ones of the trace; more of a tier than that holds nothing
    least: int = 1  # fewer pages of RAM or SSD than this are not bought by `split`

    @classmethod
    def of(cls, prices: Prices, pages: int, least: int = 1) -> "Market":
        """By a price list."""
        ram, ssd = (medium.usd_per_gb * PAGE_BYTES / GB for medium in (prices.ram, prices.ssd))
        return cls(ram, ssd, pages, least)

    def usd(self, share: float) -> float:
        """A part of what RAM for all pages costs."""
        return share * self.ram * self.pages

    def split(self, hierarchy: Hierarchy, usd: float, share: float) -> Point | None:
        """What a sum buys if so much of it is for RAM and transient buffer; RAM alone takes all.

        Returns:
            None where RAM or SSD would be smaller than the least.
        """
        ssd = min(int((1 - share) * usd / self.ssd), self.pages) if hierarchy.has_ssd else 0
        ram = min(int((usd - ssd * self.ssd) / self.ram) - hierarchy.buffer_pages, self.pages)
        if ram < self.least or (hierarchy.has_ssd and ssd < self.least):
            return None
        return Point(hierarchy, ram, ssd)


def rungs(low: float, high: float, factor: float) -> list[float]:
    """From `high` down by a factor each, to the last that is not below `low`; rising."""
    count = max(0, math.floor(math.log(high / low, factor) + ROUNDING)) if high > low > 0 else 0
    return [high / factor**k for k in range(count, -1, -1)]


def nearby(pages: int, around: int, n_pages: int) -> list[int]:
    """Sizes next to one, an `around`-th of a doubling below and above."""
    sizes = (round(pages * 2 ** (step / around)) for step in (-1, 1))
    return [size for size in sizes if 1 <= size <= n_pages]


@dataclass(frozen=True)
class Money:
    """A sum as typed."""

    amount: float  # dollars
    monthly: bool  # whether a month, or to buy
