"""Reads an ONNX file before a runtime does, and takes none but the graph that its kind and architecture have.

A runtime computes whatever a file asks for: a loop of 2^62 rounds, tensors larger than memory, code of other libraries.
So nothing may stand in a file but ONNX's plain nodes and tensors (no graph inside a node, no function, no other domain,
no data in other files), each tensor has the bytes of its shape, and nodes and shapes are those that the kind states.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.bundles.protobuf import DOUBLE, FLOAT, INT, RAW, TEXT, Fields, read
from cachezoo.serving.graph import TREES, Graph, Listed, Node

MESSAGES: Mapping[str, Fields] = {
    "model": {
        1: ("ir_version", INT, False),
        2: ("producer_name", TEXT, False),
        3: ("producer_version", TEXT, False),
        5: ("model_version", INT, False),
        6: ("doc_string", TEXT, False),
        7: ("graph", "graph", False),
        8: ("opset_import", "opset", True),
    },
    "opset": {1: ("domain", TEXT, False), 2: ("version", INT, False)},
    "graph": {
        1: ("node", "node", True),
        2: ("name", TEXT, False),
        5: ("initializer", "tensor", True),
        10: ("doc_string", TEXT, False),
        11: ("input", "value", True),
        12: ("output", "value", True),
    },
    "value": {1: ("name", TEXT, False), 2: ("type", "type", False), 3: ("doc_string", TEXT, False)},
    "type": {1: ("tensor_type", "tensor_type", False)},
    "tensor_type": {1: ("elem_type", INT, False), 2: ("shape", "shape", False)},
    "shape": {1: ("dim", "dim", True)},
    "dim": {1: ("dim_value", INT, False), 2: ("dim_param", TEXT, False)},
    "node": {
        1: ("input", TEXT, True),
        2: ("output", TEXT, True),
        3: ("name", TEXT, False),
        4: ("op_type", TEXT, False),
        5: ("attribute", "attribute", True),
        6: ("doc_string", TEXT, False),
        7: ("domain", TEXT, False),
    },
    "attribute": {
        1: ("name", TEXT, False),
        2: ("f", FLOAT, False),
        3: ("i", INT, False),
        4: ("s", TEXT, False),
        7: ("floats", FLOAT, True),
        8: ("ints", INT, True),
        9: ("strings", TEXT, True),
        13: ("doc_string", TEXT, False),
        20: ("type", INT, False),
    },
    "tensor": {
        1: ("dims", INT, True),
        2: ("data_type", INT, False),
        4: ("float_data", FLOAT, True),
        7: ("int64_data", INT, True),
        8: ("name", TEXT, False),
        9: ("raw_data", RAW, False),
        10: ("double_data", DOUBLE, True),
        12: ("doc_string", TEXT, False),
    },
}
OUTSIDE = "a tensor lies in another file, which no bundle allows"
INSIDE = "a node holds a graph, which no bundle allows"
REFUSED = {
    ("tensor", 13): OUTSIDE,
    ("tensor", 14): OUTSIDE,
    ("attribute", 6): INSIDE,
    ("attribute", 11): INSIDE,
    ("model", 20): "it holds training steps, which no bundle allows",
    ("model", 25): "it holds functions of its own, which no bundle allows",
}
DTYPES = {1: ("float32", "float_data"), 7: ("int64", "int64_data"), 11: ("float64", "double_data")}
# AttributeProto.type: the field with the value, and its value where the field is left out.
VALUES: Mapping[int, tuple[str, Any]] = {
    1: ("f", 0.0),
    2: ("i", 0),
    3: ("s", ""),
    6: ("floats", []),
    7: ("ints", []),
    8: ("strings", []),
}
LISTS = {Listed.FLOATS: 6, Listed.INTS: 7, Listed.STRINGS: 8}
BRANCH, LEAF = "BRANCH_LEQ", "LEAF"
OWN = "ai.onnx"  # ONNX's own domain, which an empty name means too


def read_model(data: bytes) -> dict[str, Any]:
    """A file's message, with nothing in it but what the module says.

    Raises:
        ValueError, IndexError: it holds something else, or is damaged.
    """
    model: dict[str, Any] = read(memoryview(data), "model", MESSAGES, REFUSED)
    if "graph" not in model:
        raise ValueError("it holds no graph")
    return model


def tensor_of(tensor: Mapping[str, Any]) -> npt.NDArray[Any]:
    """A tensor's numbers.

    Raises:
        ValueError: another type, or not the bytes of its shape.
    """
    kind = tensor.get("data_type", 0)
    if kind not in DTYPES:
        raise ValueError(f"tensors of ONNX type {kind} are unknown")
    dtype, name = DTYPES[kind]
    stored = [key for key in ("raw_data", "float_data", "int64_data", "double_data") if len(tensor.get(key, ()))]
    shape = tuple(tensor["dims"])
    if stored == ["raw_data"]:
        values = np.frombuffer(tensor["raw_data"], np.dtype(dtype).newbyteorder("<"))
    else:
        values = np.array(tensor[name], dtype)
        stored = [key for key in stored if key != name]
    if (stored and stored != ["raw_data"]) or min(shape, default=1) < 0 or math.prod(shape) != len(values):
        raise ValueError(f"tensor {tensor.get('name', '')[:40]!r} does not have the bytes of its shape")
    return values.reshape(shape)


def tensors_of(model: Mapping[str, Any], side: str) -> list[dict[str, Any]]:
    """Name, dtype and shape of a model's tensors, of `input` or `output`, as the manifest states them.

    Raises:
        ValueError: a tensor of another type than bundles have, or without a shape.
    """
    found = []
    for value in model["graph"][side]:
        tensor = value.get("type", {}).get("tensor_type", {})
        kind, shape = tensor.get("elem_type"), tensor.get("shape", {}).get("dim")
        if kind not in DTYPES or shape is None:
            message = f"{side} {value.get('name', '')[:40]!r} is no tensor of a type that bundles have, with a shape"
            raise ValueError(message)
        sides = [one.get("dim_param") or one.get("dim_value", 0) for one in shape]
        found.append({"name": value.get("name", ""), "dtype": DTYPES[kind][0], "shape": sides})
    return found


def finite(model: Mapping[str, Any]) -> bool:
    """Whether all numbers of a model's tensors and attributes are finite."""
    graph = model["graph"]
    attributes = [attribute for node in graph["node"] for attribute in node["attribute"]]
    loose = [attribute.get("f", 0.0) for attribute in attributes]
    lists = [attribute["floats"] for attribute in attributes]
    tensors = [tensor_of(tensor) for tensor in graph["initializer"]]
    return all(bool(np.isfinite(values).all()) for values in (loose, *lists, *tensors))


