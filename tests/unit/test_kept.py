"""Jobs of a stage: what they read decides whether they are done again, and what they wrote is kept whole."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from cachezoo.config.load import load_params
from cachezoo.documents import Document
from cachezoo.errors import ConfigError
from cachezoo.kept import (
    KEPT,
    NEWEST,
    Each,
    Hashes,
    Job,
    all_traces,
    categories,
    corpora,
    keep,
    one_job,
    page_categories,
    restore,
    stream_categories,
)
from cachezoo.stage import Stage, run

ROOT = Path(__file__).resolve().parents[2]
PARAMS = load_params(ROOT / "params.yaml")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"data/sources/toy.json": "{}", "in/a/one": "1", "in/a/two": "2", "in/b/one": "3"}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    return tmp_path


def job(**changes):
    return replace(Job("toy", "a", {"seed": 1}, [Path("in/a")], [Path("out/a"), Path("out/a.json")]), **changes)


def written(text="made"):
    Path("out/a/deep").mkdir(parents=True, exist_ok=True)
    Path("out/a/deep/file").write_text(text)
    Path("out/a.json").write_text(text)


def test_the_jobs_of_the_matrix():
    rows = {row["key"]: row for row in all_traces(PARAMS)}
    assert len(rows) == len(PARAMS.data.traces) + len(PARAMS.data.writes)
    assert (rows["web_test"]["folder"], rows["spool_test"]["folder"]) == ("data/requests", "data/writes")
    assert [row["key"] for row in page_categories(PARAMS)] == PARAMS.data.page_categories
    assert {row["key"] for row in categories(PARAMS)} - {"blob"} == set(PARAMS.data.page_categories)
    assert {row["key"]: row["folder"] for row in stream_categories(PARAMS)}["ledger"] == "data/writes"
    assert {row["key"]: row["folder"] for row in corpora(PARAMS)}["web"] == "data/raw/corpus/web"
    assert one_job(PARAMS) == [{"key": ""}]


def test_places_and_values_are_filled_in_and_the_largest_job_comes_first(project):
    each = Each(
        lambda _: [{"key": "b", "category": "web"}, {"key": "a", "category": "mail"}],
        ["seed", "data.roles.{category}"], ["in/{key}"], ["out/{key}.{arch_caching}"],
    )  # fmt: skip
    first, second = each.jobs("toy", PARAMS)
    assert (first.key, second.key) == ("a", "b")
    assert second.values == {"seed": PARAMS.seed, "data.roles.web": PARAMS.data.roles["web"]}
    assert (second.reads, second.writes) == ([Path("in/b")], [Path(f"out/b.{PARAMS.model.caching.arch}")])
    assert each.job("toy", "b", PARAMS) == second
    with pytest.raises(ConfigError, match="toy: has no job 'c'; it has b, a"):
        each.job("toy", "c", PARAMS)
    with pytest.raises(ConfigError, match="holds no nosuch"):
        replace(each, values=["nosuch.x"]).jobs("toy", PARAMS)


CHANGES = {
    "a value": lambda: job(values={"seed": 2}),
    "another file's bytes": lambda: Path("in/a/two").write_text("22") and job(),
    "a file more": lambda: Path("in/a/three").write_text("") == 0 and job(),
    "a file less": lambda: Path("in/a/two").unlink() or job(),
    "a file of another name": lambda: Path("in/a/two").rename("in/a/2") and job(),
    "the sources": lambda: Path("data/sources/toy.json").write_text('{"edition": 2}') and job(),
    "another output": lambda: job(writes=[Path("out/a")]),
    "another job": lambda: job(key="b"),
    "another stage": lambda: job(stage="other"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_all_that_a_job_depends_on_is_in_its_digest(project, change):
    before = job().digest(Hashes())
    assert job().digest(Hashes()) == before
    assert CHANGES[change]().digest(Hashes()) != before


def test_what_a_job_does_not_read_is_not(project):
    before = job().digest(Hashes())
    Path("in/b/one").write_text("another")
    os.utime("in/a/one", (1, 1))
    written()
    assert job().digest(Hashes()) == before


def test_what_was_written_comes_back_whole_and_nothing_besides(project):
    written()
    keep(job(), "first")
    shutil.rmtree("out")
    assert restore(job(), "first")
    assert (Path("out/a/deep/file").read_text(), Path("out/a.json").read_text()) == ("made", "made")
    Path("out/a/left").write_text("of an older run")
    assert restore(job(), "first")
    assert not Path("out/a/left").exists()
    assert not restore(job(), "another")


@pytest.mark.parametrize("damage", [lambda file: file.write_text("x"), lambda file: file.unlink()])
@pytest.mark.parametrize("name", ["out/a/deep/file", "out/a.json", "files.json"])
def test_what_is_damaged_is_not_taken(project, damage, name):
    written()
    keep(job(), "first")
    damage(KEPT / "toy/a/first" / name)
    Path("out/a.json").write_text("as it was")
    assert not restore(job(), "first")
    assert Path("out/a.json").read_text() == "as it was"


def test_the_newest_results_of_a_job_are_kept(project):
    for number in range(4):
        written(str(number))
        keep(job(), str(number))
        os.utime(KEPT / f"toy/a/{number}", (number, number))
    assert sorted(path.name for path in (KEPT / "toy/a").iterdir()) == ["2", "3"]
    # What is gone back to is used, and so stays.
    assert NEWEST == 2 and restore(job(), "2")
    written("4")
    keep(job(), "4")
    assert sorted(path.name for path in (KEPT / "toy/a").iterdir()) == ["2", "4"]


class Made(Document):
    """What a stage returns."""

    key: str


@pytest.mark.parametrize("words", [[], ["a"]])
def test_a_document_that_a_stage_returns_is_written_where_the_stage_says(project, monkeypatch, words):
    shutil.copy(ROOT / "params.yaml", project)
    monkeypatch.setattr("cachezoo.stage.guarded", lambda _: nullcontext())
    each = Each(lambda _: [{"key": "a"}], ["seed"], ["in/{key}"], ["out/{key}.json"])
    Stage(lambda _, key: Made(key=key), each).start("toy", words)
    Stage(lambda _: Made(key="all"), writes="out/all.json").start("toy", [])
    Stage(lambda _: None, writes="out/none.json").start("toy", [])
    assert {path.name: json.loads(path.read_text()) for path in Path("out").iterdir()} == {
        "a.json": {"key": "a"}, "all.json": {"key": "all"},
    }  # fmt: skip
    assert (KEPT / "toy/a").exists() == (not words)
    with pytest.raises(ConfigError, match="takes nothing, got more; it is started by `dvc repro`"):
        Stage(lambda _: None).start("toy", ["more"])


def test_a_stage_that_there_is_not_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["stages.py", "nosuch"])
    with pytest.raises(SystemExit):
        run({"toy": Stage(print)})
    assert capsys.readouterr().err == "stages: there is no stage 'nosuch'; there are toy\n"


TOY = """
import sys, time
from pathlib import Path
from cachezoo.kept import Each
from cachezoo.stage import Stage, run

