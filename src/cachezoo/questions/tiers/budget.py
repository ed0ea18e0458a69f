"""What a sum buys: sizes of RAM and SSD that together cost no more."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.settings.prices import Prices
from cachezoo.sizes import PAGE_BYTES

GB = 10**9
LEAST_RAM = 16
"""Pages of RAM below which no hierarchy is tried."""
SMALLEST_SHARE = 1 / 4096
"""Of the trace's pages, the least RAM that is tried."""
ROUNDING = 1e-9
"""Part of a sum by which rounding may exceed it."""


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


@dataclass(frozen=True)
class Market:
    """What there is to buy, and for whom."""

    ram: float  # $ of a page
    ssd: float
    pages: int  # distinct ones of the trace; more of a tier than that holds nothing
    least: int = 1  # fewer pages of RAM or SSD than this are not bought by `split`

    @classmethod
    def of(cls, prices: Prices, pages: int, least: int = 1, scale: float = 1.0) -> "Market":
        """By a price list; `scale` is how many bytes a byte of the trace stands for."""
        ram, ssd = (medium.usd_per_gb * scale * PAGE_BYTES / GB for medium in (prices.ram, prices.ssd))
        return cls(ram, ssd, pages, least)

    @property
    def everything(self) -> float:
        """Dollars that RAM for all pages costs: more buys nothing."""
        return self.usd(1.0)

    def usd(self, share: float) -> float:
        """A part of what RAM for all pages costs."""
        return share * self.ram * self.pages

    def cost(self, point: Point) -> float:
        """Dollars for a point's RAM, its transient buffer, and its SSD."""
        return (point.ram_pages + point.hierarchy.buffer_pages) * self.ram + point.ssd_pages * self.ssd

    def least_cost(self, hierarchies: Sequence[Hierarchy]) -> float:
        """Dollars that the smallest of the hierarchies costs: a page in each tier, and the transient buffer."""
        return min(self.cost(Point(one, 1, int(one.has_ssd))) for one in hierarchies)

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

    def line(self, hierarchy: Hierarchy, usd: float, ram: Iterable[int]) -> list[Point]:
        """A hierarchy's points that a sum buys: RAM of the given sizes, and the rest spent on SSD.

        Where the sum buys an SSD for all pages, the most RAM in addition to it is tried too. Where none of the sizes
        leaves money for an SSD, the most RAM is tried that leaves money for one page of it. RAM alone is bought for all
        the money, as any less is a worse point.

        Returns:
            Points by rising RAM; none where the sum does not buy a page of each tier.
        """
        left = usd - hierarchy.buffer_pages * self.ram
        if usd * (1 + ROUNDING) < self.least_cost([hierarchy]):
            return []
        most = min(self.pages, max(1, int(left / self.ram + ROUNDING)))
        if not hierarchy.has_ssd:
            return [Point(hierarchy, most, 0)]

        def rest(ram_pages: int) -> int:
            return min(self.pages, int((left - ram_pages * self.ram) / self.ssd + ROUNDING))

        full = int((left - self.pages * self.ssd) / self.ram + ROUNDING)  # RAM with an SSD for all pages
        sizes = sorted({size for size in (*ram, min(full, self.pages)) if 1 <= size <= most})
        if found := [Point(hierarchy, size, ssd) for size in sizes if (ssd := rest(size)) >= 1]:
            return found
        size = min(self.pages, max(1, int((left - self.ssd) / self.ram + ROUNDING)))
        return [Point(hierarchy, size, max(1, rest(size)))]


def rungs(low: float, high: float, factor: float) -> list[float]:
    """From `high` down by a factor each, to the last that is not below `low`; rising."""
    count = max(0, math.floor(math.log(high / low, factor) + ROUNDING)) if high > low > 0 else 0
    return [high / factor**k for k in range(count, -1, -1)]


def ram_sizes(n_pages: int, steps: int = 1) -> list[int]:
    """Pages of RAM that are tried: the least, and from all pages down `steps` between a size and its double.

    The least is a small share of all pages. It is tried even where the steps pass it over: of a trace with few pages, a
    sum that buys hardly more RAM would otherwise have no SSD.
    """
    least = min(n_pages, max(LEAST_RAM, n_pages * SMALLEST_SHARE))
    return sorted({max(1, round(size)) for size in (least, *rungs(least, n_pages, 2 ** (1 / steps)))})


def nearby(ram_pages: int, around: int, n_pages: int) -> list[int]:
    """RAM sizes next to one, an `around`-th of a doubling below and above."""
    sizes = (round(ram_pages * 2 ** (step / around)) for step in (-1, 1))
    return [size for size in sizes if 1 <= size <= n_pages]


@dataclass(frozen=True)
class Money:
    """A sum as typed."""

    amount: float  # dollars, or hundredths of what RAM for all pages of the trace costs
    share: bool  # whether it is the latter

    def dollars(self, everything: float) -> float:
        """The sum; `everything` is what RAM for all pages costs."""
        return self.amount / 100 * everything if self.share else self.amount
