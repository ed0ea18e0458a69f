"""Schema of conf/prices: what RAM, SSD and disk cost to buy and to run, dated, with the source of each figure."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from cachezoo.settings.base import Rounds, Strict

PerGb = Annotated[float, Field(gt=0, le=1e6)]
Text = Annotated[str, Field(min_length=1, max_length=400)]


def _rising(sizes: list[float]) -> list[float]:
    if sizes != sorted(set(sizes)):
        raise ValueError(f"sizes {', '.join(f'{size:g}' for size in sizes)} do not rise")
    return sizes


Sizes = Annotated[
    list[Annotated[float, Field(gt=0, le=1e6)]], Field(min_length=1, max_length=20), AfterValidator(_rising)
]


class Priced(Strict):
    """A medium. A GB is 10**9 bytes."""

    usd_per_gb: PerGb
    low: PerGb  # to `high`: between which the price was found at about that date, $ a GB; the uncertainty of a cost
    high: PerGb
    watts_per_gb: Annotated[float, Field(ge=0, le=1e3)] = 0.0  # in use, in proportion to the size
    years: Annotated[float, Field(gt=0, le=100)] = 5.0  # after which it is replaced, worn or not
    source: Text  # who says so, and when

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        if not self.low <= self.usd_per_gb <= self.high:
            raise ValueError(f"usd_per_gb {self.usd_per_gb:g} is not between low {self.low:g} and high {self.high:g}")
        return self


class PricedRam(Priced):
    """RAM, which is sold in modules."""

    modules_gib: Sizes  # that are sold, rising, GiB (2**30 bytes)


class Endurance(Strict):
    """A class of SSDs: how much they may be written, and in which sizes they are sold."""

    dwpd: Annotated[float, Field(gt=0, le=1e3)]  # drive writes a day that are warranted over the SSD's `years`
    dearer: Annotated[float, Field(gt=0, le=1e3)] = 1.0  # times the SSD's `usd_per_gb`
    drives_gb: Sizes  # that are sold, rising
    source: Text  # who says so, and when


class PricedSsd(Priced):
    """The SSD, which wears out."""

    cycles: Rounds = 3000  # erases that one of its blocks endures
    classes: Annotated[dict[str, Endurance], Field(min_length=1)]  # by name, the cheapest first


class Power(Strict):
    """Electricity."""

    usd_per_kwh: Annotated[float, Field(ge=0, le=100)]
    overhead: Annotated[float, Field(ge=1, le=10)] = 1.0  # kWh drawn for each that the parts use: cooling and losses
    source: Text  # who says so, and when


class Prices(Strict):
    """A file of conf/prices."""

    name: Annotated[str, Field(min_length=1, max_length=60)]  # as tables show it
    dated: Annotated[str, Field(pattern=r"^(19|20)[0-9]{2}(-(0[1-9]|1[0-2]))?$")]  # year, or year and month
    currency: Literal["USD"] = "USD"
    ram: PricedRam
    ssd: PricedSsd
    hdd: Priced
    power: Power
