"""YAML that people write: whatever is wrong with it is one line that names the file."""

import ast
import shutil
from pathlib import Path

import pytest

from cachezoo.config.compose import compose, write_params
from cachezoo.config.load import load_params
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.study.grid import Settings
from cachezoo.tracking.seats import read_zoo
from cachezoo.yaml_file import read_yaml

ROOT = Path(__file__).resolve().parents[2]
NESTED = "[" * 20_000
TAGS = ("int", "float", "bool", "timestamp", "binary", "set", "omap", "python/object:os.system")
STRANGE = [
    NESTED,
    "{a: " * 20_000,
    "- " * 20_000,
    *(f"a: !!{tag} {value}" for tag in TAGS for value in ("", "x", "[x]")),
    "2024-99-99",
    "1" * 5000,
    "[a]: b\n? {a: b}\n",
    "a: *b",
    "<<: 3",
    "a: \x00",
    "%YAML 9.9\n--- a",
]


@pytest.mark.parametrize("text", STRANGE, ids=lambda text: text[:24])
def test_a_text_is_read_or_refused_in_one_line(tmp_path, text):
    (tmp_path / "x.yaml").write_text(text)
    try:
        read_yaml(tmp_path / "x.yaml")
    except ConfigError as error:
        assert str(error).startswith(f"{tmp_path}/x.yaml: not readable as YAML (")
        assert len(str(error).splitlines()) == 1
        assert ("nested too deeply" in str(error)) == (len(text) > 10_000)


@pytest.fixture
def project(tmp_path):
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(ROOT / "params.yaml", tmp_path)
    return tmp_path


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("name", ["matrix.yaml", "overrides.yaml", "config.yaml", "fit/caching.yaml"])
@pytest.mark.parametrize("text", [NESTED, "a: !!timestamp soon", "a: [1"])
def test_a_file_of_conf_is_named_or_its_folder_is(project, name, text):
    if not (project / "conf" / name).exists():
        name = next(path.relative_to(project / "conf").as_posix() for path in (project / "conf/fit").rglob("*.yaml"))
    (project / "conf" / name).write_text(text)
    with pytest.raises(ConfigError) as caught:
        compose(project / "conf")
    assert str(caught.value).startswith(f"{project}/conf")
    assert len(str(caught.value).splitlines()) == 1


def test_params_that_are_nested_too_deeply(project):
    """A stage refuses them; the stage that makes them writes them anew."""
    path = project / "params.yaml"
    path.write_text(NESTED)
    with pytest.raises(ConfigError, match=r"params\.yaml: not readable as YAML \(nested too deeply\)$"):
        load_params(path)
    write_params(project / "conf", path)
    load_params(path)


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("value", [NESTED, "!!int x", "{" * 2000])
def test_a_value_of_a_study(project, value):
    with pytest.raises(ConfigError) as caught:
        Settings(project).of({"fit.caching.learning_rate": value})
    assert len(str(caught.value).splitlines()) == 1


def test_a_zoo_that_is_nested_too_deeply(tmp_path):
    (tmp_path / "zoo.json").write_text(NESTED)
    with pytest.raises(CachezooError, match=r"zoo\.json: not readable as JSON \(nested too deeply\)$"):
        read_zoo(tmp_path)


PARSERS = {("yaml", "safe_load"), ("yaml", "load"), ("json", "loads"), ("json", "load")}
# What each of these reads no person writes: what it has written itself, or what a program says; and the runtime and
# bundles, which numpy alone has to do for, catch what is nested too deeply themselves.
OWN = {
    "bundles/integrity.py", "bundles/schema.py", "devices/fio/replay.py", "io.py", "kept.py", "kernels/jit.py",
    "labels/tags.py", "report/gather.py", "runtime/__main__.py", "serving/strict_json.py", "questions/share/mix.py",
    "serve/control.py", "serve/run.py", "serve/state.py", "to_go.py", "traces/provenance.py",
    "traces/formats/opencas.py", "traces/remarks.py", "yaml_file.py",
}  # fmt: skip


def parses(tree):
    for call in (node.func for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name):
            yield (call.value.id, call.attr) in PARSERS
        if isinstance(call, ast.Name):
            yield call.id in {"loads", "safe_load"}


def test_one_place_reads_what_people_write():
    package = ROOT / "src/cachezoo"
    files = package.rglob("*.py")
    assert {str(file.relative_to(package)) for file in files if any(parses(ast.parse(file.read_text())))} == OWN
