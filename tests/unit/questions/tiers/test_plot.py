"""The picture of the front: what its axes say."""

import pytest
from matplotlib.figure import Figure

from cachezoo.questions.tiers.plot import time_axis


@pytest.mark.parametrize("ends", [(55, 5_800), (7_740, 8_100), (0.1, 20_000), (1.5, 12), (40, 120)])
def test_a_time_axis_has_at_least_three_labels(ends):
    axes = Figure().subplots()
    axes.plot([1, 2], ends)
    axes.set_yscale("log")
    time_axis(axes)
    low, high = axes.get_ylim()
    assert sum(low <= place <= high for place in axes.get_yticks()) >= 3