def check_graph(model: Mapping[str, Any], wanted: Graph, features: int) -> None:
    """Hold a model's graph against the one of its kind and architecture.

    Args:
        model: as `read_model` gives it.
        wanted: the graph.
        features: inputs of the model, of which trees ask.

    Raises:
        ValueError: another node or tensor, or trees that no forest has.
    """
    domains = {"", OWN, *(node.operator.rpartition(":")[0] for node in wanted.nodes)}
    for opset in model["opset_import"]:
        if opset.get("domain", "") not in domains:
            raise ValueError(f"operators of the domain {opset.get('domain', '')[:40]!r} are not allowed")
    nodes = model["graph"]["node"]
    for place, node in enumerate(nodes):
        if place >= len(wanted.nodes):
            raise ValueError(f"node {place + 1}, {_operator(node)!r}, is one too many")
        _check_node(place + 1, node, wanted.nodes[place], features)
    if len(nodes) < len(wanted.nodes):
        raise ValueError(f"node {len(nodes) + 1}, {wanted.nodes[len(nodes)].operator!r}, is missing")
    _check_tensors(model["graph"]["initializer"], wanted)


def _operator(node: Mapping[str, Any]) -> str:
    """A node's operator as graphs name it."""
    domain = node.get("domain", "")
    name: str = node.get("op_type", "")[:40]
    return name if domain in ("", OWN) else f"{domain[:40]}:{name}"


