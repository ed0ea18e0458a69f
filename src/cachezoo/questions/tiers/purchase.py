"""What has to be bought for a hierarchy, and what that costs a month: purchase, wear and power.

RAM is sold in modules and SSDs as drives of some sizes and classes of endurance. Of the drives that hold the SSD's
bytes the cheapest is bought that lasts as long as asked: often a larger one or one of a better class, since the writes
spread over all of it. Where none lasts, the cheapest is replaced as often as it is worn out, and that is its wear.

Endurance is the data sheet's: bytes that the host may write. What the drive writes on top of that is in the rating, by
the workload of JESD219 (JEDEC, "Solid-State Drive (SSD) Endurance Workloads", 2010), which writes at random; so for a
cache's writes it is rather too low. Sizes of more than the largest that is sold are as many of the largest as it takes.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.budget import GB, Point, rungs
from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.questions.tiers.prices import HOURS_A_MONTH, MONTHS_A_YEAR, WATTS_A_KW
from cachezoo.settings.prices import Prices
from cachezoo.sizes import PAGE_BYTES

GIB = 2**30
TB = 1e12
DAYS_A_YEAR = 365.25
LEAST_PAGES = 16
"""Pages of a tier below which no part of one is tried."""
SMALLEST_SHARE = 1 / 4096
"""Of the trace's pages, the least part of RAM or SSD that is tried."""


@dataclass(frozen=True)
class Rating:
    """How much an SSD may be written, in one of three ways; none of them: all classes of the price list."""

    kind: str = ""  # a class of the price list
    dwpd: float | None = None  # drive writes a day over the years of the price list's SSD
    tbw: float | None = None  # terabytes (10**12 bytes) that may be written to a drive


