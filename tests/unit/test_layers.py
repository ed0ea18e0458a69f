"""The package's rooms import each other as `[tool.importlinter]` in pyproject.toml says."""

import ast
from pathlib import Path

from importlinter import configuration
from importlinter.application.use_cases import lint_imports

from cachezoo.syntax import imported

ROOT = Path(__file__).resolve().parents[2]


def test_rooms_import_only_what_they_may(capsys):
    configuration.configure()  # the command's own function would set up logging for all tests that follow, too
    kept = lint_imports(str(ROOT / "pyproject.toml"), cache_dir=None, no_logo=True)
    assert kept, capsys.readouterr().out


def test_the_product_imports_nothing_of_the_lab_or_the_tools():
    files = [file for folder in ("src", "pipelines") for file in (ROOT / folder).rglob("*.py")]
    assert files
    assert [
        file for file in files if {"lab", "tools"} & set(imported(ast.parse(file.read_text(encoding="utf-8"))))
    ] == []
