"""What a cache runs needs numpy alone, and without numba it computes the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
BEGIN = """
import hashlib, sys, warnings
from cachezoo.kernels import jit
jit.HAVE_NUMBA = jit.HAVE_NUMBA and sys.argv[1] == 'numba'
"""
PARTS = {
    "admission": """
from tests.unit.zoo.admission.test_serve import PLAIN, AdmissionServing, batch_of, make_trace
parts = [AdmissionServing(**PLAIN, infer=len).features(batch_of(make_trace(400, 6)))]
""",
    "prefetch": """
from tests.unit.zoo.prefetch.test_serve import PLAIN, PrefetchServing, batch, history_infer
serving = PrefetchServing(**PLAIN, infer=history_infer)
fetches = serving.prefetch(serving.features(batch(400, 6)))
parts = [fetches.low, fetches.high]
""",
    "caching": """
warnings.simplefilter('error')
from tests.unit.zoo.caching.test_serve import run, serving
served = run(serving(), [7, 2], [0.5, 0.4])
parts = [served.outcome, served.decisions, served.features, served.replaced, served.dirty_evicted]
""",
}
END = "print(hashlib.sha256(b''.join(part.tobytes() for part in parts)).hexdigest())"
HEAVY = {"numba", "pyarrow", "pandas", "pydantic", "lightgbm", "lightning", "torch", "sklearn", "onnx", "rich"}


def ran(code: str, mode: str) -> str:
    command = [sys.executable, "-c", code, mode]
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=ENV, text=True)
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", PARTS)
def test_same_bits_without_numba(kind: str) -> None:
    found = {ran(BEGIN + PARTS[kind] + END, mode) for mode in ("numba", "plain")}
    assert len(found) == 1 and len(found.pop().strip()) == 64


@pytest.mark.parametrize("kind", PARTS)
def test_serving_needs_numpy_alone(kind: str) -> None:
    loaded = ran(f"{BEGIN}import cachezoo.zoo.{kind}.serve\nprint(*sys.modules)", "plain")
    assert f"cachezoo.zoo.{kind}.serve" in loaded.split() and not HEAVY & set(loaded.split())
