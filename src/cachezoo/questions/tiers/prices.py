"""Sets of prices: finding one by its name, and the one that needs no file beside it."""

from pathlib import Path

from pydantic import TypeAdapter

from cachezoo.devices.profile import PROJECT
from cachezoo.errors import ConfigError
from cachezoo.settings.prices import Power, Priced, PricedSsd, Prices
from cachezoo.yaml_file import checked, read_yaml

FOLDER = Path("conf/prices")
DEFAULT = "retail2022"
# conf/prices/retail2022.yaml, so that no project need lie beside the package; a test holds both together.
BUILT_IN = Prices(
    name="retail, end of 2022",
    dated="2022-12",
    ram=Priced(
        usd_per_gb=3.0, low=2.0, high=6.0, watts_per_gb=0.375, years=5.0,
        source="PC Gamer, early 2023: 32 GB of DDR5 below $100; power: Crucial's rule of 3 W for 8 GB of DDR4",
    ),
    ssd=PricedSsd(
        usd_per_gb=0.15, low=0.05, high=0.16, watts_per_gb=0.00275, years=5.0, cycles=3000,
        source="Samsung 990 PRO, 2 TB: $309 when announced, 2022-08, $289 from 2022-11; 5.5 W reading, by its data "
               "sheet",
    ),
    hdd=Priced(
        usd_per_gb=0.014, low=0.014, high=0.034, watts_per_gb=0.00047, years=5.0,
        source="Backblaze, Hard Drive Cost Per Gigabyte, 2022-11: $0.014 for disks of 16 TB; 9.4 W, Exos X20 data "
               "sheet",
    ),
    power=Power(
        usd_per_kwh=0.0806, overhead=1.5,
        source="EIA, average price of electricity for industry in the United States in 2023: 8.06 cents",
    ),
)  # fmt: skip


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
