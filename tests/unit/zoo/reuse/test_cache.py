"""The forest's cache is of one stream."""

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.kernels.reuse.hazards import BINS
from cachezoo.policies.following import follow_runs
from cachezoo.zoo.reuse.cache import Plan, forest_cache
from tests.stream_data import reads


def test_a_sampled_shadow_of_the_forest_is_refused() -> None:
    stream = reads(list(range(300)) * 3)
    plan = Plan(np.zeros(1, np.float32), [], np.ones((2, BINS)), np.ones((2, BINS)), 4, [], {}, 1)
    expert = forest_cache(np.zeros(len(stream), np.uint8), plan)
    assert follow_runs(stream, 300, [expert]).hits.tolist() == [600]
    with pytest.raises(ConfigError, match=r"^worth: 900 classes for a stream of \d+ accesses; give it full shadows$"):
        follow_runs(stream, 300, [expert], {"sample": 0.5})
