"""How large a cache is: as people type it, and as tables and plots show it."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE_BYTES = 4096
BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
BYTES = {unit: 1024**k for k, unit in enumerate(BINARY)} | {f"{c}B": 1000 ** (k + 1) for k, c in enumerate("KMGT")}
UNITS = {unit.lower(): unit for unit in (*BYTES, "%", "p")}
NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([a-z%]*)", re.IGNORECASE)
HOW = "write a size as 64MiB, 10% (of the trace's distinct pages) or 4096p (pages of 4 KiB)"
LONGEST = 24  # characters: a longer text is no size, and is cut in messages
FEW_OCTAVES = 2


@dataclass(frozen=True)
class Size:
    """A size as typed."""

    text: str  # as typed, without the blanks around it
    number: Decimal  # in units
    unit: str  # a key of `BYTES`; ``%`` of a trace's distinct pages; ``p``, pages of 4 KiB
    option: str = "--size"  # that it was typed at

    @classmethod
    def parse(cls, text: str, option: str = "--size") -> "Size":
        """A size from ``64MiB``, ``1.5GB``, ``10%`` or ``4096p``; units in upper or lower case.

        Raises:
            ConfigError: no size, a bare number, an unknown unit, not above 0, parts of a page, or more than 100 %.
        """
        own = text.strip()
        match = NUMBER.fullmatch(own) if len(own) <= LONGEST else None
        if match is None:
            raise refused(option, own, HOW)
        number, unit = Decimal(match[1]), UNITS.get(match[2].lower(), "")
        if not match[2]:
            raise refused(option, own, f"a bare number could be pages or bytes; write {_bare(match[1])}")
        if not unit:
            raise refused(option, own, f"unknown unit {match[2]!r}; use one of {', '.join((*BYTES, '%', 'p'))}")
        if number <= 0:
            raise refused(option, own, f"it must be above 0; {HOW}")
        if unit == "%" and number > 100:
            raise refused(option, own, "at most 100 % of a trace's distinct pages can be held")
        if unit == "p" and number % 1:
            raise refused(option, own, f"there are no parts of a page; write {int(number) + 1}p")
        return cls(own, number, unit, option)

    def pages(self, n_pages: int, page_bytes: int = PAGE_BYTES) -> int:
        """Whole pages, at least 1: of a percentage rounded, of bytes what fits.

        Args:
            n_pages: distinct pages of the trace.
            page_bytes: of a page, what ``p`` counts too.

        Raises:
            ConfigError: it is less than a page, or more pages than a cache can have.
        """
        from cachezoo.arrays import MOST_NUMBERED

        if self.unit == "%":
            return pages_of(float(self.number), n_pages)
        found = int(self.number * BYTES[self.unit]) // page_bytes if self.unit in BYTES else int(self.number)
        if not found:
            raise refused(self.option, self.text, f"less than a page; the least is {human(page_bytes)}")
        if found > MOST_NUMBERED:
            most = human(MOST_NUMBERED * page_bytes)
            raise refused(self.option, self.text, f"no cache has so many pages; the most is {most}")
        return found

    def __str__(self) -> str:
        """As typed."""
        return self.text


def pages_of(percentage: float, n_pages: int) -> int:
    """So much of a trace's distinct pages: whole ones, at least 1."""
    return max(1, round(percentage / 100 * n_pages))


def _bare(number: str) -> str:
    if "." not in number:
        pages = f"{number}p for pages of 4 KiB"
        return f"{pages}, {number}MiB or {number}%" if 0 < int(number) <= 100 else f"{pages} or {number}MiB"
    share = Decimal(number) * 100
    if share <= 100:
        return f"{share.normalize():f}% or {number}GiB"
    return f"{number}GiB or {number}%" if Decimal(number) <= 100 else f"{number}GiB"


def refused(option: str, text: str, fix: str) -> ConfigError:
    """What an option is refused with: the text, cut where it is long, what is wrong, and what to give."""
    return ConfigError(f"{option} {text if len(text) <= LONGEST else f'{text[:LONGEST]}…'!r}: {fix}")


def human(n_bytes: float, decimals: int = 1) -> str:
    """Bytes for people, in powers of 1024, with at most so many decimals: ``"1.5 GiB"``."""
    value, unit = float(n_bytes), 0
    while round(value, decimals) >= 1024 and unit < len(BINARY) - 1:
        value, unit = value / 1024, unit + 1
    text = f"{value:,.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if decimals else text} {BINARY[unit]}"


def human_pages(n_pages: int, page_bytes: int = PAGE_BYTES) -> str:
    """Pages for people: ``"39.1 MiB (10,000 p)"``, larger ones with their size: ``"12.5 MiB (200 p of 64 KiB)"``."""
    of = "" if page_bytes == PAGE_BYTES else f" of {human(page_bytes)}"
    return f"{human(n_pages * page_bytes)} ({n_pages:,} p{of})"


def size_ticks(axes: "Axes") -> None:
    """Make the x axis, whose values are bytes, a logarithmic one with labels in MiB and GiB; plot first."""
    import math

    from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    octaves = math.log2(high / low)
    places: Locator = MaxNLocator(4)
    if octaves >= 1:  # so that there are at least two ticks
        places = LogLocator(base=2.0, subs=(1.0,) if octaves >= FEW_OCTAVES else (1.0, 1.5), numticks=8)
    axes.xaxis.set_major_locator(places)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: human(value, 1 if octaves >= 1 else 2)))
    axes.xaxis.set_minor_locator(NullLocator())
