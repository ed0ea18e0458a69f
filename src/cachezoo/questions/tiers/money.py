"""What a budget buys: pages of RAM and pages of SSD."""

from dataclasses import dataclass

from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.settings.prices import Prices
from cachezoo.traces.table import PAGE_BYTES

GB = 10**9


@dataclass(frozen=True)
class Bought:
    """A hierarchy with its sizes in pages; the transient buffer, which is RAM too, is not in `ram_pages`."""

    hierarchy: Hierarchy
    ram_pages: int
    ssd_pages: int

    @property
    def buffer_pages(self) -> int:
        """Of the transient buffer."""
        return self.hierarchy.buffer_bytes // PAGE_BYTES

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells it apart, in an order that no hash decides."""
        return str(self.hierarchy), self.ram_pages, self.ssd_pages


@dataclass(frozen=True)
class Market:
    """What there is to buy, and for whom.

    Attributes:
        ram, ssd: $ of a page.
        footprint: distinct pages; more SSD than that holds nothing, so the money goes to RAM.
        least: fewer pages of RAM or SSD than this are not bought.
    """

    ram: float
    ssd: float
    footprint: int
    least: int

    @classmethod
    def of(cls, prices: Prices, footprint: int, least: int) -> "Market":
        """By a price list, whose prices are in $ a GB."""
        return cls(prices.ram.usd_per_gb * PAGE_BYTES / GB, prices.ssd.usd_per_gb * PAGE_BYTES / GB, footprint, least)

    def usd(self, share: float) -> float:
        """A budget: a part of what RAM for the whole footprint would cost."""
        return share * self.ram * self.footprint

    def buy(self, hierarchy: Hierarchy, usd: float, split: float) -> Bought | None:
        """What a budget buys.

        Args:
            hierarchy: of which order and policies. RAM alone takes all the money.
            usd: $ for RAM, transient buffer and SSD.
            split: part of it for RAM and transient buffer.

        Returns:
            None where RAM or SSD would be smaller than the least.
        """
        alone = hierarchy.kind == "ram"
        ssd = 0 if alone else min(int((1 - split) * usd / self.ssd), self.footprint)
        buffer = hierarchy.buffer_bytes // PAGE_BYTES
        ram = min(int((usd - ssd * self.ssd) / self.ram) - buffer, self.footprint)
        if ram < self.least or (not alone and ssd < self.least):
            return None
        return Bought(hierarchy, ram, ssd)
