"""What a model's inputs were on the train traces: `inputs.json` beside its weights, to see drift by.

A runtime that counts its own inputs tells by them whether its workload is still the one that the model learned from.
"""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path

import numpy as np

from cachezoo.arrays import F32
from cachezoo.errors import TrainingError
from cachezoo.io import read_json
from cachezoo.models.trained import Feature

INPUTS_FILE = "inputs.json"
TENTHS = 10


def read_inputs(folder: Path, features: Sequence[Feature]) -> dict[str, list[float]]:
    """What `inputs.json` in a model's folder says of these inputs; nothing where there is no such file.

    Raises:
        CachezooError: it is damaged, or of other inputs.
    """
    path = folder / INPUTS_FILE
    if not path.exists():
        return {}
    found = read_json(path)
    names = {feature.name for feature in features}
    if not isinstance(found, dict) or set(found) != names or not all(map(_is_numbers, found.values())):
        message = f"{path}: is not {{input: [numbers]}} of the model's {len(names)} inputs; train the model again"
        raise TrainingError(message)
    return dict(found)


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(one) in (int, float) and isfinite(one) for one in value)


def distribution(features: Sequence[Feature], rows: F32) -> dict[str, list[float]]:
    """How each input is distributed over some rows.

    Args:
        features: F inputs in order.
        rows: float32[n, F], n of 1 or more.

    Returns:
        By name, of a number eleven values that occur: the least, the nine deciles, the largest. At least k tenths of
        the rows are at or below the k-th, and no more are below it. Of an ordinal the counts of code -1 (unknown), 0,
        1 and so on up to the largest that occurs.
    """
    places = [max(0, -(-k * len(rows) // TENTHS) - 1) for k in range(TENTHS + 1)]
    found = {}
    for feature, column in zip(features, rows.T, strict=True):
        if feature.encoding == "ordinal":
            found[feature.name] = np.bincount(column.astype(np.int64) + 1).astype(float).tolist()
        else:
            found[feature.name] = np.sort(column)[places].astype(float).tolist()
    return found
