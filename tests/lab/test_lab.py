"""lab/ is a DVC project of its own, which the pipeline does not see."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cachezoo.closure import CARRIES, LEFT_OUT, Project, closure
from cachezoo.zoo.caching import fit as caching
from cachezoo.zoo.caching import judge
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.metrics import read_metrics
from cachezoo.zoo.streams.cluster import COMBINATIONS
from cachezoo.zoo.workload import fit as workload
from cachezoo.zoo.workload import judge as told
from lab.baleen import document as baleen
from lab.baleen import public as baleen_public
from lab.baleen import run as baleen_run
from lab.carry_over.document import FILE, PLOT, read_carry_over, summary_of
from lab.carry_over.run import Settings
from lab.fios import document as fios
from lab.fios import run as fios_run
from lab.hca import document as hca
from lab.hca import run as hca_run
from lab.hca.paper import WORKLOADS, cells
from lab.rcrnn import figures, sizes, sizes_run, trained
from lab.rcrnn import published as module
from lab.rcrnn.files import FOLDER
from lab.rcrnn.published import WORKLOAD
from lab.retrained import document as retrained
from lab.stages import sources
from lab.virtual import document as virtual
from lab.virtual import plot as virtual_plot
from lab.virtual import run as virtual_run
from lab.virtual.paper import APPLICATIONS, SIZES_MB
from lab.virtual.paper import WORKLOADS as MIXED
from lab.virtual.shared import shared_sizes

ROOT = Path(__file__).resolve().parents[2]
LISTED = yaml.safe_load((ROOT / "lab/dvc.yaml").read_text())["stages"]
STAGES = {name: stage.get("do", stage) for name, stage in LISTED.items()}
PUBLISHED = {f"{kind}/{model}" for kind in ("fitted", "trained") for model in LISTED["rcrnn_paper"]["foreach"].values()}
PRESETS = {f"conf/model/{kind}/paper.yaml" for kind in ("caching", "workload")}
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text())
MODELS = {kind: f"${{models.{kind}}}" for kind in ("caching", "reuse", "workload")}
CATEGORIES = PARAMS["data"]["page_categories"]
# Most files that a stage may hang on, see test_closure.py.
MOST_FILES = {
    "carry_over": 150,
    "retrained": 151,
    "reconfigure": 180,
    "rcrnn_paper": 185,
    "rcrnn_sizes": 185,
    "rcrnn_grid": 185,
    "rcrnn_added": 185,
    "rcrnn_classifier": 185,
    "rcrnn": 185,
    "fios": 100,
    "hca": 155,
    "virtual": 155,
    "baleen": 100,
}


def test_the_pipeline_sees_no_stage_of_the_lab(tmp_path, monkeypatch):
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "cache"))
    own = tmp_path / "project"
    own.mkdir()
    monkeypatch.chdir(own)
    dvc = [sys.executable, "-m", "dvc"]
    subprocess.run(["git", "init", "-q"], check=True, timeout=60)
    subprocess.run([*dvc, "init", "-q"], check=True, timeout=60)
    Path("dvc.yaml").write_text("stages:\n  one:\n    cmd: echo 1 > one\n    outs: [one]\n")
    for name in ("dvc.yaml", "stages/carry_over.py", ".dvc/config", "../conf/matrix.yaml"):
        (own / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "lab" / name, own / "lab" / name)
    command = [*dvc, "stage", "list", "--name-only"]
    assert subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split() == ["one"]
    found = subprocess.run([*dvc, "status"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert "one" in found
    assert "carry_over" not in found
    inner = [*dvc, "--cd", "lab", "stage", "list"]
    found = subprocess.run(inner, capture_output=True, text=True, check=True, timeout=60).stdout
    own = [line.split()[0].partition("@")[0] for line in found.splitlines()]
    assert list(dict.fromkeys(own)) == list(STAGES)


def outs(stage):
    return [Path("lab") / name for out in STAGES[stage]["outs"] for name in out]


def params(stage):
    return sorted(STAGES[stage]["params"][0]["../params.yaml"])


def inputs(stage):
    """Of the project's root, with the names of models written out."""
    found = {dep.removeprefix("../") for dep in STAGES[stage]["deps"] if dep.startswith("../")}
    for kind, text in MODELS.items():
        found = {dep.replace(text, PARAMS["model"][kind]["arch"]) for dep in found}
    return found


