"""Schema of conf/prices: what RAM, SSD and disk cost to buy and to run, dated, with the source of each figure."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Rounds, Strict

PerGb = Annotated[float, Field(gt=0, le=1e6)]
Text = Annotated[str, Field(min_length=1, max_length=400)]


class Priced(Strict):
    """A medium. A GB is 10**9 bytes.

    Attributes:
        usd_per_gb: dollars a GB.
        low, high: between which the price was found at about that date, $ a GB; what the uncertainty of a cost is
            told from.
        watts_per_gb: power of a GB in use, in proportion to the size.
        years: after which it is replaced, worn or not.
        source: who says so, and when.
    """

    usd_per_gb: PerGb
    low: PerGb
    high: PerGb
    watts_per_gb: Annotated[float, Field(ge=0, le=1e3)] = 0.0
    years: Annotated[float, Field(gt=0, le=100)] = 5.0
    source: Text

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        if not self.low <= self.usd_per_gb <= self.high:
            raise ValueError(f"usd_per_gb {self.usd_per_gb:g} is not between low {self.low:g} and high {self.high:g}")
        return self


class PricedSsd(Priced):
    """The SSD, which wears out.

    Attributes:
        cycles: erases that one of its blocks endures.
    """

    cycles: Rounds = 3000


class Power(Strict):
    """Electricity.

    Attributes:
        usd_per_kwh: dollars a kWh.
        overhead: kWh drawn for each that the parts use: cooling and losses, at least 1.
        source: who says so, and when.
    """

    usd_per_kwh: Annotated[float, Field(ge=0, le=100)]
    overhead: Annotated[float, Field(ge=1, le=10)] = 1.0
    source: Text


class Prices(Strict):
    """A file of conf/prices.

    Attributes:
        name: of the set, as tables show it.
        dated: when these prices held: a year and a month, or a year.
        currency: of all prices; what a price is called `usd` in.
        ram, ssd, hdd: the media.
        power: electricity.
    """

    name: Annotated[str, Field(min_length=1, max_length=60)]
    dated: Annotated[str, Field(pattern=r"^(19|20)[0-9]{2}(-(0[1-9]|1[0-2]))?$")]
    currency: Literal["USD"] = "USD"
    ram: Priced
    ssd: PricedSsd
    hdd: Priced
    power: Power
