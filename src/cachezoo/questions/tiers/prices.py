"""Prices, and what a hierarchy costs: to buy, and by the month with all that has to be replaced and its power.

A month's share of a part is its price over its life. RAM and disk live their years; the SSD lives its years or until
its flash is worn out by what the hierarchy writes to it, whichever is first. Hierarchies are compared at equal cost;
the disk holds the volume behind all of them, so that it is shown and is the same for all.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from cachezoo.devices.profile import PROJECT
from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.budget import GB
from cachezoo.settings.prices import BUILT_IN, Priced, Prices
from cachezoo.yaml_file import checked, read_yaml

FOLDER = Path("conf/prices")
DEFAULT = "retail2022"
MONTHS_A_YEAR = 12
HOURS_A_MONTH = 365.25 * 24 / MONTHS_A_YEAR
WATTS_A_KW = 1000.0


def read_prices(path: Path) -> Prices:
    """A file of prices.

    Raises:
        ConfigError: missing, not YAML, or not what the schema allows.
    """
    return checked(TypeAdapter(Prices), read_yaml(path), str(path), f"{FOLDER} holds files to copy from")


def load_prices(given: str | None = None, folder: Path | None = None) -> Prices:
    """A set of prices.

    Args:
        given: a YAML file, or the name of one in conf/prices without its ending; None for the default.
        folder: where names are looked up; None: in conf/prices here, in that of the project that this package runs
            from, and last in what is built in.

    Raises:
        ConfigError: no such file or name, or it holds something that is no price.
    """
    if given is None:
        given = DEFAULT
    path = Path(given)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        if not path.is_file():
            raise ConfigError(f"{path}: no such file; give a file of prices (YAML), such as {FOLDER}/*.yaml")
        return read_prices(path)
    places = [FOLDER, PROJECT / FOLDER] if folder is None else [folder]
    for place in places:
        if (place / f"{given}.yaml").is_file():
            return read_prices(place / f"{given}.yaml")
    if folder is None and given == DEFAULT:
        return BUILT_IN
    names = sorted({file.stem for place in places for file in place.glob("*.yaml")} | {DEFAULT})
    raise ConfigError(f"{given[:80]}: no such prices; {folder or FOLDER} has {', '.join(names)}; or give a YAML file")


@dataclass(frozen=True)
class Cost:
    """Of a hierarchy, in $ and $ a month."""

    ram_usd: float
    ssd_usd: float
    hdd_usd: float
    ssd_years: float  # the SSD's life, the shorter of its age and its wear; 0 without one
    worn: bool  # whether wear ends it, not age
    parts_month_usd: float  # replacing the parts
    power_month_usd: float
    low_usd: float  # of `cache_usd`, at the lowest of the prices
    high_usd: float

    @property
    def cache_usd(self) -> float:
        """RAM and SSD: what a budget for a cache buys."""
        return self.ram_usd + self.ssd_usd

    @property
    def usd(self) -> float:
        """All three tiers."""
        return self.cache_usd + self.hdd_usd

    @property
    def month_usd(self) -> float:
        """Parts and power of all three tiers."""
        return self.parts_month_usd + self.power_month_usd

    def values(self) -> dict[str, float | bool]:
        """All of it, for JSON."""
        return {**asdict(self), "cache_usd": self.cache_usd, "usd": self.usd, "month_usd": self.month_usd}


def cost(prices: Prices, ram_bytes: int, ssd_bytes: int, hdd_bytes: int, worn_out_years: float = math.inf) -> Cost:
    """Price a hierarchy; the transient buffer is in the bytes of RAM.

    The SSD's flash is worn out after `worn_out_years` at the hierarchy's rate of writing; infinite where it writes
    nothing, or where that is not known.

    Raises:
        ConfigError: a negative size, or a lifetime that is not above 0.
    """
    for name, size in (("RAM", ram_bytes), ("SSD", ssd_bytes), ("disk", hdd_bytes)):
        if size < 0:
            raise ConfigError(f"a hierarchy with {size} bytes of {name}: sizes are at least 0")
    if not worn_out_years > 0:
        raise ConfigError(f"an SSD that is worn out after {worn_out_years:g} years: a lifetime is above 0")
    gb = {"ram": ram_bytes / GB, "ssd": ssd_bytes / GB, "hdd": hdd_bytes / GB}
    media: dict[str, Priced] = {"ram": prices.ram, "ssd": prices.ssd, "hdd": prices.hdd}
    usd = {name: media[name].usd_per_gb * size for name, size in gb.items()}
    years = {name: medium.years for name, medium in media.items()}
    worn = worn_out_years < prices.ssd.years
    years["ssd"] = min(prices.ssd.years, worn_out_years)
    watts = sum(media[name].watts_per_gb * size for name, size in gb.items())
    cached = ("ram", "ssd")
    return Cost(
        ram_usd=usd["ram"],
        ssd_usd=usd["ssd"],
        hdd_usd=usd["hdd"],
        ssd_years=years["ssd"] if ssd_bytes else 0.0,
        worn=worn and ssd_bytes > 0,
        parts_month_usd=sum(usd[name] / (MONTHS_A_YEAR * years[name]) for name in gb),
        power_month_usd=watts / WATTS_A_KW * HOURS_A_MONTH * prices.power.overhead * prices.power.usd_per_kwh,
        low_usd=sum(media[name].low * gb[name] for name in cached),
        high_usd=sum(media[name].high * gb[name] for name in cached),
    )
