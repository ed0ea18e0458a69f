import shutil
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from cachezoo.config.compose import compose, write_params
from cachezoo.config.load import load_params
from cachezoo.errors import ConfigError
from cachezoo.settings.data import Data
from pipelines.stages import STAGES

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def conf(tmp_path):
    return Path(shutil.copytree(ROOT / "conf", tmp_path / "conf"))


def test_the_committed_params_are_what_conf_composes_to():
    assert compose(ROOT / "conf") == (ROOT / "params.yaml").read_text()


def test_no_overrides_are_committed():
    assert yaml.safe_load((ROOT / "conf/overrides.yaml").read_text()) == {"overrides": []}


def test_the_tiny_overlay_changes_keys_that_conf_has(conf):
    overlay = ROOT / "tests/e2e/tiny"
    plain = yaml.safe_load(compose(conf))
    for name in ("matrix.yaml", "overrides.yaml"):
        shutil.copy(overlay / name, conf / name)
    params = yaml.safe_load(compose(conf))
    for override in yaml.safe_load((overlay / "overrides.yaml").read_text())["overrides"]:
        path, value = override.split("=", 1)
        before, after = plain, params
        for key in path.split("."):
            before, after = before[key], after[key]
        assert (after, before != after) == (yaml.safe_load(value), True), override


def test_matrix_keys_are_disjoint_from_those_of_params():
    matrix, params = (yaml.safe_load((ROOT / name).read_text()) for name in ("conf/matrix.yaml", "params.yaml"))
    assert not set(matrix) & set(params)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "evaluate/default.yaml",
            "capacity_fraction: 0.10",
            "capacity_fraction: 0",
            "evaluate.capacity_fraction",
        ),
        ("evaluate/default.yaml", "capacity_fraction:", "capacity_fracton:", "evaluate.capacity_fract"),
        ("config.yaml", "seed: 20161", "seed: soon", "seed"),
        ("overrides.yaml", "[]", "[nosuch.key=1]", "nosuch"),
        ("overrides.yaml", "[]", "", r"conf/overrides\.yaml: its one key must be overrides, a list"),
        ("overrides.yaml", "[]", "[1]", r"conf/overrides\.yaml: .* a list of KEY=VALUE"),
        ("overrides.yaml", "overrides: []", "- seed=1", r"conf/overrides\.yaml: its one key must be overrides"),
        ("matrix.yaml", "\ncategories: ", "\ncategories:  # ", r"conf/matrix\.yaml: categories must be a list"),
        ("matrix.yaml", "page_categories: ", "page_categories:  # ", "yaml: page_categories must be a list"),
        ("matrix.yaml", "caching: lstm_small", "caching:", r"conf/matrix\.yaml: models must map"),
        ("policy/manager.yaml", "capacity: 0.10", "capacity: 0.15", "manager.capacity .* label.benefit.cap"),
        ("overrides.yaml", "[]", "[model/caching=lstm_small]", "under models in matrix.yaml"),
        ("matrix.yaml", "caching: lstm_small", "caching: nosuch", "nosuch"),
        ("matrix.yaml", "  caching: lstm_small\n", "", "models must name"),
        ("model/caching/lstm_small.yaml", "arch: lstm_small", "arch: lstm3", "must say lstm_small"),
        ("matrix.yaml", "\ncategories: [", "\ncategories: [none, ", "yaml: categories is"),
        ("matrix.yaml", "page_categories: [", "page_categories: [none, ", "page_categories is"),
        ("matrix.yaml", "[*page_traces, *object_traces]", "[*page_traces]\n  x: {path: x}", "must be the rows of"),
        ("matrix.yaml", "write_traces:", "write_traces: []\nx:", "its keys must be page_traces"),
        ("matrix.yaml", "  {database: data/", "  {none: x, database: data/", "stream_categories must be {data"),
        ("matrix.yaml", "models:", "model:", "its keys must be page_traces"),
        ("matrix.yaml", "\ncorpus:", "\ncorpus: []\nx:", "its keys must be page_traces"),
        (
            "matrix.yaml",
            "corpora: {",
            "corpora: {none: x, ",
            r"yaml: corpora is of .*none.*, the corpus's categories are",
        ),
        ("matrix.yaml", "corpora: {", "corpora: [1]\n#", "yaml: corpus must be a table of traces, corpora the folder"),
        (
            "matrix.yaml",
            "corpus/web/nginx_a",
            "corpus/mail/nginx_a",
            r"nginx_a: its path is not in the folder .* for web",
        ),
        ("matrix.yaml", "\n  nginx_a:", "\n  web_train:", r"key web_train stands in two tables"),
        ("matrix.yaml", "setup: a, role: train", "setup: a, role: validation", r"corpus\.\w+\.\w+\.role"),
        (
            "matrix.yaml",
            ", unseen: true}\n  postgres_a",
            "}\n  postgres_a",
            "unseen is False, but its program is mariadb and",
        ),
        (
            "matrix.yaml",
            "format: parquet, category: database, program: mariadb",
            "format: parkit, category: database, program: mariadb",
            r"corpus\.mariadb_a\.format: parkit is unknown, did you mean parquet\?$",
        ),
        (
            "matrix.yaml",
            "format: parquet",
            "format: parket",
            r"conf/matrix\.yaml: traces\.\w+\.format: parket is unknown, did you mean parquet\?$",
        ),
        ("matrix.yaml", "format: parquet", "format: zzz", r"zzz is unknown, use one of auto, parquet, csv, "),
        ("overrides.yaml", "[]", "[fit.caching.learning_rate=inf]", "fit.caching.learning_rate"),
        ("overrides.yaml", "[]", "[fit.admission.threads=1e18]", "fit.admission.threads"),
        ("overrides.yaml", "[]", "[judge.reuse.least_gain=1e23]", "judge.reuse.least_gain"),
        ("overrides.yaml", "[]", "[fit.workload.max_epochs=true]", "fit.workload.max_epochs"),
        ("overrides.yaml", "[]", "['judge.reuse.sizes=[0.05]']", r"sizes \[0\.05\] must hold capacity 0\.1, of which"),
        (
            "matrix.yaml",
            "&page_traces\n",
            "&page_traces\n  a: {path: x, format: csv, category: web, role: judge}\n",
            "data.traces.a.role",
        ),
    ],
)
def test_a_mistake_in_conf_names_the_key_and_leaves_params(conf, tmp_path, file, old, new, message):
    text = (conf / file).read_text()
    assert old in text
    (conf / file).write_text(text.replace(old, new, 1))
    (tmp_path / "params.yaml").write_text("old")
    with pytest.raises(ConfigError, match=message) as error:
        write_params(conf, tmp_path / "params.yaml")
    assert "\n" not in str(error.value)
    assert (tmp_path / "params.yaml").read_text() == "old"


