import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cachezoo.closure import CARRIES, LEFT_OUT, Project, closure, sources_of, write_sources
from cachezoo.errors import CachezooError

ROOT = Path(__file__).resolve().parents[2]
TABLE = """
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cachezoo.rooms.first


def one():
    from cachezoo.rooms import first

    return os.name


def _schema():
    from cachezoo.config import schema


def three():
    return _schema


STAGES = {"one": one, "two": Stage(print), "three": Stage(three, parts=["cachezoo.third:name"])}
"""
SECOND = "import numpy.typing\nimport cachezoo.errors\nimport cachezoo.settings.one\n"
SCRIPTS = {path.name: path for path in Project(ROOT).stages()}
STAGES = sorted(SCRIPTS)
RERUNS = ROOT / "tests/golden/reruns.json"


@pytest.fixture
def project(tmp_path):
    files = {
        "pipelines/stages.py": TABLE,
        "src/cachezoo/__init__.py": "",
        "src/cachezoo/config/__init__.py": "",
        "src/cachezoo/config/schema.py": "import cachezoo.settings.one\n",
        "src/cachezoo/settings/__init__.py": "",
        "src/cachezoo/settings/one.py": "",
        "src/cachezoo/errors.py": "",
        "src/cachezoo/rooms/__init__.py": "",
        "src/cachezoo/rooms/first.py": "def f():\n    import cachezoo.second\n",
        "src/cachezoo/rooms/part.c": "int x;\n",
        "src/cachezoo/second.py": SECOND,
        "src/cachezoo/third.py": "",
        "requirements.lock": "numpy==2.4.6\nscikit-learn==1.9.1\ntorch==2.13.0\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def listed(project: Path, stage: str) -> dict:
    return sources_of(Project(project), project / f"pipelines/stages.py/{stage}")


def names(project: Path, stage: str) -> list[str]:
    return list(listed(project, stage)["files"])


def test_a_closure_follows_imports_inside_functions_and_leaves_out_those_for_types(project):
    rooms = [f"src/cachezoo/rooms/{name}" for name in ("__init__.py", "first.py", "part.c")]
    assert names(project, "one") == [
        "pipelines/stages.py/one",
        "src/cachezoo/__init__.py",
        *rooms,
        "src/cachezoo/second.py",
    ]
    assert names(project, "two") == ["pipelines/stages.py/two"]


def test_settings_errors_and_configuration_count_only_where_the_stage_itself_imports_them(project):
    found = names(project, "three")
    assert {"src/cachezoo/config/schema.py", "src/cachezoo/settings/one.py", "src/cachezoo/third.py"} <= set(found)
    assert "src/cachezoo/settings/one.py" not in names(project, "one")
    assert "src/cachezoo/errors.py" not in names(project, "one")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("src/cachezoo/second.py", f"# A comment.\n\n\n{SECOND}"),
        ("src/cachezoo/second.py", f'"""Says."""\n{SECOND}'),
        ("src/cachezoo/rooms/first.py", 'def f():\n    """Says."""\n    import cachezoo.second\n'),
        ("src/cachezoo/errors.py", "x = 1\n"),
        ("src/cachezoo/settings/one.py", "x = 1\n"),
        ("src/cachezoo/third.py", "x = 1\n"),
        ("pipelines/stages.py", TABLE.replace("Stage(print)", "Stage(repr)").replace("return _schema", "return 1")),
        ("requirements.lock", "numpy==2.4.6\nscikit-learn==1.9.1\ntorch==3.0.0\n"),
    ],
)
def test_what_changes_no_byte_leaves_the_list(project, file, text):
    before = listed(project, "one")
    (project / file).write_text(text)
    assert listed(project, "one") == before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("src/cachezoo/second.py", "import numpy.typing\nx = 1\n"),
        ("src/cachezoo/rooms/first.py", "def f():\n    import cachezoo.second\n\n\ndef g(): ...\n"),
        ("src/cachezoo/rooms/part.c", "int x; /* even here */\n"),
        ("pipelines/stages.py", TABLE.replace("os.name", "os.sep")),
        ("requirements.lock", "numpy==2.5.0\nscikit-learn==1.9.1\ntorch==2.13.0\n"),
    ],
)
def test_what_may_change_bytes_changes_the_list(project, file, text):
    before = listed(project, "one")
    (project / file).write_text(text)
    assert listed(project, "one") != before


