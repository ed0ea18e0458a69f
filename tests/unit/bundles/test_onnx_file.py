"""A model file may hold the graph of its kind and nothing else; a runtime never sees another."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from cachezoo.bundles import load, reader
from cachezoo.bundles.onnx_file import check_graph, finite, read_model, tensor_of
from cachezoo.bundles.protocol import MODEL
from cachezoo.errors import BundleError
from cachezoo.serving.graph import Graph, Node, forests
from cachezoo.systems.caching.bundle import KIND as CACHING
from cachezoo.systems.workload.bundle import KIND as WORKLOAD
from tests.bundle_data import reseal

STORED = Path(__file__).parents[2] / "golden" / "protocol2"
FOREST = STORED / "admission.database.lgbm" / MODEL
NETWORKS = ("caching.database.lstm1x8", "workload.lstm8")
FORESTS = ("admission.database.lgbm", "prefetch.database.lgbm")


def loop(rounds: int) -> onnx.NodeProto:
    """A loop of so many rounds that does nothing."""
    condition = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [helper.make_tensor_value_info("k", TensorProto.INT64, []), condition],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, [])],
    )
    return helper.make_node("Loop", ["rounds", ""], [], body=body)


def add_loop(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.array(2**62), "rounds"))
    model.graph.node.append(loop(2**62))


def expand(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.array([2**40]), "shape"))
    model.graph.node.append(helper.make_node("ConstantOfShape", ["shape"], ["much"]))


def double(model: onnx.ModelProto) -> None:
    model.graph.node.append(helper.make_node("Concat", ["features", "features"], ["twice"], axis=0))


def function(model: onnx.ModelProto) -> None:
    model.functions.add(name="f", domain="x")


def domain(model: onnx.ModelProto) -> None:
    model.opset_import.add(domain="com.evil", version=1)


def other_domain(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = "com.microsoft"


def graph_attribute(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("then_branch", model.graph))


def outside(model: onnx.ModelProto) -> None:
    tensor = TensorProto(name="w", data_type=1, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../../etc/passwd")
    model.graph.initializer.append(tensor)


def settings_of_the_runtime(model: onnx.ModelProto) -> None:
    model.metadata_props.add(key="ort_config", value="{}")


def sparse(model: onnx.ModelProto) -> None:
    model.graph.sparse_initializer.add(dims=[2**40])


def extra_tensor(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(3, np.float32), "more"))


def no_node(model: onnx.ModelProto) -> None:
    del model.graph.node[-1]


def other_input(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = "others"


def other_attribute(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("x", 1))


REFUSED: dict[Callable[[onnx.ModelProto], None], str] = {
    add_loop: "a node holds a graph, which no bundle allows",
    expand: "'ConstantOfShape', is one too many",
    double: "'Concat', is one too many",
    function: "functions of its own",
    domain: "operators of the domain 'com.evil'",
    other_domain: "node 1 is 'com.microsoft:",
    graph_attribute: "a node holds a graph",
    outside: "a tensor lies in another file",
    settings_of_the_runtime: "field 14 of an ONNX model is not allowed",
    sparse: "field 15 of an ONNX graph is not allowed",
    extra_tensor: "its tensors are not",
    no_node: "is missing",
    other_input: "has other inputs than",
    other_attribute: "has other attributes than",
}


def changed(folder: Path, name: str, change: Callable[[onnx.ModelProto], None]) -> Path:
    """A stored bundle with another model, its checksums true."""
    copy = Path(shutil.copytree(STORED / name, folder / "bundle"))
    model = onnx.load(copy / MODEL)
    change(model)
    (copy / MODEL).write_bytes(model.SerializeToString())
    reseal(copy)
    return copy


@pytest.fixture
def no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime that must not be asked."""

    def asked(*args: Any) -> None:
        pytest.fail("the model came to the runtime")

    monkeypatch.setattr(reader, "open_session", asked)


@pytest.mark.usefixtures("no_runtime")
@pytest.mark.parametrize("name", [NETWORKS[0], FORESTS[0]])
@pytest.mark.parametrize("change", REFUSED, ids=lambda change: change.__name__)
def test_a_runtime_sees_no_other_graph(change: Any, name: str, tmp_path: Path) -> None:
    path = changed(tmp_path, name, change)
    with pytest.raises(BundleError, match=REFUSED[change]) as caught:
        load(path)
    text = str(caught.value)
    assert "\n" not in text and len(text) < 500 and MODEL in text and str(path) in text


