"""The bars of a share's picture can all be seen."""

import pytest
from matplotlib.figure import Figure

from cachezoo.questions.share.plot import _scale


@pytest.mark.parametrize(
    ("values", "scale"),
    [([0.5, 0.1], "linear"), ([0.995, 0.0012], "log"), ([0.995, 0.0012, 0.0], "log"), ([0.0, 0.0], "linear")],
)
def test_bars_of_very_different_length_are_on_a_logarithmic_axis(values, scale):
    axes = Figure().subplots()
    low, wide = _scale(axes, values)
    begin, end = axes.get_xlim()
    assert axes.get_xscale() == scale and wide == (scale == "log") and begin == low and end > max(values)
    assert low < min((value for value in values if value > 0), default=1)
