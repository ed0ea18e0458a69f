"""Prices and cost: by hand, and the files that come with the project."""

import math
from pathlib import Path

import pytest
import yaml

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.budget import GB
from cachezoo.questions.tiers.prices import DEFAULT, HOURS_A_MONTH, cost, load_prices
from cachezoo.settings.prices import BUILT_IN

ROOT = Path(__file__).resolve().parents[4]
FOLDER = ROOT / "conf/prices"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
SIMPLE = {
    "name": "simple",
    "dated": "2020",
    "ram": {"usd_per_gb": 4.0, "low": 2.0, "high": 8.0, "watts_per_gb": 0.5, "years": 5.0, "source": "made",
            "modules_gib": [4, 8]},
    "ssd": {"usd_per_gb": 0.5, "low": 0.25, "high": 0.5, "watts_per_gb": 0.0, "years": 4.0, "source": "made",
            "classes": {"plain": {"dwpd": 1.0, "drives_gb": [100, 200], "source": "made"},
                        "lasting": {"dwpd": 10.0, "dearer": 3.0, "drives_gb": [100], "source": "made"}}},
    "hdd": {"usd_per_gb": 0.1, "low": 0.1, "high": 0.2, "watts_per_gb": 0.01, "years": 10.0, "source": "made"},
    "power": {"usd_per_kwh": 0.1, "overhead": 2.0, "source": "made"},
}  # fmt: skip


def written(tmp_path, **changed):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**SIMPLE, **changed}))
    return path


def simple(tmp_path):
    return load_prices(str(written(tmp_path)))


def test_a_hierarchy_is_priced_by_hand(tmp_path):
    found = cost(simple(tmp_path), 10 * GB, 100 * GB, 1000 * GB)
    assert (found.ram_usd, found.ssd_usd, found.hdd_usd) == pytest.approx((40, 50, 100))
    assert (found.cache_usd, found.usd) == pytest.approx((90, 190))
    assert (found.low_usd, found.high_usd) == pytest.approx((20 + 25, 80 + 50))
    assert found.parts_month_usd == pytest.approx(40 / 60 + 50 / 48 + 100 / 120)
    assert found.power_month_usd == pytest.approx(15 / 1000 * HOURS_A_MONTH * 2 * 0.1)
    assert found.month_usd == pytest.approx(found.parts_month_usd + found.power_month_usd)
    assert (found.ssd_years, found.worn) == (4, False)


def test_an_ssd_that_wears_out_is_bought_more_often(tmp_path):
    prices = simple(tmp_path)
    lasting, wearing = (cost(prices, 10 * GB, 100 * GB, 0, years) for years in (math.inf, 0.5))
    assert (wearing.ssd_years, wearing.worn) == (0.5, True)
    assert wearing.parts_month_usd - lasting.parts_month_usd == pytest.approx(50 / 6 - 50 / 48)
    assert wearing.usd == lasting.usd
    assert cost(prices, GB, 0, 0, 0.5).worn is False


@pytest.mark.parametrize(
    ("sizes", "years", "says"),
    [
        ((-1, 0, 0), 1.0, "-1 bytes of RAM: sizes are at least 0"),
        ((0, -1, 0), 1.0, "-1 bytes of SSD"),
        ((0, 0, -1), 1.0, "-1 bytes of disk"),
        ((1, 1, 1), 0.0, "worn out after 0 years: a lifetime is above 0"),
        ((1, 1, 1), math.nan, "worn out after nan years"),
    ],
)
def test_sizes_and_lifetimes_that_cannot_be_are_refused(tmp_path, sizes, years, says):
    with pytest.raises(ConfigError, match=says):
        cost(simple(tmp_path), *sizes, years)


@pytest.mark.parametrize("name", NAMES)
def test_every_file_of_prices_is_dated_and_names_its_sources(name):
    prices = load_prices(name, FOLDER)
    media = (prices.ram, prices.ssd, prices.hdd)
    assert all(medium.low <= medium.usd_per_gb <= medium.high for medium in media)
    assert all(any(year in medium.source for year in ("20", "HCA")) for medium in (*media, prices.power))
    assert prices.ram.usd_per_gb > prices.ssd.usd_per_gb > prices.hdd.usd_per_gb
    classes = list(prices.ssd.classes.values())
    assert all("20" in own.source for own in classes) and classes[0].dearer == 1
    assert [own.dwpd for own in classes] == sorted(own.dwpd for own in classes)


def test_the_papers_prices_add_up_to_the_papers_dollars():
    """$250 of disk and SSD, $55 of it the SSD (HCA, Sec. VI); 32 GB, and the 500 GB that conf/device assumes."""
    prices = load_prices("hca2012", FOLDER)
    found = cost(prices, 0, 32 * GB, 500 * GB)
    assert found.ssd_usd == pytest.approx(55, rel=0.01)
    assert found.usd == pytest.approx(250, rel=0.01)


def test_the_default_needs_no_project_beside_it(tmp_path, monkeypatch):
    assert load_prices(DEFAULT, FOLDER) == BUILT_IN
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cachezoo.questions.tiers.prices.PROJECT", tmp_path)
    assert load_prices() == BUILT_IN


def test_a_projects_own_file_goes_before_what_is_built_in(tmp_path, monkeypatch):
    (tmp_path / "conf/prices").mkdir(parents=True)
    (tmp_path / f"conf/prices/{DEFAULT}.yaml").write_text(yaml.safe_dump(SIMPLE))
    monkeypatch.chdir(tmp_path)
    assert load_prices().name == "simple"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"ram": SIMPLE["ram"] | {"usd_per_gb": -4.0}}, r"mine\.yaml: ram\.usd_per_gb: .*greater than 0"),
        ({"ssd": SIMPLE["ssd"] | {"usd_per_gb": 9.0}}, r"ssd: .*usd_per_gb 9 is not between low 0\.25 and high 0\.5"),
        ({"hdd": {"usd_per_gb": 0.1}}, r"mine\.yaml: hdd\.low: Field required"),
        ({"ram": SIMPLE["ram"] | {"modules_gib": [8, 4]}}, r"mine\.yaml: ram\.modules_gib: .*sizes 8, 4 do not rise"),
        ({"ssd": SIMPLE["ssd"] | {"classes": {}}}, r"mine\.yaml: ssd\.classes: "),
        ({"tape": SIMPLE["hdd"]}, r"mine\.yaml: tape: "),
        ({"dated": "last week"}, r"mine\.yaml: dated: "),
        ({"power": {"usd_per_kwh": "cheap", "source": "x"}}, r"mine\.yaml: power\.usd_per_kwh: "),
    ],
)
def test_a_file_that_is_no_prices_is_refused_by_its_key(tmp_path, changed, says):
    path = written(tmp_path, **changed)
    with pytest.raises(ConfigError, match=says) as found:
        load_prices(str(path))
    assert len(str(found.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [("gold", r"gold: no such prices; .* has hca2012, retail2022; or give a YAML file"),
     ("none/mine.yaml", r"none/mine\.yaml: no such file; give a file of prices")],
)  # fmt: skip
def test_prices_that_are_not_there_are_refused(given, says):
    with pytest.raises(ConfigError, match=says):
        load_prices(given, None if "/" in given else FOLDER)
