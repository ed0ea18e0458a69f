"""A bundle as an ONNX file: what it computes, and what is not written."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from cachezoo.bundles import load, onnx_export
from cachezoo.bundles.onnx_export import export_onnx, onnx_of
from cachezoo.errors import BundleError
from cachezoo.zoo.registry import SYSTEMS, bundling_of
from tests.command_line import run
from tests.refused import stored

KINDS = sorted(kind for kind, system in SYSTEMS.items() if system.bundling is not None)
EXPORTED = [kind for kind in KINDS if bundling_of(kind).onnx is not None]
FORESTS = [kind for kind in EXPORTED if bundling_of(kind).weights[0].endswith(".lgb.txt")]


@pytest.mark.parametrize("kind", EXPORTED)
def test_a_bundle_is_exported_alike_each_time_without_any_trace_of_the_maker(kind, tmp_path):
    bundle = load(stored(kind))
    assert export_onnx(bundle, tmp_path / "model.onnx") <= 1e-5
    data = (tmp_path / "model.onnx").read_bytes()
    assert data == onnx_of(load(stored(kind)))
    model = onnx.load_from_string(data)
    assert not model.producer_name and not model.producer_version and not model.metadata_props
    assert not model.doc_string and not any(node.doc_string or node.metadata_props for node in model.graph.node)
    assert str(tmp_path).encode() not in data


def rows_around(thresholds, width):
    """Rows of one number each: of float32, the nearest to each threshold and its two neighbours."""
    near = np.unique(thresholds.astype(np.float32))
    numbers = np.concatenate([near, *(np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf))])
    return np.repeat(numbers[:, None], width, axis=1)


@pytest.mark.parametrize("kind", FORESTS)
def test_a_forest_is_equal_bit_for_bit_also_where_a_threshold_is_no_float32(kind):
    bundle = load(stored(kind))
    session = onnxruntime.InferenceSession(onnx_of(bundle), providers=["CPUExecutionProvider"])
    thresholds = np.concatenate([forest.trees.threshold for forest in bundle.engine.forests])
    rows = rows_around(thresholds, len(bundle.manifest["features"]))
    for own in (rows, bundle.golden().features, rows[:1]):
        (found,), (wanted,) = session.run(None, {"features": own}), bundle.engine.run(None, {"features": own})
        assert (found == wanted).all() and found.shape == wanted.shape
    assert kind != "reuse" or (thresholds.astype(np.float32) > thresholds).any()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in EXPORTED])
def test_a_table_is_not_exported(kind, tmp_path):
    with pytest.raises(BundleError, match=f"a {kind} model is no network or forest"):
        export_onnx(load(stored(kind)), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_file_that_computes_something_else_is_not_written(tmp_path, monkeypatch):
    bundle = load(stored("admission"))
    model = onnx.load_from_string(onnx_of(bundle))
    (weights,) = (one for one in model.graph.node[0].attribute if one.name == "target_weights")
    weights.floats[:] = [value + 1 for value in weights.floats]
    monkeypatch.setattr(onnx_export, "onnx_of", lambda _: model.SerializeToString())
    with pytest.raises(BundleError, match="differs by 4 from the weights"):
        export_onnx(bundle, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_without_onnxruntime_the_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(BundleError, match=r"pip install cachezoo\[onnx\]"):
        export_onnx(load(stored("admission")), tmp_path / "model.onnx")


def test_the_command_writes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    said = json.loads(run("bundle", "export", stored("caching"), "--onnx", file, "--json").stdout)
    assert said["file"] == str(file) and said["output_difference"] <= 1e-5
    assert file.read_bytes() == onnx_of(load(stored("caching")))
