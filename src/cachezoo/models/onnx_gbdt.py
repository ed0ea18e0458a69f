"""Forests as ONNX: one TreeEnsembleRegressor, a target a forest, equal bytes for equal forests.

The graph is built straight from the forests' texts: a converter would add its name and version, a ZipMap, and a
probability whose last bit depends on the runtime's exp. Input `features` float32[n, F]; output of an admission model
`score` float32[n, 1], log-odds. They equal LightGBM's raw scores bit for bit (see `cachezoo.models.forest`); the
probability of log-odds is 1 / (1 + exp(-score)).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.forest import Trees
from cachezoo.serving.forest import read_forest

F64 = npt.NDArray[np.float64]
OPSET_ML = 3
OPSET = 18
IR_VERSION = 9


class _Nodes:
    """TreeEnsembleRegressor's parallel lists."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Any]] = {
            name: []
            for name in (
                "nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes",
                "nodes_truenodeids", "nodes_falsenodeids",
                "target_treeids", "target_nodeids", "target_ids", "target_weights",
            )
        }  # fmt: skip
        self.trees = 0

    def _add(self, **values: float | str) -> None:
        for name, value in values.items():
            self.lists[name].append(value)

    def add(self, forest: Trees, target: int) -> None:
        """Add the trees of a target, nodes numbered depth first."""
        limits = _float32_below(forest.threshold)
        for root in forest.roots.tolist():
            count = 0
            stack: list[tuple[int, int, str]] = [(root, -1, "")]
            while stack:
                place, parent, side = stack.pop()
                number, count = count, count + 1
                if parent >= 0:
                    self.lists[side][parent] = number
                here = len(self.lists["nodes_nodeids"])
                leaf = place < 0
                self._add(
                    nodes_treeids=self.trees,
                    nodes_nodeids=number,
                    nodes_featureids=0 if leaf else int(forest.feature[place]),
                    nodes_values=0.0 if leaf else limits[place],
                    nodes_modes="LEAF" if leaf else "BRANCH_LEQ",
                    nodes_truenodeids=0,
                    nodes_falsenodeids=0,
                )
                if leaf:
                    weight = float(forest.leaf[~place])
                    self._add(
                        target_treeids=self.trees, target_nodeids=number, target_ids=target, target_weights=weight
                    )
                    continue
                stack.append((int(forest.right[place]), here, "nodes_falsenodeids"))
                stack.append((int(forest.left[place]), here, "nodes_truenodeids"))
            self.trees += 1


def _float32_below(thresholds: F64) -> list[float]:
    """The largest float32 that is not above each threshold: float32 numbers are at most both, or above both."""
    near = thresholds.astype(np.float32)
    below: list[float] = np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near).tolist()
    return below


def export_forests(
    manifest: Mapping[str, Any], weights: Mapping[str, bytes], files: Sequence[str], output: str
) -> bytes:
    """The ONNX file of a bundle's forests, whose scores are the columns of the output.

    `weights` are the bundle's files by name, `files` the names of the forests.
    """
    nodes, width = _Nodes(), len(manifest["features"])
    for target, name in enumerate(files):
        nodes.add(read_forest(weights[name], width).trees, target)
    return _graph(nodes, manifest["kind"], width, output, len(files))


def _graph(nodes: _Nodes, name: str, width: int, output: str, targets: int) -> bytes:
    """The ONNX file of one TreeEnsembleRegressor."""
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["features"],
        [output],
        domain="ai.onnx.ml",
        n_targets=targets,
        aggregate_function="SUM",
        post_transform="NONE",
    )
    node.attribute.extend(helper.make_attribute(name, values) for name, values in sorted(nodes.lists.items()))
    graph = helper.make_graph(
        [node],
        name,
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", width])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", targets])],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", OPSET_ML)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="", producer_version="")
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))
