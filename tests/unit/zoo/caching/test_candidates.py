import numpy as np

from cachezoo.zoo.caching.candidates import ADMIT_ALL, ADMIT_NONE, thresholds_of


def test_thresholds_part_the_outputs_into_equal_shares() -> None:
    rng = np.random.default_rng(1)
    cached = rng.beta(0.05, 5, 10_000).astype(np.float32)
    shares = [float((cached < value).mean()) for value in thresholds_of(cached, 21) if 1e-6 < value < 1]
    np.testing.assert_allclose(shares, np.arange(20 - len(shares), 20) / 20, atol=0.01)
    assert len(shares) > 5 and all(value < 1 for value in thresholds_of(1 - cached[cached > 1e-6], 21)[1:-1])
    assert thresholds_of(cached[:0], 21) == [ADMIT_ALL, ADMIT_NONE]