@dataclass(frozen=True)
class Terms:
    """How a purchase is reckoned."""

    lifetime_years: float = 5.0  # over which the purchase is spread, and which the SSD has to live
    parts: bool = False  # sizes to the byte, at a part of the price: of modules and drives that are there anyway
    rating: Rating = field(default_factory=Rating)

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ConfigError: an endurance of whole drives, and parts of them.
        """
        if self.parts and self.rating.tbw is not None:
            raise ConfigError(
                f"--endurance {self.rating.tbw:g}TBW: how much of it a part of a drive has is not known; with --parts "
                "give drive writes a day, such as 1DWPD"
            )

    @property
    def months(self) -> float:
        """Of the lifetime."""
        return MONTHS_A_YEAR * self.lifetime_years


@dataclass(frozen=True)
class Drives:
    """SSDs of one size, or a part of one."""

    kind: str  # its class, or its rating
    count: int
    each_bytes: float
    usd: float  # of all
    endured_bytes: float  # that the host may write to all of them

    @property
    def bytes(self) -> float:
        """Of all."""
        return self.count * self.each_bytes


@dataclass(frozen=True)
class Modules:
    """Modules of RAM of one size, or a part of one."""

    count: int
    each_bytes: float

    @property
    def bytes(self) -> float:
        """Of all."""
        return self.count * self.each_bytes


@dataclass(frozen=True)
class Bought:
    """What is bought for a hierarchy; dollars are of what the trace stands for."""

    ram: Modules | None  # None without RAM
    ssd: Drives | None
    ram_usd: float
    purchase_month_usd: float  # RAM and SSD over the lifetime
    wear_month_usd: float  # SSDs that replace worn-out ones
    power_month_usd: float
    ssd_years: float | None  # until the SSD is worn out; infinite where nothing is written, None where that is unknown
    lifetime_years: float

    @property
    def usd(self) -> float:
        """To buy."""
        return self.ram_usd + (self.ssd.usd if self.ssd else 0.0)

    @property
    def month_usd(self) -> float:
        """The sum of its parts."""
        return self.purchase_month_usd + self.wear_month_usd + self.power_month_usd

    @property
    def lasts(self) -> bool:
        """Whether the SSD, if there is one, is known to live as long as asked."""
        return self.ssd is None or (self.ssd_years is not None and self.ssd_years >= self.lifetime_years)

    def values(self) -> dict[str, Any]:
        """All of it, for JSON, in which an endless life is None as well."""
        endless = self.ssd_years is not None and math.isinf(self.ssd_years)
        return {
            **asdict(self),
            "ssd_years": None if endless else self.ssd_years,
            "ssd_usd": self.usd - self.ram_usd,
            "usd": self.usd,
            "month_usd": self.month_usd,
            "lasts": self.lasts,
        }


@dataclass(frozen=True)
class Shop:
    """A price list with the terms of a purchase, for a trace."""

    prices: Prices
    terms: Terms
    pages: int  # distinct ones of the trace: more of a tier than that holds nothing
    scale: float = 1.0  # bytes that a byte of the trace stands for

    def __post_init__(self) -> None:
        """Refuse a class that the list does not have.

        Raises:
            ConfigError: it does not.
        """
        kind, known = self.terms.rating.kind, self.prices.ssd.classes
        if kind and kind not in known:
            raise ConfigError(
                f"--endurance {kind}: {self.prices.name} has {', '.join(known)}; or give a rating such as 1DWPD or "
                "600TBW"
            )

    def times(self, ram: float = 1.0, ssd: float = 1.0, power: float = 1.0) -> "Shop":
        """The same where RAM, SSD and electricity cost so many times as much."""
        own = self.prices
        factors = {"ram": ram, "ssd": ssd}
        media = {
            name: getattr(own, name).model_copy(
                update={key: factor * getattr(getattr(own, name), key) for key in ("usd_per_gb", "low", "high")}
            )
            for name, factor in factors.items()
        }
        kwh = own.power.model_copy(update={"usd_per_kwh": power * own.power.usd_per_kwh})
        return Shop(own.model_copy(update={**media, "power": kwh}), self.terms, self.pages, self.scale)

    def buy(self, point: Point, written_a_day: float | None) -> Bought:
        """What a hierarchy takes.

        Args:
            point: the hierarchy with its sizes in pages of the trace.
            written_a_day: bytes a day that it writes to its SSD; None where that is not known.
        """
        ram_bytes, ssd_bytes = point.ram_bytes * self.scale, point.ssd_pages * PAGE_BYTES * self.scale
        ram = self._modules(ram_bytes) if point.ram_pages else None
        ram_usd = ram.bytes / GB * self.prices.ram.usd_per_gb if ram else 0.0
        months, power = self.terms.months, self._power(ram.bytes, self.prices.ram.watts_per_gb) if ram else 0.0
        if not ssd_bytes:
            return Bought(ram, None, ram_usd, ram_usd / months, 0.0, power, math.inf, self.terms.lifetime_years)

        def of(drives: Drives) -> Bought:
            years = self._years(drives, written_a_day)
            replaced = max(0.0, self.terms.lifetime_years / years - 1) if years else 0.0
            return Bought(
                ram, drives, ram_usd, (ram_usd + drives.usd) / months, replaced * drives.usd / months,
                power + self._power(drives.bytes, self.prices.ssd.watts_per_gb), years, self.terms.lifetime_years,
            )  # fmt: skip

        return min(map(of, self._drives(ssd_bytes)), key=lambda own: (not own.lasts, own.month_usd))

    def ram_sizes(self, steps: float = 1.0) -> list[int]:
        """Pages that RAM which can be bought has room for, rising: modules, or parts that double in so many steps."""
        sizes = [size * GIB for size in self.prices.ram.modules_gib]
        return self._parts(steps) if self.terms.parts else self._whole(sizes)

    def ssd_sizes(self, steps: float = 0.5) -> list[int]:
        """The same of the SSD."""
        sizes = sorted({size * GB for own in self._classes().values() for size in own[1]})
        return self._parts(steps) if self.terms.parts else self._whole(sizes)

    def points(self, hierarchies: Sequence[Hierarchy], ram: Sequence[int], ssd: Sequence[int]) -> Iterator[Point]:
        """Hierarchies of these sizes; a transient buffer is part of the RAM that is bought.

        No SSD is bought behind RAM for all pages.
        """
        for own in hierarchies:
            for size in ram:
                pages = min(self.pages, size if self.terms.parts else size - own.buffer_pages)
                if pages < 1 or (own.has_ssd and pages >= self.pages):
                    continue
                yield from (Point(own, pages, min(self.pages, other)) for other in (ssd if own.has_ssd else [0]))

    def _ladder(self, sizes: list[float]) -> list[float]:
        """Bytes of what is sold, then of as many of the largest as double, to the first that all pages have room in."""
        found, needed = list(sizes), self.pages * PAGE_BYTES * self.scale
        while found[-1] < needed:
            found.append(2 * found[-1])
        return found[: 1 + next(place for place, size in enumerate(found) if size >= needed)]

    def _whole(self, sizes: list[float]) -> list[int]:
        pages = (int(size / self.scale / PAGE_BYTES) for size in self._ladder(sizes))
        return [room for room in pages if room >= 1]

    def _parts(self, steps: float) -> list[int]:
        least = min(self.pages, max(LEAST_PAGES, self.pages * SMALLEST_SHARE))
        return sorted({max(1, round(size)) for size in (least, *rungs(least, self.pages, 2 ** (1 / steps)))})

    def _modules(self, needed: float) -> Modules:
        if self.terms.parts:
            return Modules(1, needed)
        return _holding(needed, [size * GIB for size in self.prices.ram.modules_gib])[0]

    def _classes(self) -> dict[str, tuple[float, list[float], float, float | None]]:
        """Of each class that may be bought: times the price, GB that are sold, drive writes a day, and bytes in all."""
        ssd, rating = self.prices.ssd, self.terms.rating
        first = next(iter(ssd.classes.values()))
        if rating.dwpd is not None:
            return {f"{rating.dwpd:g} DWPD": (first.dearer, first.drives_gb, rating.dwpd, None)}
        if rating.tbw is not None:
            return {f"{rating.tbw:g} TBW": (first.dearer, first.drives_gb, 0.0, rating.tbw * TB)}
        return {
            name: (own.dearer, own.drives_gb, own.dwpd, None)
            for name, own in ssd.classes.items()
            if rating.kind in ("", name)
        }

    def _drives(self, needed: float) -> Iterator[Drives]:
        ssd = self.prices.ssd
        for name, (dearer, sizes, dwpd, total) in self._classes().items():
            ways = [Modules(1, needed)] if self.terms.parts else _holding(needed, [size * GB for size in sizes])
            for own in ways:
                usd = own.bytes / GB * ssd.usd_per_gb * dearer
                endured = dwpd * own.bytes * DAYS_A_YEAR * ssd.years if total is None else total * own.count
                yield Drives(name, own.count, own.each_bytes, usd, endured)

    def _years(self, drives: Drives, written_a_day: float | None) -> float | None:
        if written_a_day is None:
            return None
        return drives.endured_bytes / (written_a_day * DAYS_A_YEAR) if written_a_day > 0 else math.inf

    def _power(self, size: float, watts_per_gb: float) -> float:
        power = self.prices.power
        return size / GB * watts_per_gb / WATTS_A_KW * HOURS_A_MONTH * power.overhead * power.usd_per_kwh


def _holding(needed: float, sizes: list[float]) -> list[Modules]:
    """Each size that holds so much, rising; where none does, as many of the largest as it takes."""
    found = [Modules(1, size) for size in sizes if size >= needed * (1 - 1e-12)]
    return found or [Modules(math.ceil(needed / sizes[-1]), sizes[-1])]
