import json
import os
import shutil
import subprocess
import sys
import tempfile
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
        for name in ("__init__.py", "errors.py", "private.py"):
            shutil.copy(ROOT / "src/cachezoo" / name, folder / "cachezoo")
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


CALL = """
import numpy as np
from cachezoo.errors import CacheError
from cachezoo.kernels import versions
try:
    versions.version_ids(np.array([0], np.int32), np.array([False]), 1)
except CacheError as error:
    print(error)
"""


def test_a_cache_that_others_can_write_is_refused_when_a_kernel_is_called(folders: list[Path]) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="cachezoo-test-") as cache:
        Path(cache).chmod(0o777)
        environment = {**os.environ, "PYTHONPATH": str(folders[0]), "CACHEZOO_CACHE_DIR": cache}
        done = subprocess.run([sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True)
        assert len(done.stdout.splitlines()) == 1
        assert f"chmod go-w '{cache}'" in done.stdout
        assert not list(Path(cache).rglob("*.nb*"))
