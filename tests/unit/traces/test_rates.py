"""Units of time by the rate of requests that they make."""

import math

import numpy as np
import pytest

from cachezoo.traces.rates import unit_doubts

USUAL = {"s": 0.0, "ms": 0.0, "us": 0.0, "ns": 0.0}


def test_the_unit_of_a_usual_rate_is_not_doubted():
    times = np.arange(900) * 3333.0  # 300 requests a second, in microseconds
    doubts = unit_doubts(times, USUAL)
    assert doubts["us"] == 0 < min(doubts[unit] for unit in ("s", "ms", "ns"))


@pytest.mark.parametrize("most", [5e-324, 1e-300, 1e300, 1.7e308])
def test_spans_beyond_all_clocks_are_doubted_in_every_unit(most):
    doubts = unit_doubts(np.array([-most, 0.0, most]), USUAL)
    assert all(math.isfinite(doubt) and doubt > 100 for doubt in doubts.values())
