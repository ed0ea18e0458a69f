import fcntl
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cachezoo.errors import CachezooError, ConfigError
from cachezoo.io import write_json
from cachezoo.study import run
from cachezoo.study.depends import Pipeline
from cachezoo.study.grid import grid
from cachezoo.study.run import STUDIES, Training, runs

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".cache").mkdir(mode=0o700)
    return tmp_path


def training(root: Path, name: str = "one") -> Training:
    job = {"system": "caching", "category": "web", "step": "fit", "model": "caching.web.x", "depth": "whole"}
    return Training(root / STUDIES / name, job, {"seed": "none"}, {"data": root}, f"fit of {name}")


def run_all(root: Path, chains: Sequence[Sequence[Training]], jobs: int) -> None:
    with runs(root, jobs, len(chains)) as running:
        running.run(chains)
    assert running.done == running.planned == len(chains)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, list[str]]]]:
    """Trainings that say their end at once and leave later; each with those that were running when it started."""
    seen: list[tuple[str, list[str]]] = []
    processes: dict[str, subprocess.Popen[bytes]] = {}

    def begin(seconds: float, end: str = "done.json") -> list[tuple[str, list[str]]]:
        code = f"import pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text('{{}}'); time.sleep({seconds})"

        def start(_: Path, training: Training) -> subprocess.Popen[bytes]:
            training.prepare()
            others = [name for name, process in processes.items() if process.poll() is None]
            seen.append((training.folder.name, sorted(others)))
            processes[training.folder.name] = subprocess.Popen([sys.executable, "-c", code, str(training.folder / end)])
            return processes[training.folder.name]

        monkeypatch.setattr(run, "_start", start)
        return seen

    return begin


def test_a_judging_waits_for_the_end_of_its_fit_and_a_fit_of_several_runs_once(root: Path, started) -> None:
    fit, other, first, second, third = (training(root, name) for name in ("fit", "other", "a", "b", "c"))
    seen = started(0.4)
    run_all(root, [[fit, first], [fit, second], [other, third], [other, third]], 2)
    names = [name for name, _ in seen]
    assert sorted(names) == ["a", "b", "c", "fit", "other"]
    assert all("fit" not in beside for name, beside in seen if name in "ab")
    assert all(len(beside) < 2 for _, beside in seen) and any(beside for _, beside in seen)


def test_what_ctrl_c_ends_says_how_many_are_done_and_leaves_no_process(
    root: Path, started, monkeypatch: pytest.MonkeyPatch
) -> None:
    chains = [[training(root, name)] for name in ("one", "two", "three")]
    started(0)
    begun: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(run.subprocess.Popen, "kill", lambda own: (begun.append(own), own.send_signal(9))[0])
    with pytest.raises(KeyboardInterrupt, match=r"^1 of 3 trainings are done$"), runs(root, 1, 3) as running:
        running.run(chains[:1])
        started(60, "half.json")
        monkeypatch.setattr(run, "wait", interrupted)
        running.run(chains[1:])
    assert len(begun) == 1 and begun[0].returncode == -9


def test_lines_say_how_many_are_done_and_how_long_the_rest_takes(
    root: Path, started, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cachezoo.console.PLAIN_INTERVAL_S", 0.0)
    started(0)
    kept = training(root, "kept")
    kept.prepare()
    write_json(kept.folder / "done.json", {})
    run_all(root, [[kept], [training(root, "one")], [training(root, "two")]], 1)
    first, begun, second, third = capsys.readouterr().err.splitlines()
    assert begun == "study: 3 trainings, 1 done yet; each may take minutes"
    assert first == "study: 33 %, 1 of 3 trainings"
    assert re.fullmatch(r"study: 67 %, 2 of 3 trainings, about \d+ s left", second)
    assert third == "study: 100 %, 3 of 3 trainings, about 0 s left"


def test_the_first_line_in_a_file_says_how_many_trainings_there_are_and_that_none_is_done(
    root: Path, started, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    started(0)
    begin = run._start

    def heard(*given: Any) -> subprocess.Popen[bytes]:
        said.append(capsys.readouterr().err)
        return begin(*given)

    monkeypatch.setattr(run, "_start", heard)
    run_all(root, [[training(root, "one")], [training(root, "two")]], 1)
    assert said == ["study: 2 trainings, none done yet; each may take minutes\n", ""]


def interrupted(_: object) -> list[int]:
    time.sleep(0.2)
    raise KeyboardInterrupt


def test_a_training_that_fails_is_named_with_what_it_said_and_is_not_done(root: Path) -> None:
    one = training(root)
    said = r"fit of one: ended with status 1 \(params\.yaml: .*fix it in conf/.*\); its log is .*one/log\.txt"
    with pytest.raises(CachezooError, match=said) as error:
        run_all(root, [[one]], 1)
    assert "\n" not in str(error.value) and not one.done


def test_what_is_done_is_not_run_again_and_what_is_half_done_begins_anew(root: Path) -> None:
    one, two = training(root), training(root, "two")
    for each in (one, two):
        each.prepare()
        (each.folder / "left").write_text("of an earlier run")
    write_json(one.folder / "done.json", {"choosing": 0.5})
    run_all(root, [[one], [one]], 2)
    assert one.figures() == {"choosing": 0.5} and (one.folder / "left").exists()
    with pytest.raises(CachezooError, match="fit of two"):
        run_all(root, [[one], [two]], 2)
    assert not (two.folder / "left").exists() and (one.folder / "left").exists()


def test_two_studies_of_a_project_do_not_run_at_once(root: Path) -> None:
    (root / STUDIES).mkdir()
    with (root / STUDIES / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="another study of this project is running"):
            run_all(root, [[training(root)]], 1)


def test_a_stage_s_places_are_filled_in_and_its_name_is_made_of_what_it_hangs_on() -> None:
    pipeline = Pipeline(ROOT)
    kept, other, besides = (
        grid(ROOT, texts)[0].params for texts in ([], ["fit.caching.batch=8"], ["evaluate.capacity_fraction=0.2"])
    )
    arch = kept.model.caching.arch
    fit, judge = (pipeline.stage(f"{step}_caching", "web", kept) for step in ("fit", "judge"))
    assert fit.script == "pipelines/fit_caching.py" and "data.roles.web" in fit.params
    assert fit.outs == (f"models/fitted/caching/caching.web.{arch}",) and fit.outs[0] in judge.deps
    assert not any("$" in text for stage in (fit, judge) for text in (*stage.deps, *stage.params, *stage.outs))
    inputs = {"data/requests/web/web_train.parquet": "0" * 64}
    name = pipeline.key(fit, kept, inputs)
    assert name == Pipeline(ROOT).key(fit, besides, inputs)
    figures = Path("src/cachezoo/systems/caching/study.py")
    others = [
        pipeline.key(fit, other, inputs), pipeline.key(fit, kept, {}), pipeline.key(judge, kept, inputs),
        pipeline.key(fit, kept, inputs, figures),
    ]  # fmt: skip
    assert len({name, *others}) == 5
