"""`cachezoo recommend` as people run it: anywhere, on raw files, with clear refusals."""

import json
import os
import shlex
import threading
from pathlib import Path

import numpy as np
import pytest

from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace
from tests import command_line
from tests.page_data import seeded_trace


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that is no project, with a raw trace and the same as Parquet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(1)
    rows = [f"{k * 700},{'RW'[k % 3 == 0]},{4096 * page},4096\n" for k, page in enumerate(rng.zipf(1.2, 6000) % 900)]
    Path("raw.2026.csv").write_text("time_us,op,offset,size\n" + "".join(rows))
    write_trace(seeded_trace(2000, 300, 1), Path("trace.parquet"))
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    done = command_line.run("recommend", *words, ok=None)
    return done.returncode, done.stdout, done.stderr


def test_a_line_a_table_a_page_and_the_next_command(folder):
    status, said, _ = run("raw.2026.csv", "--no-models")
    assert status == 0
    lines = said.splitlines()
    assert lines[0].startswith("Run ")
    assert lines[-2] == "page: raw.2026.csv.recommend.html"
    assert lines[-1].startswith("next: cachezoo simulate raw.2026.csv --policy ")
    assert "SSD per GiB" in said  # four seconds are recorded: nothing is said of a day
    table = [line for line in lines if line[:20].count("iB") == 1 and line.endswith("iB ")]
    assert len(table) >= 5
    assert max(map(len, lines[1 : lines.index(table[-1]) + 3])) <= 80
    assert sum(line.startswith(" > ") for line in table) == 1
    assert Path("raw.2026.csv.recommend.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {path.name for path in folder.iterdir()} == {"raw.2026.csv", "trace.parquet", "raw.2026.csv.recommend.html"}


def test_the_first_row_that_is_shown_is_held_against_none(folder):
    status, said, _ = run("raw.2026.csv", "--no-models", "--size", "37p")
    assert status == 0
    table = [line for line in said.splitlines() if line[:20].count("iB") == 1 and line.endswith("iB ")]
    assert len(table) == 9
    assert ["+" in line for line in table] == [False, *[True] * 8]


@pytest.mark.parametrize("reading", [(), ("--columns", "time=ts:ms,offset=pos,size=len,op=rw")])
def test_the_next_command_reads_the_trace_alike_and_gives_the_recommended_row(folder, reading):
    rng = np.random.default_rng(2)
    rows = [f"{k};{512 * 8 * page};8192;W\n" for k, page in enumerate(rng.zipf(1.2, 3000) % 500)]
    Path("own trace.txt").write_text("ts;pos;len;rw\n" + "".join(rows))
    status, said, _ = run("own trace.txt" if reading else "trace.parquet", *reading, "--no-models", "--json")
    assert status == 0
    found = json.loads(said)
    row = next(row for row in found["sizes"] if row["capacity_pages"] == found["capacity_pages"])
    (own,) = json.loads(command_line.run(*shlex.split(found["next"][0])[1:], "--json").stdout)["runs"]
    assert (own["hit_ratio"], own["ssd_writes"]) == (row["hit_ratio"], row["ssd_pages_written"])


def test_json_alone_writes_no_page(folder):
    status, said, _ = run("trace.parquet", "--no-models", "--json")
    assert status == 0
    assert json.loads(said)["models"] is None
    assert not list(folder.glob("*.html"))
    status, said, _ = run("trace.parquet", "--no-models", "--json", "-o", "own.html")
    assert status == 0
    assert json.loads(said)["trace"] == "trace.parquet"
    assert Path("own.html").is_file()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--size", "64"), "64p"),
        (("--size", "150%"), "100 %"),
        (("--size", "1GiB", "--target-hit", "0.5"), "--size and --target-hit"),
        (("--target-ms", "0"), "above 0"),
        (("--target-ms=-1",), "above 0"),
        (("--endurance", "600"), "600TBW"),
        (("--endurance", "0TBW"), "600TBW"),
        (("--device", "nosuch"), "no such device profile"),
        (("--device", "no.yaml"), "no such file"),
        (("--models", "nowhere"), "no such folder"),
        (("--no-models", "--try"), "--no-models"),
        (("--no-models", "--models", "."), "--no-models"),
        (("-o", "trace.parquet"), "would be replaced"),
        (("--format", "nosuch"), "nosuch"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(folder, words, named):
    status, said, error = run("trace.parquet", *words)
    assert status == 1
    assert said == ""
    assert len(error.splitlines()) == 1
    assert named in error
    assert {path.name for path in folder.iterdir()} == {"raw.2026.csv", "trace.parquet"}


def test_a_hit_ratio_in_percent(folder):
    found = []
    for text in ("0.5", "50%", ".5", "50 %"):
        _, said, _ = run("trace.parquet", "--no-models", "--json", "--target-hit", text)
        found.append(json.loads(said))
    assert found[0]["why"] in ("reached", "on average")
    assert all(one == found[0] for one in found)


def test_a_model_that_is_not_there_is_refused_before_the_trace_is_read(folder):
    Path("none").mkdir()
    Path("bad.parquet").write_text("no trace")
    status, said, error = run("bad.parquet", "--try", "--models", "none")
    assert (status, said) == (1, "")
    assert "make repro" in error


def test_a_trace_from_a_pipe_has_to_be_saved_for_the_next_command(folder):
    os.mkfifo("pipe")
    feeding = threading.Thread(target=lambda: Path("pipe").write_text(Path("raw.2026.csv").read_text()))
    feeding.start()
    status, said, _ = run("pipe", "--no-models")
    feeding.join()
    assert status == 0
    last = said.splitlines()[-1]
    assert last.startswith("next (save what came by the pipe as FILE first): cachezoo simulate FILE --policy ")
    assert "save it as FILE first" in Path("pipe.recommend.html").read_text(encoding="utf-8")


def test_endurance_in_petabytes(folder):
    trace = seeded_trace(2000, 300, 1)
    long = Trace(**{**vars(trace), "time_us": np.arange(2000, dtype=np.int64) * 10_000_000})
    write_trace(long, Path("long.parquet"))
    lives = []
    for text in ("2PBW", "2000tbw", "1000TBW"):
        _, said, _ = run("long.parquet", "--no-models", "--json", "--endurance", text)
        lives.append(json.loads(said)["sizes"][0]["ssd_lifetime_years"])
    assert lives[0] == lives[1] == pytest.approx(2 * lives[2])
