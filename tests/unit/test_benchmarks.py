"""Scripts that no stage runs: benchmarks/ and lab/notes/ import what there is."""

import ast
from pathlib import Path

import pytest

from cachezoo.closure import Project

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(file for folder in ("benchmarks", "lab/notes") for file in (ROOT / folder).glob("*.py"))
PROJECT = Project(ROOT, {"cachezoo": "src", "lab": "."})


def source(name, script):
    """The file of a module of the project, or of a script beside one; None of a library's."""
    beside = script.with_name(f"{name}.py")
    return beside if beside.is_file() else PROJECT.module_file(name)


def names(file):
    """What a module defines or imports at its top level."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.stem)
def test_a_script_imports_what_there_is(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        file = source(node.module, script)
        if file is None:
            assert node.module.split(".")[0] not in ("cachezoo", "lab"), f"no module {node.module}"
            continue
        own = names(file)
        lacking = [one.name for one in node.names
                   if one.name not in own and PROJECT.module_file(f"{node.module}.{one.name}") is None]  # fmt: skip
        assert lacking == [], f"{node.module} has none of these"