def test_what_a_field_or_column_means_is_no_part_of_a_source(project):
    said = 'from x import Column, Means\n\nCOLUMNS = {{"size": Column("{}", Means("{}", "{}"))}}\n'
    (project / "src/cachezoo/second.py").write_text(said.format("int64", "how many", "bytes"))
    before = listed(project, "one")
    (project / "src/cachezoo/second.py").write_text(said.format("int64", "how much", "KiB"))
    assert listed(project, "one") == before
    (project / "src/cachezoo/second.py").write_text(said.format("int32", "how many", "bytes"))
    assert listed(project, "one") != before


def test_lists_name_the_versions_of_the_libraries_that_the_files_import(project):
    assert listed(project, "one")["libraries"] == {"numpy": "2.4.6"}
    (project / "src/cachezoo/second.py").write_text("from sklearn.tree import DecisionTreeClassifier\n")
    assert listed(project, "one")["libraries"] == {"scikit-learn": "1.9.1"}


def test_each_stage_has_its_list_and_an_unrelated_edit_leaves_its_bytes(project):
    write_sources(project, project / "out")
    before = {path.name: path.read_bytes() for path in (project / "out").iterdir()}
    assert set(before) == {"one.json", "two.json", "three.json"}
    assert json.loads(before["one.json"]) == listed(project, "one")
    (project / "src/cachezoo/third.py").write_text("x = 1\n")
    (project / "src/cachezoo/second.py").write_text("import numpy as np\n")
    write_sources(project, project / "out")
    after = {path.name: path.read_bytes() for path in (project / "out").iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"one.json", "three.json"}


def test_a_file_that_is_no_python_is_named_and_the_lists_stay(project):
    write_sources(project, project / "out")
    (project / "pipelines/stages.py").write_text("def f(:\n")
    with pytest.raises(CachezooError, match=r"pipelines/stages\.py: not readable as Python .* fix it") as error:
        write_sources(project, project / "out")
    assert "\n" not in str(error.value)
    assert (project / "out/two.json").exists()


@pytest.fixture(scope="session")
def house():
    return Project(ROOT)


