"""The environment of stages: there before numpy and torch are loaded, and heeded by them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from cachezoo import pinned
from cachezoo.pinned import PINNED

ROOT = Path(__file__).resolve().parents[2]
# As the first line of a stage's script could.
SCRIPT = """
import json, os, sys
before = {"variables": dict(os.environ), "loaded": sorted({"numpy", "scipy", "torch"} & set(sys.modules))}
import numpy, scipy.linalg, torch
from threadpoolctl import threadpool_info
libraries = [one for one in threadpool_info() if one["internal_api"] == "openblas"]
print(json.dumps(before | {
    "blas": [[one["architecture"], one["num_threads"]] for one in libraries],
    "numpy": numpy.show_config(mode="dicts")["SIMD Extensions"]["found"],
    "torch": torch.backends.cpu.get_cpu_capability(),
    "threads": torch.get_num_threads(),
    "words": sys.argv[1:],
    "source": __import__("cachezoo").__file__,
}))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a stage's script sees that is started where the variables have other values; warnings are errors."""
    script = tmp_path_factory.mktemp("stage") / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    others = dict.fromkeys(PINNED, "") | {"OMP_NUM_THREADS": "7", "CACHEZOO_PYTHON": sys.executable}
    command = [ROOT / "scripts/python", "-W", "error", script, "a key", "-x"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | others, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_the_variables_are_there_before_numpy_and_torch_are_loaded(told: dict[str, Any]):
    assert told["variables"] | PINNED == told["variables"]
    assert told["loaded"] == []


def test_libraries_take_the_code_that_every_cpu_with_avx2_has(told: dict[str, Any]):
    assert told["blas"] == [["Haswell", 1]] * 2
    assert told["numpy"] == ["X86_V3"]
    assert (told["torch"], told["threads"]) == ("AVX2", 1)


def test_a_script_gets_its_words_and_the_sources_of_the_clone(told: dict[str, Any]):
    assert told["words"] == ["a key", "-x"]
    assert told["source"] == str(ROOT / "src/cachezoo/__init__.py")


@pytest.mark.parametrize(("room", "writes"), [(63 << 20, False), (65 << 20, True)])
def test_no_bytecode_is_written_to_a_disk_that_is_nearly_full(room: int, writes: bool, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=room // 4096, f_frsize=4096))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    assert ("PYTHONDONTWRITEBYTECODE" not in pinned.environment()) == writes


def test_dvc_starts_every_stage_in_it():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    commands = {name: stage.get("do", stage)["cmd"] for name, stage in stages.items()}
    own = "exec scripts/python pipelines/stages.py "
    assert {name for name, command in commands.items() if not command.startswith(own)} == set()
