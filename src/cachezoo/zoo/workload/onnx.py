"""The workload classifier as ONNX: windows `features` float32[B, T, F] give probabilities `category` float32[B, K]."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.models.onnx_lstm import Graph
from cachezoo.models.weights import WEIGHTS_FILE
from cachezoo.serving.lstm import read_safetensors


def export_onnx(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """The ONNX file of a bundle's weights."""
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
