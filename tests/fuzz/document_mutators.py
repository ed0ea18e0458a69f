"""Changes to the documents of a bundle: JSON, ONNX, safetensors, and the bundle's files as a whole."""

import json
import struct
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import PurePosixPath
from random import Random
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper

from tests.fuzz import mutators

NAMES = ("golden/requests.csv", "model.onnx", "manifest.json", "extra.txt", "a/b/c", "golden/extra.npy")
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 7, 255, 4096, 2**31, 2**53 + 1, 2**63, 2**70, -(2**63), 10**400),
    *(0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), "", "0", "model.onnx", "../x", "a" * 300, "\x00", "\ud800"),
    *([], {}, [[]], [None], [0] * 50, {"a": {}}, [[[[[]]]]], {"": 0}),
)
OPERATORS = (
    *(
        "Loop",
        "If",
        "Scan",
        "Expand",
        "Tile",
        "Range",
        "ConstantOfShape",
        "Constant",
        "Resize",
        "Pad",
        "Einsum",
        "Gather",
    ),
    *(
        "LSTM",
        "Gemm",
        "Softmax",
        "Squeeze",
        "Unsqueeze",
        "Concat",
        "Split",
        "Transpose",
        "Sigmoid",
        "TreeEnsembleRegressor",
    ),
    *("RandomNormal", "Unknown", "", "\ud83d".encode("utf-8", "replace").decode(), "ATen"),
)
DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "ai.onnx.contrib", "x")


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document as (what holds it, key)."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _nodes(inner)


def _change_json(document: Any, rng: Random) -> None:
    """Replace, delete, copy or swap a value."""
    places = list(_nodes(document))
    if not places:
        return
    (holder, key), (other, other_key) = rng.choice(places), rng.choice(places)
    how = rng.randrange(6)
    if how == 0:
        del holder[key]
    elif how == 1:
        holder[key] = deepcopy(other[other_key])
    elif how == 2 and isinstance(holder[key], int | float):
        holder[key] = rng.choice((-holder[key], holder[key] + 1, holder[key] * 2**40, str(holder[key]), [holder[key]]))
    elif how == 3 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif how == 4 and isinstance(holder, dict):
        holder[rng.choice(("x", "", f"{key} ", "dtype", "shape"))] = holder[key]
    else:
        holder[key] = deepcopy(rng.choice(VALUES))  # later changes may go into it


