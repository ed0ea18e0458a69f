"""The real pipeline on tiny traces, laid over temporary clones of this repository's HEAD."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(__file__).parent / "tiny"
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]

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
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    outside = {"HOME": str(folder.parent / "home"), "TMPDIR": str(folder.parent / "tmp")}
    return {**kept, **outside, "PYTHONPATH": str(folder / "src")}


def repro(folder: Path) -> str:
    done = subprocess.run(
        [".venv/bin/dvc", "repro"],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=420,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


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


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = clone(tmp_path_factory.mktemp("first") / "clone")
    repro(folder)
    return folder


def test_every_stage_wrote_its_outputs(first):
    for category in ("alpha", "beta"):
        metrics = json.loads((first / f"metrics/{category}.json").read_text())
        trace = metrics["traces"][f"{category}_test"]
        ratios = {row["policy"]: row["hit_ratio"] for row in trace["rows"]}
        models = {f"admission.{category}.lgbm", f"caching.{category}.lstm_small"}
        assert {"lru", "lfu", "larc", "rejectx", "belady_bypass", *models} <= set(ratios)
        assert models == set(metrics["models"])
        assert max(ratios.values()) == ratios["belady_bypass"] > ratios["lru"] > 0
        assert 0.1 * trace["page_accesses"] - 1 <= trace["warmup"] <= trace["page_accesses"] / 3 + 1


def test_results_prints_one_table(first):
    done = cachezoo(first, "results")
    assert "alpha_test" in done.stdout
    assert "belady_bypass" in done.stdout


def test_bundles_verify_and_compare_as_evaluate_found_them(first):
    for category in ("alpha", "beta"):
        folder = f"models/bundles/admission.{category}.lgbm"
        report = json.loads(cachezoo(first, "bundle", "verify", folder, "--json").stdout)
        assert report["ok"] is True
        assert report["golden_rows"] > 0
        requests = f"data/requests/{category}/{category}_test.parquet"
        table = json.loads(cachezoo(first, "compare", requests, "--bundle", folder, "--json").stdout)
        mine = next(row for row in table["rows"] if row["kind"] == "model")
        metrics = json.loads((first / f"metrics/{category}.json").read_text())["traces"][f"{category}_test"]["rows"]
        assert mine["hits"] == next(row["hits"] for row in metrics if row["policy"] == mine["policy"])


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


def test_nothing_outside_the_clone_was_written(first):
    for name in ("home", "tmp"):
        assert [str(path) for path in (first.parent / name).rglob("*")] == []
    sites = [Path(name) for name in ("/var/cache/dvc", "/var/tmp/dvc", "/tmp/dvc")]
    assert not [site for site in sites if str(first) in " ".join(map(str, site.rglob("*")))]


def test_a_second_repro_does_nothing(first):
    assert "up to date" in repro(first)


def test_one_knob_reruns_only_its_consumers(first):
    overrides = first / "conf/overrides.yaml"
    before, params = overrides.read_text(), (first / "params.yaml").read_text()
    lock = (first / "dvc.lock").read_text()
    try:
        overrides.write_text(before + "  - evaluate.capacity_fraction=0.2\n")
        out = repro(first)
        ran = {line.split("'")[1].split("@")[0] for line in out.splitlines() if line.startswith("Running stage")}
        assert {"compose", "evaluate"} <= ran <= {"compose", "evaluate", "export"}
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
        done = subprocess.run(
            [".venv/bin/dvc", "repro", "compose"],
            cwd=first,
            env=environment(first),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0
        assert "evaluate.colour" in done.stdout + done.stderr
        assert (first / "params.yaml").read_text() == params
    finally:
        overrides.write_text(before)
        repro(first)


def _running(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (
                    os.readlink(entry / "cwd").startswith(str(folder))
                    and b"pipelines/" in (entry / "cmdline").read_bytes()
                ):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_a_killed_run_resumes_to_the_same_lock_in_another_folder(first, tmp_path):
    folder = clone(tmp_path / "another-name", origin=first)
    process = subprocess.Popen(
        [".venv/bin/dvc", "repro"],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not (folder / "data/labels").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() is None, "the run ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    deadline = time.monotonic() + 10
    while _running(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _running(folder) == []
    repro(folder)
    assert not list(folder.glob("data/**/*.tmp"))
    lock = yaml.safe_load((folder / "dvc.lock").read_text())
    assert lock == yaml.safe_load((first / "dvc.lock").read_text())
