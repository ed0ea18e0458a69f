"""Forests as ONNX: one TreeEnsembleRegressor, a target a forest, equal bytes for equal forests.

The graph is built straight from LightGBM's own dump: a converter would add its name and version, a ZipMap,
and a probability whose last bit depends on the runtime's exp. Input `features` float32[n, F]; the output of an
admission model is `score` float32[n, 1], log-odds; that of a prefetch model `reach` float32[n, 3], segments before and
after the request and log-odds. They equal LightGBM's raw scores bit for bit (see `cachezoo.models.forest`); the
probability of log-odds, where one is wanted, is 1 / (1 + exp(-score)).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.errors import BundleError
from cachezoo.models.forest import read_forest_text
from cachezoo.models.trained import read_trained

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

    def _node(self, tree: int, node: int, feature: int, value: float, mode: str) -> int:
        entry = {
            "nodes_treeids": tree, "nodes_nodeids": node, "nodes_featureids": feature, "nodes_values": value,
            "nodes_modes": mode, "nodes_truenodeids": 0, "nodes_falsenodeids": 0,
        }  # fmt: skip
        for name, item in entry.items():
            self.lists[name].append(item)
        return len(self.lists["nodes_nodeids"]) - 1

    def add(self, tree: int, root: dict[str, Any], target_id: int) -> None:
        """Add a tree of a target, nodes numbered depth first."""
        count = 0
        stack: list[tuple[dict[str, Any], int, str]] = [(root, -1, "")]
        while stack:
            node, parent, side = stack.pop()
            number, count = count, count + 1
            if parent >= 0:
                self.lists[side][parent] = number
            if "leaf_value" in node:
                self._node(tree, number, 0, 0.0, "LEAF")
                target = {
                    "target_treeids": tree,
                    "target_nodeids": number,
                    "target_ids": target_id,
                    "target_weights": node["leaf_value"],
                }
                for name, item in target.items():
                    self.lists[name].append(item)
                continue
            if node["decision_type"] != "<=":
                how = node["decision_type"]
                message = f"tree {tree} splits by {how}; only <= can be exported: train without categorical splits"
                raise BundleError(message)
            here = self._node(tree, number, node["split_feature"], float(np.float32(node["threshold"])), "BRANCH_LEQ")
            stack.append((node["right_child"], here, "nodes_falsenodeids"))
            stack.append((node["left_child"], here, "nodes_truenodeids"))


def export_forests(folder: Path, files: Sequence[str], output: str) -> bytes:
    """Serialise a trained model of forests.

    The forests' scores are the columns of the output.

    Returns:
        The ONNX file's bytes.

    Raises:
        TrainingError: the folder holds no readable model.
        BundleError: a forest holds splits that float32 cannot take exactly.
    """
    import lightgbm as lgb

    trained = read_trained(folder)
    nodes, trees = _Nodes(), 0
    for target, name in enumerate(files):
        booster = lgb.Booster(model_str=read_forest_text(folder / name))
        forest = booster.dump_model()["tree_info"]
        for tree in forest:
            nodes.add(trees + tree["tree_index"], tree["tree_structure"], target)
        trees += len(forest)
    return _graph(nodes, trained.kind, len(trained.features), output, len(files))


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
