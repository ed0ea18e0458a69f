import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CODE = """
import json
import numpy as np
from cachezoo.kernels import jit, versions
kernel = versions.version_ids
ids, count = kernel(np.array([0, 1, 0, 1], np.int32), np.array([False, False, True, False]), 2)
hits = sum(kernel.stats.cache_hits.values())
print(json.dumps([versions.__file__, hits, ids.tolist(), jit._cache_folder().name]))
"""


def run(folder: Path, cache: Path) -> list:
    environment = {**os.environ, "PYTHONPATH": str(folder), "CACHEZOO_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", CODE], cwd=folder, env=environment, capture_output=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two copies of the kernels; the second is of another time."""
    made = [tmp_path / name for name in ("one", "another")]
    for folder in made:
        (folder / "cachezoo").mkdir(parents=True)
        shutil.copy(ROOT / "src/cachezoo/__init__.py", folder / "cachezoo")
        shutil.copytree(ROOT / "src/cachezoo/kernels", folder / "cachezoo/kernels")
    os.utime(made[1] / "cachezoo/kernels/versions.py", (1, 1))
    return made


@pytest.mark.slow
def test_clones_share_what_is_compiled(folders: list[Path], tmp_path: Path) -> None:
    first, again, other = (run(folder, tmp_path / "cache") for folder in (folders[0], folders[0], folders[1]))
    assert other[0].startswith(str(folders[1]))
    assert (first[1], again[1], other[1]) == (0, 1, 1)
    assert first[2:] == again[2:] == other[2:]


@pytest.mark.slow
def test_any_edit_of_a_kernel_compiles_anew(folders: list[Path], tmp_path: Path) -> None:
    first = run(folders[0], tmp_path / "cache")
    with (folders[0] / "cachezoo/kernels/segments.py").open("a") as file:
        file.write("\n# another kernel, which this one might call\n")
    edited = run(folders[0], tmp_path / "cache")
    assert (first[1], edited[1]) == (0, 0)
    assert first[3] != edited[3]


def test_numba_may_be_imported_before(folders: list[Path], tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(folders[0]), "CACHEZOO_CACHE_DIR": str(tmp_path / "cache")}
    code = "import numba\nfrom cachezoo.kernels import versions\nprint(versions.version_ids.stats.cache_path)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path / "cache"))
