"""Schema of conf/prices: what RAM, SSD and disk cost to buy and to run, dated, with the source of each figure."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Rounds, Strict

PerGb = Annotated[float, Field(gt=0, le=1e6)]
Text = Annotated[str, Field(min_length=1, max_length=400)]


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


class PricedSsd(Priced):
    """The SSD, which wears out."""

    cycles: Rounds = 3000  # erases that one of its blocks endures


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
    ram: Priced
    ssd: PricedSsd
    hdd: Priced
    power: Power