def test_values_changed_in_params_are_refused_with_where_they_belong(conf, tmp_path):
    params = tmp_path / "params.yaml"
    write_params(conf, params)
    composed = params.read_text()
    params.write_text(composed.replace("    batch: 16\n", "    batch: 8\n", 1))
    changed = params.read_text()
    assert changed != composed
    with pytest.raises(ConfigError, match=r"fit\.caching\.batch .*/conf/fit/caching\.yaml:batch instead.*git checkout"):
        write_params(conf, params)
    assert params.read_text() == changed


@pytest.mark.parametrize("change", [lambda text: "", lambda text: ": {[", lambda text: f"{text}# read\n"])
def test_params_that_are_damaged_or_only_laid_out_anew_are_written_again(conf, tmp_path, change):
    params = tmp_path / "params.yaml"
    write_params(conf, params)
    composed = params.read_text()
    params.write_text(change(composed))
    write_params(conf, params)
    assert params.read_text() == composed


def test_a_changed_conf_is_composed_anew(conf, tmp_path):
    params = tmp_path / "params.yaml"
    write_params(conf, params)
    file = conf / "fit/caching.yaml"
    file.write_text(file.read_text().replace("batch: 16", "batch: 8"))
    write_params(conf, params)
    assert yaml.safe_load(params.read_text())["fit"]["caching"]["batch"] == 8


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (("train", [0, 1]), ("test", [0, 1]), "share requests"),
        (("train", [0, 0.6]), ("validation", [0.5, 1]), "share requests"),
        (("validation", [0, 0.6]), ("test", [0.5, 1]), "share requests"),
        (("train", [0.5, 1]), ("test", [0, 0.5]), "training comes first"),
        (("validation", [0, 0.5]), ("train", [0.5, 1]), "training comes first"),
        (("train", [0, 0.5]), ("test", [0.5, 1]), None),
        (("train", [0, 0.5]), ("train", [0.25, 1]), None),
    ],
)
def test_roles_share_no_requests_and_training_comes_first(one, two, message):
    traces = {
        key: {"path": path, "format": "csv", "category": "web", "role": role, "part": part}
        for key, path, (role, part) in (("first", "data/x.csv", one), ("second", "./data/x.csv", two))
    }
    if message is None:
        Data.model_validate({"traces": traces, "page_categories": ["web"]})
        return
    with pytest.raises(ValidationError, match=message) as error:
        Data.model_validate({"traces": traces, "page_categories": ["web"]})
    assert "first" in str(error.value)
    assert "second" in str(error.value)


def test_missing_params_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"params\.yaml"):
        load_params(tmp_path / "params.yaml")


def test_each_stage_depends_on_its_own_sources():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    for name, entry in stages.items():
        stage = entry.get("do") or entry
        assert stage["desc"], name
        *_, script, own_name = stage["cmd"].split()
        own = [dep for dep in stage["deps"] if dep.startswith("data/sources/") or dep.endswith(".py")]
        assert own == ([] if name == "sources" else [f"data/sources/{own_name}.json"]), name
        assert script == "pipelines/stages.py" and own_name == name and own_name in STAGES, name