def _check_node(place: int, node: Mapping[str, Any], wanted: Node, features: int) -> None:
    if _operator(node) != wanted.operator:
        raise ValueError(f"node {place} is {_operator(node)!r}, not {wanted.operator!r}")
    for side, names in (("input", wanted.inputs), ("output", wanted.outputs)):
        if tuple(node[side]) != names:
            raise ValueError(f"node {place}, {wanted.operator!r}, has other {side}s than {', '.join(names)}")
    found = [attribute.get("name", "") for attribute in node["attribute"]]
    if sorted(found) != sorted(wanted.attributes):
        raise ValueError(f"node {place}, {wanted.operator!r}, has other attributes than {', '.join(wanted.attributes)}")
    values = {attribute["name"]: _value(attribute) for attribute in node["attribute"]}
    for name, value in wanted.attributes.items():
        kind, given = values[name]
        if kind != LISTS[value] if isinstance(value, Listed) else given != value or type(given) is not type(value):
            raise ValueError(f"node {place}, {wanted.operator!r}, has another {name} than its kind")
    if wanted.operator == TREES:
        _check_trees({name: value for name, (_, value) in values.items()}, features)


def _value(attribute: Mapping[str, Any]) -> tuple[int, Any]:
    """An attribute's type and value; lists as tuples.

    Raises:
        ValueError: another type, or values besides that of its type.
    """
    kind = attribute.get("type", 0)
    own, default = VALUES.get(kind, ("", None))
    others = [name for name, _ in VALUES.values() if name != own and attribute.get(name) not in (None, [])]
    if not own or others:
        raise ValueError(f"attribute {attribute.get('name', '')[:40]!r} has a type or value that no bundle allows")
    value = attribute.get(own, default)
    return kind, tuple(value) if isinstance(value, list) else value


def _check_tensors(tensors: Sequence[Mapping[str, Any]], wanted: Graph) -> None:
    found = {tensor.get("name", ""): tensor for tensor in tensors}
    names = {*wanted.weights, *wanted.axes}
    if len(found) < len(tensors) or set(found) != names:
        raise ValueError(f"its tensors are not {', '.join(sorted(names)) or 'none'}, each once")
    for name, shape in wanted.weights.items():
        values = tensor_of(found[name])
        if values.dtype != np.float32 or values.shape != shape:
            sides = "x".join(map(str, shape))
            raise ValueError(f"tensor {name!r} is not float32 {sides}, as the manifest has it")
    for name, axis in wanted.axes.items():
        values = tensor_of(found[name])
        if values.dtype != np.int64 or values.tolist() != [axis]:
            raise ValueError(f"tensor {name!r} is not the axis {axis}")


def _check_trees(lists: Mapping[str, Any], features: int) -> None:
    """Trees end: a branch's children are of its tree and have higher numbers; features and targets are in range.

    Raises:
        ValueError: what is wrong.
    """
    trees, nodes = (np.array(lists[f"nodes_{name}"], np.int64) for name in ("treeids", "nodeids"))
    below = [np.array(lists[f"nodes_{side}nodeids"], np.int64) for side in ("true", "false")]
    asked, modes = np.array(lists["nodes_featureids"], np.int64), np.array(lists["nodes_modes"], object)
    targets = {name: np.array(lists[f"target_{name}"], np.int64) for name in ("treeids", "nodeids", "ids")}
    sizes = {len(part) for part in (trees, nodes, *below, asked, modes, lists["nodes_values"])}
    weights = {len(part) for part in (*targets.values(), lists["target_weights"])}
    known = set(zip(trees.tolist(), nodes.tolist(), strict=False))
    branch = modes == BRANCH
    problem = None
    if len(sizes) > 1 or len(weights) > 1 or len(known) < len(trees) or not len(trees):
        problem = "lists of different lengths, or a node twice"
    elif not set(modes.tolist()) <= {BRANCH, LEAF}:
        problem = f"nodes that are neither {BRANCH} nor {LEAF}"
    elif ((asked < 0) | (asked >= features)).any():
        problem = "a feature that the model does not have"
    elif ((targets["ids"] < 0) | (targets["ids"] >= lists["n_targets"])).any():
        problem = "a target that the model does not have"
    elif any((side[branch] <= nodes[branch]).any() for side in below):
        problem = "a branch that leads back"
    else:
        wanted = {pair for side in below for pair in zip(trees[branch].tolist(), side[branch].tolist(), strict=True)}
        leaves = set(zip(trees[~branch].tolist(), nodes[~branch].tolist(), strict=True))
        weighed = set(zip(targets["treeids"].tolist(), targets["nodeids"].tolist(), strict=True))
        if not wanted <= known or not weighed <= leaves:
            problem = "a branch or weight of a node that there is not"
    if problem is not None:
        raise ValueError(f"its trees have {problem}")
