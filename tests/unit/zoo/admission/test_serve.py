import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.features.history import feature_list
from cachezoo.serving.requests import batch_of
from cachezoo.zoo.admission.serve import AdmissionServing
from tests.baleen_data import make_trace

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
