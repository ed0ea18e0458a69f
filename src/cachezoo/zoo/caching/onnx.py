"""The caching model as ONNX: one step.

`features` float32[L, F] of L caches with the states `h`, `c` float32[layers, L, U] give `cached` float32[L, 1],
`duration` float32[L, 3] (soon, mean, late), probabilities, and the states after the step.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.models.onnx_lstm import Graph
from cachezoo.models.weights import WEIGHTS_FILE
from cachezoo.serving.lstm import read_safetensors


def export_onnx(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """The ONNX file of a bundle's weights."""
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
