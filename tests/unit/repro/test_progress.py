"""How long a run has to go, and where it is known from."""

import json

import pytest

from cachezoo.repro.progress import OTHER, USUAL, Seconds, remaining, spoken


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep/seconds.json"


def known(path, **seconds):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({name.replace("__", "@"): value for name, value in seconds.items()}))
    return Seconds(path)


def test_what_stages_took_is_kept_for_the_next_run(path):
    first = Seconds(path)
    first.add("evaluate@web", 40.0)
    first.save()
    second = Seconds(path)
    assert second.of("evaluate@web") == 40.0
    second.add("evaluate@web", 20.0)
    assert second.of("evaluate@web") == 30.0


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": "x"}', '{"a": null}', "\udc80"])
def test_a_file_that_cannot_be_read_counts_as_none(path, text):
    path.parent.mkdir()
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert Seconds(path).of("ingest@a") == USUAL["ingest"]
    assert Seconds(path).of("never_heard_of") == OTHER


def test_a_stage_that_never_ran_takes_as_long_as_its_kind_does_here(path):
    assert known(path, ingest__a=3.0, ingest__b=9.0, ingest__c=4.0).of("ingest@d") == 4.0


def test_without_its_kind_the_usual_time_counts_by_how_slow_the_machine_is(path):
    seconds = known(path, evaluate__a=3 * USUAL["evaluate"], replay__a=3 * USUAL["replay"])
    assert seconds.of("report") == pytest.approx(3 * USUAL["report"])


def test_a_few_short_stages_say_nothing_of_the_machine(path):
    assert known(path, compose=30.0).of("report") == USUAL["report"]


@pytest.mark.parametrize(
    "jobs, waits, running, expected",
    [
        (1, {"a": (), "b": ()}, {}, 30.0),
        (2, {"a": (), "b": ()}, {}, 20.0),
        (2, {"a": (), "b": ("a",)}, {}, 30.0),
        (2, {"b": ("a",)}, {"a": 4.0}, 26.0),
        (2, {"b": ("ended",)}, {}, 20.0),
        (2, {}, {"b": 50.0}, 0.0),
        (2, {}, {}, 0.0),
        (2, {"a": (), "b": (), "c": ("a",)}, {}, 40.0),
    ],
)
def test_the_time_to_go_is_that_of_the_run_that_is_left(path, jobs, waits, running, expected):
    seconds = known(path, a=10.0, b=20.0, c=30.0)
    assert remaining({name: frozenset(before) for name, before in waits.items()}, running, seconds, jobs) == expected


@pytest.mark.parametrize(
    "seconds, text",
    [(0, "less than a minute"), (29, "less than a minute"), (31, "about 1 min"), (720, "about 12 min"),
     (3900, "about 1 h 5 min")],
)  # fmt: skip
def test_a_time_as_people_say_it(seconds, text):
    assert spoken(seconds) == text
