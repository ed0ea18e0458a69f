"""Finds numbers that are not finite in weights, before a runtime computes with them.

Reads the three files that hold weights with numpy alone: ONNX by walking its protobuf fields, safetensors by
its header, LightGBM by the lines that hold numbers. What cannot be walked is refused, as is an ONNX tensor
that points to another file.
"""

import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.bundles.protocol import MODEL, one_line
from cachezoo.errors import BundleError

DTYPES = {1: "<f4", 10: "<f2", 11: "<f8"}
INTEGER_TYPES = {2, 3, 4, 5, 6, 7, 9, 12, 13}
SAFETENSORS_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "U8": "|u1",
    "BOOL": "|b1",
}
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_DEPTH = 16
NUMBER_LINES = (
    "leaf_value=",
    "threshold=",
    "internal_value=",
    "leaf_weight=",
    "internal_weight=",
    "split_gain=",
    "shrinkage=",
)
# Fields that lead to numbers: ModelProto.graph; GraphProto.node, initializer; NodeProto.attribute;
# AttributeProto.f, t, g, floats, tensors, graphs.
MESSAGES = {
    "model": {7: "graph"},
    "graph": {1: "node", 5: "tensor"},
    "node": {5: "attribute"},
    "attribute": {2: "float", 5: "tensor", 6: "graph", 7: "float", 10: "tensor", 11: "graph"},
}
# What could hide numbers and no model here has: training info, functions, sparse tensors.
REFUSED = {"model": {20, 25}, "graph": {15}, "node": set(), "attribute": {22, 23}}
TENSOR_TYPE, TENSOR_FLOATS, TENSOR_RAW, TENSOR_DOUBLES, TENSOR_EXTERNAL, TENSOR_LOCATION = 2, 4, 9, 10, 13, 14


def check_finite(name: str, data: bytes, where: str) -> None:
    """Refuse weights that hold NaN or infinity; files of other kinds pass.

    Raises:
        BundleError: not finite, or not readable as what its name says.
    """
    checks: dict[str, Callable[[bytes], bool]] = {
        ".onnx": _onnx_finite,
        ".safetensors": _safetensors_finite,
        ".lgb.txt": _lightgbm_finite,
    }
    for ending, finite in checks.items():
        if name.endswith(ending):
            try:
                good = finite(data)
            except (ValueError, IndexError, KeyError, TypeError, struct.error, RecursionError) as error:
                message = f"{where}: {name} is not readable ({one_line(error)}); export the bundle again"
                raise BundleError(message) from error
            if not good:
                message = f"{where}: {name} holds weights that are not finite; train the model again"
                raise BundleError(message)


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            message = "a protobuf number is too long"
            raise ValueError(message)


def _fields(data: memoryview) -> Iterator[tuple[int, int, int, memoryview]]:
    """Fields of a protobuf message: number, wire type, value of a varint, bytes of the others."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        value, content = 0, data[:0]
        if wire == VARINT:
            value, at = _varint(data, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(wire, -1)
            if wire == BYTES:
                size, at = _varint(data, at)
            if size < 0 or at + size > len(data):
                message = f"protobuf field {number} is damaged"
                raise ValueError(message)
            content, at = data[at : at + size], at + size
        yield number, wire, value, content


def _onnx_finite(data: bytes) -> bool:
    return _message_finite(memoryview(data), "model", 0)


def _message_finite(data: memoryview, kind: str, depth: int) -> bool:
    if depth > MAX_DEPTH:
        message = "graphs are nested too deeply"
        raise ValueError(message)
    if kind == "tensor":
        return _tensor_finite(data)
    for number, wire, _, content in _fields(data):
        if number in REFUSED[kind]:
            message = f"field {number} of an ONNX {kind} is not allowed in a bundle"
            raise ValueError(message)
        inner = MESSAGES[kind].get(number)
        if inner is None:
            continue
        if inner == "float":
            if wire not in (BYTES, FIXED32) or not np.isfinite(np.frombuffer(content, "<f4")).all():
                return False
        elif wire != BYTES or not _message_finite(content, inner, depth + 1):
            return False
    return True


def _tensor_finite(data: memoryview) -> bool:
    kind, parts = 0, []
    for number, _, value, content in _fields(data):
        if number == TENSOR_TYPE:
            kind = value
        elif number == TENSOR_FLOATS:
            parts.append(("<f4", content))
        elif number == TENSOR_DOUBLES:
            parts.append(("<f8", content))
        elif number == TENSOR_RAW:
            parts.append(("raw", content))
        elif number == TENSOR_EXTERNAL or (number == TENSOR_LOCATION and value):
            message = "a tensor lies in another file"
            raise ValueError(message)
    if kind not in DTYPES:
        if kind not in INTEGER_TYPES:
            message = f"tensors of ONNX type {kind} are unknown"
            raise ValueError(message)
        return True
    return all(np.isfinite(np.frombuffer(part, DTYPES[kind] if how == "raw" else how)).all() for how, part in parts)


def read_safetensors(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Tensors of a safetensors file by name.

    Raises:
        ValueError, KeyError, struct.error: damaged.
    """
    (length,) = struct.unpack("<Q", data[:8])
    if length > len(data) - 8:
        message = "the header is longer than the file"
        raise ValueError(message)
    header, body = json.loads(data[8 : 8 + length]), memoryview(data)[8 + length :]
    tensors, end = {}, 0
    entries = [(name, entry) for name, entry in header.items() if name != "__metadata__"]
    for name, entry in sorted(entries, key=lambda item: int(item[1]["data_offsets"][0])):
        low, high = entry["data_offsets"]
        if low != end or high < low:
            message = f"tensor {name} overlaps another or leaves a gap"
            raise ValueError(message)
        tensors[name] = np.frombuffer(body[low:high], SAFETENSORS_DTYPES[entry["dtype"]]).reshape(entry["shape"])
        end = high
    if end != len(body):
        message = "bytes are left over after the last tensor"
        raise ValueError(message)
    return tensors


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
