"""The package's rooms import each other as `[tool.importlinter]` in pyproject.toml says, and no modules in a circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
from importlinter import configuration
from importlinter.application.use_cases import lint_imports

from cachezoo.syntax import imported

ROOT = Path(__file__).resolve().parents[2]


def test_rooms_import_only_what_they_may(capsys):
    configuration.configure()  # the command's own function would set up logging for all tests that follow, too
    kept = lint_imports(str(ROOT / "pyproject.toml"), cache_dir=None, no_logo=True)
    assert kept, capsys.readouterr().out


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions and those for types alone count."""
    graph = grimp.build_graph("cachezoo", exclude_type_checking_imports=False, cache_dir=None)
    found = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(found) > 300
    TopologicalSorter(found).prepare()  # else it names the circle


def test_the_product_imports_nothing_of_the_lab_or_the_tools():
    files = [file for folder in ("src", "pipelines") for file in (ROOT / folder).rglob("*.py")]
    assert files
    assert [
        file for file in files if {"lab", "tools"} & set(imported(ast.parse(file.read_text(encoding="utf-8"))))
    ] == []
