"""Reads safetensors files with numpy alone."""

import math
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.serving.strict_json import read_json

DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "U8": "|u1",
    "BOOL": "|b1",
}


def read_safetensors(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Tensors of a safetensors file by name.

    Raises:
        ValueError: damaged.
    """
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if not 0 < length <= len(data) - 8:
        message = "the header is missing, or longer than the file"
        raise ValueError(message)
    try:
        header = read_json(data[8 : 8 + length])
    except RecursionError as error:
        message = "the header has too many levels"
        raise ValueError(message) from error
    if not isinstance(header, dict):
        raise ValueError("the header is no JSON object")
    notes = header.pop("__metadata__", {})
    if not isinstance(notes, dict) or not all(isinstance(note, str) for note in notes.values()):
        raise ValueError("its __metadata__ is no object of texts")
    body = memoryview(data)[8 + length :]
    places = {name: _place(name, entry) for name, entry in header.items()}
    tensors, end = {}, 0
    for name, (low, high, dtype, shape) in sorted(places.items(), key=lambda item: item[1][:2]):
        if low != end or not low <= high <= len(body) or math.prod(shape) * dtype.itemsize != high - low:
            message = f"tensor {name[:40]!r} overlaps another, leaves a gap or does not have the bytes of its shape"
            raise ValueError(message)
        tensors[name] = np.frombuffer(body[low:high], dtype).reshape(shape)
        end = high
    if end != len(body):
        raise ValueError("bytes are left over after the last tensor")
    return tensors


def _place(name: str, entry: object) -> tuple[int, int, np.dtype[Any], list[int]]:
    """First byte, end, type and shape of a tensor, as the header's entry says.

    Raises:
        ValueError: the entry says anything else.
    """
    if isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}:
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        sizes = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [None]
        whole = all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes)
        if whole and len(offsets) == 2 and isinstance(dtype, str) and dtype in DTYPES:
            return offsets[0], offsets[1], np.dtype(DTYPES[dtype]), shape
    raise ValueError(f"the header's entry {name[:40]!r} is not one dtype, one shape and two data_offsets of a tensor")