def test_the_stage_depends_on_the_params_that_it_reads_and_on_its_sources():
    assert params("carry_over") == sorted(Settings.places().values())
    assert set(STAGES["carry_over"]["deps"]) == {"sources.carry_over.json", "../data/requests", "../data/corpus"}
    assert outs("carry_over") == [FILE, PLOT]
    assert params("retrained") == sorted(fit.Settings.places().values())
    folders = {f"models/{kind}/reuse/reuse.{PARAMS['model']['reuse']['arch']}" for kind in ("fitted", "trained")}
    assert inputs("retrained") == {"data/requests", "data/corpus"} | folders
    assert outs("retrained") == [retrained.FILE]
    assert params("fios") == sorted(fios_run.Settings.places().values())
    folders = {
        str(Path(file).parent) for roles in PARAMS["data"]["cycles"].values() for own in roles.values() for file in own
    }
    assert folders == {
        *(name for name in inputs("fios") if name.startswith("data/requests/")),
        *(f"data/writes/{name}" for name in ("ledger", "spool")),
    }
    assert inputs("fios") >= {"data/writes", "data/corpus"}
    assert outs("fios") == [fios.FILE, fios.PLOT]
    assert params("hca") == sorted(hca_run.Settings.places().values())
    profiles = {f"conf/device/{name}.yaml" for name in (hca_run.MEASURED_ON, hca_run.SIMULATED_ON)}
    assert inputs("hca") == profiles | {f"data/requests/{name}" for name in hca_run.CATEGORIES}
    assert outs("hca") == [hca.FILE, hca.TABLES_PLOT, hca.TIME_PLOT, hca.CURVES_PLOT]
    assert params("virtual") == sorted(virtual_run.Settings.places().values())
    assert inputs("virtual") == {"data/corpus", *(f"data/requests/{name}" for name in CATEGORIES)}
    assert outs("virtual") == [virtual.FILE, *virtual_plot.PLOTS]
    assert params("baleen") == sorted(baleen_run.Settings.places().values())
    assert inputs("baleen") == {"data/requests"}
    assert outs("baleen") == [baleen.FILE, baleen.TRACES_PLOT, baleen.SWEEP_PLOT, baleen.ABLATIONS_PLOT]
    for name, one in STAGES.items():
        job = " ${key}" if "foreach" in LISTED[name] else ""
        assert one["cmd"] == f"cd .. && exec scripts/python -m lab.stages.{name}{job}"


def test_each_stage_depends_on_the_list_of_its_own_sources():
    lists = sources.LISTS
    assert set(lists) == set(STAGES) - {"sources"}
    assert outs("sources") == [Path("lab") / file for file in lists.values()]
    there = {file.name for file in (ROOT / "lab").glob("[!_.]*") if file.is_dir() or file.suffix == ".py"}
    assert there - {"goals.py", "models", "notes", "pages.py", "real", "results"} == {
        dep for dep in STAGES["sources"]["deps"] if not dep.startswith("..") and "sources." not in dep
    }
    for name, file in lists.items():
        assert file == f"sources.{name}.json"
        assert file in STAGES[name]["deps"]


@pytest.mark.parametrize(
    ("stage", "settings", "file"),
    [
        ("rcrnn_sizes", sizes_run.Settings, sizes.FILE),
        ("rcrnn_grid", workload.Settings, trained.GRID),
        ("rcrnn_added", workload.Settings, trained.ADDED),
        ("rcrnn", figures.Settings, None),
    ],
)
def test_a_stage_of_the_figures_names_what_it_reads_and_writes(stage, settings, file):
    places = settings.places().values()
    assert params(stage) == sorted(places)
    if file is not None:
        assert outs(stage) == [file]
    traces = {f"data/requests/{name}" for name in CATEGORIES}
    ours = {f"models/trained/caching/caching.{name}.{PARAMS['model']['caching']['arch']}" for name in CATEGORIES}
    if stage in ("rcrnn_grid", "rcrnn_added"):
        assert inputs(stage) == traces | {"conf/model/workload/paper.yaml"}
    if stage == "rcrnn_sizes":
        own = {f"data/{kind}/{name}" for kind in ("responses", "labels/benefit") for name in CATEGORIES}
        assert inputs(stage) == traces | ours | own | {"conf/model/caching/paper.yaml"}
        assert published(stage) == {one for one in PUBLISHED if one.startswith("trained/caching/")}


def published(stage):
    """The paper's models that a stage reads."""
    return {dep.removeprefix("models/") for dep in STAGES[stage]["deps"] if dep.startswith("models/")}


