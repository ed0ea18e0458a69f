"""The real pipeline on tiny traces, laid over temporary clones of this repository's HEAD."""

import collections
import contextlib
import gzip
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest
import yaml
from dvc.repo import Repo
from nbclient import NotebookClient

from cachezoo.config.matrix import NewTrace, add_trace
from cachezoo.traces.store import read_trace
from scripts import data_dictionary

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(__file__).parent / "tiny"
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
CATEGORIES = ("alpha", "beta")
ADMISSION, CACHING, WORKLOAD = "admission.{}.lgbm", "caching.{}.lstm_small", "workload.lstm50"
BLOCK, SMALL = f"{ADMISSION}_block", f"{ADMISSION}_small"
REUSE = "reuse.follow"
# compare runs the bundle's network on onnxruntime, the evaluate stage the weights on torch: a last digit may turn a
# decision, and with it what the cache holds from then on.
COMPARE_TOLERANCE = 0.005

KILLS = 12
STAGE = re.compile(r"pipelines/(\w+)\.py")
BEGUN = re.compile(r"Running stage '([^']+)'")

pytestmark = [pytest.mark.slow(seconds=600), pytest.mark.needs("git")]


def clone(folder: Path, origin: Path = ROOT) -> Path:
    for name in ("home", "tmp"):
        (folder.parent / name).mkdir()
    subprocess.run(["git", "clone", "-q", str(origin), str(folder)], check=True, timeout=120)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    spec = importlib.util.spec_from_file_location("make_traces", TINY / "make_traces.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    make.write(folder / "data/raw/tiny")
    shutil.copy(TINY / "pages.yaml", folder / "conf/matrix.yaml")
    shutil.copy(TINY / "overrides.yaml", folder / "conf")
    # Else stages of the real pipeline stay in it, and DVC writes it anew after each stage.
    (folder / "dvc.lock").unlink(missing_ok=True)
    (folder / "zoo.json").unlink(missing_ok=True)  # champions of the real pipeline, whose archives are elsewhere
    (folder / ".dvc/config.local").write_text(f"[core]\n    site_cache_dir = {folder}/.cache/dvc\n")
    (folder / ".cache").mkdir(mode=0o700)  # as scripts/bootstrap.sh does, before DVC makes it for everyone
    subprocess.run([*GIT, "add", "-A"], cwd=folder, check=True, timeout=60)
    subprocess.run([*GIT, "commit", "-q", "--allow-empty", "-m", "tiny"], cwd=folder, check=True, timeout=60)
    return folder


def environment(folder: Path) -> dict[str, str]:
    # The shared environment's editable install points at this checkout; the clone's own sources come first.
    # Compiled kernels are the checkout's: their folder is named by their sources.
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    outside = {"HOME": str(folder.parent / "home"), "TMPDIR": str(folder.parent / "tmp")}
    kernels = os.environ.get("CACHEZOO_CACHE_DIR", str(ROOT / ".cache"))
    return {**kept, **outside, "PYTHONPATH": str(folder / "src"), "CACHEZOO_CACHE_DIR": kernels}


def start(folder: Path, *targets: str) -> subprocess.Popen:
    with (folder.parent / "log").open("ab") as log:
        return subprocess.Popen(
            [".venv/bin/python", "scripts/repro.py", "--verbose", *targets],
            cwd=folder,
            env=environment(folder),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # A test run in the background inherits Ctrl-C ignored; a user's `dvc repro` has it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )


def finish(process: subprocess.Popen, folder: Path) -> None:
    status = process.wait(timeout=600)
    assert status == 0, (folder.parent / "log").read_text()[-3000:]


def rerun(folder: Path, *targets: str) -> set[str]:
    """Stages that `make repro` runs, or its runner for some targets."""
    log = folder.parent / "log"
    since = log.stat().st_size if log.exists() else 0
    finish(start(folder, *targets), folder)
    return set(BEGUN.findall(log.read_bytes()[since:].decode()))


def repro(folder: Path, *targets: str) -> str:
    """What DVC alone says; of many stages it takes several times as long as `rerun`."""
    done = dvc(folder, "repro", *targets)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def dvc(folder: Path, *args: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [".venv/bin/dvc", *args],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=420,
        check=False,
    )


def cachezoo(folder: Path, *args: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [".venv/bin/python", "-c", "from cachezoo.cli import main; main()", *args],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def running(folder: Path) -> list[str]:
    """Command lines of the processes that work in a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "cwd").startswith(str(folder)):
                found.append((entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return found


@dataclass(frozen=True)
class Ended:
    """One run that was ended: by what, in which stage's process (None between stages), and what still ran after."""

    number: signal.Signals
    stage: str | None
    orphans: list[str]


@dataclass
class Runs:
    """Two clones in two folders, run side by side: one undisturbed, the other ended again and again and resumed."""

    first: Path
    other: Path
    ended: list[Ended] = field(default_factory=list)


def locked(folder: Path) -> set[str]:
    """Stages that have ended."""
    lock = folder / "dvc.lock"
    return set(yaml.load(lock.read_bytes(), yaml.CSafeLoader)["stages"]) if lock.exists() else set()


def begun(log: Path, since: int) -> int:
    """How many stages a log says were begun after its first so many bytes."""
    return log.read_bytes()[since:].count(b"Running stage '")


def end_one(folder: Path, stages: int, delay_s: float, number: signal.Signals, everything: bool) -> Ended | None:
    """End a run some time after so many stages have begun; None if it came to its end before.

    SIGKILL hits DVC alone or all of its processes and leaves them no chance; SIGINT hits everything, as Ctrl-C does.
    """
    log = folder.parent / "log"
    since = log.stat().st_size if log.exists() else 0
    process = start(folder)
    deadline = time.monotonic() + 300
    while process.poll() is None and begun(log, since) < stages:
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.02)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=delay_s)
    if process.poll() is not None:
        assert process.returncode == 0, log.read_text()[-3000:]
        return None
    found = [STAGE.search(line) for line in running(folder)]
    if everything or number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.kill()
    assert process.wait(timeout=60) != 0
    deadline = time.monotonic() + 10
    while running(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return Ended(number, next((match[1] for match in found if match), None), running(folder))


def end_often(both: Runs, seed: int) -> None:
    """End runs of the other clone at random moments, spread over the whole pipeline."""
    rng, total = random.Random(seed), len(Repo(str(both.first)).index.stages)
    for left in range(KILLS, 0, -1):
        share = (total - len(locked(both.other))) / (left + 1)
        number = signal.SIGINT if left % 5 == 0 else signal.SIGKILL
        # So many stages, and so many seconds of them, that on average enough are left for those that come after.
        stages, delay_s = rng.randint(1, max(1, round(2 * share))), rng.uniform(0, min(3, share))
        ended = end_one(both.other, stages, delay_s, number, everything=rng.random() < 0.5)
        if ended is None:
            return
        both.ended.append(ended)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    first = clone(tmp_path_factory.mktemp("first") / "clone")
    other = clone(tmp_path_factory.mktemp("second") / "another-name", origin=first)
    both = Runs(first, other)
    undisturbed = start(first)
    try:
        end_often(both, seed=20161)
        finish(start(other), other)
        finish(undisturbed, first)
    finally:
        undisturbed.kill()
        undisturbed.wait(timeout=30)
    return both


@pytest.fixture(scope="module")
def first(runs):
    return runs.first


def test_every_stage_wrote_its_outputs(first):
    for category in CATEGORIES:
        metrics = json.loads((first / f"metrics/{category}.json").read_text())
        trace = metrics["traces"][f"{category}_test"]
        ratios = {row["policy"]: row["hit_ratio"] for row in trace["rows"]}
        models = {ADMISSION.format(category), CACHING.format(category), REUSE}
        assert {"lru", "lfu", "larc", "rejectx", "belady_bypass", *models} <= set(ratios)
        assert models == set(metrics["models"])
        assert max(ratios.values()) == ratios["belady_bypass"] > ratios["lru"] > 0
        assert 0.1 * trace["page_accesses"] - 1 <= trace["warmup"] <= trace["page_accesses"] / 3 + 1


def test_what_to_buy_is_chosen_at_every_budget_and_judged(first):
    for category in CATEGORIES:
        tiers = json.loads((first / f"metrics/tiers/{category}.json").read_text())
        chosen = {(budget["share"], family) for budget in tiers["budgets"] for family in budget["choices"]}
        rows = tiers["traces"][f"{category}_test"]["rows"]
        assert {(row["budget"], row["family"]) for row in rows} == chosen
        assert {"ram", "l2arc", "hca", "zoo"} <= {family for share, family in chosen if share == tiers["advised"]}
    assert 'id="tiers-alpha"' in (first / "report/index.html").read_text()


def test_whether_to_share_is_chosen_at_every_size_and_judged(first):
    share = json.loads((first / "metrics/share/mixes.json").read_text())
    rows = share["mixes"]["all"]["rows"]
    assert set(share["mixes"]["all"]["apps"]) == {f"{category}_test" for category in CATEGORIES}
    for size in share["sizes"]:
        assert {"equal", "shared", "ucp", "gvpa", "gvpa_cost"} <= set(size["choices"])
        run = {row["family"] for row in rows if row["size"] == size["share"]}
        assert run == {*size["choices"], "static", "hindsight"}
    assert [size["share"] for size in share["sizes"]] == [0.1, 0.3] and share["advised"] in share["counts"]
    assert 'id="share-all"' in (first / "report/index.html").read_text()


def test_results_prints_one_table_or_all(first):
    shown = cachezoo(first, "results").stdout
    assert "alpha_test" in shown and len(shown.splitlines()) < 40
    done = cachezoo(first, "results", "-v")
    assert "alpha_test" in done.stdout
    assert "belady_bypass" in done.stdout and "What to buy" in done.stdout and "Share or split" in done.stdout
    assert f"models/bundles/{exported(first)[0]}" in done.stdout


def test_models_beside_the_full_one_have_verdicts_figures_and_inputs(first):
    for category in CATEGORIES:
        flash = json.loads((first / f"metrics/flash/{category}.json").read_text())
        assert set(flash["beside"]) == {BLOCK.format(category), SMALL.format(category)}
        for name, one in flash["beside"].items():
            folder = first / "models/trained" / name
            trained = json.loads((folder / "train.json").read_text())
            assert one["reason"] == trained["reason"] and set(one["traces"]) == {f"{category}_test"}
            names = [feature["name"] for feature in trained["features"]]
            assert set(json.loads((folder / "inputs.json").read_text())) == set(names)
            assert not {"user", "namespace"} & set(names) and trained["encodings"] == {}
        small = json.loads((first / "models/trained" / SMALL.format(category) / "train.json").read_text())
        assert small["arch"]["trees"] <= small["arch"]["max_trees"] == 4


def exported(folder: Path) -> list[str]:
    """Ids of the models that have a bundle; export may refuse one, and says why in its place."""
    found = {path.name: path for path in (folder / "models/bundles").iterdir()}
    kinds = [kind.format(category) for kind in (ADMISSION, BLOCK, SMALL, CACHING) for category in CATEGORIES]
    assert {*kinds, WORKLOAD, REUSE} <= set(found) == {path.name for path in (folder / "models/trained").iterdir()}
    assert all((path / "manifest.json").exists() != (path / "REFUSED.json").exists() for path in found.values())
    return sorted(name for name, path in found.items() if (path / "manifest.json").exists())


@pytest.mark.parametrize("kind", ["admission", "caching", "reuse", "workload"])
def test_a_bundle_of_each_kind_verifies(first, kind):
    model_id = next(name for name in exported(first) if name.startswith(kind))
    report = json.loads(cachezoo(first, "bundle", "verify", f"models/bundles/{model_id}", "--json").stdout)
    assert report["ok"] is True
    assert report["golden_rows"] > 0


@pytest.mark.parametrize("category", CATEGORIES)
def test_compare_agrees_with_what_evaluate_found(first, category):
    ids = [name for name in exported(first) if name == CACHING.format(category)]  # forests decide for a flash cache
    requests = f"data/requests/{category}/{category}_test.parquet"
    bundles = [word for model_id in ids for word in ("--bundle", f"models/bundles/{model_id}")]
    done = cachezoo(first, "compare", requests, *bundles, "--json")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)["runs"][0]
    metrics = json.loads((first / f"metrics/{category}.json").read_text())["traces"][f"{category}_test"]
    found = {row["policy"]: row for row in table["rows"]}
    expected = {row["policy"]: row for row in metrics["rows"]}
    untuned = [row for row in metrics["rows"] if row["kind"] == "classic" and row["policy"] not in metrics["tuned"]]
    assert table["best_classic"] == untuned[0]["policy"]
    assert expected[metrics["best_classic"]]["hits"] >= untuned[0]["hits"]
    assert {name for name, row in found.items() if row["kind"] == "model"} == set(ids)
    for policy, row in found.items():
        slack = COMPARE_TOLERANCE * metrics["page_accesses"] if policy.startswith("caching") else 0
        assert abs(row["hits"] - expected[policy]["hits"]) <= slack, policy


def test_a_damaged_bundle_is_one_line(first, tmp_path):
    copy = tmp_path / "damaged"
    shutil.copytree(first / "models/bundles/admission.alpha.lgbm", copy)
    content = bytearray((copy / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (copy / "model.onnx").write_bytes(bytes(content))
    done = cachezoo(first, "bundle", "verify", str(copy))
    assert done.returncode == 1
    assert "model.onnx" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_nothing_outside_the_clones_was_written(runs, first):
    # A process that is killed cannot take away what it had in TMPDIR.
    for folder in (first.parent / "home", first.parent / "tmp", runs.other.parent / "home"):
        assert [str(path) for path in folder.rglob("*")] == []
    sites = [Path(name) for name in ("/var/cache/dvc", "/var/tmp/dvc", "/tmp/dvc")]
    assert not [site for site in sites if str(first) in " ".join(map(str, site.rglob("*")))]


def test_the_data_dictionary_says_all_that_was_written(first):
    errors = data_dictionary.errors_of(first)
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize(("name", "folder"), [("01-explore-a-trace", "notebooks"), ("02-compare-models", ".")])
def test_a_notebook_runs(first, tmp_path, monkeypatch, name, folder):
    names = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")
    places = {place: str(tmp_path / place.lower()) for place in names}
    for place, path in places.items():
        monkeypatch.setenv(place, path)
    notebook = nbformat.read(first / f"notebooks/{name}.ipynb", nbformat.NO_CONVERT)
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(first / folder)}})
    client.execute(env={**environment(first), **places})
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    data = [output.get("data", {}) for output in shown]
    assert sum("image/png" in one or "<svg" in one.get("text/html", "") for one in data) >= 5
    assert not [output for output in shown if output.output_type == "error" or output.get("name") == "stderr"]


