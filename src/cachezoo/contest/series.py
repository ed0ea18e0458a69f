"""Series of numbers in the order of time."""

from typing import Any

import numpy as np
import numpy.typing as npt


def autocorrelation(values: npt.NDArray[Any], lag: int, least: int = 10) -> float | None:
    """Correlation of a series with itself `lag` steps on; None where it has fewer than `least` values or never changes.

    The estimate is the usual one of time series: both factors less the mean of all, over the variance of all. Its sums
    do not go through BLAS, whose last digits depend on how many threads it takes.
    """
    series = np.asarray(values, np.float64)
    if len(series) < max(least, lag + 2):
        return None
    centred = series - series.mean()
    square = float((centred * centred).sum())
    if square <= 1e-12 * len(series) * max(1.0, float(series.mean()) ** 2):
        return None
    return float((centred[:-lag] * centred[lag:]).sum()) / square