def test_the_paper_s_networks_are_trained_and_judged_by_what_the_project_s_stages_read():
    every = (caching.Settings, judge.Settings, workload.Settings, told.Settings)
    places = {place.partition(".{")[0] for settings in every for place in settings.places().values()}
    own = tuple(params("rcrnn_paper"))
    assert [place for place in places if not place.startswith(("model.", *own))] == []
    assert [place for place in own if not any(one.startswith(place) for one in places)] == []
    assert inputs("rcrnn_paper") == {"data/requests", "data/labels/benefit", "data/features"} | PRESETS
    names = {
        WORKLOAD: "workload/workload.paper",
        **{name: f"caching/caching.{name}.paper" for name in CATEGORIES},
    }
    assert LISTED["rcrnn_paper"]["foreach"] == names
    folders = [Path("lab") / name for name in STAGES["rcrnn_paper"]["outs"]]
    assert folders == [module.FITTED / "${item}", module.TRAINED / "${item}"]
    assert inputs("rcrnn_classifier") == {"data/requests"} and outs("rcrnn_classifier") == [trained.CLASSIFIER]
    assert published("rcrnn_classifier") == {"trained/workload/workload.paper"}


def test_the_figures_are_drawn_from_what_the_pipeline_and_the_other_stages_wrote():
    classifier = f"workload.{PARAMS['model']['workload']['arch']}"
    models = {classifier, *(f"caching.{name}.{PARAMS['model']['caching']['arch']}" for name in CATEGORIES)}
    folders = {f"models/{kind}/{name.split('.')[0]}/{name}" for kind in ("fitted", "trained") for name in models}
    assert inputs("rcrnn") == folders | {"metrics/workload.json"} and published("rcrnn") == PUBLISHED
    files = (sizes.FILE, trained.GRID, trained.ADDED, trained.CLASSIFIER)
    made = {f"results/{FOLDER.name}/{path.name}" for path in files}
    assert made == {dep for dep in STAGES["rcrnn"]["deps"] if dep.startswith("results")}
    assert outs("rcrnn") == [path for one in figures.FIGURES for path in (one.file, one.plot)]


def test_of_what_is_no_source_claims_alone_can_change_a_stage_s_bytes():
    project = Project(ROOT, sources.PACKAGES)
    for stage in sources.LISTS:
        files = [file.relative_to(ROOT) for file in closure(project, ROOT / f"lab/stages/{stage}.py")]
        own = {file for file in files if file.parts[0] == "lab" and file.suffix != ".py"}
        claims = {file.relative_to(ROOT) for file in (ROOT / "lab/claims").glob("*.yaml")}
        assert own == (claims if stage in ("rcrnn", "fios", "hca", "virtual", "baleen") else set()), stage


@pytest.mark.parametrize("stage", sorted(MOST_FILES))
def test_a_stage_loads_no_file_of_the_project_that_its_list_lacks(stage):
    script = f"import runpy, sys; runpy.run_module('lab.stages.{stage}', run_name='stage')"
    script += "; own = [m for n, m in sys.modules.items() if n.split('.')[0] in ('cachezoo', 'lab')]"
    script += "; print(*filter(None, (m.__file__ for m in own)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {Path(name).relative_to(ROOT).as_posix() for name in done.stdout.split()}
    found = closure(Project(ROOT, sources.PACKAGES), ROOT / f"lab/stages/{stage}.py")
    files = {file.relative_to(ROOT).as_posix() for file in found}
    left_out = (CARRIES, *LEFT_OUT)
    assert {name for name in loaded - files if not any(pattern.fullmatch(name) for pattern in left_out)} == set()
    assert len(files) <= MOST_FILES[stage]


def test_the_stored_table_is_of_train_traces_that_their_fits_have_not_seen():
    found = read_carry_over(ROOT / FILE)
    corpus = {key: row for rows in PARAMS["data"]["corpus"].values() for key, row in rows.items()}
    assert all(corpus[row.trace]["role"] == "train" for row in found.rows if row.trace in corpus)
    assert found.summary == [summary_of(found.rows, one.split, one.way) for one in found.summary]
    for row in found.rows:
        (fold,) = [one for one in found.folds if (one.split, one.left_out) == (row.split, row.left_out)]
        assert row.trace not in fold.fitted
        assert fold.split != "program" or not any(key.startswith(f"{row.program}_") for key in fold.fitted)


