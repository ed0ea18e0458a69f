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


LABELS = ("Read as", "Answer", "Learned?", "Buy", "SSD wear", "Trust", "Run it", "Page")


def labels(said: str) -> list[str]:
    return [line[:11].strip() for line in said.splitlines() if line[:11].strip()]


def test_the_first_answer_is_short_and_writes_nothing(folder):
    status, said, _ = run("raw.2026.csv", "--no-models")
    assert status == 0
    assert labels(said) == list(LABELS[:-1])
    whole = " ".join(said.split())
    for part in ("of write-back SSD cache", "As a read cache, ", "; its SSD holds only copies."):
        assert part in whole
    assert "too short to say" in said  # four seconds are recorded: nothing is said of years
    commands = [line for line in said.splitlines() if "cachezoo " in line]
    assert all(len(line) <= 80 for line in said.splitlines() if line not in commands)
    own, reads, system = commands[-3:]
    assert own.startswith("Run it     cachezoo serve DISK --ssd SSD --policy ")
    assert reads.startswith(f"{'':11}or, as a read cache: cachezoo serve DISK --ssd SSD --policy ")
    size = own.split()[own.split().index("--size") + 1]
    assert f" --size {size} --mode " in reads
    assert system.endswith(f": cachezoo recommend raw.2026.csv --for bcache --size {size}")
    assert {path.name for path in folder.iterdir()} == {"raw.2026.csv", "trace.parquet"}


def test_wide_enough_it_is_few_lines(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, said, _ = run("raw.2026.csv", "--no-models")
    assert len(said.splitlines()) <= 12


def test_a_page_is_written_where_it_is_named(folder):
    status, said, _ = run("raw.2026.csv", "--no-models", "-o", "own.page.html")
    assert status == 0
    assert said.splitlines()[-1] == "Page       own.page.html"
    assert Path("own.page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert not Path("raw.2026.csv.recommend.html").exists()


def table_of(said: str) -> list[str]:
    return [line for line in said.splitlines() if line[:20].count("iB") == 1 and line.endswith("iB ")]


def test_more_shows_what_each_size_brings(folder):
    status, said, _ = run("raw.2026.csv", "--no-models", "--more")
    assert status == 0
    table = table_of(said)
    assert len(table) >= 5
    assert sum(line.startswith(" > ") for line in table) == 1
    assert "Confidence" not in said and "again: cachezoo simulate raw.2026.csv --policy " in said


def test_the_first_row_that_is_shown_is_held_against_none(folder):
    status, said, _ = run("raw.2026.csv", "--no-models", "--size", "37p", "-v")
    assert status == 0
    table = table_of(said)
    assert len(table) == 9
    assert [" +" in line for line in table] == [False, *[True] * 8]


def test_both_modes_have_the_figures_of_simulate_and_compare(folder):
    _, said, _ = run("trace.parquet", "--no-models", "--json")
    found = json.loads(said)
    pages = f"{found['capacity_pages']}p"
    back, reads = found["run"], found["read_cache"]
    asked = ("trace.parquet", "--size", pages, "--json")
    (own,) = json.loads(command_line.run("simulate", *asked, "--policy", back["policy"]).stdout)["runs"]
    assert back["mode"] == "back" and own["hit_ratio"] == back["promise"]
    rows = json.loads(command_line.run("compare", *asked, "--policy", back["policy"]).stdout)["runs"][0]["rows"]
    assert {row["policy"]: row["hit_ratio"] for row in rows} == {
        back["policy"]: back["promise"], "belady_bypass": found["optimum_hit_ratio"]
    }  # fmt: skip
    words = ("--policy", reads["policy"], "--writes", reads["mode"])
    (own,) = json.loads(command_line.run("simulate", *asked, *words).stdout)["runs"]
    assert own["ssd_writes"] == reads["ssd_pages_written"]
    assert own["hits"] == reads["read_pages_found"] if reads["mode"] == "around" else own["hits"]
    assert reads["read_hit_ratio"] == reads["read_pages_found"] / reads["read_pages"]


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


def test_a_trace_from_a_pipe_has_to_be_saved_for_the_next_command(folder):
    os.mkfifo("pipe")
    feeding = threading.Thread(target=lambda: Path("pipe").write_text(Path("raw.2026.csv").read_text()))
    feeding.start()
    status, said, _ = run("pipe", "--no-models", "-v")
    feeding.join()
    assert status == 0
    assert "again (save what came by the pipe as FILE first): cachezoo simulate FILE --policy " in said
    assert "cachezoo recommend FILE --for bcache --size " in said


def test_endurance_in_petabytes(folder):
    trace = seeded_trace(2000, 300, 1)
    long = Trace(**{**vars(trace), "time_us": np.arange(2000, dtype=np.int64) * 10_000_000})
    write_trace(long, Path("long.parquet"))
    lives = []
    for text in ("2PBW", "2000tbw", "1000TBW"):
        _, said, _ = run("long.parquet", "--no-models", "--json", "--endurance", text)
        lives.append(json.loads(said)["sizes"][0]["ssd_lifetime_years"])
    assert lives[0] == lives[1] == pytest.approx(2 * lives[2])