def test_a_second_repro_does_nothing(first):
    assert "up to date" in repro(first)


def test_one_knob_reruns_only_its_consumers(first):
    overrides = first / "conf/overrides.yaml"
    before, params = overrides.read_text(), (first / "params.yaml").read_text()
    lock = (first / "dvc.lock").read_text()
    try:
        overrides.write_text(before + "  - evaluate.capacity_fraction=0.2\n")
        ran = rerun(first)
        # evaluate and judge_virtual read the knob; bundles carry the figures, MLflow and the report show them.
        stages = ("judge_virtual", "evaluate", "evaluate_virtual", "export_admission", "export_caching")
        consumers = {f"{stage}@{c}" for stage in stages for c in CATEGORIES}
        assert {"compose", "track", "report", *consumers} <= ran
        readers = ("compose", "judge_virtual", "evaluate", "export_", "report", "track")
        assert all(name.startswith(readers) for name in ran), ran
    finally:
        overrides.write_text(before)
        rerun(first)
    assert (first / "params.yaml").read_text() == params
    assert (first / "dvc.lock").read_text() == lock


def test_a_typo_in_conf_is_one_line_and_params_stay(first):
    overrides = first / "conf/overrides.yaml"
    before, params = overrides.read_text(), (first / "params.yaml").read_text()
    try:
        overrides.write_text("overrides: [+evaluate.colour=red]\n")
        done = dvc(first, "repro", "compose")
        assert done.returncode != 0
        assert "evaluate.colour" in done.stdout + done.stderr
        assert (first / "params.yaml").read_text() == params
    finally:
        overrides.write_text(before)
        rerun(first)


