"""`cachezoo study` on the tiny pipeline: killed and gone on with, the same bytes again, every system."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.errors import TrainingError
from cachezoo.io import read_json
from cachezoo.models.trained import read_trained
from cachezoo.systems.base import studied_of
from cachezoo.systems.registry import SYSTEMS
from tests.e2e.workspace import ROOT

pytestmark = pytest.mark.slow
STUDIES = Path(".cache/study")
LEFT_OUT = ("mlflow*", ".dvc", ".cache", "report", "bundles")


@pytest.fixture(scope="module")
def project(made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "copy"
    shutil.copytree(made.folder, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (folder / ".cache").mkdir(mode=0o700)
    return folder


def start(project: Path, *words: str) -> subprocess.Popen[str]:
    kernels = os.environ.get("CACHEZOO_CACHE_DIR", str(ROOT / ".cache"))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CACHEZOO_CACHE_DIR": kernels}
    command = [sys.executable, "-c", "from cachezoo.cli import main; main()", "study", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=project, env=env, text=True, **pipes)


def finish(project: Path, *words: str) -> str:
    process = start(project, *words)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out


def done(project: Path) -> dict[str, int]:
    """When each training that has come to its end did."""
    return {path.parent.name: path.stat().st_mtime_ns for path in (project / STUDIES).glob("*/done.json")}


def running(project: Path) -> list[str]:
    """Trainings of the project that run."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:  # it has ended by now
            continue
        if b"cachezoo.study.training" in words and any(str(project).encode() in word for word in words):
            found.append(place.parent.name)
    return found


def wait_for(condition, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_killed_study_goes_on_and_gives_the_bytes_of_one_that_was_not(project: Path, made) -> None:
    asked = ("--category", "alpha", "--seeds", "2", "--out", "o.json")
    words = (*asked, "--set", "fit.caching.max_epochs=1,2", "--jobs", "1")
    for ending in (signal.SIGKILL, signal.SIGINT):
        before = set(done(project))
        process = start(project, *words)
        wait_for(lambda before=before: len(done(project)) > len(before) and running(project))
        process.send_signal(ending)
        process.communicate(timeout=60)
        assert process.returncode not in (0, None)
        wait_for(lambda: not running(project), 30)
    kept = done(project)
    assert kept and not (project / "o.json").exists()
    finish(project, *words)
    assert {name: when for name, when in done(project).items() if name in kept} == kept
    assert len(done(project)) == 8
    first, ended = (project / "o.json").read_bytes(), done(project)
    finish(project, *words)
    assert (project / "o.json").read_bytes() == first and done(project) == ended

    shutil.rmtree(project / STUDIES)
    finish(project, *asked, "--jobs", "2")
    rows, (alone,) = json.loads(first)["categories"]["alpha"], read_json(project / "o.json")["categories"]["alpha"]
    assert [row["is_params_yaml"] for row in rows] == [True, False]
    assert {**rows[0], "set": {}, "setting": "params.yaml"} == alone
    name = "caching.alpha.lstm_small"
    shipped = (made.folder / "models/trained" / name / "weights.safetensors").read_bytes()
    trained = [path.read_bytes() for path in (project / STUDIES).glob(f"*/models/trained/{name}/weights.safetensors")]
    assert shipped in trained and len(set(trained)) == 2
    metrics = read_json(made.folder / "metrics/alpha.json")["traces"]["alpha_test"]
    own = next(row for row in metrics["rows"] if row["policy"] == name)
    assert rows[0]["test"]["alpha_test"]["each"][0] == pytest.approx(own["hit_ratio"])


@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_every_system_says_what_its_models_do_on_the_test_traces_and_what_chooses(
    made, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made.folder)
    params, studied = load_params(), studied_of(SYSTEMS[system])
    scopes = {"all": [""], "page category": ["alpha", "beta"], "category": ["alpha", "beta", "gamma"]}
    for category in scopes[SYSTEMS[system].scope]:
        keys = [category] if category else []
        found = studied.tests(params, *keys)
        assert set(found) == ({f"{category}_test"} if category else {"alpha_test", "beta_test"})
        assert all(value >= 0 for value in found.values())
        arch = getattr(params.model, system).arch
        folder = paths.trained(".".join([system, *keys, arch]))
        if not read_trained(folder).trained:
            continue
        if system == "workload":
            with pytest.raises(TrainingError, match="too few validation windows for a loss"):
                studied.choosing(folder)
        else:
            assert studied.choosing(folder) > 0
            assert studied.judging in read_trained(folder).validation


def test_a_forest_is_studied(project: Path) -> None:
    found = json.loads(finish(project, "--system", "admission", "--category", "gamma", "--seeds", "2", "--json"))
    (row,) = found["categories"]["gamma"]
    assert row["trained"] == [0, 1] and set(row["test"]) == {"gamma_test"}
    assert all(len(own["each"]) == 2 for own in (row["choosing"], row["judging"], *row["test"].values()))


def test_a_study_is_shown_in_mlflow_once(project: Path) -> None:
    from mlflow.tracking import MlflowClient

    words = ("--system", "admission", "--category", "gamma", "--seeds", "2", "--track")
    for _ in range(2):
        finish(project, *words)
        client = MlflowClient(tracking_uri=f"sqlite:///{project / 'mlflow.db'}")
        experiment = client.get_experiment_by_name("cachezoo studies").experiment_id
        runs = client.search_runs([experiment])
        children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
        assert (len(runs), len(children)) == (3, 2)
        assert {run.data.params["seed"] for run in children} == {"0", "1"}
        assert all({"choosing", "test/gamma_test"} <= set(run.data.metrics) for run in children)


def test_what_is_missing_is_named_with_the_command_that_makes_it(project: Path) -> None:
    folder = project / "data/features/alpha"
    folder.rename(project / "away")
    try:
        process = start(project, "--category", "alpha", "--seeds", "2")
        _, err = process.communicate(timeout=120)
    finally:
        (project / "away").rename(folder)
    assert process.returncode == 1
    assert err.strip().endswith("data/features/alpha: is not there; run `make repro`, whose outputs a study reads")
    for words, said in ((("--seeds", "1"), "a spread takes two at least"), (("--system", "x"), "cannot be studied")):
        process = start(project, *words)
        assert said in process.communicate(timeout=120)[1] and process.returncode == 1
