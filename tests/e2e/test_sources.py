"""What stages find through the registry while they run is on their lists of sources too."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cachezoo.closure import CARRIES, LEFT_OUT, Project, closure
from tests.e2e.workspace import ROOT

REGISTERED = ("evaluate", "evaluate_share", "evaluate_tiers", "export")
SHOWN = ("report", "track")
CODE = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as left:
    assert not left.code, left.code
print("loaded", *(m.__file__ for n, m in list(sys.modules.items()) if n.startswith("cachezoo")))
"""
pytestmark = pytest.mark.slow(seconds=300)


@pytest.mark.parametrize("script", [*REGISTERED, *(pytest.param(name, marks=pytest.mark.long) for name in SHOWN)])
def test_a_stage_runs_no_source_that_its_list_lacks(made, tmp_path, script):
    folder = tmp_path / "copy"
    shutil.copytree(made.folder, folder, ignore=shutil.ignore_patterns("src", "pipelines", "mlflow*", ".dvc", ".cache"))
    for name in ("src", "pipelines"):
        (folder / name).symlink_to(ROOT / name)
    stage = made.of(script)
    kernels = os.environ.get("CACHEZOO_CACHE_DIR", str(ROOT / ".cache"))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CACHEZOO_CACHE_DIR": kernels}
    command = [sys.executable, "-c", CODE, *stage.command]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    loaded = {Path(name).relative_to(ROOT).as_posix() for name in done.stdout.splitlines()[-1].split()[1:]}
    listed = {file.relative_to(ROOT).as_posix() for file in closure(Project(ROOT), ROOT / f"pipelines/{script}.py")}
    # The registry brings the records of all systems with it, and their type; a stage counts what its own file names.
    brought = ("/record.py", "/__init__.py", "/zoo/base.py")
    missing = {name for name in loaded - listed if not name.endswith(brought)}
    assert {name for name in missing if not any(pattern.fullmatch(name) for pattern in (CARRIES, *LEFT_OUT))} == set()
    assert len(loaded) > 20
