"""The wheel of everything, with the library in it: the demo runs from it without a compiler, and leaves nothing."""

import json
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PARTS = ("src", "runtimes/c", "runtimes/python")
FILES = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "NOTICE")
MAIN = "from cachezoo.cli import main; main()"

pytestmark = [pytest.mark.needs("gcc"), pytest.mark.slow(seconds=120)]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """What the wheel installs."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in PARTS:
        ignored = shutil.ignore_patterns("build", "__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, folder / "sources" / name, ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, folder / "sources")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    given = {**os.environ, "CACHEZOO_WITH_LIBRARY": "1", "OPTIMISE": "-O0"}  # the library's Makefile has that one
    subprocess.run([*pip, str(folder / "sources")], check=True, env=given, timeout=600)
    (wheel,) = folder.glob("cachezoo-*-py3-none-*.whl")
    assert wheel.stem.endswith(platform.machine())
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(folder / "there")]
    subprocess.run([*pip, str(wheel)], check=True, timeout=600)
    with zipfile.ZipFile(wheel) as archive:
        assert any(name.endswith("cachezoo/runtime/libcachezoo.so.1") for name in archive.namelist())
    return folder / "there"


def test_the_demo_runs_from_it_and_leaves_nothing(unpacked, tmp_path):
    for name in ("here", "temporary", "bin"):
        (tmp_path / name).mkdir()
    # Kernels are known by their sources, wherever these lie: those that this checkout has compiled are its own too.
    kernels = os.environ.get("CACHEZOO_CACHE_DIR", str(ROOT / ".cache"))
    given = {
        "PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "temporary"),
        "PYTHONPATH": str(unpacked), "CACHEZOO_CACHE_DIR": kernels, "LANG": "C.UTF-8",
    }  # fmt: skip
    words = [sys.executable, "-c", MAIN, "demo", "--json"]
    done = subprocess.run(words, cwd=tmp_path / "here", env=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["by"] == "libcachezoo in this process"
    policies = [row["policy"] for row in found["rows"]]
    assert policies[:2] == ["no cache", "lru"] and found["policy"] in policies
    for row in found["rows"][1:]:
        assert abs(row["hits_measured"] - row["hits_promised"]) < 1e-9
    assert not list((tmp_path / "here").iterdir()) and not list((tmp_path / "temporary").iterdir())
