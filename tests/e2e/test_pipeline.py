"""The real pipeline on tiny traces, laid over temporary clones of this repository's HEAD."""

import gzip
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from cachezoo.config.matrix import NewTrace, add_trace
from cachezoo.traces.store import read_trace
from scripts import data_dictionary

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(__file__).parent / "tiny"
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
CATEGORIES = ("alpha", "beta")
ADMISSION, CACHING, WORKLOAD = "admission.{}.lgbm", "caching.{}.lstm_small", "workload.lstm50"
# compare runs the bundle's network on onnxruntime, the evaluate stage the weights on torch: a last digit may turn a
# decision, and with it what the cache holds from then on.
COMPARE_TOLERANCE = 0.005

pytestmark = [pytest.mark.slow, pytest.mark.needs("git")]


def clone(folder: Path, origin: Path = ROOT) -> Path:
    for name in ("home", "tmp"):
        (folder.parent / name).mkdir()
    subprocess.run(["git", "clone", "-q", str(origin), str(folder)], check=True, timeout=120)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    spec = importlib.util.spec_from_file_location("make_traces", TINY / "make_traces.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    make.write(folder / "data/raw/tiny")
    for name in ("matrix.yaml", "overrides.yaml"):
        shutil.copy(TINY / name, folder / "conf" / name)
    (folder / ".dvc/config.local").write_text(f"[core]\n    site_cache_dir = {folder}/.cache/dvc\n")
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


def start(folder: Path) -> subprocess.Popen:
    with (folder.parent / "log").open("ab") as log:
        return subprocess.Popen(
            [".venv/bin/dvc", "repro"],
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


def repro(folder: Path, *targets: str) -> str:
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


def disturb(folder: Path, stage: str, number: signal.Signals) -> list[str]:
    """End a run as soon as it is in a stage; what still runs ten seconds later.

    SIGKILL hits DVC alone and leaves it no chance; SIGINT hits everything in the foreground, as Ctrl-C does.
    """
    process = start(folder)
    deadline = time.monotonic() + 300
    while process.poll() is None and not any(f"pipelines/{stage}.py" in line for line in running(folder)):
        assert time.monotonic() < deadline, f"{stage} was not reached"
        time.sleep(0.02)
    assert process.poll() is None, (folder.parent / "log").read_text()[-3000:]
    if number == signal.SIGKILL:
        process.kill()
    else:
        time.sleep(1)
        os.killpg(process.pid, number)
    assert process.wait(timeout=60) != 0
    deadline = time.monotonic() + 10
    while running(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return running(folder)


@dataclass
class Runs:
    """Two clones in two folders, run side by side: one undisturbed, the other ended twice and resumed."""

    first: Path
    other: Path
    orphans: dict[str, list[str]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    first = clone(tmp_path_factory.mktemp("first") / "clone")
    other = clone(tmp_path_factory.mktemp("second") / "another-name", origin=first)
    both = Runs(first, other)
    undisturbed = start(first)
    try:
        for stage, number in (("label_benefit", signal.SIGKILL), ("train_caching", signal.SIGINT)):
            both.orphans[stage] = disturb(other, stage, number)
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
        models = {ADMISSION.format(category), CACHING.format(category)}
        assert {"lru", "lfu", "larc", "rejectx", "belady_bypass", *models} <= set(ratios)
        assert models == set(metrics["models"])
        assert max(ratios.values()) == ratios["belady_bypass"] > ratios["lru"] > 0
        assert 0.1 * trace["page_accesses"] - 1 <= trace["warmup"] <= trace["page_accesses"] / 3 + 1


def test_results_prints_one_table(first):
    done = cachezoo(first, "results")
    assert "alpha_test" in done.stdout
    assert "belady_bypass" in done.stdout
    assert f"models/bundles/{exported(first)[0]}" in done.stdout


def exported(folder: Path) -> list[str]:
    """Ids of the models that have a bundle; export may refuse one, and says why in its place."""
    found = {path.name: path for path in (folder / "models/bundles").iterdir()}
    kinds = [kind.format(category) for kind in (ADMISSION, CACHING) for category in CATEGORIES]
    assert set(found) == {*kinds, WORKLOAD}
    assert all((path / "manifest.json").exists() != (path / "REFUSED.json").exists() for path in found.values())
    return sorted(name for name, path in found.items() if (path / "manifest.json").exists())


@pytest.mark.parametrize("kind", ["admission", "caching", "workload"])
def test_a_bundle_of_each_kind_verifies(first, kind):
    model_id = next(name for name in exported(first) if name.startswith(kind))
    report = json.loads(cachezoo(first, "bundle", "verify", f"models/bundles/{model_id}", "--json").stdout)
    assert report["ok"] is True
    assert report["golden_rows"] > 0


@pytest.mark.parametrize("category", CATEGORIES)
def test_compare_agrees_with_what_evaluate_found(first, category):
    ids = [name for name in exported(first) if name.split(".")[1] == category]
    requests = f"data/requests/{category}/{category}_test.parquet"
    bundles = [word for model_id in ids for word in ("--bundle", f"models/bundles/{model_id}")]
    done = cachezoo(first, "compare", requests, *bundles, "--json")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    metrics = json.loads((first / f"metrics/{category}.json").read_text())["traces"][f"{category}_test"]
    found = {row["policy"]: row for row in table["rows"]}
    expected = {row["policy"]: row for row in metrics["rows"]}
    assert table["best_classic"] == metrics["best_classic"]
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
    for folder in (first, runs.other):
        for name in ("home", "tmp"):
            assert [str(path) for path in (folder.parent / name).rglob("*")] == []
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
    assert sum("image/png" in output.get("data", {}) for output in shown) >= 5
    assert not [output for output in shown if output.output_type == "error" or output.get("name") == "stderr"]


def test_a_second_repro_does_nothing(first):
    assert "up to date" in repro(first)


def test_one_knob_reruns_only_its_consumers(first):
    overrides = first / "conf/overrides.yaml"
    before, params = overrides.read_text(), (first / "params.yaml").read_text()
    lock = (first / "dvc.lock").read_text()
    try:
        overrides.write_text(before + "  - evaluate.capacity_fraction=0.2\n")
        out = repro(first)
        ran = {line.split("'")[1] for line in out.splitlines() if line.startswith("Running stage")}
        # evaluate reads the knob; bundles of what it measures carry its figures, and MLflow shows them.
        consumers = {f"{stage}@{c}" for stage in ("evaluate", "export_admission", "export_caching") for c in CATEGORIES}
        assert ran == {"compose", "track", *consumers}
    finally:
        overrides.write_text(before)
        repro(first)
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
        repro(first)


def test_an_ended_run_leaves_no_process(runs):
    assert runs.orphans == {"label_benefit": [], "train_caching": []}


def test_an_ended_run_resumes_to_the_same_lock_in_another_folder(runs, first):
    assert [str(path) for path in (runs.other / "data").rglob(".*")] == []
    lock = yaml.safe_load((runs.other / "dvc.lock").read_text())
    assert lock == yaml.safe_load((first / "dvc.lock").read_text())


def test_git_sees_no_output_that_dvc_keeps(runs):
    for folder in (runs.first, runs.other):
        command = [*GIT, "status", "--short", "--untracked-files=all"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        changed = {line[3:] for line in done.stdout.splitlines()}
        metrics = {f"metrics/{name}.json" for name in (*CATEGORIES, "workload")}
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
    assert {f"{stage}@alpha" for stage in ("train_caching", "train_admission", "evaluate")} <= stages
    assert "train_workload" in stages
    assert not [stage for stage in stages if "@beta" in stage]
    ran = repro(copied, f"replay@{key}", "train_admission@beta")
    assert f"Running stage 'replay@{key}'" in ran
    assert "Stage 'train_admission@beta' didn't change, skipping" in ran