def test_the_stored_retrained_caches_are_of_the_streams_that_were_judged():
    found, metrics = retrained.read_retrained(ROOT / retrained.FILE), read_metrics(ROOT / "metrics/reuse.json")
    sizes = set(PARAMS["fit"]["reuse"]["capacities"])
    assert sorted((row.trace, row.capacity_fraction) for row in found.rows) == sorted(
        (key, row.capacity_fraction)
        for key, trace in metrics.traces.items() for row in trace.rows if row.capacity_fraction in sizes
    )  # fmt: skip
    assert {len(row.hit_ratios) for row in found.rows} == {PARAMS["fit"]["reuse"]["seeds"]}


def test_the_stored_drives_are_of_all_categories_and_of_traces_that_overwrite():
    found = fios.read_fios(ROOT / fios.FILE)
    categories = {case.key for case in found.cases if not case.corpus}
    assert categories == set(PARAMS["data"]["cycles"])
    corpus = {key for rows in PARAMS["data"]["corpus"].values() for key in rows}
    assert {case.key for case in found.cases if case.corpus} <= corpus
    for case in found.measured:
        assert {row.policy for row in case.combinations} == set(COMBINATIONS)
        assert case.row("legacy").of_legacy == 1
        assert all(row.waf >= case.row("oracle").waf for row in case.combinations)


def test_the_stored_hierarchies_are_of_all_set_ups_and_test_traces():
    found = hca.read_hca(ROOT / hca.FILE)
    assert {(one.workload, one.system) for one in found.long_runs} == {
        (name, system) for name in WORKLOADS for system in hca.LONG
    }
    for name in WORKLOADS:
        for system in hca.SIZED:
            assert set(found.sized(name, system)) == {cell.key for cell in cells(name)}
    tests = {key for name in hca_run.CATEGORIES for key in PARAMS["data"]["roles"][name]["test"]}
    assert {one.trace for one in found.points} == tests
    for one in (*found.long_runs, *found.sized_runs, *found.points):
        assert one.ram + one.ssd + one.disk == pytest.approx(1)


def test_the_stored_virtual_caches_are_of_all_applications_and_hold_what_they_count():
    found = virtual.read_virtual(ROOT / virtual.FILE)
    tests = {key for name in CATEGORIES for key in PARAMS["data"]["roles"][name]["test"]}
    corpus = {key for rows in PARAMS["data"]["corpus"].values() for key, row in rows.items() if not row["long"]}
    assert found.applications("made") == list(APPLICATIONS)
    assert set(found.applications("captured")) == tests | corpus
    for name in (*APPLICATIONS, *tests):
        assert list(found.profile(name)) == list(SIZES_MB)
    for name, own in MIXED.items():
        assert [one.megabytes for one in found.workload(name)] == shared_sizes(len(own))
    for one in (*found.points, *found.parts, *found.profiles, *found.mixed, *found.swept):
        assert 0 <= one.plain <= 1 and 0 <= one.hits <= 1 and one.moved >= 0
    # A page enters a far run before each of its hits there, so that over an LRU queue nothing is saved; a new mapping
    # may find a few pages in the cache already.
    assert all(one.more >= -1e-3 for one in found.profiles)
    assert all(0 <= one.demand <= one.busy <= 1 for one in found.disk)


def test_the_stored_sweep_is_of_test_traces_and_crosses_at_the_base():
    found = baleen.read_baleen(ROOT / baleen.FILE)
    tests = {key: name for name, roles in PARAMS["data"]["roles"].items() for key in roles["test"]}
    assert {case.trace: case.category for case in found.cases} == tests
    keys = [(case.trace, case.capacity_fraction, case.write_budget, case.taught) for case in found.cases]
    assert len(set(keys)) == len(keys) and {case.trace for case in found.cases} == set(found.traces)
    assert found.seeds == baleen_run.SEEDS
    assert (tuple(found.budgets), tuple(found.sizes)) == (baleen_run.BUDGETS, baleen_run.SIZES)
    for case in found.cases:
        assert all(len(run.mean_dt) == found.seeds for run in case.runs)
    public = baleen_public.read_public(ROOT / baleen_public.FILE)
    assert all(row.verdict or row.reason for row in public.rows)


def test_figures_ends_with_the_status_of_what_failed(monkeypatch):
    main = runpy.run_module("lab")["main"]
    asked = []

    def run(command, check):
        asked.append(command[1:])
        return subprocess.CompletedProcess(command, len(asked) - 1 and 3)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.chdir(ROOT)
    assert main() == 3
    targets = ["ingest", "corpus", "evaluate", "evaluate_workload", "evaluate_reuse"]
    assert asked == [["-m", "dvc", "repro", *targets], ["-m", "dvc", "--cd", "lab", "repro"]]
