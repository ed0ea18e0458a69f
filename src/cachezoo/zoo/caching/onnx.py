"""The caching model as ONNX: one step.

`features` float32[L, F] of L caches with the states `h`, `c` float32[layers, L, U] give `cached` float32[L, 1],
`duration` float32[L, 3] (soon, mean, late), probabilities, and the states after the step.
"""

from pathlib import Path

import numpy as np

from cachezoo.arrays import F32
from cachezoo.models.onnx_lstm import Graph, open_graph
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.models.weights import read_weights
from cachezoo.zoo.caching.infer import teacher_outputs


def export_onnx(folder: Path) -> bytes:
    """The ONNX file of a trained model.

    Raises:
        TrainingError: the folder holds no readable model.
        BundleError: the weights are not those of the model that train.json describes.
    """
    model = read_trained(folder, "caching")
    return _step(open_graph(folder, model, ("cached", "duration")), len(model.features))


def _step(graph: Graph, width: int) -> bytes:
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


def reference(folder: Path, trained: TrainedModel, features: F32) -> F32:
    """The network over golden rows in one run, the state carried or reset as the policy says."""
    every = int(trained.policy["sequence"]) if trained.policy["state"] == "reset100" else 0
    return teacher_outputs(read_weights(folder), features[:, None], int(trained.arch["threads"]), every)[:, 0, 0]
