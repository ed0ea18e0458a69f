"""What Python gives is checked as the command line checks it: ranges, choices, and one text or several."""

import inspect
from typing import get_args

import numpy as np
import pytest
import typer.main

import cachezoo as cz
from cachezoo.api import deep, given, pages
from cachezoo.cli import ONLY, app
from cachezoo.cli.options import RANGES, in_range, whole_in_range
from cachezoo.errors import CachezooError, ConfigError

TRACE = [1, 2, 3, 1, 2, 3, 4, 1]
FUNCTIONS = {
    "simulate": pages.simulate, "compare": pages.compare, "curve": pages.curve, "recommend": pages.recommend,
    "flash": deep.flash, "wear": deep.wear, "size": deep.size, "share": deep.share,
}  # fmt: skip
RANGED = [
    (name, option)
    for name, function in FUNCTIONS.items()
    for option in inspect.signature(function).parameters
    if option in RANGES and (name, option) != ("recommend", "endurance") and (name, option) != ("size", "endurance")
]


def ask(name, **options):
    trace = cz.read(TRACE)
    return getattr(cz, name)([trace, trace] if name == "share" else trace, **options)


def refused(name, **options):
    """The one line that such options are refused with, whatever the trace."""
    with pytest.raises(CachezooError) as error:
        ask(name, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(("name", "option"), RANGED)
def test_ranges_are_the_commands_own(name, option):
    command = typer.main.get_command(app).get_command(None, name)
    own = next(own for own in command.params if own.name == option)
    assert (own.min, own.max) == RANGES[option]
    assert isinstance(RANGES[option].least, int) == (own.type_descriptor.annotation is int)


def test_all_numbers_of_the_functions_have_a_range():
    numbers = {
        (name, option)
        for name, function in FUNCTIONS.items()
        for option, own in inspect.signature(function).parameters.items()
        if {int, float} & {own.annotation, *get_args(own.annotation)} and str not in get_args(own.annotation)
    }
    assert numbers - {*RANGED} == {("recommend", "target_ms"), ("size", "target_ms"), ("wear", "streams")} & numbers
    assert set(ONLY.values()) >= {"flash", "wear", "size", "share"}


@pytest.mark.parametrize(("name", "option"), RANGED)
def test_a_number_outside_its_range_is_refused(name, option):
    least, most = RANGES[option]
    wrong = [least - 1, float("nan"), "2", True, [2], *([] if most is None else [most + 1])]
    if isinstance(least, int):
        wrong.append(least + 0.5)
    for value in wrong:
        assert option in refused(name, **{option: value})


def test_numbers_of_numpy_are_numbers():
    assert whole_in_range(np.int64(3), "first") == 3 and in_range(np.float32(0.5), "decision_us") == 0.5
    assert cz.simulate(TRACE, "lru", "3p", count="all", first=np.int32(4))["hits"] == 1


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("recommend", {"hits": "requests"}), ("recommend", {"hits": ["bytes"]}), ("share", {"order": "turns"}),
        ("share", {"apart": "files"}), ("wear", {"copies": "together"}), ("wear", {"trims": "no"}),
        ("compare", {"all_classics": "no"}), ("recommend", {"ask_models": 0}), ("size", {"parts": "yes"}),
        ("recommend", {"target_ms": "2"}), ("recommend", {"target_ms": float("nan")}), ("size", {"target_ms": True}),
    ],
)  # fmt: skip
def test_choices_and_switches_are_refused(name, options):
    assert next(iter(options)) in refused(name, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("simulate", {"policy": []}), ("simulate", {"policy": 5}), ("simulate", {"policy": None}),
        ("simulate", {"policy": ["lru", 5]}), ("simulate", {"size": []}), ("simulate", {"size": 64}),
        ("simulate", {"count": 1000}), ("simulate", {"count": ["half"]}), ("simulate", {"writes": None}),
        ("simulate", {"unit": 3}), ("simulate", {"page_size": 8192}), ("simulate", {"device": 7}),
        ("simulate", {"ignore": {}}), ("compare", {"size": ()}), ("compare", {"bundle": 5}), ("curve", {"count": 7}),
        ("curve", {"sample": ["0.1"]}), ("recommend", {"size": 64}), ("recommend", {"size": ["10%"]}),
        ("recommend", {"target_hit": [0.5]}), ("recommend", {"endurance": 600}), ("recommend", {"models": 5}),
        ("flash", {"policy": []}), ("flash", {"write_rate": []}), ("flash", {"size": 10}), ("flash", {"prices": 3}),
        ("flash", {"segment": 4096, "block": 8192}), ("flash", {"bundle": [3]}), ("wear", {"ssd": 10}),
        ("wear", {"unit": 512}), ("wear", {"bundle": 3}), ("size", {"spend": 20}), ("size", {"lifetime": 5}),
        ("size", {"prices": 3}), ("size", {"working_set": 2}), ("share", {"size": 64}), ("share", {"now": ["shared"]}),
        ("share", {"names": 3}), ("share", {"floor": 3}), ("share", {"device": 3}),
    ],
)  # fmt: skip
def test_what_is_no_text_is_refused(name, options):
    assert refused(name, **options).startswith(("--", *options))


def test_one_is_a_list_of_one():
    for name in ("compare", "flash"):
        whole, alone = refused(name, bundle=["nowhere"]), refused(name, bundle="nowhere")
        assert "nowhere" in whole and whole == alone
    assert given.paths(None, "bundle") == []
    named = refused("share", names=["a"])
    assert named == refused("share", names="a") and "1 names" in named


def test_several_are_with_commas():
    assert given.with_commas(["lru", "arc"], "policy") == "lru,arc"
    assert given.with_commas([1, 4], "streams") == "1,4" and given.with_commas(0.11, "op") == "0.11"
    assert given.with_commas_or_none(None, "policy") is None
    rows = [cz.share([TRACE, TRACE[1:]], "4p", partitioner=own, fragment=1, names=names).rows
            for own, names in (("shared,equal", "a, b"), (["shared", "equal"], ["a", "b"]))]  # fmt: skip
    assert [row["partitioner"] for row in rows[0]] == [row["partitioner"] for row in rows[1]]


def test_no_policies_are_the_default_where_there_is_one():
    assert cz.curve(TRACE, None, "2p").rows == cz.curve(TRACE, [], "2p").rows == cz.curve(TRACE, (), "2p").rows


def test_a_part_of_ones_own_is_no_text():
    class MRU:
        pass

    with pytest.raises(ConfigError, match="policy"):
        given.policies([{}])
    assert given.policies(MRU) == given.policies([MRU]) and "MRU" in given.policies(MRU)[0]


def test_a_keyword_of_before_is_taken_with_a_warning():
    with pytest.warns(FutureWarning, match="by= is now partitioner="):
        old = cz.share([TRACE, TRACE[1:]], "4p", by="shared", fragment=1, names="a,b").rows
    assert old == cz.share([TRACE, TRACE[1:]], "4p", partitioner="shared", fragment=1, names="a,b").rows
