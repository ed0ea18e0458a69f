"""The workload classifier as ONNX: windows `features` float32[B, T, F] give probabilities `category` float32[B, K]."""

from pathlib import Path

import numpy as np

from cachezoo.arrays import F32
from cachezoo.models.onnx_lstm import Graph, open_graph
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.zoo.workload.infer import load_workload


def export_onnx(folder: Path) -> bytes:
    """The ONNX file of a trained model.

    Raises:
        TrainingError: the folder holds no readable model.
        BundleError: the weights are not those of the model that train.json describes.
    """
    model = read_trained(folder, "workload")
    return _windows(open_graph(folder, model, ("category",)), len(model.features), int(model.policy["window"]))


def _windows(graph: Graph, width: int, window: int) -> bytes:
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


def reference(folder: Path, trained: TrainedModel, features: F32) -> F32:
    """Probabilities of golden windows as torch computes them."""
    return load_workload(folder)[1].probabilities(features)
