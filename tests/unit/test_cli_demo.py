"""`cachezoo demo`: what it prints, writes, refuses and leaves; the caches themselves run in tests/unit/demo."""

import json
import os
import signal
from contextlib import contextmanager

import numpy as np
import pytest

from cachezoo.demo import in_process, mounted, run
from cachezoo.demo.answer import Answer
from cachezoo.demo.replay import Counted
from cachezoo.errors import DeviceError
from cachezoo.runtime import abi
from cachezoo.show.formats import NONE
from tests.command_line import run as command

ANSWER = Answer(("3 MiB of page cache, LIRS.",), "lirs", 768, "back", "cachezoo serve DISK --ssd SSD --policy lirs")


class Quick:
    """A disk that forgets nothing and takes no time; half of what it is asked for hits."""

    def __init__(self, disk):
        self.data, self.asked = bytearray(disk.read_bytes()), 0

    @property
    def counted(self):
        return Counted(self.asked // 2, self.asked)

    def read(self, offset, size):
        self.asked += 1
        return bytes(self.data[offset : offset + size]), 100.0

    def write(self, offset, data):
        self.asked += 1
        self.data[offset : offset + len(data)] = data
        return 1.0


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """The demo with such disks; the folders that it made."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    seen = []

    @contextmanager
    def cached(policy, pages, writes, disk, ssd, wait_s):
        seen.append((policy, pages, writes, disk.parent))
        yield Quick(disk)

    monkeypatch.setattr(mounted, "possible", lambda: False)
    monkeypatch.setattr(abi, "library", lambda: object())
    monkeypatch.setattr(in_process, "cached", cached)
    monkeypatch.setattr(run, "answer", lambda trace, advance=None: ANSWER)
    monkeypatch.setattr(run, "promised", lambda *_: 0.5)
    monkeypatch.setattr(run, "_learned", lambda: "/nowhere/reuse.follow")
    return seen


def test_it_shows_an_answer_a_row_a_policy_and_the_next_command(quick, tmp_path):
    said = command("demo").stdout
    assert [policy for policy, *_ in quick] == [None, "lru", "lirs", "/nowhere/reuse.follow"]
    assert {(pages, writes) for _, pages, writes, _ in quick} == {(768, "back")}
    lines = said.splitlines()
    assert "3 MiB of page cache, LIRS." in said and lines[-1].startswith("Next") and "cachezoo recommend" in lines[-1]
    rows = [line for line in lines if any(f" {name} " in line for name in ("no cache", "lru", "lirs", "reuse.follow"))]
    assert len(rows) == 4 and NONE in rows[0] and all("50.0 %" in row for row in rows[1:])
    assert os.listdir(tmp_path / "temporary") == [] and os.listdir(tmp_path) == ["temporary"]


def test_what_o_names_is_kept(quick, tmp_path):
    found = json.loads(command("demo", "--json", "-o", "a.png", "-o", "a.csv", "-o", "a.json").stdout)
    assert found == json.loads((tmp_path / "a.json").read_text()) and len(found["rows"]) == 4
    assert found["rows"][0] == {"policy": "no cache", "hits_promised": None, "hits_measured": None, "mean_us": 100.0,
                                "p99_us": 100.0}  # fmt: skip
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG") and len(
        (tmp_path / "a.csv").read_text().split()
    ) > 4
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "a.json", "a.png", "temporary"]


def test_a_fault_while_it_runs_is_one_line_and_leaves_nothing(quick, tmp_path, monkeypatch):
    def fail(*_):
        raise DeviceError("request 7: what was read at 0 is not what was written last")

    monkeypatch.setattr(run, "replay", fail)
    done = command("demo", ok=False)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("cachezoo: request 7: ")
    assert os.listdir(tmp_path / "temporary") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_nothing(quick, tmp_path, monkeypatch, number):
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr(run, "replay", lambda *_: signal.raise_signal(number))
    assert command("demo", ok=False).returncode == 128 + number
    assert os.listdir(tmp_path / "temporary") == []
    assert {one: signal.getsignal(one) for one in before} == before


def test_without_anything_that_serves_it_says_what_to_do(quick, monkeypatch):
    monkeypatch.setattr(abi, "library", lambda: None)
    done = command("demo", ok=False)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and not quick
    assert "neither: run make demo, " in line and "make runtime builds both" in line


def test_without_room_it_says_so(quick, monkeypatch):
    monkeypatch.setattr(run, "ROOM", 1 << 60)
    assert "MiB there; make room, or set TMPDIR" in command("demo", ok=False).stderr


def test_no_plot_is_drawn_of_a_name_that_has_none(quick):
    assert "give a name that ends in .png or .svg" in command("demo", "-o", "a.html", ok=False).stderr and not quick


def test_the_values_are_of_the_times_that_were_measured():
    row = run.Row("lru", 0.5, 0.5, np.arange(1.0, 102.0))
    assert row.values()["mean_us"] == 51.0 and row.values()["p99_us"] == 100.0
