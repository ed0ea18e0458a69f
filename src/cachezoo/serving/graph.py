"""What a model's ONNX graph is, by kind and architecture: a reader takes this one and no other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from cachezoo.serving.stated import Sizes, whole

MOST_LAYERS = 64
MOST_UNITS = 1 << 12
TREES = "ai.onnx.ml:TreeEnsembleRegressor"
# Of models that look at the access history.
HISTORY_SIZES: Sizes = {
    "geometry.block_bytes": (512, 1 << 40),
    "geometry.segment_bytes": (512, 1 << 40),
    "policy.history.bucket_requests": (1, 1 << 40),
    "policy.history.windows[]": (1, 1 << 12),
}
Shapes = dict[str, tuple[int, ...]]
Sides = Mapping[str, tuple[int | str, ...]]


class Listed(Enum):
    """An attribute that is a list, whose length and numbers are the model's own."""

    FLOATS = 6
    INTS = 7
    STRINGS = 8


Attribute = int | float | str | tuple[int, ...] | Listed


@dataclass(frozen=True)
class Node:
    """A node of a graph.

    Attributes:
        operator: its name; after a domain and a colon where that is not ONNX's own.
        inputs, outputs: tensors by name; an empty name leaves one out.
        attributes: by name.
    """

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """A graph without branches, loops or functions.

    Attributes:
        nodes: in order.
        weights: shape of each tensor of float32, by name.
        axes: the one number of each tensor of int64, by name.
        inputs, outputs: shape of each of the graph's tensors of float32, by name, in order; a free side has a name.
    """

    nodes: tuple[Node, ...]
    weights: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    axes: Mapping[str, int] = field(default_factory=dict)
    inputs: Sides = field(default_factory=dict)
    outputs: Sides = field(default_factory=dict)


def layers_of(manifest: Mapping[str, Any]) -> tuple[int, int]:
    """Layers and units of an LSTM.

    Raises:
        ConfigError: the manifest states no sizes that a network can have.
    """
    arch = manifest["arch"]
    return whole(arch["layers"], "layers", 1, MOST_LAYERS), whole(arch["units"], "units", 1, MOST_UNITS)


def lstm(layer: int, units: int, rows: str, state: Iterable[str], outputs: tuple[str, ...]) -> Node:
    """A layer on rows, with the tensors w, r, b of its number; a state, if any, is hidden and cell."""
    given = tuple(state)
    inputs = (rows, *(f"{letter}{layer}" for letter in "wrb"), *(("", *given) if given else ()))
    return Node("LSTM", inputs, outputs, {"hidden_size": units})


def lstm_weights(layers: int, width: int, units: int) -> Shapes:
    """Weights of the layers of an LSTM on `width` inputs."""
    found: Shapes = {}
    for layer in range(layers):
        given = units if layer else width
        found |= {
            f"w{layer}": (1, 4 * units, given),
            f"r{layer}": (1, 4 * units, units),
            f"b{layer}": (1, 8 * units),
        }
    return found


def linear(head: str, rows: str, output: str) -> Node:
    """A head on rows."""
    return Node("Gemm", (rows, f"{head}.weight", f"{head}.bias"), (output,), {"transB": 1})


def linear_weights(head: str, width: int, outputs: int) -> Shapes:
    """Weights of a head."""
    return {f"{head}.weight": (outputs, width), f"{head}.bias": (outputs,)}


def forests(output: str, targets: int, features: int) -> Graph:
    """One ensemble of trees on `features`, a column of the output for each forest."""
    ints = ("falsenodeids", "featureids", "nodeids", "treeids", "truenodeids")
    attributes: dict[str, Attribute] = {
        "aggregate_function": "SUM",
        "n_targets": targets,
        "post_transform": "NONE",
        **{f"nodes_{name}": Listed.INTS for name in ints},
        "nodes_modes": Listed.STRINGS,
        "nodes_values": Listed.FLOATS,
        **{f"target_{name}": Listed.INTS for name in ("ids", "nodeids", "treeids")},
        "target_weights": Listed.FLOATS,
    }
    node = Node(TREES, ("features",), (output,), attributes)
    return Graph((node,), inputs={"features": ("n", features)}, outputs={output: ("n", targets)})