def shape(model: onnx.ModelProto) -> None:
    model.graph.initializer[1].dims[0] = 2**40


def other_shape(model: onnx.ModelProto) -> None:
    weight = model.graph.initializer[-1]
    array = numpy_helper.to_array(weight)
    weight.CopyFrom(numpy_helper.from_array(np.concatenate([array, array]), weight.name))


def other_axis(model: onnx.ModelProto) -> None:
    axis = next(tensor for tensor in model.graph.initializer if tensor.name == "first")
    axis.CopyFrom(numpy_helper.from_array(np.array([2]), "first"))


def units(model: onnx.ModelProto) -> None:
    lstm = next(node for node in model.graph.node if node.op_type == "LSTM")
    lstm.attribute[0].i = 2**40


@pytest.mark.usefixtures("no_runtime")
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (shape, "does not have the bytes of its shape"),
        (other_shape, "as the manifest has it"),
        (other_axis, "is not the axis 0"),
        (units, "has another hidden_size"),
    ],
)
def test_tensors_have_the_shapes_of_the_manifest(change: Any, match: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=match):
        load(changed(tmp_path, name, change))


def listed(name: str, value: Any) -> Callable[[onnx.ModelProto], None]:
    """Changes an entry of a list of a forest; of a node's, that of the first branch."""

    def change(model: onnx.ModelProto) -> None:
        lists = {entry.name: entry for entry in model.graph.node[0].attribute}
        branch = list(lists["nodes_modes"].strings).index(b"BRANCH_LEQ")
        values = lists[name].strings or lists[name].ints
        values[branch if name.startswith("nodes_") else 0] = value

    return change


def shorter(model: onnx.ModelProto) -> None:
    attribute = next(entry for entry in model.graph.node[0].attribute if entry.name == "nodes_values")
    del attribute.floats[-1]


@pytest.mark.usefixtures("no_runtime")
@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (listed("nodes_truenodeids", 0), "a branch that leads back"),
        (listed("nodes_falsenodeids", 10**6), "of a node that there is not"),
        (listed("nodes_featureids", -1), "a feature that the model does not have"),
        (listed("nodes_featureids", 30), "a feature that the model does not have"),
        (listed("nodes_modes", b"BRANCH_MEMBER"), "neither BRANCH_LEQ nor LEAF"),
        (listed("nodes_nodeids", 1), "a node twice"),
        (listed("target_ids", 3), "a target that the model does not have"),
        (listed("target_nodeids", 10**6), "of a node that there is not"),
        (shorter, "lists of different lengths"),
    ],
)
def test_trees_end(change: Any, match: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=match):
        load(changed(tmp_path, name, change))


@pytest.mark.parametrize("value", [True, 0, -1, 10**400, 1.0, "1", None, 65])
def test_sizes_of_a_manifest_that_no_network_has(value: Any, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(STORED / NETWORKS[0], tmp_path / "bundle"))
    reseal(copy, lambda manifest: manifest["arch"].update(layers=value))
    with pytest.raises(BundleError, match=r"does not describe a caching model|not readable as JSON"):
        load(copy)


def test_a_single_field_twice_is_refused() -> None:
    data = FOREST.read_bytes()
    again = onnx.ModelProto(graph=onnx.load_from_string(data).graph).SerializeToString()
    with pytest.raises(ValueError, match="graph of an ONNX model does not stand there once"):
        read_model(data + again)


@pytest.mark.parametrize("kind", [CACHING, WORKLOAD])
def test_layers_are_one_on_the_other(kind: Any) -> None:
    arch = {"layers": 3, "units": 4}
    graph = kind.graph({"arch": arch, "features": [{}] * 5, "policy": {"classes": ["a", "b"], "window": 7}})
    assert sum(node.operator == "LSTM" for node in graph.nodes) == 3
    assert (graph.weights["w0"], graph.weights["w2"]) == ((1, 16, 5), (1, 16, 4))
    made = [name for node in graph.nodes for name in node.outputs if name]
    known = {*made, *graph.weights, *graph.axes, "features", "h", "c", ""}
    assert len(set(made)) == len(made)
    assert all(set(node.inputs) <= known for node in graph.nodes)


def naive(model: onnx.ModelProto) -> list[Any]:
    """What a model computes, as onnx reads it."""
    nodes = []
    for node in model.graph.node:
        values = sorted((entry.name, str(helper.get_attribute_value(entry))) for entry in node.attribute)
        nodes.append((node.op_type, node.domain, list(node.input), list(node.output), values))
    tensors = [(entry.name, str(numpy_helper.to_array(entry).tolist())) for entry in model.graph.initializer]
    return [nodes, tensors, [(entry.domain, entry.version) for entry in model.opset_import]]


