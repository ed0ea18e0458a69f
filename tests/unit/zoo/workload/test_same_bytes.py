import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from cachezoo.zoo.workload.known import moments, strangeness
from cachezoo.zoo.workload.unknown import inverse_root, learn
from cachezoo.zoo.workload.windows import Inputs

SIZES = np.arange(1, 11, dtype=np.float32)


@pytest.fixture(scope="module")
def train() -> Inputs:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 20, 10)).astype(np.float32) * SIZES
    traces = rng.integers(0, 3, len(rows))
    return Inputs(rows=rows, labels=traces, traces=traces)


def test_what_is_known_hangs_on_no_number_of_threads(train: Inputs) -> None:
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            known = learn(train, ["a", "b", "c"])
            found.append(([one.values() for one in known], strangeness(train.rows, known).tolist()))
    assert found[0] == found[1]


def test_strangeness_is_the_mean_square_of_what_is_whitened(train: Inputs) -> None:
    known, values = learn(train, ["a", "b", "c"]), moments(train.rows)
    apart = [np.mean(((values - one.mean) @ one.whitening.T) ** 2, axis=1) for one in known]
    np.testing.assert_allclose(strangeness(train.rows, known), np.min(apart, axis=0), rtol=1e-10)
    own = values[train.traces == 0] - known[0].mean
    assert np.mean((own @ known[0].whitening.T) ** 2) == pytest.approx(1, abs=0.1)


def test_the_inverse_root_is_lapack_s() -> None:
    values = np.random.default_rng(1).normal(size=(200, 12))
    matrix = values.T @ values
    np.testing.assert_allclose(inverse_root(matrix), np.linalg.inv(np.linalg.cholesky(matrix)), rtol=1e-9, atol=1e-12)
