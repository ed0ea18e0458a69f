"""LSTMs as ONNX, built straight from their weights: equal bytes for an equal model, on any machine.

torch keeps the gates of an LSTM in the order input, forget, cell, output; ONNX wants input, output, forget, cell.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32
from cachezoo.models.weights import WEIGHTS_FILE, lstm_layers
from cachezoo.serving.lstm import read_safetensors

OPSET = 18
IR_VERSION = 9
GATES = (0, 3, 1, 2)


def _reordered(values: F32) -> F32:
    """Rows of torch's gates, [4U, …], in ONNX's order."""
    return np.concatenate([np.split(values, 4)[gate] for gate in GATES])


class Graph:
    """Nodes and weights of a graph, in order."""

    def __init__(self, weights: Mapping[str, F32]) -> None:
        self.weights = weights
        self.layers = lstm_layers(weights)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    @property
    def units(self) -> int:
        """Width of the LSTM."""
        return int(self.layers[0][1].shape[1])

    def node(self, kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:  # noqa: ANN401
        """Add a node."""
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        """Add a tensor and return its name."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def lstm(self, layer: int, rows: str, state: list[str], outputs: list[str]) -> None:
        """Add a layer over rows [T, B, I]; outputs are the hidden states and the last hidden and cell state."""
        w, r, bias_w, bias_r = self.layers[layer]
        names = [
            self.constant(f"w{layer}", _reordered(w)[None]),
            self.constant(f"r{layer}", _reordered(r)[None]),
            self.constant(f"b{layer}", np.concatenate([_reordered(bias_w), _reordered(bias_r)])[None]),
        ]
        inputs = [rows, *names, *(["", *state] if state else [])]
        self.node("LSTM", inputs, outputs, hidden_size=self.units)

    def linear(self, head: str, rows: str, output: str) -> None:
        """Add a head on rows [B, U]."""
        names = [self.constant(f"{head}.{part}", self.weights[f"{head}.{part}"]) for part in ("weight", "bias")]
        self.node("Gemm", [rows, *names], [output], transB=1)

    def model(self, name: str, inputs: Mapping[str, list[Any]], outputs: Mapping[str, list[Any]]) -> bytes:
        """Serialise it."""
        import onnx
        from onnx import TensorProto, helper

        sides = [
            [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in side.items()]
            for side in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, name, sides[0], sides[1], initializer=self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="",
            producer_version="",
        )  # fmt: skip
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))


def export_step(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """One step of a bundle's caching network.

    `features` float32[L, F] of L caches with the states `h`, `c` float32[layers, L, U] give `cached` float32[L, 1],
    `duration` float32[L, 3] (soon, mean, late), probabilities, and the states after the step.
    """
    return one_step(Graph(read_safetensors(files[WEIGHTS_FILE])), len(manifest["features"]))


def one_step(graph: Graph, width: int) -> bytes:
    """The step of a network on `width` inputs."""
    layers = range(len(graph.layers))
    axis = graph.constant("first", np.array([0], np.int64))
    graph.node("Unsqueeze", ["features", axis], ["rows"])
    before = {side: [f"{side}{k}" for k in layers] for side in ("h", "c")}
    if len(layers) > 1:
        for side in ("h", "c"):
            graph.node("Split", [side], before[side], axis=0, num_outputs=len(layers))
    else:
        before = {"h": ["h"], "c": ["c"]}
    rows = "rows"
    for k in layers:
        graph.lstm(k, rows, [before["h"][k], before["c"][k]], ["", f"h_after{k}", f"c_after{k}"])
        rows = f"h_after{k}"
    for side in ("h", "c"):
        graph.node("Concat", [f"{side}_after{k}" for k in layers], [f"{side}_out"], axis=0)
    graph.node("Squeeze", [rows, axis], ["hidden"])
    graph.linear("cached", "hidden", "cached_logit")
    graph.linear("duration", "hidden", "duration_logits")
    graph.node("Sigmoid", ["cached_logit"], ["cached"])
    graph.node("Softmax", ["duration_logits"], ["duration"], axis=1)
    state = [len(layers), "L", graph.units]
    return graph.model(
        "caching",
        {"features": ["L", width], "h": state, "c": state},
        {"cached": ["L", 1], "duration": ["L", 3], "h_out": state, "c_out": state},
    )


def export_window(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """A bundle's classifier: windows `features` float32[B, T, F] give probabilities `category` float32[B, K]."""
    graph = Graph(read_safetensors(files[WEIGHTS_FILE]))
    width, window = len(manifest["features"]), int(manifest["policy"]["window"])
    last = len(graph.layers) - 1
    graph.node("Transpose", ["features"], ["rows0"], perm=[1, 0, 2])
    direction = graph.constant("direction", np.array([1], np.int64)) if last else ""
    for k in range(last):
        graph.lstm(k, f"rows{k}", [], [f"hidden{k}"])
        graph.node("Squeeze", [f"hidden{k}", direction], [f"rows{k + 1}"])
    graph.lstm(last, f"rows{last}", [], ["", "after"])
    graph.node("Squeeze", ["after", graph.constant("first", np.array([0], np.int64))], ["hidden"])
    graph.linear("category", "hidden", "logits")
    graph.node("Softmax", ["logits"], ["category"], axis=1)
    classes = len(graph.weights["category.bias"])
    return graph.model("workload", {"features": ["B", window, width]}, {"category": ["B", classes]})