def test_runs_were_ended_at_many_moments_and_left_no_process(runs, record_property):
    hit = collections.Counter(ended.stage or "between stages" for ended in runs.ended)
    record_property("ended in", dict(hit))
    assert len(runs.ended) >= KILLS - 1
    assert len(set(hit) - {"between stages"}) >= 5, hit
    assert [ended for ended in runs.ended if ended.orphans] == []


def test_ended_runs_resume_to_the_same_lock_in_another_folder(runs, first):
    assert (runs.other / "dvc.lock").read_bytes() == (first / "dvc.lock").read_bytes()
    left = [path for name in ("data", "models", "metrics", "report") for path in (runs.other / name).rglob(".*")]
    assert [str(path) for path in left] == []


def test_ended_runs_are_tracked_once(runs):
    with contextlib.closing(sqlite3.connect(runs.other / "mlflow.db")) as store:
        found = sorted(store.execute("SELECT name, status FROM runs WHERE lifecycle_stage = 'active'"))
    assert found == [(path.name, "FINISHED") for path in sorted((runs.other / "models/trained").iterdir())]


def test_git_sees_no_output_that_dvc_keeps(runs):
    for folder in (runs.first, runs.other):
        command = [*GIT, "status", "--short", "--untracked-files=all"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        changed = {line[3:] for line in done.stdout.splitlines()}
        names = {*yaml.safe_load((folder / "conf/matrix.yaml").read_text())["categories"], "workload", "reuse", "mixes"}
        files = [path for path in (folder / "metrics").rglob("*.json") if path.stem in names]
        metrics = {str(path.relative_to(folder)) for path in files}
        assert {*(f"metrics/{name}.json" for name in names - {"mixes"}), "metrics/share/mixes.json"} <= metrics
        assert changed == {"params.yaml", "dvc.lock", "models/track.json", *metrics}


@pytest.fixture
def copied(first, tmp_path):
    """The clone that has run, somewhere else."""
    folder = tmp_path / "clone"
    shutil.copytree(first, folder, symlinks=True)
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    (folder / ".dvc/config.local").write_text(f"[core]\n    site_cache_dir = {folder}/.cache/dvc\n")
    return folder


def to_run(folder: Path) -> set[str]:
    """Stages whose inputs or outputs have changed; `dvc repro --dry` stops at one whose input is yet to come."""
    done = dvc(folder, "status", "--json")
    assert done.returncode == 0, done.stderr[-3000:]
    return set(json.loads(done.stdout))


def test_an_added_trace_concerns_its_category_alone(copied, tmp_path):
    assert to_run(copied) == set()
    rows = [
        f"{128166372003061629 + 10_000 * k},usr,0,{'Write' if k % 3 else 'Read'},{4096 * (k % 700)},8192,{100 + k}\n"
        for k in range(2000)
    ]
    foreign = tmp_path / "usr_0.csv.gz"
    foreign.write_bytes(gzip.compress("".join(rows).encode()))
    key = add_trace(copied, NewTrace(foreign, "alpha", "train")).key
    repro(copied, f"ingest@{key}")
    trace = read_trace(copied / f"data/requests/alpha/{key}.parquet")
    assert (key, trace.meta.source_format, trace.meta.category) == ("alpha_train_2", "msr", "alpha")
    assert trace.time_us.tolist() == [1000 * k for k in range(2000)]
    assert trace.offset.tolist() == [4096 * (k % 700) for k in range(2000)]
    stages = to_run(copied)
    assert {f"{stage}@{key}" for stage in ("replay", "label_benefit", "features", "label_episodes")} <= stages
    assert {f"{stage}@alpha" for stage in ("fit_caching", "fit_admission", "evaluate")} <= stages
    assert "fit_workload" in stages
    assert not [stage for stage in stages if "@beta" in stage]
    ran = rerun(copied, f"replay@{key}", "judge_admission@beta")
    assert f"replay@{key}" in ran and "judge_admission@beta" not in ran


def test_own_traces_are_fitted_in_and_challenge(copied, tmp_path):
    """`make retrain` without its bootstrap: what was exported before takes its seat, what is made anew challenges."""
    own = tmp_path / "own.csv"
    own.write_bytes((copied / "data/raw/tiny/alpha_test.csv").read_bytes()[:-1])
    before = (copied / "conf/matrix.yaml").read_text()
    done = subprocess.run(
        [".venv/bin/python", "scripts/retrain.py", "--category", "alpha", str(own)],
        cwd=copied, env=environment(copied), capture_output=True, text=True, timeout=420, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    said = [line for line in done.stdout.splitlines() if line.startswith("models/bundles/")]
    assert [line.split(":")[0].split("/")[-1].split(".")[0] for line in said] == ["admission", "reuse"]
    after = (copied / "conf/matrix.yaml").read_text()
    assert after.count("imported/own.csv") == 2 and "imported/own.csv" not in before
    zoo = json.loads((copied / "zoo.json").read_text())
    assert set(zoo["seats"]) == {"flash/alpha", "page/all"}
    for line, seat in zip(said, (zoo["seats"]["flash/alpha"], zoo["seats"]["page/all"]), strict=True):
        held = seat["champion"] or seat["challenger"]
        assert (copied / "models/zoo" / f"{held['model_digest']}.zip").exists()
        assert ("is champion" in line) == (seat["champion"] is not None and seat["challenger"] is None)
    shown = cachezoo(copied, "zoo", "--json")
    assert json.loads(shown.stdout) == zoo
