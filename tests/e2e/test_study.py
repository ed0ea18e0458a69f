"""`cachezoo models study` on the tiny pipeline: killed and gone on with, the same bytes again, every system."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.errors import TrainingError
from cachezoo.io import read_json
from cachezoo.models.trained import read_trained
from cachezoo.study.run import FILE, FITS, STUDIES
from cachezoo.zoo.base import studied_of
from cachezoo.zoo.registry import SYSTEMS
from tests.e2e.workspace import ROOT

pytestmark = pytest.mark.slow(seconds=300)
LEFT_OUT = ("mlflow*", ".dvc", ".cache", "report", "bundles")


@pytest.fixture(scope="module")
def project(made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "copy"
    shutil.copytree(made.folder, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (folder / ".cache").mkdir(mode=0o700)
    return folder


def environment() -> dict[str, str]:
    kernels = os.environ.get("CACHEZOO_CACHE_DIR", str(ROOT / ".cache"))
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CACHEZOO_CACHE_DIR": kernels}


def start(project: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from cachezoo.cli import main; main()", "models", "study", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=project, env=environment(), text=True, **pipes)


def finish(project: Path, *words: str) -> str:
    process = start(project, *words)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out


def done(project: Path, system: str) -> set[str]:
    """Names of the trainings of a system that have come to their end."""
    text = (
        "SELECT value_json FROM trial_user_attributes JOIN trials USING (trial_id) JOIN studies USING (study_id) "
        "WHERE key = 'key' AND study_name = ?"
    )
    if not (project / FILE).exists():
        return set()
    with contextlib.closing(sqlite3.connect(project / FILE)) as file, contextlib.suppress(sqlite3.OperationalError):
        return {row[0] for row in file.execute(text, (system,))}
    return set()


def fits(project: Path) -> dict[str, int]:
    """When each fit that has come to its end began to be kept."""
    return {path.name: path.stat().st_ino for path in (project / FITS).glob("[0-9a-f]*")}


def stop(process: subprocess.Popen[str], how: signal.Signals) -> str:
    """End a study and see that its processes end with it; what it said."""
    trainings = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert trainings and not psutil.wait_procs(trainings, timeout=30)[1]
    assert process.returncode not in (0, None) and "Traceback" not in err
    return err


def wait_for(condition, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.long
def test_a_killed_study_goes_on_and_gives_the_bytes_of_one_that_was_not(project: Path, made) -> None:
    asked = ("--category", "alpha", "--seeds", "2", "--out", "o.json")
    words = (*asked, "--set", "fit.caching.max_epochs=1,2", "--jobs", "1")
    for ending in (signal.SIGKILL, signal.SIGINT):
        before = len(done(project, "caching"))
        process = start(project, *words)
        wait_for(lambda before=before: len(done(project, "caching")) > before)
        err = stop(process, ending)
    # The last one was Ctrl-C.
    assert process.returncode == 130 and err.splitlines()[-1] == (
        f"cachezoo: interrupted; {len(done(project, 'caching'))} of 4 trainings are done and kept in .cache/study: "
        "the same command goes on from there"
    )
    kept = fits(project)
    assert kept and not (project / "o.json").exists()
    finish(project, *words)
    ended = fits(project)
    assert kept.items() <= ended.items() and len(ended) == len(done(project, "caching")) == 4
    first = (project / "o.json").read_bytes()
    finish(project, *words)
    assert (project / "o.json").read_bytes() == first and fits(project) == ended

    shutil.rmtree(project / STUDIES)
    finish(project, *asked, "--jobs", "2")
    rows, (alone,) = json.loads(first)["categories"]["alpha"], read_json(project / "o.json")["categories"]["alpha"]
    assert [row["is_params_yaml"] for row in rows] == [True, False]
    assert {**rows[0], "set": {}, "setting": "params.yaml"} == alone
    name = "caching.alpha.lstm_small"
    shipped = (made.folder / paths.trained(name) / "weights.safetensors").read_bytes()
    files = (project / FITS).glob(f"*/{paths.trained(name)}/weights.safetensors")
    trained = [path.read_bytes() for path in files]
    assert shipped in trained and len(set(trained)) == 2
    metrics = read_json(made.folder / "metrics/page/alpha.json")["traces"]["alpha_test"]
    own = next(row for row in metrics["rows"] if row["policy"] == name)
    assert rows[0]["test"]["alpha_test"]["each"][0] == pytest.approx(own["hit_ratio"])


@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_every_system_says_what_its_models_do_on_the_test_traces_and_what_chooses(
    made, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made.folder)
    params, studied = load_params(), studied_of(SYSTEMS[system])
    scopes = {"all": [""], "page category": ["alpha", "beta"], "category": ["alpha", "beta", "gamma"]}
    scopes["stream category"] = list(params.data.cycles)
    for category in scopes[SYSTEMS[system].scope]:
        keys = [category] if category else []
        found = studied.tests(params, *keys)
        arch = getattr(params.model, system).arch
        folder = paths.trained(".".join([system, *keys, arch]))
        trained = read_trained(folder).trained
        if system == "streams" and not trained:
            assert found == {}  # nothing was judged, and so nothing was chosen
            continue
        assert set(found) == ({f"{category}_test"} if category else {"alpha_test", "beta_test"})
        assert all(value >= 0 for value in found.values())
        if not trained:
            continue
        if system == "workload":
            with pytest.raises(TrainingError, match="too few validation traces or windows for a loss"):
                studied.choosing(folder)
        else:
            assert studied.choosing(folder) > 0
            assert studied.judging in read_trained(folder).validation


def test_a_forest_is_studied_and_shown_in_mlflow_once(project: Path) -> None:
    from mlflow.tracking import MlflowClient

    words = ("--system", "admission", "--category", "gamma", "--seeds", "2", "--json", "--track")
    found = json.loads(finish(project, *words))
    (row,) = found["categories"]["gamma"]
    assert row["trained"] == [0, 1] and set(row["test"]) == {"gamma_test"}
    assert all(len(own["each"]) == 2 for own in (row["choosing"], row["judging"], *row["test"].values()))

    assert json.loads(finish(project, *words)) == found
    client = MlflowClient(tracking_uri=f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("cachezoo studies").experiment_id
    runs = client.search_runs([experiment])
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert (len(runs), len(children)) == (3, 2)
    assert {run.data.params["seed"] for run in children} == {"0", "1"}
    assert all({"choosing", "test/gamma_test"} <= set(run.data.metrics) for run in children)


@pytest.mark.long
def test_a_search_that_was_killed_goes_on_with_the_same_trials_and_fresh_seeds_confirm_it(project: Path) -> None:
    from mlflow.tracking import MlflowClient

    words = ("--system", "admission", "--category", "gamma", "--seeds", "2", "--optimize", "--trials", "3")
    words += ("--trial-seeds", "1", "--set", "model.admission.learning_rate=0.01..0.3:log")
    process = start(project, *words)
    before = len(done(project, "admission"))
    wait_for(lambda: len(done(project, "admission")) > before + 1)
    stop(process, signal.SIGKILL)
    kept = fits(project)
    finish(project, *words, "--out", "s.json", "--plot", "s.png", "--track")
    assert kept.items() <= fits(project).items() and (project / "s.png").stat().st_size > 10_000
    first, ended = (project / "s.json").read_bytes(), fits(project)
    said = finish(project, *words, "--out", "s.json")
    assert (project / "s.json").read_bytes() == first and fits(project) == ended

    found = json.loads(first)
    search, rows = found["search"], found["categories"]["gamma"]
    assert len(search["trials"]) == 3 and search["trials"][0]["setting"].endswith("(params.yaml)")
    assert all(len(trial["each"]) == 1 for trial in search["trials"]) and len(search["kept"]) == 3
    whole = {trial["number"]: trial for trial in search["kept"]}
    assert all(whole[trial["number"]]["each"][0] == trial["each"][0] for trial in search["trials"])
    assert search["chosen"] == min(whole.values(), key=lambda trial: trial["mean"])["number"]
    seed = load_params(project / "params.yaml").seed
    assert found["seed"] == seed + 2 and rows[0]["is_params_yaml"] and "test" in rows[0]
    assert all("test" not in row for row in rows[1:]) and "fresh seeds" in said
    # Figures of fresh seeds are those of no trial.
    assert not {value for trial in whole.values() for value in trial["each"]} & set(rows[-1]["choosing"]["each"])

    client = MlflowClient(tracking_uri=f"sqlite:///{project / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("cachezoo studies").experiment_id
    (parent,) = [run for run in client.search_runs([experiment]) if run.data.params.get("phase") == "search"
                 and "mlflow.parentRunId" not in run.data.tags]  # fmt: skip
    children = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'")
    phases = [run.data.params["phase"] for run in children]
    assert phases.count("search") == 3 and phases.count("final") == 2 * len(rows)
    assert {run.data.params["seed"] for run in children if run.data.params["phase"] == "final"} == {"2", "3"}

    shutil.copy(project / "s.json", project / "t.json")
    words = ("models", "study", "compare", "s.json", "t.json")
    run = [sys.executable, "-c", "from cachezoo.cli import main; main()", *words]
    shown = subprocess.run(run, cwd=project, env=environment(), capture_output=True, text=True, check=True, timeout=120)
    assert "the same" in shown.stdout and "not told apart" not in shown.stdout


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