def ours(model: dict[str, Any]) -> list[Any]:
    """The same as read here."""
    names = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}
    nodes = []
    for node in model["graph"]["node"]:
        values = []
        for entry in node["attribute"]:
            value = entry[names[entry["type"]]]
            value = value.encode() if isinstance(value, str) else value
            value = [text.encode() for text in value] if entry["type"] == 8 else value
            values.append((entry["name"], str(value)))
        nodes.append((node.get("op_type", ""), node.get("domain", ""), node["input"], node["output"], sorted(values)))
    tensors = [(entry.get("name", ""), str(tensor_of(entry).tolist())) for entry in model["graph"]["initializer"]]
    return [nodes, tensors, [(entry.get("domain", ""), entry.get("version", 0)) for entry in model["opset_import"]]]


names_of = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5)
int64s = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(width=32, allow_nan=False)
values_of = (
    int64s | floats | names_of | st.lists(int64s, min_size=1) | st.lists(floats, min_size=1)
    | st.lists(names_of, min_size=1)
)  # fmt: skip
arrays = st.builds(
    lambda dtype, shape, number: np.full(shape, number, dtype),
    st.sampled_from(["<f4", "<f8", "<i8"]),
    st.lists(st.integers(0, 3), max_size=3),
    st.integers(-9, 9),
)


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    """Models of any operators, without graphs inside nodes."""
    nodes = []
    for _ in range(draw(st.integers(0, 4))):
        sides = [draw(st.lists(names_of, max_size=3)) for _ in range(2)]
        attributes = draw(st.dictionaries(names_of, values_of, max_size=3))
        node = helper.make_node(draw(names_of), *sides, domain=draw(st.sampled_from(["", "ai.onnx.ml"])))
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        nodes.append(node)
    tensors = [
        numpy_helper.from_array(array, name)
        for name, array in draw(st.dictionaries(names_of, arrays, max_size=3)).items()
    ]
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", draw(st.integers(0, 2**62))])
    graph = helper.make_graph(nodes, "g", [value], [value], initializer=tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(draw(names_of), draw(st.integers(0, 99)))])


@given(model=models())
def test_a_model_is_read_as_onnx_reads_it(model: onnx.ModelProto) -> None:
    assert ours(read_model(model.SerializeToString())) == naive(model)


@given(model=models(), data=st.data())
def test_what_is_taken_of_damaged_bytes_is_what_onnx_takes(model: onnx.ModelProto, data: st.DataObject) -> None:
    raw = bytearray(model.SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = ours(read_model(bytes(raw)))
    except (ValueError, IndexError, KeyError):  # refused, or an attribute of no known type
        return
    try:
        want = naive(onnx.load_from_string(bytes(raw)))
    except (DecodeError, ValueError, TypeError):  # onnx refuses more
        return
    assert found == want


def test_numbers_that_are_not_finite_are_found_wherever_they_stand() -> None:
    for place in ("f", "floats", "float_data", "raw_data", "double_data"):
        model = helper.make_model(helper.make_graph([], "g", [], []))
        if place in ("f", "floats"):
            value: Any = float("nan") if place == "f" else [1.0, float("inf")]
            model.graph.node.append(helper.make_node("X", [], [], value=value))
        else:
            kind = TensorProto.DOUBLE if place == "double_data" else TensorProto.FLOAT
            tensor = helper.make_tensor("w", kind, [2], [1.0, float("nan")])
            if place == "raw_data":
                tensor = numpy_helper.from_array(np.array([1, np.nan], np.float32), "w")
            model.graph.initializer.append(tensor)
        assert not finite(read_model(model.SerializeToString())), place


def test_a_graph_is_held_against_its_kind() -> None:
    model = read_model(FOREST.read_bytes())
    check_graph(model, forests("score", 1, 30), 30)
    with pytest.raises(ValueError, match="has other outputs than reach"):
        check_graph(model, forests("reach", 1, 30), 30)
    with pytest.raises(ValueError, match="has another n_targets"):
        check_graph(model, forests("score", 2, 30), 30)
    with pytest.raises(ValueError, match=r"node 1 is 'ai\.onnx\.ml:TreeEnsembleRegressor', not 'Relu'"):
        check_graph(model, Graph((Node("Relu", ("x",), ("y",)), *forests("y", 1, 30).nodes)), 30)