EACH = Each(lambda _: [{"key": key} for key in "abc"], ["seed"], ["in/{key}"], ["out/{key}"])

def main(params, key):
    with open("log", "a") as log:
        log.write(f"{key}\\n")
    while key == "c" and Path("wait").exists():
        time.sleep(0.05)
    Path("out").mkdir(exist_ok=True)
    Path("out", key).write_text(key * 3)

if __name__ == "__main__":
    run({"toy": Stage(main, EACH)})
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_stage_that_is_ended_keeps_the_jobs_that_had_ended(tmp_path, ending):
    for name in ("in/a", "in/b", "in/c", "wait"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / ".cache").mkdir(mode=0o700)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CACHEZOO_JOBS": "2", "PYTHONUNBUFFERED": "1"}
    kept = tmp_path / KEPT / "toy"

    def start():
        return subprocess.Popen(
            [sys.executable, "toy.py", "toy"], cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True
        )

    process, end = start(), time.monotonic() + 300
    while len(list(kept.glob("[ab]/*/files.json"))) < 2 or "c" not in (tmp_path / "log").read_text():
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.05)
    process.send_signal(ending)
    said = process.communicate(timeout=120)[1]
    assert (process.returncode != 0 and "toy.py" in said) or ending == signal.SIGKILL
    (tmp_path / "wait").unlink()
    for _ in range(2):
        again = start()
        said = again.communicate(timeout=300)[1]
        assert again.returncode == 0, said
    assert "toy: 3 of 3 jobs are as they were" in said
    assert sorted((tmp_path / "log").read_text().split()) == ["a", "b", "c", "c"]
    assert [path.read_text() for path in sorted((tmp_path / "out").iterdir())] == ["aaa", "bbb", "ccc"]
    assert set(json.loads((tmp_path / ".cache/to_go.json").read_text())["seconds"]) == {"toy"}
