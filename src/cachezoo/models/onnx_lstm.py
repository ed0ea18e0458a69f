"""LSTMs as ONNX, built from their weights and the graph of their kind: equal bytes for an equal model, on any machine.

torch keeps the gates of an LSTM in the order input, forget, cell, output; ONNX wants input, output, forget, cell.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.errors import BundleError
from cachezoo.models.trained import read_trained
from cachezoo.models.weights import lstm_layers, read_weights
from cachezoo.serving.graph import Graph

OPSET = 18
IR_VERSION = 9
GATES = (0, 3, 1, 2)


def _reordered(values: F32) -> F32:
    """Rows of torch's gates, [4U, …], in ONNX's order."""
    return np.concatenate([np.split(values, 4)[gate] for gate in GATES])


def onnx_file(name: str, graph: Graph, weights: Mapping[str, F32]) -> bytes:
    """The ONNX file of a graph.

    Args:
        name: of the graph.
        graph: its nodes, with the shapes of its tensors.
        weights: torch's tensors by name; the heads' have the graph's names.

    Raises:
        BundleError: they are not those of the graph.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    tensors = {key: values for key, values in weights.items() if not key.startswith("lstm.")}
    for layer, (w, r, *biases) in enumerate(lstm_layers(weights)):
        tensors |= {f"w{layer}": _reordered(w)[None], f"r{layer}": _reordered(r)[None]}
        tensors[f"b{layer}"] = np.concatenate([_reordered(bias) for bias in biases])[None]
    for key in sorted({*tensors, *graph.weights}):
        found = tensors[key].shape if key in tensors else None
        if found != graph.weights.get(key):
            raise BundleError(f"weights: tensor {key} is {found}, the model's is {graph.weights.get(key)}")
    values = tensors | {key: np.array([axis], np.int64) for key, axis in graph.axes.items()}
    used = dict.fromkeys(key for node in graph.nodes for key in node.inputs if key in values)
    inputs, outputs = (
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, list(shape)) for key, shape in side.items()]
        for side in (graph.inputs, graph.outputs)
    )
    nodes = []
    for one in graph.nodes:
        attributes: dict[str, Any] = {**one.attributes}
        nodes.append(helper.make_node(one.operator, one.inputs, one.outputs, **attributes))
    constants = [numpy_helper.from_array(np.ascontiguousarray(values[key]), key) for key in used]
    model = helper.make_model(
        helper.make_graph(nodes, name, inputs, outputs, initializer=constants),
        opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="", producer_version="",
    )  # fmt: skip
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def export_lstm(folder: Path, graph_of: Callable[[Mapping[str, Any]], Graph]) -> bytes:
    """The ONNX file of a trained model.

    Raises:
        TrainingError: the folder holds no readable model.
        BundleError: the weights are not those of the model that train.json describes.
    """
    model = read_trained(folder)
    try:
        return onnx_file(model.kind, graph_of(model.model_dump(mode="json")), read_weights(folder))
    except BundleError as error:
        raise BundleError(f"{folder}: {error}; train the model again") from error
