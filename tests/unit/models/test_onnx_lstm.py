import json
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles.cost import model_cost
from cachezoo.bundles.reader import open_session
from cachezoo.errors import BundleError
from cachezoo.models.trained import Feature, TrainedModel
from cachezoo.models.weights import read_weights, write_weights
from cachezoo.zoo.caching.infer import torch_infer
from cachezoo.zoo.caching.serve import onnx_infer
from cachezoo.zoo.registry import bundling_of
from cachezoo.zoo.workload.infer import torch_windows
from tests.lstm_data import lstm_sides, random_weights

WIDTH = 7


def model(kind: str, layers: int, units: int, folder: Path, seed: int = 1) -> TrainedModel:
    heads = {"cached": 1, "duration": 3} if kind == "caching" else {"category": 3}
    write_weights(random_weights(lstm_sides(WIDTH, layers, units, heads), seed, 0.5), folder / "weights.safetensors")
    features = [Feature(name=f"f{k}", formula="x", unit="") for k in range(WIDTH)]
    return TrainedModel(
        model_id=f"{kind}.x", kind=kind, category=None, arch={"layers": layers, "units": units}, features=features,
        geometry={"page_bytes": 4096}, policy={"window": 12, "classes": ["a", "b", "c"]}, traces=[], inputs={},
        seeds={}, trained=True, validation={}, beats_baseline=False, reason="",
    )  # fmt: skip


def export_step(folder: Path, model: TrainedModel) -> bytes:
    model.write(folder)
    return bundling_of(model.kind).onnx.load()(folder)


@pytest.mark.parametrize(("layers", "units"), [(1, 1), (1, 8), (2, 5), (3, 16)])
def test_caching_steps_agree_with_torch_over_many_steps(layers: int, units: int, tmp_path: Path) -> None:
    session = open_session(export_step(tmp_path, model("caching", layers, units, tmp_path)), "m")
    ours, theirs = onnx_infer(session.run, layers, units), torch_infer(read_weights(tmp_path), 1)
    rows = np.random.default_rng(2).normal(0, 2, (600, 3, WIDTH)).astype(np.float32)
    state = other = None
    for step in rows:
        out, state = ours(step, state)
        want, other = theirs(step, other)
        assert out.dtype == np.float32 and out.shape == (3, 4)
        np.testing.assert_allclose(out, want, atol=1e-5, rtol=0)
    assert (np.ptp(out, axis=0) > 1e-3).all()


@pytest.mark.parametrize(("layers", "units"), [(1, 8), (3, 5)])
def test_workload_windows_agree_with_torch(layers: int, units: int, tmp_path: Path) -> None:
    session = open_session(export_step(tmp_path, model("workload", layers, units, tmp_path)), "m")
    windows = np.random.default_rng(2).normal(0, 2, (50, 12, WIDTH)).astype(np.float32)
    want = torch_windows(read_weights(tmp_path), 1)(windows)
    for size in (1, 50):
        (out,) = session.run(["category"], {"features": windows[:size]})
        np.testing.assert_allclose(out, want[:size], atol=1e-5, rtol=0)
    assert np.ptp(want, axis=0).min() > 1e-3


@pytest.mark.parametrize("kind", ["caching", "workload"])
def test_equal_weights_equal_bytes_without_any_trace_of_the_maker(kind: str, tmp_path: Path) -> None:
    import onnx

    files = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        files.append(export_step(tmp_path / name, model(kind, 2, 4, tmp_path / name)))
    assert files[0] == files[1]
    parsed = onnx.load_model_from_string(files[0])
    assert not parsed.producer_name and not parsed.producer_version and not parsed.metadata_props
    assert not parsed.doc_string and not any(node.doc_string or node.metadata_props for node in parsed.graph.node)
    assert str(tmp_path).encode() not in files[0]


def test_cost_counts_the_gates(tmp_path: Path) -> None:
    cost = model_cost(export_step(tmp_path, model("caching", 2, 5, tmp_path)))
    gates = 4 * 5 * (WIDTH + 5) + 4 * 5 * (5 + 5)
    assert cost["macs"] == gates + 5 * 4
    assert cost["parameters"] == gates + 2 * 2 * 4 * 5 + 5 * 4 + 4
    cost = model_cost(export_step(tmp_path, model("workload", 1, 5, tmp_path)))
    assert cost["macs"] == 12 * 4 * 5 * (WIDTH + 5) + 5 * 3


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    stated = model("caching", 2, 5, tmp_path)
    model("caching", 1, 5, tmp_path)
    with pytest.raises(BundleError, match=r"tensor b1 is None, the model's is \(1, 40\); train the model again"):
        export_step(tmp_path, stated)
    model("workload", 2, 5, tmp_path)
    with pytest.raises(BundleError, match=r"tensor cached\.bias is None"):
        export_step(tmp_path, stated)
    write_weights({"other": np.zeros(1, np.float32)}, tmp_path / "weights.safetensors")
    with pytest.raises(BundleError, match="train the model again"):
        export_step(tmp_path, stated)
    assert json.loads(stated.model_dump_json())["kind"] == "caching"
