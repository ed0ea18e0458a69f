"""The real pipeline on tiny traces: what `dvc repro` wrote in a clone, and what people do with it."""

import contextlib
import gzip
import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

from cachezoo.config.matrix import NewTrace, add_trace
from cachezoo.traces.store import read_trace
from scripts import data_dictionary
from scripts.settle import make_outputs
from tests.e2e.workspace import GIT, ROOT, dvc, environment, repro, settle

CATEGORIES = ("alpha", "beta")
ADMISSION, CACHING, WORKLOAD = "admission.{}.lgbm", "caching.{}.lstm_small", "workload.lstm50"
BLOCK, SMALL = f"{ADMISSION}_block", f"{ADMISSION}_small"
REUSE = "reuse.follow"
# compare runs the bundle's network on numpy, the evaluate stage the weights on torch: a last digit may turn a
# decision, and with it what the cache holds from then on.
COMPARE_TOLERANCE = 0.005
BEGUN = re.compile(r"Running stage '([^']+)'")
KEPT = re.compile(r"(\w+): (\d+) of (\d+) jobs are as they were")
GOLDEN = ROOT / "tests/golden/pipeline.json"

pytestmark = [pytest.mark.slow(seconds=600), pytest.mark.needs("git")]


def cachezoo(folder: Path, *args: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [".venv/bin/python", "-c", "from cachezoo.cli import main; main()", *args],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def first(ran):
    return ran


@pytest.fixture(scope="module")
def copied(first, tmp_path_factory):
    """The clone that has run, somewhere else."""
    folder = tmp_path_factory.mktemp("copied") / "clone"
    shutil.copytree(first, folder, symlinks=True)
    for name in ("home", "tmp"):
        (folder.parent / name).mkdir()
    settle(folder)
    return folder


def rerun(folder: Path, *targets: str) -> set[str]:
    """Stages that `dvc repro` runs."""
    return set(BEGUN.findall(repro(folder, *targets)))


def test_every_stage_wrote_its_outputs(first):
    for category in CATEGORIES:
        metrics = json.loads((first / f"metrics/page/{category}.json").read_text())
        trace = metrics["traces"][f"{category}_test"]
        ratios = {row["policy"]: row["hit_ratio"] for row in trace["rows"]}
        models = {ADMISSION.format(category), CACHING.format(category), REUSE}
        assert {"lru", "lfu", "larc", "rejectx", "belady_bypass", *models} <= set(ratios)
        assert models == set(metrics["models"])
        assert max(ratios.values()) == ratios["belady_bypass"] > ratios["lru"] > 0
        assert 0.49 * trace["page_accesses"] - 1 <= trace["warmup"] <= trace["page_accesses"] / 2


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
    shown = cachezoo(first, "models", "results").stdout
    assert "alpha_test" in shown and len(shown.splitlines()) < 40
    done = cachezoo(first, "models", "results", "-v")
    assert "alpha_test" in done.stdout
    assert "belady_bypass" in done.stdout and "What to buy" in done.stdout and "Share or split" in done.stdout
    assert f"models/bundles/{exported(first)[0]}" in done.stdout


def test_models_beside_the_full_one_have_verdicts_figures_and_inputs(first):
    for category in CATEGORIES:
        flash = json.loads((first / f"metrics/flash/{category}.json").read_text())
        assert set(flash["beside"]) == {BLOCK.format(category), SMALL.format(category)}
        for name, one in flash["beside"].items():
            folder = first / "models/trained/admission" / name
            trained = json.loads((folder / "train.json").read_text())
            assert one["reason"] == trained["reason"] and set(one["traces"]) == {f"{category}_test"}
            names = [feature["name"] for feature in trained["features"]]
            assert set(json.loads((folder / "inputs.json").read_text())) == set(names)
            assert not {"user", "namespace"} & set(names) and trained["encodings"] == {}
        small = json.loads((first / "models/trained/admission" / SMALL.format(category) / "train.json").read_text())
        assert small["arch"]["trees"] <= small["arch"]["max_trees"] == 4


def exported(folder: Path) -> list[str]:
    """Ids of the models that have a bundle; export may refuse one, and says why in its place."""
    found = {path.name: path for path in (folder / "models/bundles").iterdir()}
    kinds = [kind.format(category) for kind in (ADMISSION, BLOCK, SMALL, CACHING) for category in CATEGORIES]
    assert {*kinds, WORKLOAD, REUSE} <= set(found) == {path.name for path in (folder / "models/trained").glob("*/*")}
    assert all((path / "manifest.json").exists() != (path / "REFUSED.json").exists() for path in found.values())
    return sorted(name for name, path in found.items() if (path / "manifest.json").exists())


@pytest.mark.parametrize("kind", ["admission", "caching", "reuse", "workload"])
def test_a_bundle_of_each_kind_verifies(first, kind):
    model_id = next(name for name in exported(first) if name.startswith(kind))
    report = json.loads(cachezoo(first, "models", "bundle", "verify", f"models/bundles/{model_id}", "--json").stdout)
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
    metrics = json.loads((first / f"metrics/page/{category}.json").read_text())["traces"][f"{category}_test"]
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
    content = bytearray((copy / "model.lgb.txt").read_bytes())
    content[len(content) // 2] ^= 1
    (copy / "model.lgb.txt").write_bytes(bytes(content))
    done = cachezoo(first, "models", "bundle", "verify", str(copy))
    assert done.returncode == 1
    assert "model.lgb.txt" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


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


def test_nothing_outside_the_clone_was_written(first):
    # A process that is killed cannot take away what it had in TMPDIR.
    assert [str(path) for path in (first.parent / "home").rglob("*")] == []
    sites = [Path(name) for name in ("/var/cache/dvc", "/var/tmp/dvc", "/tmp/dvc")]
    assert not [site for site in sites if str(first) in " ".join(map(str, site.rglob("*")))]
    left = [path for name in ("data", "models", "metrics", "report") for path in (first / name).rglob(".*")]
    assert [str(path) for path in left] == []


def test_a_killed_run_is_tracked_once(first):
    with contextlib.closing(sqlite3.connect(first / "mlflow.db")) as store:
        found = sorted(store.execute("SELECT name, status FROM runs WHERE lifecycle_stage = 'active'"))
    assert found == sorted((path.name, "FINISHED") for path in (first / "models/trained").glob("*/*"))


def test_git_sees_no_output_that_dvc_keeps(first):
    command = [*GIT, "status", "--short", "--untracked-files=all"]
    done = subprocess.run(command, cwd=first, capture_output=True, text=True, check=True)
    changed = {line[3:] for line in done.stdout.splitlines()}
    metrics = {str(path.relative_to(first)) for path in (first / "metrics").rglob("*") if path.is_file()}
    names = {path.stem for path in (first / "metrics/page").iterdir()}
    assert {*CATEGORIES} < names
    # Of the real pipeline's categories, which are gone here.
    gone = {line[3:] for line in done.stdout.splitlines() if line[:2].strip() == "D"}
    made = {"params.yaml", "dvc.lock", "data/traces.json", "models/track.json", "models/summary.json", *metrics}
    assert changed - gone == made


def digests(folder: Path) -> dict[str, str]:
    """sha256 of what stages wrote whose bytes depend on no LSTM, no library's version and no picture."""
    learned = ("caching", "workload", "bundles", "devices")
    files = [file for name in ("data", "models", "metrics") for file in (folder / name).rglob("*") if file.is_file()]
    kept = [file for file in files if not {*file.relative_to(folder).parts} & {*learned, "sources", "raw", "page"}]
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        for file in sorted(kept)
        if file.name not in ("workload.json", "track.json", "traces.json", "summary.json")
    }


def test_every_byte_is_the_stored_one(first):
    """What carries results is on no stage's list of sources: this sees where it changes bytes."""
    found, stored = digests(first), json.loads(GOLDEN.read_text())
    said = (
        "bytes of the small pipeline have changed: where what computes was changed, store them anew; where only what "
        "carries results was (cachezoo.closure), raise EDITION too. python -m tests.e2e.store_digests"
    )
    other = sorted(name for name in {*found, *stored} if found.get(name) != stored.get(name))
    assert not other, f"{said}: {other}"


def test_a_second_repro_does_nothing(first):
    assert "Data and pipelines are up to date" in repro(first)


# A knob, and the stages that read it or what these write: bundles carry the figures, MLflow and the report show them.
KNOB = "policy.share.near=0.06"
KNOBS = {
    KNOB: {"compose", "evaluate_share", "report", "track"},
    "evaluate.capacity_fraction=0.2": {
        "compose", "judge_virtual", "evaluate", "evaluate_virtual", "export", "report", "track",
    },
}  # fmt: skip


@contextlib.contextmanager
def turned(folder: Path, knob: str) -> Iterator[None]:
    """The pipeline with another setting."""
    overrides = folder / "conf/overrides.yaml"
    before = overrides.read_text()
    overrides.write_text(f"{before}  - {knob}\n")
    yield
    overrides.write_text(before)


def test_one_knob_concerns_its_consumers_alone(copied):
    """The stage that reads it runs; of those that read what this writes DVC says that they would."""
    params, lock = ((copied / name).read_text() for name in ("params.yaml", "dvc.lock"))
    reader = "evaluate_share"
    with turned(copied, KNOB):
        assert rerun(copied, reader) == {"compose", reader}
        assert {"compose", reader, *json.loads(dvc(copied, "status", "--json").stdout)} == KNOBS[KNOB]
    repro(copied)
    assert (copied / "params.yaml").read_text() == params
    assert (copied / "dvc.lock").read_text() == lock


@pytest.mark.long
@pytest.mark.parametrize("knob", KNOBS)
def test_one_knob_reruns_only_its_consumers(copied, knob):
    params, lock = ((copied / name).read_text() for name in ("params.yaml", "dvc.lock"))
    with turned(copied, knob):
        assert rerun(copied) == KNOBS[knob]
    repro(copied)
    assert (copied / "params.yaml").read_text() == params
    assert (copied / "dvc.lock").read_text() == lock


def test_a_typo_in_conf_is_one_line_and_params_stay(copied):
    overrides = copied / "conf/overrides.yaml"
    before, params = overrides.read_text(), (copied / "params.yaml").read_text()
    overrides.write_text("overrides: [+evaluate.colour=red]\n")
    done = dvc(copied, "repro", "compose")
    assert done.returncode != 0
    assert "evaluate.colour" in done.stdout + done.stderr
    assert (copied / "params.yaml").read_text() == params
    overrides.write_text(before)


@pytest.fixture
def bucket(monkeypatch):
    """A bucket of an S3 server on this machine: its address there, and the option that names the server."""
    import boto3
    from moto.server import ThreadedMotoServer

    for name, value in (("ACCESS_KEY_ID", "t"), ("SECRET_ACCESS_KEY", "t"), ("DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="team")
        yield "s3://team/cachezoo", endpoint
    finally:
        server.stop()


@pytest.mark.parametrize(
    "remote", ["folder", pytest.param("bucket", marks=[pytest.mark.long, pytest.mark.needs("s3")])]
)
def test_another_clone_pulls_what_was_pushed_and_has_nothing_to_do(first, tmp_path, request, remote):
    place, endpoint = request.getfixturevalue(remote) if remote == "bucket" else (str(tmp_path / "remote"), "")
    shutil.copytree(first, tmp_path / "one", symlinks=True)
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    settle(tmp_path / "one")
    subprocess.run([*GIT, "add", "-A"], cwd=tmp_path / "one", check=True, timeout=60)
    subprocess.run([*GIT, "commit", "-q", "-m", "ran"], cwd=tmp_path / "one", check=True, timeout=60)
    subprocess.run(["git", "clone", "-q", str(tmp_path / "one"), str(tmp_path / "two")], check=True, timeout=120)
    (tmp_path / "two/.venv").symlink_to(ROOT / ".venv")
    settle(tmp_path / "two")
    for name, words in (("one", ("push",)), ("two", ("pull",)), ("two", ("repro",))):
        if words != ("repro",):
            added = dvc(tmp_path / name, "remote", "add", "--local", "-d", "team", place)
            assert added.returncode == 0, added.stderr
            if endpoint:
                dvc(tmp_path / name, "remote", "modify", "--local", "team", "endpointurl", endpoint)
        done = dvc(tmp_path / name, *words)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "Data and pipelines are up to date" in done.stdout
    assert digests(tmp_path / "two") == digests(first)


def test_a_fresh_clone_says_what_would_run_and_what_it_has(first, tmp_path):
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(first), str(folder)], check=True, timeout=120)
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    (folder / ".venv").symlink_to(ROOT / ".venv")
    settle(folder)
    for name in ("params.yaml", "data/traces.json"):
        shutil.copy(first / name, folder / name)  # Git has them, but not the tiny pipeline's
    make_outputs(folder)
    done = dvc(folder, "repro", "--dry")
    assert done.returncode == 0, done.stderr
    stages = yaml.safe_load((folder / "dvc.yaml").read_text())["stages"]
    assert set(BEGUN.findall(done.stdout)) == set(stages)


def test_what_dvc_shows_fits_on_a_screen(first):
    metrics = dvc(first, "metrics", "show")
    assert metrics.returncode == 0, metrics.stderr
    assert len(metrics.stdout.splitlines()) <= 24
    shown = json.loads((first / "models/summary.json").read_text())
    own = {kind.format(name) for kind in (ADMISSION, CACHING) for name in (*CATEGORIES, "gamma")}
    assert REUSE in shown and set(shown) <= {REUSE, WORKLOAD, *own}
    assert all(len(figures) == 1 for figures in shown.values())
    plots = dvc(first, "plots", "show", "--json")
    assert plots.returncode == 0, plots.stderr
    found = json.loads(plots.stdout)
    assert {"Hit ratio by size", "Training of the LSTMs"} <= set(found.get("data", found)) and not found.get("errors")
    assert dvc(first, "params", "diff", "HEAD").returncode == 0


def test_an_experiment_on_a_generated_value_is_refused_and_one_on_conf_runs(copied):
    for name in ("user.name", "user.email"):
        subprocess.run(["git", "config", name, "t"], cwd=copied, check=True, timeout=60)
    params = (copied / "params.yaml").read_text()
    done = dvc(copied, "exp", "run", "-S", "params.yaml:fit.caching.batch=8", "compose")
    (copied / "params.yaml").write_text(params)  # what its message says, but that Git has the real pipeline's here
    assert done.returncode != 0
    assert "fit.caching.batch was changed there" in done.stdout + done.stderr
    assert "conf/fit/caching.yaml:batch instead" in done.stdout + done.stderr


def test_an_added_trace_concerns_its_category_alone(copied, tmp_path):
    rows = [
        f"{128166372003061629 + 10_000 * k},usr,0,{'Write' if k % 3 else 'Read'},{4096 * (k % 700)},8192,{100 + k}\n"
        for k in range(2000)
    ]
    foreign = tmp_path / "usr_0.csv.gz"
    foreign.write_bytes(gzip.compress("".join(rows).encode()))
    key = add_trace(copied, NewTrace(foreign, "alpha", "train")).key
    said = repro(copied, "fit_admission")
    trace = read_trace(copied / f"data/requests/alpha/{key}.parquet")
    assert (key, trace.meta.source_format, trace.meta.category) == ("alpha_train_2", "msr", "alpha")
    assert trace.time_us.tolist() == [1000 * k for k in range(2000)]
    assert trace.offset.tolist() == [4096 * (k % 700) for k in range(2000)]
    # Every trace but the new one, and every category but its own.
    assert KEPT.findall(said) == [("ingest", "12", "13"), ("label_episodes", "9", "10"), ("fit_admission", "2", "3")]


@pytest.mark.long
def test_own_traces_are_fitted_in_and_challenge(copied, tmp_path):
    """`make retrain` without its bootstrap: what was exported before takes its seat, what is made anew challenges."""
    own = tmp_path / "own.csv"
    own.write_bytes((copied / "data/raw/tiny/alpha_test.csv").read_bytes()[:-1])
    before = (copied / "conf/matrix.yaml").read_text()
    done = subprocess.run(
        [".venv/bin/python", "scripts/retrain.py", "--category", "alpha", str(own)],
        cwd=copied, env=environment(copied), capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    said = [line for line in done.stdout.splitlines() if line.startswith("models/bundles/")]
    made = {line.split(":")[0].split("/")[-1].split(".")[0]: line for line in said}
    assert list(made) == ["reuse", "workload", "caching", "admission", "streams", "virtual"]
    after = (copied / "conf/matrix.yaml").read_text()
    assert after.count("imported/own.csv") == 2 and "imported/own.csv" not in before
    zoo = json.loads((copied / "zoo.json").read_text())
    seats = {"admission": "flash/alpha", "caching": "page/alpha", "reuse": "page/all"}
    seated = {kind: seat for kind, seat in seats.items() if "was refused" not in made[kind]}
    assert {"flash/alpha", "page/all", *seated.values()} <= set(zoo["seats"])
    for kind, seat in ((kind, zoo["seats"][name]) for kind, name in seated.items()):
        held = seat["champion"] or seat["challenger"]
        assert (copied / "models/zoo" / f"{held['model_digest']}.zip").exists()
        assert ("is champion" in made[kind]) == (seat["champion"] is not None and seat["challenger"] is None)
    assert not any("champion:" in made[kind] for kind in made if kind not in seats)
    shown = cachezoo(copied, "models", "zoo", "--json")
    listed = json.loads(shown.stdout)
    assert {name: listed[name] for name in zoo} == zoo
