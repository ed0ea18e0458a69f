"""What to buy for a recommended size: RAM for all pages, RAM for the size, or an SSD; and above what an SSD pays.

It goes by money alone, at the prices built in. RAM serves no later than an SSD, so that an SSD is bought only if it
lasts, and costs less than RAM both to buy and by the month, with wear and power (`cachezoo.questions.tiers.purchase`).
How much of both together `recommend --only ram-ssd` says.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

from cachezoo.questions.tiers.budget import Point
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.purchase import GIB, Bought, Shop, Terms
from cachezoo.settings.prices import BUILT_IN
from cachezoo.sizes import PAGE_BYTES

What = Literal["all in RAM", "RAM", "SSD"]
RAM, SSD = parse_hierarchy("lru"), parse_hierarchy("lru | lru")
STEPS, MOST_STEPS = 4, 72
"""Working sets that are looked at: so many for each doubling of a GiB, up to 256 TiB."""
CLOSE = 1.01
"""Times a working set that does not pay, the next that does at most."""


@dataclass(frozen=True)
class Buy:
    """The purchase."""

    what: What
    bought: Bought  # of `what`
    all_ram: Bought  # RAM for all pages
    ram: Bought  # RAM for the size
    ssd: Bought  # an SSD for the size
    pays_bytes: float | None  # working set above which an SSD for all of it costs less than RAM; None: none looked at
    clock: bool  # whether the SSD's wear is known, and so counts

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "what": self.what,
            "all_ram": self.all_ram.values(),
            "ram": self.ram.values(),
            "ssd": self.ssd.values(),
            "ssd_pays_from_bytes": self.pays_bytes,
            "wear_counts": self.clock,
            "prices": BUILT_IN.name,
        }


def _ssd(shop: Shop, pages: int, written_a_day: float | None) -> Bought:
    return shop.buy(Point(SSD, 0, pages), 0.0 if written_a_day is None else written_a_day)


def _ram(shop: Shop, pages: int) -> Bought:
    return shop.buy(Point(RAM, pages, 0), 0.0)


def _pays(ssd: Bought, ram: Bought) -> bool:
    return ssd.lasts and ssd.usd < ram.usd and ssd.month_usd < ram.month_usd


def pays_from(pages: int, written_a_day: float | None) -> float | None:
    """Bytes of the working set above which an SSD for all of it pays; None where none that is looked at does.

    A larger working set is the trace scaled: in bytes, and in time, so that the SSD is written as much a day. RAM is
    sold in modules, so that its price jumps: the size is halved towards the last that does not pay.
    """

    def pays(size: float) -> bool:
        shop = Shop(BUILT_IN, Terms(), pages, size / (pages * PAGE_BYTES))
        return _pays(_ssd(shop, pages, written_a_day), _ram(shop, pages))

    sizes = [GIB * 2 ** (step / STEPS) for step in range(MOST_STEPS + 1)]
    least = next((place for place in range(MOST_STEPS, -1, -1) if not pays(sizes[place])), -1)
    if least == MOST_STEPS:
        return None
    if least < 0:
        return sizes[0]
    low, high = sizes[least], sizes[least + 1]
    while high > CLOSE * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if pays(middle) else (middle, high)
    return low


def buy(n_pages: int, capacity: int, written_a_day: float | None) -> Buy:
    """RAM for all pages where that is no dearer than for the size; else RAM for the size, unless an SSD pays.

    Args:
        n_pages: distinct pages of the trace.
        capacity: pages of the recommended size.
        written_a_day: bytes a day that the cache writes to its SSD, at the load as recorded; None without a clock.
    """
    shop = Shop(BUILT_IN, Terms(), n_pages)
    all_ram, ram, ssd = _ram(shop, n_pages), _ram(shop, capacity), _ssd(shop, capacity, written_a_day)
    what: What = "all in RAM"
    if _pays(ssd, ram):
        what = "SSD"
    elif ram.month_usd < all_ram.month_usd:
        what = "RAM"
    own = {"all in RAM": all_ram, "RAM": ram, "SSD": ssd}[what]
    return Buy(what, own, all_ram, ram, ssd, pays_from(n_pages, written_a_day), written_a_day is not None)