def document(data: bytes, rng: Random) -> bytes:
    """A JSON document with some values changed, or its text."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutators.text(data, rng)
    if rng.random() < 0.1:
        return mutators.text(data, rng)
    if rng.random() < 0.03:
        return json.dumps(rng.choice(VALUES)).encode()
    for _ in range(rng.randint(1, 3)):
        _change_json(value, rng)
    return json.dumps(value, sort_keys=True).encode()  # without indent C writes it, many times as fast


def safetensors(data: bytes, rng: Random) -> bytes:
    """A safetensors file with a changed header of the right length, or changed bytes."""
    if len(data) < 8 or rng.random() < 0.3:
        return mutators.binary(data, rng)
    (length,) = struct.unpack("<Q", data[:8])
    header = document(data[8 : 8 + length], rng)
    return struct.pack("<Q", len(header)) + header + data[8 + length :]


def _change_node(model: onnx.ModelProto, rng: Random) -> None:
    """Another operator, domain, input or output of a node."""
    if not model.graph.node:
        return
    node = rng.choice(model.graph.node)
    how = rng.randrange(5)
    if how == 0:
        node.op_type = rng.choice(OPERATORS)
    elif how == 1:
        node.domain = rng.choice(DOMAINS)
    elif how == 2:
        names = [name for one in model.graph.node for name in (*one.input, *one.output)]
        side = node.input if rng.random() < 0.7 else node.output
        side.append(rng.choice(names or [""]))
    elif how == 3:
        model.graph.node.add().CopyFrom(node)
    elif node.input:
        del node.input[rng.randrange(len(node.input))]


def _change_attribute(model: onnx.ModelProto, rng: Random) -> None:
    """Another value of an attribute, or a new one, among them graphs."""
    if not model.graph.node:
        return
    node = rng.choice(model.graph.node)
    if node.attribute and rng.random() < 0.6:
        attribute = rng.choice(node.attribute)
        value = rng.choice(mutators.INTEGERS)
        attribute.i = value - 2**64 if value >= 2**63 else value
        if attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = attribute.i
        return
    values = (1, -1, 2**62, 1.5, "x", [1, 2], [2**40] * 4, model.graph, TensorProto(dims=[2**40], data_type=1))
    node.attribute.append(helper.make_attribute(rng.choice(("to", "body", "axis", "shape", "x")), rng.choice(values)))


def _change_tensor(model: onnx.ModelProto, rng: Random) -> None:
    """Another shape, type or content of a tensor."""
    if not model.graph.initializer:
        return
    tensor = rng.choice(model.graph.initializer)
    how = rng.randrange(4)
    if how == 0 and tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice((0, -1, 1, 2**31, 2**40, 2**62))
    elif how == 1:
        tensor.data_type = rng.randrange(30)
    elif how == 2:
        tensor.raw_data = mutators.binary(tensor.raw_data, rng)
    else:
        model.graph.initializer.add().CopyFrom(tensor)


def _change_value(model: onnx.ModelProto, rng: Random) -> None:
    """Another side of an input or output."""
    values = [*model.graph.input, *model.graph.output]
    if values and (sides := rng.choice(values).type.tensor_type.shape.dim):
        rng.choice(sides).dim_value = rng.choice((0, -1, 1, 3, 2**40, 2**62))


def _change_model(model: onnx.ModelProto, rng: Random) -> None:
    """Another version, opset, or a function of the model's own."""
    how = rng.randrange(3)
    if how == 0:
        model.ir_version = rng.choice((0, 3, 9, 10, 99, 2**40))
    elif how == 1:
        model.opset_import.add(domain=rng.choice(DOMAINS), version=rng.choice((1, 18, 22, 999)))
    elif model.graph.node:
        model.functions.add(name="f", domain="x", node=[rng.choice(model.graph.node)])


MODEL_CHANGES = (_change_node, _change_node, _change_attribute, _change_tensor, _change_value, _change_model)


def onnx_model(data: bytes, rng: Random) -> bytes:
    """An ONNX model with changed nodes, attributes or tensors, or changed bytes."""
    if rng.random() < 0.3:
        return mutators.binary(data, rng)
    try:
        model = onnx.load_from_string(data)
        for _ in range(rng.randint(1, 3)):
            rng.choice(MODEL_CHANGES)(model, rng)
        return bytes(model.SerializeToString(deterministic=True))
    except (DecodeError, ValueError):  # no model, or a change that protobuf cannot hold
        return mutators.binary(data, rng)


BY_ENDING: dict[str, mutators.Change] = {
    ".json": document,
    ".onnx": onnx_model,
    ".safetensors": safetensors,
    ".npy": mutators.binary,
    ".csv": mutators.text,
    ".txt": mutators.text,
    ".md": mutators.text,
    ".sha256": mutators.text,
}


def file(name: str, data: bytes, rng: Random) -> bytes:
    """A file changed as its kind asks for."""
    change: Callable[[bytes, Random], bytes] = BY_ENDING.get(PurePosixPath(name).suffix, mutators.binary)
    return change(data, rng)


def files(given: dict[str, bytes], rng: Random) -> dict[str, bytes]:
    """The files of a bundle with one or two changed; now and then one is left out, added or swapped."""
    changed = dict(given)
    if not changed:
        return {rng.choice(NAMES): b""}
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(changed))
        how = rng.random()
        if how < 0.04 and len(changed) > 1:
            del changed[name]
        elif how < 0.08:
            changed[rng.choice(NAMES)] = changed[name]
        else:
            changed[name] = file(name, changed[name], rng)
    return changed