def reruns(house: Project) -> dict[str, list[str]]:
    """For every room and single module, the stages that a changed statement may run again."""
    package = ROOT / "src/cachezoo"
    rooms = {path.name for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"}
    found = {room: set() for room in rooms | {path.name for path in package.glob("*.py")}}
    for stage in STAGES:
        for file in closure(house, SCRIPTS[stage]):
            if file.is_relative_to(package):
                found[file.relative_to(package).parts[0]].add(stage)
    return {room: sorted(stages) for room, stages in sorted(found.items())}


def test_which_stages_a_changed_statement_of_each_room_runs_again_is_the_stored_list(house):
    """To store another one on purpose: python -m tests.unit.test_closure."""
    assert reruns(house) == json.loads(RERUNS.read_text())


def test_what_carries_shows_or_starts_refits_and_relabels_nothing(house):
    stored = json.loads(RERUNS.read_text())
    for room in ("io.py", "documents.py", "stage.py", "kept.py", "jobs.py", "paths.py", "params.py"):
        assert stored[room] == [], room
    learned = ("ingest", "corpus", "replay", "label_", "features", "fit_", "judge_")
    shown = ("cli", "report", "trace_report", "show", "tracking", "study", "questions")
    for room in shown:
        assert not [stage for stage in stored[room] if stage.startswith(learned)], room
    for name in ("traces/table.py", "traces/store.py"):
        assert not [stage for stage in STAGES if ROOT / "src/cachezoo" / name in closure(house, SCRIPTS[stage])]
    # A list of kernels, on the other hand, computes.
    assert "judge_caching" in [stage for stage in STAGES if _kernels(house, stage) & {"lists.py"}]


def _kernels(house, stage):
    return {file.name for file in closure(house, SCRIPTS[stage]) if file.parent.name == "kernels"}


def test_what_fits_an_lstm_hangs_on_no_policy_judge_or_report(house):
    files = [str(file.relative_to(ROOT)) for file in closure(house, SCRIPTS["fit_caching"])]
    other = ("policies/", "evaluation/", "bundles/", "report/", "tracking/", "config/", "settings/", "devices/")
    assert not [file for file in files if file.startswith(tuple(f"src/cachezoo/{room}" for room in other))]
    assert not [file for file in files if file.endswith(("judge.py", "record.py", "settings.py", "serve.py"))]


def test_replays_hang_on_the_emulated_disk_and_trainings_on_their_libraries(house):
    replay = sources_of(house, SCRIPTS["replay"])
    assert "src/cachezoo/devices/nbd/disk.c" in replay["files"]
    fit = sources_of(house, SCRIPTS["fit_caching"])
    assert {"lightning", "numba", "numpy", "safetensors", "torch"} <= set(fit["libraries"])
    assert "lightgbm" in sources_of(house, SCRIPTS["fit_admission"])["libraries"]


def test_every_library_that_a_stage_imports_is_locked(house):
    from cachezoo.closure import DISTRIBUTIONS, LOCK, PIN

    pins = {name.lower() for name, _ in PIN.findall((ROOT / LOCK).read_text())}
    files = {file for stage in STAGES for file in closure(house, SCRIPTS[stage])}
    imported = {name for file in files if file.suffix == ".py" for name in house.read(file).libraries}
    foreign = imported - set(sys.stdlib_module_names)
    assert {name for name in foreign if DISTRIBUTIONS.get(name, name).lower() not in pins} == set()


# What most stages import takes longer than their own modules, and is no file of the project: one process has it, and
# each of its children imports what a stage does and says what that has loaded of the project. A child of a process
# whose threads hold locks may wait for ever: it gets so many seconds.
SECONDS_TO_LOAD = 600
LOADING = """
import importlib, json, os, signal, sys
import numba, numpy, pyarrow.parquet, pydantic, yaml
assert not [name for name in sys.modules if name.startswith("cachezoo")]
seconds = int(sys.argv[1])
for stage, modules in json.load(sys.stdin).items():
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        for module in modules:
            importlib.import_module(module)
        files = [module.__file__ for name, module in sys.modules.items() if name.startswith("cachezoo")]
        print(json.dumps([stage, files]), flush=True)
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended:
        why = f"killed after {seconds} s" if ended == -signal.SIGALRM else f"it ended with {ended}"
        sys.exit(f"what {stage} loads: {why}")
"""


@pytest.fixture(scope="session")
def loaded(house):
    """The files of the project that each stage loads as it begins."""
    modules = {}
    for stage in STAGES:
        files = [str(file.relative_to(ROOT / "src").with_suffix("")) for file in house.read(SCRIPTS[stage]).own]
        modules[stage] = [*(name.replace("/", ".").removesuffix(".__init__") for name in files), "cachezoo.stage"]
    command = [sys.executable, "-c", LOADING, str(SECONDS_TO_LOAD)]
    given = json.dumps(modules)
    done = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return {stage: {str(Path(name).relative_to(ROOT)) for name in files} for stage, files in said}


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_loads_no_file_of_the_project_that_its_list_lacks(house, loaded, stage):
    files = {str(file.relative_to(ROOT)) for file in closure(house, SCRIPTS[stage])}
    assert "src/cachezoo/stage.py" in loaded[stage]
    # The registry brings the records of all systems with it; a stage counts those that its own file names.
    left_out = (CARRIES, *LEFT_OUT, re.compile(r"src/cachezoo/zoo/\w+/(record|__init__)\.py"))
    assert {name for name in loaded[stage] - files if not any(pattern.fullmatch(name) for pattern in left_out)} == set()


def test_every_stage_of_the_pipeline_depends_on_its_own_list():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    assert sorted(stages) == STAGES
    for name, stage in stages.items():
        # `exec`: else some shells would wait for it, and keep it when DVC is killed.
        assert stage["cmd"] == f"exec scripts/python pipelines/stages.py {name}"
        assert name == "sources" or f"data/sources/{name}.json" in stage["deps"], name


if __name__ == "__main__":
    RERUNS.write_text(json.dumps(reruns(Project(ROOT)), indent=1) + "\n")
