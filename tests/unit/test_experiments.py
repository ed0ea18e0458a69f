"""experiments/ is a DVC project of its own, which the pipeline does not see."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cachezoo.closure import LEFT_OUT, Project, closure
from cachezoo.systems.reuse.carried import FILE, PLOT, read_carry_over, summary_of
from cachezoo.systems.reuse.carry_over import Settings

ROOT = Path(__file__).resolve().parents[2]
STAGES = yaml.safe_load((ROOT / "experiments/dvc.yaml").read_text())["stages"]


@pytest.mark.slow
def test_the_pipeline_sees_no_stage_of_the_experiments(tmp_path, monkeypatch):
    from cachezoo.repro.plan import make_plan

    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "cache"))
    own = tmp_path / "project"
    own.mkdir()
    monkeypatch.chdir(own)
    dvc = [sys.executable, "-m", "dvc"]
    subprocess.run(["git", "init", "-q"], check=True, timeout=60)
    subprocess.run([*dvc, "init", "-q"], check=True, timeout=60)
    Path("dvc.yaml").write_text("stages:\n  one:\n    cmd: echo 1 > one\n    outs: [one]\n")
    for name in ("experiments/dvc.yaml", "experiments/carry_over.py", "experiments/.dvc/config", "conf/matrix.yaml"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, own / name)
    assert make_plan().order == ("one",)
    found = subprocess.run([*dvc, "status"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert "one" in found
    assert "carry_over" not in found
    inner = [*dvc, "--cd", "experiments", "stage", "list"]
    found = subprocess.run(inner, capture_output=True, text=True, check=True, timeout=60).stdout
    assert [line.split()[0] for line in found.splitlines()] == list(STAGES)


def test_the_stage_depends_on_the_params_that_it_reads_and_on_its_sources():
    stage = STAGES["carry_over"]
    assert sorted(stage["params"][0]["../params.yaml"]) == sorted(Settings.places().values())
    assert set(stage["deps"]) == {"sources.json", "../data/requests", "../data/corpus"}
    assert STAGES["sources"]["outs"] == [{"sources.json": {"cache": False}}]
    outs = [Path("experiments") / name for out in stage["outs"] for name in out]
    assert outs == [FILE, PLOT]
    for name, one in STAGES.items():
        assert one["cmd"] == f"cd .. && exec scripts/python experiments/{name}.py"


def test_the_stage_loads_no_file_of_the_project_that_its_list_lacks():
    script = "import runpy, sys; runpy.run_path('experiments/carry_over.py', run_name='stage')"
    script += "; print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('cachezoo')))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {Path(name).relative_to(ROOT).as_posix() for name in done.stdout.split()}
    files = {file.relative_to(ROOT).as_posix() for file in closure(Project(ROOT), ROOT / "experiments/carry_over.py")}
    assert {name for name in loaded - files if not any(pattern.fullmatch(name) for pattern in LEFT_OUT)} == set()
    assert len(files) <= 140


def test_the_stored_table_is_of_train_traces_that_their_fits_have_not_seen():
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    found = read_carry_over(ROOT / FILE)
    corpus = {key: row for rows in params["data"]["corpus"].values() for key, row in rows.items()}
    assert all(corpus[row.trace]["role"] == "train" for row in found.rows if row.trace in corpus)
    assert found.summary == [summary_of(found.rows, one.split, one.way) for one in found.summary]
    for row in found.rows:
        (fold,) = [one for one in found.folds if (one.split, one.left_out) == (row.split, row.left_out)]
        assert row.trace not in fold.fitted
        assert fold.split != "program" or not any(key.startswith(f"{row.program}_") for key in fold.fitted)


def test_figures_ends_with_the_status_of_what_failed(monkeypatch):
    main = runpy.run_path(str(ROOT / "experiments/figures.py"))["main"]
    asked = []

    def run(command, check):
        asked.append(command[1:])
        return subprocess.CompletedProcess(command, len(asked) - 1 and 3)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.chdir(ROOT)
    assert main() == 3
    inputs = ["compose", "ingest", "corpus", "evaluate", "evaluate_workload"]
    assert asked == [["scripts/repro.py", *inputs], ["-m", "dvc", "--cd", "experiments", "repro"]]
