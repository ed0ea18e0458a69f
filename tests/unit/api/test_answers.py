"""From Python the commands' own figures, as rows, frames and pictures."""

import json
import subprocess
import sys
from pkgutil import iter_modules

import numpy as np
import pytest

import cachezoo as cz
from cachezoo.errors import ConfigError
from tests.command_line import run

LINES = 3000


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(7)
    pages, ops = rng.zipf(1.3, LINES) % 400, (rng.random(LINES) < 0.4).astype(int)
    path = tmp_path_factory.mktemp("api") / "mine.csv"
    rows = (f"{1000 * k},{'RW'[op]},{4096 * page},4096" for k, (page, op) in enumerate(zip(pages, ops, strict=True)))
    path.write_text("\n".join(["time_us,op,offset,size", *rows]) + "\n")
    return path


def printed(*words):
    return json.loads(run(*words, "--json").stdout)


def timeless(value):
    """Without what is of this run alone."""
    if isinstance(value, dict):
        return {name: timeless(own) for name, own in value.items() if name not in ("requests_per_s", "trace")}
    return [timeless(own) for own in value] if isinstance(value, list | tuple) else value


ASKED = {
    "simulate": (
        lambda file: cz.simulate(file, ["lru", "coinflip+arc"], ["5%", "64p"], writes="through"),
        ("simulate", "--policy", "lru", "--policy", "coinflip+arc", "--size", "5%,64p", "--writes", "through"),
    ),
    "compare": (
        lambda file: cz.compare(file, ["lru", "s3fifo"], "32p"),
        ("compare", "--policy", "lru", "--policy", "s3fifo", "--size", "32p", "--workers", "1"),
    ),
    "curve": (lambda file: cz.curve(file, points=3), ("curve", "--points", "3")),
    "recommend": (lambda file: cz.recommend(file, ask_models=False), ("recommend", "--no-models")),
    "flash": (lambda file: cz.flash(file, "accept_all,rejectx"), ("flash", "--policy", "accept_all,rejectx")),
    "wear": (
        lambda file: cz.wear(file, "legacy", ssd="64MiB", victim="greedy"),
        ("wear", "--placement", "legacy", "--ssd", "64MiB", "--victim", "greedy"),
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_is_the_commands(name, file):
    ask, words = ASKED[name]
    found = ask(file)
    assert timeless(json.loads(json.dumps(found.values))) == timeless(printed(words[0], file, *words[1:]))
    assert len(found.frame) == len(found.rows) > 0
    assert "<table" in found._repr_html_() and found.title in str(found)
    assert "<svg" in found.plot().svg


def test_share_is_the_commands_too(file, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(file.read_text())
    found = cz.share([file, other], "64p", partitioner="shared,equal", fragment=1)
    words = ("share", file, other, "--size", "64p", "--partitioner", "shared,equal", "--fragment", "1")
    assert timeless(json.loads(json.dumps(found.values))) == timeless(printed(*words))


@pytest.mark.slow
def test_size_is_the_commands_too(file):
    found = cz.size(file, hierarchy="arc")
    assert timeless(json.loads(json.dumps(found.values))) == timeless(printed("size", file, "--hierarchy", "arc"))


def test_a_single_run_says_its_hit_ratio(file):
    found = cz.simulate(file, "lru", "64p")
    assert found.hit_ratio == found["hit_ratio"] == found.frame["hit_ratio"].item()
    with pytest.raises(ConfigError, match="2 rows"):
        _ = cz.simulate(file, ["lru", "fifo"], "64p").hit_ratio


def test_lru_over_names_that_are_numbered_is_that_over_places():
    raw = np.random.default_rng(0).zipf(1.2, 20_000) % 50_000
    assert cz.simulate(raw, "lru", "500p", count="all").hit_ratio == 0.65675


def test_a_picture_is_written(file, tmp_path):
    found = cz.simulate(file, ["lru", "fifo"], ["16p", "64p"])
    picture = found.plot(tmp_path / "own.png")
    assert (tmp_path / "own.png").read_bytes().startswith(b"\x89PNG")
    assert picture.save(tmp_path / "own.svg").read_text() == picture.svg == picture._repr_svg_()
    with pytest.raises(ConfigError, match=r"ends in \.svg"):
        picture.save(tmp_path / "own.png")
    with pytest.raises(ConfigError, match=r"\.png or \.svg"):
        found.plot(tmp_path / "own.pdf")


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda file: cz.simulate(file, "lruu"), "lruu is unknown, did you mean lru"),
        (lambda file: cz.simulate(file, "lru", 64), "64: give a text"),
        (lambda file: cz.simulate(file, "lru", "64"), "64p for pages of 4 KiB"),
        (lambda file: cz.simulate(file, "lru", writes="over"), "write policy over"),
        (lambda file: cz.recommend(file, "10%", target_hit=0.5), "give one aim"),
        (lambda file: cz.flash(file, segment="4KiB"), "give both"),
        (lambda file: cz.share([file, file], names=("a", "b"), now="none"), "none"),
    ],
)
def test_what_cannot_be_is_refused_as_on_the_command_line(ask, says, file):
    with pytest.raises(ConfigError, match=says):
        ask(file)


def test_the_package_imports_nothing_until_it_is_asked():
    code = (
        "import sys, cachezoo as cz; early = {'numpy', 'typer', 'pandas', 'numba'} & set(sys.modules); "
        "assert not early, early; assert 'simulate' in dir(cz); "
        "cz.read; assert 'numba' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'simulated'"):
        _ = cz.simulated


def test_no_name_is_that_of_a_module():
    """An import of the module would put it in the name's place, and the name hide the module."""
    import cachezoo
    from cachezoo import api

    for package, names in ((cachezoo, cachezoo._ASKED), (api, api.__all__)):
        assert not {module.name for module in iter_modules(package.__path__)} & set(names)


@pytest.mark.parametrize(
    "code",
    [
        "import cachezoo.flash_cache.load, cachezoo.flash_drive.run as run; import cachezoo as cz; cz.flash, cz.wear",
        "import cachezoo as cz; cz.flash, cz.wear; import cachezoo.flash_cache.load, cachezoo.flash_drive.run as run",
    ],
)
def test_the_rooms_and_the_functions_may_be_imported_in_any_order(code):
    code += "; assert run.wear and cz.flash is cz.api.flash and cz.wear is cz.api.wear"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_all_names_are_those_of_the_room():
    import cachezoo
    from cachezoo import api

    assert sorted(cachezoo._ASKED) == sorted(api.__all__)


def test_the_picture_of_a_recommendation_is_an_svg(tmp_path):
    found = cz.recommend([1, 2, 3, 4, 1, 2] * 60, ask_models=False)
    with pytest.raises(ConfigError, match=r"ends in \.svg"):
        found.plot(tmp_path / "own.png")
    assert not list(tmp_path.iterdir())
    assert found.plot(tmp_path / "own.svg").svg == (tmp_path / "own.svg").read_text()
