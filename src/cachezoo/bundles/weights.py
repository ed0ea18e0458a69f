"""Finds numbers that are not finite in weights, before a runtime computes with them.

Reads the three files that hold weights with numpy alone: ONNX as `cachezoo.bundles.onnx_file` does, safetensors by
its header, LightGBM by the lines that hold numbers. What cannot be read is refused.
"""

import struct
from collections.abc import Callable

import numpy as np

from cachezoo.bundles.onnx_file import finite, read_model
from cachezoo.bundles.protocol import MODEL, one_line
from cachezoo.errors import BundleError
from cachezoo.serving.safetensors import read_safetensors

NUMBER_LINES = (
    "leaf_value=",
    "threshold=",
    "internal_value=",
    "leaf_weight=",
    "internal_weight=",
    "split_gain=",
    "shrinkage=",
)


def check_finite(name: str, data: bytes, where: str) -> None:
    """Refuse weights that hold NaN or infinity; files of other kinds pass.

    Raises:
        BundleError: not finite, or not readable as what its name says.
    """
    checks: dict[str, Callable[[bytes], bool]] = {
        ".onnx": lambda data: finite(read_model(data)),
        ".safetensors": _safetensors_finite,
        ".lgb.txt": _lightgbm_finite,
    }
    for ending, check in checks.items():
        if name.endswith(ending):
            try:
                good = check(data)
            except (ValueError, IndexError, struct.error, RecursionError) as error:
                message = f"{where}: {name} is not readable ({one_line(error)}); export the bundle again"
                raise BundleError(message) from error
            if not good:
                message = f"{where}: {name} holds weights that are not finite; train the model again"
                raise BundleError(message)


def _safetensors_finite(data: bytes) -> bool:
    return all(np.isfinite(tensor).all() for tensor in read_safetensors(data).values())


def _lightgbm_finite(data: bytes) -> bool:
    found = False
    for line in data.decode("utf-8").splitlines():
        if line.startswith(NUMBER_LINES):
            found = True
            values = np.array(line.partition("=")[2].split(), np.float64)
            if not np.isfinite(values).all():
                return False
    if not found:
        message = f"no tree in it, beside {MODEL}"
        raise ValueError(message)
    return True
