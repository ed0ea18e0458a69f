"""The package's rooms import each other as `[tool.importlinter]` in pyproject.toml says."""

from pathlib import Path

from importlinter import configuration
from importlinter.application.use_cases import lint_imports

ROOT = Path(__file__).resolve().parents[2]


def test_rooms_import_only_what_they_may(capsys):
    configuration.configure()  # the command's own function would set up logging for all tests that follow, too
    kept = lint_imports(str(ROOT / "pyproject.toml"), cache_dir=None, no_logo=True)
    assert kept, capsys.readouterr().out
