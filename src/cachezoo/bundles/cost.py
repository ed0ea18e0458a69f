"""Static cost of one inference, counted from the ONNX graph: no clock, so the same everywhere."""

from collections.abc import Mapping
from typing import Any

WEIGHTED = {"LSTM": (1, 2), "Gemm": (1,), "MatMul": (0, 1)}


def model_cost(model: bytes) -> dict[str, int]:
    """Multiply-accumulates, tree comparisons at most, numbers, bytes of one inference.

    Args:
        model: an ONNX file.

    Returns:
        The manifest's `cost` but for the state, which the kind knows. LSTMs count each step of a sequence of fixed
        length; a named length counts as 1.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_model_from_string(model).graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    steps = _steps(graph)
    macs = comparisons = 0
    parameters = sum(array.size for array in constants.values() if array.dtype.kind == "f")
    for node in graph.node:
        sides = [constants[node.input[i]] for i in WEIGHTED.get(node.op_type, ()) if node.input[i] in constants]
        repeat = steps if node.op_type == "LSTM" else 1
        macs += repeat * sum(int(side.size) for side in sides)
        if node.op_type == "TreeEnsembleRegressor":
            depth, numbers = _forest(node)
            comparisons, parameters = comparisons + depth, parameters + numbers
    return {
        "macs": macs,
        "comparisons": comparisons,
        "parameters": int(parameters),
        "model_bytes": len(model),
    }


def state_of(cost: Mapping[str, Any]) -> str:
    """What a runtime has to keep, in words."""
    each = cost["state_bytes_per_key"]
    beside = f" and {each} for each {cost['state_key']} remembered" if each else ""
    return f"{cost['state_bytes']} bytes{beside}"


def _dims(value: Any) -> list[int]:  # noqa: ANN401 - onnx.ValueInfoProto
    """Fixed sizes of a tensor's sides; a named side counts as 1."""
    return [side.dim_value or 1 for side in value.type.tensor_type.shape.dim]


def _steps(graph: Any) -> int:  # noqa: ANN401 - onnx.GraphProto
    """Length of the sequence that an input of three sides holds, batch first or last."""
    lengths = [max(_dims(value)[:2]) for value in graph.input if len(_dims(value)) == 3 and not _is_state(value, graph)]
    return max(lengths, default=1)


def _is_state(value: Any, graph: Any) -> bool:  # noqa: ANN401 - onnx messages
    """A state goes out with the shape it came in with, and feeds an LSTM directly or through a Slice."""
    return any(_dims(out) == _dims(value) and len(_dims(out)) == 3 for out in graph.output)


def _forest(node: Any) -> tuple[int, int]:  # noqa: ANN401 - onnx.NodeProto
    """Sum of the trees' depths, and thresholds and leaves together."""
    lists = {attribute.name: attribute for attribute in node.attribute}
    trees, modes = lists["nodes_treeids"].ints, lists["nodes_modes"].strings
    numbers, yes, no = (
        lists["nodes_nodeids"].ints,
        lists["nodes_truenodeids"].ints,
        lists["nodes_falsenodeids"].ints,
    )
    depth = {(trees[row], 0): 0 for row in range(len(trees))}
    deepest: dict[int, int] = {}
    for row in range(len(trees)):
        tree, here = trees[row], depth[trees[row], numbers[row]]
        deepest[tree] = max(deepest.get(tree, 0), here)
        if modes[row] != b"LEAF":
            depth[tree, yes[row]] = depth[tree, no[row]] = here + 1
    return sum(deepest.values()), len(trees)
