"""Misses equal to those of libCacheSim, which benchmarks/objects.py keeps in tests/golden/objects.json."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cachezoo.sized.simulate import simulate
from tests.sized_data import read_public, skewed

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "objects.json").read_text(encoding="utf-8"))["misses"]


def own_misses(asked, kept):
    """Our misses of the same policies and shares."""
    found = {}
    for text, shares in kept.items():
        for share in shares:
            run = simulate(asked, text, int(asked.footprint_bytes * float(share)), resizing=False)
            found.setdefault(text, {})[share] = run.requests - run.hits
    return found


def test_misses_are_equal_on_generated_requests():
    assert len(GOLDEN["generated"]) == 9
    assert own_misses(skewed(), GOLDEN["generated"]) == GOLDEN["generated"]


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize("name", ("cloudphysics", "webcache"))
def test_misses_are_equal_on_public_traces(name):
    assert own_misses(read_public(name), GOLDEN[name]) == GOLDEN[name]


@pytest.mark.long
@pytest.mark.needs("public_traces")
def test_libcachesim_itself_misses_as_often():
    command = [sys.executable, "benchmarks/objects.py"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All misses are equal." in done.stdout
