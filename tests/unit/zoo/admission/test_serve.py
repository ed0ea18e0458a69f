import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.features.history import feature_list
from cachezoo.serving.requests import batch_of
from cachezoo.zoo.admission.serve import AdmissionServing
from tests.baleen_data import make_trace

ROOT = Path(__file__).parents[4]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
PLAIN = {
    "features": feature_list([1, 2]),
    "encodings": {"namespace": {}, "user": {}},
    "geometry": {"block_bytes": 262144, "segment_bytes": 4096},
    "calibration": {"threshold": 1.0},
    "policy": {"history": {"bucket_requests": 10, "windows": [1, 2]}},
}


def test_decides_at_or_above_the_threshold() -> None:
    serving = AdmissionServing(**PLAIN, infer=lambda rows: rows[:, 5:6])  # score = size in segments
    trace = make_trace(100, 1)
    rows = serving.features(batch_of(trace))
    assert serving.scores(rows).shape == (100,)
    assert serving.decide(rows).all()
    strict = AdmissionServing(**{**PLAIN, "calibration": {"threshold": 5.0}}, infer=lambda rows: rows[:, 5])
    np.testing.assert_array_equal(strict.decide(rows), rows[:, 5] >= 5)


def test_rules() -> None:
    with pytest.raises(ConfigError, match="threshold"):
        AdmissionServing(**{**PLAIN, "calibration": {}}, infer=len)


def test_same_bits_without_numba() -> None:
    code = (
        "import hashlib, sys\n"
        "from cachezoo.kernels import jit\n"
        "jit.HAVE_NUMBA = jit.HAVE_NUMBA and sys.argv[1] == 'numba'\n"
        "from tests.baleen_data import make_trace\n"
        "from tests.unit.zoo.admission.test_serve import PLAIN\n"
        "from cachezoo.serving.requests import batch_of\n"
        "from cachezoo.zoo.admission.serve import AdmissionServing\n"
        "trace = make_trace(400, 6)\n"
        "serving = AdmissionServing(**PLAIN, infer=len)\n"
        "rows = serving.features(batch_of(trace))\n"
        "print(hashlib.sha256(rows.tobytes()).hexdigest())"
    )
    commands = [[sys.executable, "-c", code, mode] for mode in ("numba", "plain")]
    digests = {subprocess.run(c, check=True, capture_output=True, cwd=ROOT, env=ENV).stdout for c in commands}
    assert len(digests) == 1


def test_serving_needs_numpy_alone() -> None:
    code = (
        "import sys\n"
        "from cachezoo.kernels import jit\n"
        "jit.HAVE_NUMBA = False\n"
        "import cachezoo.zoo.admission.serve\n"
        "heavy = {'numba', 'pyarrow', 'pandas', 'pydantic', 'lightgbm', 'torch', 'sklearn', 'onnx', 'rich'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
