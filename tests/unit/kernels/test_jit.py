import fcntl
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NJIT = "from cachezoo.kernels.jit import njit\n"
KERNELS = {
    "callee": f"{NJIT}@njit\ndef twice(x):\n    return 2 * x\n",
    "caller": f"{NJIT}from cachezoo.kernels.callee import twice\n@njit\ndef four(x):\n    return 2 + twice(x)\n",
    "other": f"{NJIT}@njit\ndef one(x):\n    return x + 1\n",
    "loop": "def run(n):\n    total = 0\n    for i in range(n):\n        total += weigh(i)\n    return total\n",
}
# What each kernel returned, and the names of those that were compiled, not read from the cache.
CODE = """
import json, sys
from cachezoo.kernels import jit
jit.PATIENCE = float(sys.argv[1])
from cachezoo.kernels import callee, caller, loop, other
bound = jit.specialise(loop.run, "run_bound", weigh=callee.twice)
if len(sys.argv) > 2:
    print("ready", flush=True)
    sys.stdin.readline()
kernels = (caller.four, bound, other.one)
results = [kernel(3) for kernel in kernels]
print(json.dumps([results, [kernel.__name__ for kernel in kernels if kernel.stats.cache_misses]]))
"""
ALL = ["four", "run_bound", "one"]


def started(folder: Path, cache: Path, *arguments: str, code: str = CODE) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "CACHEZOO_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def run(folder: Path, cache: Path, patience: str = "60", code: str = CODE) -> list:
    answer, _ = (process := started(folder, cache, patience, code=code)).communicate()
    assert process.returncode == 0
    return json.loads(answer)


def clone(folder: Path) -> Path:
    """A package of a few small kernels."""
    (folder / "cachezoo/kernels").mkdir(parents=True)
    for name in ("__init__", "errors", "private", "syntax", "kernels/__init__", "kernels/jit"):
        shutil.copy(ROOT / f"src/cachezoo/{name}.py", folder / f"cachezoo/{name}.py")
    for name, text in KERNELS.items():
        (folder / f"cachezoo/kernels/{name}.py").write_text(text)
    return folder


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which all that the script calls is compiled."""
    folder = tmp_path_factory.mktemp("compiled")
    assert run(clone(folder / "first"), folder / "cache") == [[8, 6, 4], ALL]
    return folder / "cache"


@pytest.fixture
def cache(compiled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(compiled, tmp_path / "cache")


def test_clones_share_what_is_compiled(cache: Path, tmp_path: Path) -> None:
    other = clone(tmp_path / "of another time")
    os.utime(other / "cachezoo/kernels/callee.py", (1, 1))
    assert run(other, cache) == [[8, 6, 4], []]


CALLEE, OTHER = ("kernels/callee", "2 * x", "3 * x"), ("kernels/other", "x + 1", "x + 2")
CALLER, LOOP = ("kernels/caller", "2 + ", "1 + "), ("kernels/loop", "total = 0", "total = 1")
SAYS = ("kernels/callee", "    return", '    """Says."""  # And notes.\n\n    return')
PRIVATE, DOOR = ("private", "MAX_LINKS = 40", "MAX_LINKS = 39"), ("kernels/jit", "PATIENCE = 60.0", "PATIENCE = 61.0")


@pytest.mark.parametrize(
    ("edits", "results", "anew"),
    [
        ([CALLEE], [11, 9, 4], ["four", "run_bound"]),
        ([CALLER, OTHER], [7, 6, 5], ["four", "one"]),
        ([LOOP], [8, 7, 4], ["run_bound"]),
        ([SAYS, PRIVATE], [8, 6, 4], []),
        ([DOOR], [8, 6, 4], ALL),
    ],
)
def test_an_edit_compiles_anew_what_calls_or_binds_what_was_edited(cache, tmp_path, edits, results, anew):
    folder = clone(tmp_path / "edited")
    for file, old, new in edits:
        source = folder / f"cachezoo/{file}.py"
        (before, after) = source.read_text().split(old)
        source.write_text(before + new + after)
    assert run(folder, cache) == [results, anew]


def test_a_loop_is_known_by_the_steps_bound_to_it(cache: Path, tmp_path: Path) -> None:
    code = CODE.replace("weigh=callee.twice", "weigh=other.one")
    assert run(clone(tmp_path / "clone"), cache, code=code) == [[8, 6, 4], ["run_bound"]]


def test_of_two_processes_one_compiles_a_kernel(tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone")
    processes = [started(folder, tmp_path / "cache", "60", "wait") for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    (first, second) = (json.loads(process.communicate()[0]) for process in processes)
    assert first[0] == second[0]
    assert sorted(first[1] + second[1]) == sorted(ALL)


def test_a_process_that_does_not_get_on_holds_up_no_other(cache: Path, tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone")
    for kept in cache.rglob("*.nb*"):
        kept.unlink()
    (turns,) = cache.rglob("turns")
    with turns.open("ab") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        assert run(folder, cache, patience="0.1") == [[8, 6, 4], ALL]


def test_what_was_not_read_for_long_goes_once_a_source_is_new(cache: Path, tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone")
    kept = [*cache.rglob("*.nbc")]
    for old in kept:
        os.utime(old, (1, 1))
    fresh = {*cache.rglob("*.json")}
    (folder / "cachezoo/kernels/other.py").write_text(f"{KERNELS['other']}# a note\n")
    assert run(folder, cache) == [[8, 6, 4], ALL]
    assert fresh < {*cache.rglob("*.json")}
    assert {*kept} == {*cache.rglob("*.nbc")}
    assert all(path.stat().st_mtime > 1 for path in kept)


def test_numba_may_be_imported_before(tmp_path: Path) -> None:
    code = "import json, numba\nfrom cachezoo.kernels import other\nprint(json.dumps(other.one.stats.cache_path))"
    assert run(clone(tmp_path / "clone"), tmp_path / "cache", code=code).startswith(str(tmp_path / "cache"))


CALL = """
from cachezoo.errors import CacheError
from cachezoo.kernels import other
try:
    other.one(1)
