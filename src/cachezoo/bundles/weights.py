"""Finds numbers that are not finite in weights, before a runtime computes with them.

Reads the files that hold them with numpy alone: ONNX as `cachezoo.bundles.onnx_file` does, safetensors by its header.
What cannot be read is refused. A forest's text is read by `cachezoo.serving.forest`, which takes no such number.
"""

import struct
from collections.abc import Callable

import numpy as np

from cachezoo.bundles.onnx_file import finite, read_model
from cachezoo.bundles.protocol import one_line
from cachezoo.errors import BundleError
from cachezoo.serving.safetensors import read_safetensors


def check_finite(name: str, data: bytes, where: str) -> None:
    """Refuse weights that hold NaN or infinity; files of other kinds pass.

    Raises:
        BundleError: not finite, or not readable as what its name says.
    """
    checks: dict[str, Callable[[bytes], bool]] = {
        ".onnx": lambda data: finite(read_model(data)),
        ".safetensors": _safetensors_finite,
    }
    for ending, check in checks.items():
        if name.endswith(ending):
            try:
                good = check(data)
            except (ValueError, IndexError, struct.error, RecursionError) as error:
                message = f"{where}: {name} is not readable ({one_line(error)}); export the bundle again"
                raise BundleError(message) from error
            if not good:
                raise BundleError(f"{where}: {name} holds weights that are not finite; train the model again")


def _safetensors_finite(data: bytes) -> bool:
    return all(np.isfinite(tensor).all() for tensor in read_safetensors(data).values())
