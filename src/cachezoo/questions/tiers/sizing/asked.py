"""What is asked of a search: a sum, or an aim, and what is assumed."""

import re
from dataclasses import dataclass
from decimal import Decimal

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_hierarchy
from cachezoo.questions.tiers.sizing.candidates import TEXTS
from cachezoo.questions.tiers.sizing.points import Unit, all_cost, least_cost
from cachezoo.questions.tiers.sizing.search import By
from cachezoo.settings.prices import Prices
from cachezoo.show.formats import money
from cachezoo.sizes import BYTES, LONGEST, NUMBER, PAGE_BYTES, UNITS, human

MONEY = re.compile(r"\s*\$?\s*([0-9]{1,12}(?:\.[0-9]*)?|\.[0-9]+)\s*(%?)\s*")
HOW = "write dollars, such as 500 or $0.02, or a part of what RAM for all pages costs, such as 5%"


@dataclass(frozen=True)
class Money:
    """A sum as typed.

    Attributes:
        amount: dollars, or hundredths of what RAM for all pages of the trace costs.
        share: whether it is the latter.
    """

    amount: float
    share: bool

    @classmethod
    def parse(cls, text: str) -> "Money":
        """A sum from `500`, `$0.02` or `5%`.

        Raises:
            ConfigError: no sum, one that is not above 0, or more than 100 %.
        """
        match = MONEY.fullmatch(text)
        if match is None:
            raise ConfigError(f"--spend {text[:24]!r}: {HOW}")
        amount, share = float(match[1]), bool(match[2])
        if not amount > 0:
            raise ConfigError(f"--spend {text.strip()[:24]}: it must be above 0; {HOW}")
        if share and amount > 100:
            raise ConfigError(f"--spend {text.strip()[:24]}: RAM for all pages is 100%; more buys nothing")
        return cls(amount, share)

    def dollars(self, everything: float) -> float:
        """The sum; `everything` is what RAM for all pages costs."""
        return self.amount / 100 * everything if self.share else self.amount


def price_of(text: str, option: str) -> float:
    """Dollars a GB, of `--ram-price` and `--ssd-price`.

    Raises:
        ConfigError: no number above 0 and at most a million.
    """
    match = MONEY.fullmatch(text)
    value = float(match[1]) if match and not match[2] else 0.0
    if not 0 < value <= 1e6:
        raise ConfigError(f"{option} {text[:24]!r}: give dollars a GB above 0 and at most 1,000,000, such as 3 or 0.15")
    return value


def bytes_of(text: str) -> int:
    """Bytes of `--working-set`, from `2TiB` or `1.5TB`; more than any cache can have may be given.

    Raises:
        ConfigError: no number with a unit of bytes.
    """
    match = NUMBER.fullmatch(text.strip()) if len(text) <= LONGEST else None
    unit = UNITS.get(match[2].lower(), "") if match else ""
    if match is None or unit not in BYTES:
        raise ConfigError(f"--working-set {text[:LONGEST]!r}: give bytes, such as 2TiB; units are {', '.join(BYTES)}")
    return int(Decimal(match[1]) * BYTES[unit])


@dataclass(frozen=True)
class Asked:
    """What is to be reached, and what is assumed; at most one aim, and the knee of the front without.

    Attributes:
        budget: the most that may be spent on RAM and SSD.
        hit: part of the page reads that RAM and SSD have to serve.
        ms: mean time of a page read to reach.
        hierarchies: what may be built.
        device: the profile's name as given; None for the one built in.
        working_set: bytes that the trace's pages stand for; None for what they are.
        prices: the price list as given; None for the one built in.
        replaced: options that stand in place of prices of that list.
        reading: how the trace is read, as typed; empty where its content says it.
        piped: the trace came by a pipe, and is gone.

    Raises:
        ConfigError: several aims, or one that cannot be.
    """

    budget: Money | None = None
    hit: float | None = None
    ms: float | None = None
    hierarchies: tuple[Hierarchy, ...] = tuple(map(parse_hierarchy, TEXTS))
    device: str | None = None
    working_set: int | None = None
    prices: str | None = None
    replaced: tuple[str, ...] = ()
    reading: str = ""
    piped: bool = False

    def __post_init__(self) -> None:
        given = {"--spend": self.budget, "--target-hit": self.hit, "--target-ms": self.ms}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise ConfigError(f"{' and '.join(named)}: give one aim; the table shows what each sum brings of all")
        if self.hit is not None and not 0 < self.hit <= 1:
            message = f"--target-hit {self.hit:g}: give a part of the reads above 0 and at most 1, such as 0.8 or 80%"
            raise ConfigError(message)
        if self.ms is not None and not 0 < self.ms < float("inf"):
            raise ConfigError(f"--target-ms {self.ms:g}: give milliseconds above 0, such as 2")

    @property
    def by(self) -> By:
        """What is to be small."""
        return "amat" if self.hit is None else "disk"

    def scale(self, n_pages: int) -> float:
        """Bytes that a byte of the trace stands for.

        Raises:
            ConfigError: a working set smaller than the trace's pages.
        """
        touched = n_pages * PAGE_BYTES
        if self.working_set is None:
            return 1.0
        if self.working_set < touched:
            message = (
                f"--working-set {human(self.working_set)}: the trace touches {human(touched)} itself; give more, "
                "or leave it out"
            )
            raise ConfigError(message)
        return self.working_set / touched

    def unit(self, prices: Prices, n_pages: int) -> Unit:
        """What room for the trace costs, scaled to what it stands for."""
        scale = self.scale(n_pages)
        return Unit.of_gb(prices.ram.usd_per_gb * scale, prices.ssd.usd_per_gb * scale)

    def dollars(self, unit: Unit, n_pages: int) -> float | None:
        """The budget; None without one.

        Raises:
            ConfigError: it does not buy the smallest hierarchy.
        """
        if self.budget is None:
            return None
        found, least = self.budget.dollars(all_cost(n_pages, unit)), least_cost(self.hierarchies, unit)
        if found < least:
            message = f"--spend {money(found)}: the smallest hierarchy costs {money(least)}; give at least that"
            raise ConfigError(message)
        return found
