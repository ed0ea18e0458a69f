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


class PricedDisk(Priced):
    """The hard disk, which is bought for what its head can do where a cache is before it."""

    drive_gb: PerGb = 20_000.0  # of one disk


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
    hdd: PricedDisk
    power: Power


# conf/prices/retail2022.yaml, so that no project need lie beside the package; a test holds both together.
_PM6 = "KIOXIA PM6-{}, 2020: {:g} drive write{} a day; sizes from memory, price assumed"
BUILT_IN = Prices(
    name="retail, end of 2022",
    dated="2022-12",
    ram=PricedRam(
        usd_per_gb=3.0, low=2.0, high=6.0, watts_per_gb=0.375, years=5.0, modules_gib=[8, 16, 32, 64],
        source="PC Gamer, early 2023: 32 GB of DDR5 below $100; power: Crucial's rule of 3 W for 8 GB of DDR4",
    ),
    ssd=PricedSsd(
        usd_per_gb=0.15, low=0.05, high=0.16, watts_per_gb=0.00275, years=5.0, cycles=3000,
        source="Samsung 990 PRO, 2 TB: $309 when announced, 2022-08, $289 from 2022-11; 5.5 W reading, by its data "
               "sheet",
        classes={
            "client": Endurance(
                dwpd=0.3285, drives_gb=[250, 500, 1000, 2000],
                source="Samsung 980 PRO data sheet, 2020: 150, 300, 600 and 1,200 TBW for 250 GB to 2 TB; so has the "
                       "990 PRO",
            ),
            "read-intensive": Endurance(
                dwpd=1.0, dearer=1.2, drives_gb=[960, 1920, 3840, 7680, 15360], source=_PM6.format("R", 1, ""),
            ),
            "mixed": Endurance(
                dwpd=3.0, dearer=1.5, drives_gb=[800, 1600, 3200, 6400, 12800], source=_PM6.format("V", 3, "s"),
            ),
            "write-intensive": Endurance(
                dwpd=10.0, dearer=3.0, drives_gb=[400, 800, 1600, 3200], source=_PM6.format("M", 10, "s"),
            ),
        },
    ),
    hdd=PricedDisk(
        usd_per_gb=0.014, low=0.014, high=0.034, watts_per_gb=0.00047, years=5.0, drive_gb=20_000.0,
        source="Backblaze, Hard Drive Cost Per Gigabyte, 2022-11: $0.014 for disks of 16 TB; 9.4 W, Exos X20 data "
               "sheet",
    ),
    power=Power(
        usd_per_kwh=0.0806, overhead=1.5,
        source="EIA, average price of electricity for industry in the United States in 2023: 8.06 cents",
    ),
)  # fmt: skip
