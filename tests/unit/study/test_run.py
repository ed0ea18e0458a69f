import fcntl
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cachezoo.errors import CachezooError, ConfigError
from cachezoo.pinned import PINNED
from cachezoo.study import run
from cachezoo.study.depends import CHOOSING, WHOLE, Pipeline, Training
from cachezoo.study.grid import grid
from cachezoo.study.run import FILE, FITS, STUDIES, runs
from cachezoo.zoo.registry import SYSTEMS

ROOT = Path(__file__).resolve().parents[3]
FOUND = {"trained": True, "promoted": False, "choosing": 1 / 3}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".cache").mkdir(mode=0o700)
    return tmp_path


def training(name: str = "one", fit: str = "") -> Training:
    return Training(name, fit or name, f"web, {name}", "web", {"seed": "none"}, (), "caching.web.x", "whole")


def run_all(root: Path, trainings: Sequence[Training], jobs: int = 1) -> dict[str, Any]:
    pipeline: Any = SimpleNamespace(root=root, system=SYSTEMS["caching"])
    with runs(pipeline, jobs, len(trainings)) as running:
        running.run(trainings)
    assert running.done == running.planned == len(trainings)
    return running._found


class Pool(Executor):
    """Does in this process what is asked of it, at once."""

    def __init__(self, work: Callable[[Training], dict[str, Any]]) -> None:
        self.work, self.asked = work, list[list[str]]()

    def submit(self, fn: Any, root: Any, system: str, trainings: list[Training]) -> Future[Any]:
        self.asked.append([one.key for one in trainings])
        future: Future[Any] = Future()
        try:
            future.set_result([self.work(one) for one in trainings])
        except (KeyboardInterrupt, BrokenProcessPool) as error:
            future.set_exception(error)
        return future


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    made = Pool(lambda _: FOUND)
    monkeypatch.setattr(run, "workers", lambda *_, **__: nullcontext(made))
    return made


def test_what_is_done_is_not_run_again_and_a_fit_of_several_runs_in_one_process(root: Path, pool: Pool) -> None:
    one, two, three = training("one"), training("two", "fit"), training("three", "fit")
    run_all(root, [one])
    diverged = {"trained": False, "promoted": False}
    pool.work = lambda own: diverged if own.key == "two" else FOUND
    asked = [one, two, three, two]
    found = run_all(root, asked)
    assert pool.asked == [["one"], ["two", "three"]]
    assert run_all(root, asked) == found == {"one": FOUND, "two": diverged, "three": FOUND}
    assert len(pool.asked) == 2 and (root / FILE).is_file()


def interrupt(_: Training) -> dict[str, Any]:
    raise KeyboardInterrupt


def test_ctrl_c_says_how_many_are_done_and_these_stay(root: Path, pool: Pool) -> None:
    run_all(root, [training("one")])
    pool.work = interrupt
    with pytest.raises(KeyboardInterrupt, match=r"^1 of 2 trainings are done$"):
        run_all(root, [training("one"), training("two")])
    pool.work = lambda _: FOUND
    run_all(root, [training("one"), training("two")])
    assert pool.asked == [["one"], ["two"], ["two"]]


def test_lines_say_how_many_are_done_and_how_long_the_rest_takes(
    root: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cachezoo.console.PLAIN_INTERVAL_S", 0.0)
    run_all(root, [training("kept")])
    assert capsys.readouterr().err.startswith("study: 1 trainings, none done yet; each may take minutes\n")
    run_all(root, [training("kept"), training("one"), training("two")])
    first, begun, second, third = capsys.readouterr().err.splitlines()
    assert begun == "study: 3 trainings, 1 done yet; each may take minutes"
    assert first == "study: 33 %, 1 of 3 trainings"
    assert re.fullmatch(r"study: 67 %, 2 of 3 trainings, about \d+ s left", second)
    assert third == "study: 100 %, 3 of 3 trainings, about 0 s left"


def test_a_training_that_fails_is_named_with_what_it_said_and_is_not_done(root: Path) -> None:
    said = r"^web, one: params\.yaml: .*fix it in conf/.*; its log is .*study/log\.txt$"
    for _ in range(2):
        with pytest.raises(CachezooError, match=said):
            run_all(root, [training()])
        assert list((root / FITS).iterdir()) == []
    assert "Traceback" in (root / STUDIES / "log.txt").read_text()


def test_a_process_that_is_killed_ends_the_study_in_one_line(root: Path, pool: Pool) -> None:
    def killed(_: Training) -> dict[str, Any]:
        raise BrokenProcessPool

    pool.work = killed
    with pytest.raises(CachezooError, match=r"was killed, perhaps for want of memory; its log is .*log\.txt$"):
        run_all(root, [training()])


def test_trainings_begin_in_the_environment_of_the_stages(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    @contextmanager
    def no_pool(*given: Any, shared: bool) -> Iterator[None]:
        asked.append((*given, shared))
        yield None

    monkeypatch.setattr(run, "workers", no_pool)
    run_all(root, [])
    ((jobs, _, env, shared),) = asked
    assert (jobs, env, shared) == (1, PINNED, True)


def test_a_storage_that_optuna_cannot_use_is_named(root: Path, pool: Pool) -> None:
    run_all(root, [training()])
    (root / FILE).write_bytes(b"no database" * 100)
    with pytest.raises(CachezooError, match=r"optuna\.db: Optuna cannot use it \(.*not a database.*\); delete it"):
        run_all(root, [training()])


def test_two_studies_of_a_project_do_not_run_at_once(root: Path) -> None:
    (root / STUDIES).mkdir()
    with (root / STUDIES / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="another study of this project is running"):
            run_all(root, [training()])


def test_a_training_is_named_by_all_that_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline(ROOT, SYSTEMS["caching"])
    inputs: dict[str, str] = {}
    monkeypatch.setattr(Pipeline, "_inputs", lambda *_: dict(inputs))
    kept, fitted, judged, besides = (
        grid(ROOT, [text] if text else [])[0]
        for text in ("", "fit.caching.batch=8", "policy.manager.on_hit=[requeue]", "evaluate.capacity_fraction=0.2")
    )

    def named(setting: Any, seed: int = 0, depth: str = CHOOSING) -> Training:
        return pipeline.training("web", setting, seed, depth)

    one = named(kept)
    assert one.model == f"caching.web.{kept.params.model.caching.arch}" and one.reads == ()
    assert replace(named(besides), tree=one.tree, title=one.title) == one
    assert named(kept, depth=WHOLE).fit == named(judged).fit == one.fit
    others = [named(fitted), named(judged), named(kept, 1), named(kept, depth=WHOLE)]
    inputs["data/requests/web/web_train.parquet"] = "0" * 64
    others.append(named(kept))
    assert len({one.key, *(own.key for own in others)}) == 6
    assert len({own.fit for own in (one, named(fitted), named(kept, 1), named(kept))}) == 4
