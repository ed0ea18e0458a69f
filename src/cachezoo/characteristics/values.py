"""Characteristics as JSON values, and the figures that several of them share."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64

CDF_SHARES = np.concatenate([np.linspace(0, 1, 101), [0.995, 0.999, 0.9999]])
CDF_SHARES.sort()


def json_values(item: Any) -> Any:  # noqa: ANN401 - any characteristic
    """Plain JSON values of a characteristic: dataclasses as objects by field, arrays as lists; no NaN is let through.

    Raises:
        ValueError: a number that JSON has no word for.
    """
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        return {field.name: json_values(getattr(item, field.name)) for field in dataclasses.fields(item)}
    if isinstance(item, np.ndarray):
        return json_values(item.tolist())
    if isinstance(item, dict):
        return {str(key): json_values(value) for key, value in item.items()}
    if isinstance(item, list | tuple):
        return [json_values(value) for value in item]
    if isinstance(item, np.generic):
        return json_values(item.item())
    if isinstance(item, float) and not math.isfinite(item):
        raise ValueError(f"{item} is no JSON number")
    return item


def quantiles(values: npt.NDArray[Any], shares: Sequence[float] | F64 = CDF_SHARES) -> F64:
    """The smallest value that at least such a share of the values does not exceed.

    Args:
        values: number[n], n at least 1.
        shares: in [0, 1].
    """
    found: F64 = np.quantile(values, shares, method="inverted_cdf").astype(np.float64)
    return found
