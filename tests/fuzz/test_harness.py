"""The harness itself: what it calls a finding, and that nothing gets past it."""

import itertools
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.read import TraceFiles, read_files
from tests.fuzz import campaign, trace_targets
from tests.fuzz.accounting import HEADERS, span, text_rows
from tests.fuzz.limits import Hang, limited
from tests.fuzz.mutators import binary, text
from tests.fuzz.seeds import trace_seeds
from tests.fuzz.target import Finding, Target, attempt
from tests.fuzz.worker import Session, unguided


def planted(check: Callable[[bytes, Path], None]) -> Target:
    """A target of a reader with a fault."""
    return Target("planted", lambda: (b"1,2\n3,4\n",), text, check)


def forever(data: bytes, folder: Path) -> None:
    while True:
        pass


def waiting(data: bytes, folder: Path) -> None:
    time.sleep(600)


def greedy(data: bytes, folder: Path) -> None:
    np.ones(1 << 34, np.uint8)


def told(data: bytes, folder: Path) -> None:
    trace_targets.told(TraceError("two\nlines"), folder)


def fails(data: bytes, folder: Path) -> None:
    read_files(TraceFiles([], "msr"))


@pytest.mark.parametrize("hang", [forever, waiting])
def test_a_hang_is_ended(hang) -> None:
    with pytest.raises(Hang, match=r"longer than 0\.05 s"), limited(seconds=0.05):
        hang(b"", Path())


@pytest.mark.parametrize(
    ("check", "key"),
    [
        (greedy, "MemoryError in outside cachezoo"),
        (told, "Broken in one line"),
        (fails, "TraceError in traces/read.py:__init__"),
    ],
)
def test_what_comes_out_of_a_reader_is_a_finding(check, key, tmp_path) -> None:
    finding = attempt(planted(check), b"x", tmp_path)
    assert finding is not None and finding.key == key and finding.data == b"x"
    assert attempt(planted(lambda data, folder: None), b"x", tmp_path) is None


def test_findings_of_one_place_are_one_and_the_shortest_input_is_kept(tmp_path) -> None:
    session = Session(planted(fails), tmp_path)
    for data in (b"long input", b"in", b"input"):
        session.one(data)
    kept = [path for path in (tmp_path / "findings").iterdir() if path.suffix != ".json"]
    assert [path.read_bytes() for path in kept] == [b"in"]
    assert json.loads(kept[0].with_suffix(".json").read_text())["key"] == "TraceError in traces/read.py:__init__"
    assert session.executions == 3


def test_without_coverage_inputs_are_tried_until_time_is_up(tmp_path, monkeypatch) -> None:
    ticks = itertools.count(1000.0, 0.01)
    monkeypatch.setattr("tests.fuzz.worker.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    session = Session(planted(lambda data, folder: None), tmp_path)
    unguided(session, 0.05, Random(0))
    assert json.loads((tmp_path / "status.json").read_text())["executions"] == session.executions > 1


@pytest.mark.parametrize("change", [text, binary])
def test_mutators_change_most_inputs_and_stay_short(change) -> None:
    seed = trace_seeds("msr")[0]
    made = [change(seed, Random(number), 2000) for number in range(200)]
    assert sum(data != seed for data in made) > 190 and len(set(made)) > 180
    assert max(map(len, made)) <= 2000


def test_a_lost_row_is_a_finding(tmp_path, monkeypatch) -> None:
    honest = trace_targets.read_either
    monkeypatch.setattr(trace_targets, "read_either", lambda files: honest(files).take(np.arange(5)))
    finding = attempt(trace_targets.trace_target("msr"), trace_seeds("msr")[0], tmp_path)
    assert finding is not None and finding.key == "Broken in no silent loss"


def test_a_row_lost_where_a_block_ends_is_a_finding(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("cachezoo.traces.delimited._plain", lambda block, layout: block[:-1].rpartition(b"\n")[0])
    finding = attempt(trace_targets.trace_target("msr"), trace_seeds("msr")[0], tmp_path)
    assert finding is not None and finding.key.startswith("Broken in ")


def test_rows_are_counted_without_blanks_comments_and_header() -> None:
    data = b"\xef\xbb\xbf# a\nTimestamp,Hostname,x\n\n1,a\n  \n#2\n3,b\r\n4,\rc"
    assert text_rows(data, HEADERS["msr"]) == 4
    assert span("fio", b"fio version 2 iolog\na add\na wait 5 0\n", Path(), {}) == (1, 2)
    assert span("blkparse", data, Path(), {}) is None


def test_a_process_that_dies_leaves_its_input(tmp_path) -> None:
    run = campaign.Run("msr", tmp_path, 10.0)
    (tmp_path / "current").write_bytes(b"deadly")
    run.log.write_text("Killed")
    run.died("the process ended with -9")
    [(path, key)] = run.findings()
    assert path.read_bytes() == b"deadly" and key == "the process ended with -9"
    assert path.name == Finding("msr", b"", key, "").name


def test_coverage_is_read_from_the_log(tmp_path) -> None:
    run = campaign.Run("msr", tmp_path, 10.0)
    run.log.write_text("#2\tINITED cov: 215 ft: 2\n#9\tNEW    cov: 220 ft: 8\n#9\tDONE   cov: 223 ft: 8\n")
    (tmp_path / "status.json").write_text('{"executions": 9, "seconds": 3.0}')
    run.close()
    assert (run.covered, run.executions, run.spent) == ((215, 223), 9, 3.0)


@pytest.mark.slow(seconds=60)
def test_a_campaign_ends_with_a_table_and_says_how_to_repeat_a_finding(tmp_path, capsys) -> None:
    given = ["--minutes", "0.01", "--jobs", "1", "--target", "weights-forest", "--folder", str(tmp_path)]
    assert campaign.main(given) == 0
    table = capsys.readouterr().out
    assert re.search(r"weights-forest +│ +[1-9][\d,]* │ +\d[\d,]* │ .*\(\+\d+\) +│ +0 │", table)
    assert any((tmp_path / "weights-forest" / "corpus").iterdir())


def test_a_campaign_with_a_finding_fails(tmp_path, capsys, monkeypatch) -> None:
    def found(runs, jobs, advance) -> None:
        runs[0].folder.mkdir(parents=True)
        runs[0].log.write_text("")
        runs[0].died("gone")

    monkeypatch.setattr(campaign, "campaign", found)
    assert campaign.main(["--target", "msr", "--folder", str(tmp_path)]) == 1
    assert f"-m tests.fuzz.replay msr {tmp_path}/msr/findings/" in capsys.readouterr().out
