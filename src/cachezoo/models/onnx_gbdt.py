"""The admission forest as ONNX: one TreeEnsembleRegressor, equal bytes for an equal model.

The graph is built straight from LightGBM's own dump: a converter would add its name and version, a ZipMap,
and a probability whose last bit depends on the runtime's exp. Input `features` float32[n, F], output `score`
float32[n, 1]: log-odds, equal to LightGBM's raw score bit for bit (see `cachezoo.models.admission`); the
probability, where one is wanted, is 1 / (1 + exp(-score)).
"""

from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.errors import BundleError
from cachezoo.models.admission import MODEL_FILE
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

    def add(self, tree: int, root: dict[str, Any]) -> None:
        """Add a tree, nodes numbered depth first."""
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
                    "target_ids": 0,
                    "target_weights": node["leaf_value"],
                }
                for name, item in target.items():
                    self.lists[name].append(item)
                continue
            if node["decision_type"] != "<=":
                how = node["decision_type"]
                message = (
                    f"tree {tree} splits by {how}; only <= can be exported: train without categorical splits"
                )
                raise BundleError(message)
            here = self._node(
                tree, number, node["split_feature"], float(np.float32(node["threshold"])), "BRANCH_LEQ"
            )
            stack.append((node["right_child"], here, "nodes_falsenodeids"))
            stack.append((node["left_child"], here, "nodes_truenodeids"))


def export_onnx(trained_dir: Path) -> bytes:
    """Serialise a trained admission model.

    Args:
        trained_dir: `models/trained/<id>`.

    Returns:
        The ONNX file's bytes.

    Raises:
        TrainingError: the folder holds no readable model.
        BundleError: the forest holds splits that float32 cannot take exactly.
    """
    import lightgbm as lgb
    import onnx
    from onnx import TensorProto, helper

    width = len(read_trained(trained_dir).features)
    booster = lgb.Booster(model_str=(trained_dir / MODEL_FILE).read_text(encoding="utf-8"))
    nodes = _Nodes()
    for tree in booster.dump_model()["tree_info"]:
        nodes.add(tree["tree_index"], tree["tree_structure"])
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["features"],
        ["score"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
    )
    node.attribute.extend(helper.make_attribute(name, values) for name, values in sorted(nodes.lists.items()))
    graph = helper.make_graph(
        [node],
        "admission",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", width])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["n", 1])],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", OPSET_ML)]
    model = helper.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="", producer_version=""
    )
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))
