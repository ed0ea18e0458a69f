from pathlib import Path

import pytest

from cachezoo import to_go
from cachezoo.to_go import FILE, ToGo, in_words, timed


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data/sources").mkdir(parents=True)
    for name in ("one", "two", "three"):
        (tmp_path / f"data/sources/{name}.json").touch()


def test_what_is_left_of_a_run_is_all_that_it_has_not_had():
    ToGo("7 100", {"one": 60.0, "two": 30.0, "three": 600.0, "gone": 1000.0}).save()
    with timed("one", "7 100") as said:
        assert said == "about 60 s, the whole pipeline at most 12 min to go"
    with timed("two", "7 100") as said:
        assert said == "about 30 s, the whole pipeline at most 10 min to go"
    # Another run begins with nothing done.
    with timed("two", "8 200") as said:
        assert said.endswith("at most 11 min to go")


def test_a_stage_that_never_ran_here_promises_nothing_and_is_known_afterwards(monkeypatch):
    monkeypatch.setattr(to_go.time, "monotonic", iter([0.0, 12.34]).__next__)
    with timed("one", "1") as said:
        assert said == ""
    assert ToGo.read("2").seconds == {"one": 12.3}


def test_jobs_that_were_kept_do_not_make_a_stage_look_short(monkeypatch):
    ToGo("1", {"one": 100.0}).save()
    monkeypatch.setattr(to_go.time, "monotonic", iter([0.0, 1.0]).__next__)
    with timed("one", "1"):
        pass
    assert ToGo.read("1").seconds == {"one": 50.0}


def test_a_stage_that_failed_has_not_been_had():
    with pytest.raises(KeyError), timed("one", "1"):
        raise KeyError
    assert not Path(FILE).exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"colour": 1}', '{"seconds": 3}', '{"seconds": {"one": "x"}}'])
def test_a_damaged_file_counts_as_none(text):
    FILE.parent.mkdir()
    FILE.write_text(text)
    assert ToGo.read("1") == ToGo("1")


def test_times_in_words():
    assert [in_words(seconds) for seconds in (0.4, 89.4, 90, 700)] == ["0 s", "89 s", "2 min", "12 min"]
