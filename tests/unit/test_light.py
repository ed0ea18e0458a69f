"""`pip install .` alone: few packages, those that the locks pin, and all files that the package reads of itself."""

import importlib.metadata as metadata
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.locks import RUN, pins
from tests.command_line import run

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LIGHT = list(map(Requirement, PROJECT["project"]["dependencies"]))
MOST_PACKAGES = 34


def closure(asked):
    """Names of the distributions that these need, by what is installed here."""
    todo, found = [(own.name, frozenset(own.extras)) for own in asked], set()
    while todo:
        name, extras = todo.pop()
        if canonicalize_name(name) in found:
            continue
        found.add(canonicalize_name(name))
        for own in map(Requirement, metadata.requires(name) or []):
            if any(own.marker is None or own.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                todo.append((own.name, frozenset(own.extras)))
    return found


def test_a_light_installation_is_of_few_packages():
    found = closure(LIGHT)
    assert {"numpy", "numba", "llvmlite", "typer"} <= found
    assert len(found) + 1 <= MOST_PACKAGES
    assert not found & {"torch", "dvc", "mlflow", "lightning", "optuna", "scikit-learn", "lightgbm"}


@pytest.mark.parametrize("extra", [None, "models", "pipeline"])
def test_what_the_lock_pins_is_within_what_is_asked_for(extra):
    pinned = {canonicalize_name(pin.name): pin.version for pin in pins(ROOT / RUN)}
    asked = LIGHT if extra is None else map(Requirement, PROJECT["project"]["optional-dependencies"][extra])
    for own in asked:
        assert own.specifier.contains(pinned[canonicalize_name(own.name)]), own


def test_every_file_that_is_no_source_is_in_the_wheel():
    package = ROOT / "src/cachezoo"
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["cachezoo"]
    packed = {file for pattern in patterns for file in package.glob(pattern)}
    assert all(any(package.glob(pattern)) for pattern in patterns)
    others = {
        file for file in package.rglob("*") if file.is_file() and file.suffix in (".j2", ".css", ".typed", ".pyi")
    }
    assert others and others <= packed
    assert {file for file in package.rglob("*.json") if "__pycache__" not in file.parts} <= packed


def test_a_library_that_is_left_out_is_named_in_a_line(tmp_path, monkeypatch):
    trace = tmp_path / "t.csv"
    trace.write_text("time_us,op,offset,size\n" + "".join(f"{k},R,{4096 * (k % 90)},4096\n" for k in range(40_000)))
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    done = run("simulate", trace, "--policy", "lrb(rows=64)", "--size", "20p", ok=False)
    assert done.stderr.splitlines()[-1].startswith(
        "cachezoo: lightgbm is not installed, and this needs it: pip install"
    )
    assert "Traceback" not in done.stderr