except CacheError as error:
    print(error)
"""


def test_a_cache_that_others_can_write_is_refused_when_a_kernel_is_called(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="cachezoo-test-") as cache:
        Path(cache).chmod(0o777)
        answer, _ = started(clone(tmp_path / "clone"), Path(cache), code=CALL).communicate()
        assert len(answer.splitlines()) == 1
        assert f"chmod go-w '{cache}'" in answer
        assert not list(Path(cache).rglob("*.nb*"))


OWN = """
from typing import NamedTuple
import numpy as np
from cachezoo.arrays import U8
from cachezoo.kernels.step import step
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Admission, Composition, Eviction
from cachezoo.policies.engine import simulate, spans
from cachezoo.policies.evictions.classics import ARC
from cachezoo.policies.stream import Stream

class OwnState(NamedTuple):
    resident: U8

@step
def has(state, page):
    return bool(state.resident[page])

@step
def touch(state, page, i):
    pass

@step
def insert(state, page, i):
    state.resident[page] = 1
    return -1

@step
def admit(state, page, i):
    return page != 1

make = lambda stream, capacity, values: OwnState(np.zeros(stream.n_pages, np.uint8))
keep = Eviction("keep", "no page leaves", make, has, touch, insert)
but_one = Admission("butone", "all but page 1", make, admit, touch)
stream = Stream.of_pages(np.array([0, 1, 0, 1], np.int32), 2)
own, mixed = Composition(keep, ACCEPT_ALL), Composition(ARC, but_one)
for run in (simulate(own, stream, 2), next(spans(own, stream, 2, 9))[2], simulate(mixed, stream, 2)):
    print(*run.outcome)
"""


def test_the_kernels_kept_on_disk_name_no_type_of_a_policy_that_may_be_gone(tmp_path: Path) -> None:
    """A kernel of the package that another's policy gives its state to would have its type in its index for good."""
    module, folder = tmp_path / "own_policy.py", tmp_path / "cache"
    module.write_text(OWN)
    code = f"import sys; sys.path.append({str(tmp_path)!r}); import own_policy"
    process = started(ROOT / "src", folder, code=code)
    assert process.communicate()[0] == "1 1 2 2\n1 1 2 2\n1 0 2 0\n"
    module.unlink()
    indexes = list(folder.rglob("*.nbi"))
    assert indexes
    for index in indexes:
        with index.open("rb") as file:
            pickle.load(file)  # numba's version
            _, kernels = pickle.load(file)
        assert kernels
