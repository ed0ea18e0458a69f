from pathlib import Path

import numpy as np
import pytest

from cachezoo.errors import TrainingError
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import AdmissionServing, serve_trace
from cachezoo.zoo.registry import bundling_of
from tests.baleen_data import fit_and_judge, labelled_parts, make_trace


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx")
    traces = {key: make_trace(15_000, seed) for seed, key in ((1, "train"), (2, "validation"))}
    train, validation = labelled_parts(traces, folder)
    fit_and_judge([train], [validation]).write(folder / "model")
    return folder / "model"


def onnx_serving(trained: Path) -> AdmissionServing:
    import onnxruntime

    session = onnxruntime.InferenceSession(bundling_of("admission").onnx(trained), providers=["CPUExecutionProvider"])
    model, _ = load_admission(trained)
    values = model.model_dump(mode="json")
    keys = ("features", "encodings", "geometry", "calibration", "policy")
    return AdmissionServing(
        **{key: values[key] for key in keys}, infer=lambda rows: session.run(["score"], {"features": rows})[0]
    )


def test_onnx_scores_equal_lightgbm_bit_for_bit(trained: Path) -> None:
    test = make_trace(15_000, 3)
    _, ours = load_admission(trained)
    theirs = onnx_serving(trained)
    rows = serve_trace(ours, test)
    assert rows.tobytes() == serve_trace(theirs, test).tobytes()
    assert (ours.scores(rows) == theirs.scores(rows)).all()
    assert len(np.unique(ours.scores(rows))) > 50
    one_by_one = np.concatenate([theirs.scores(row[None]) for row in rows[:200]])
    assert (one_by_one == ours.scores(rows[:200])).all()
    np.testing.assert_array_equal(ours.decide(rows), theirs.decide(rows))
    assert 0 < ours.decide(rows).mean() < 1


def test_bytes_are_equal_and_anonymous(trained: Path) -> None:
    import onnx

    data = bundling_of("admission").onnx(trained)
    assert data == bundling_of("admission").onnx(trained)
    model = onnx.load_from_string(data)
    assert (model.producer_name, model.producer_version, len(model.metadata_props)) == ("", "", 0)
    assert [node.op_type for node in model.graph.node] == ["TreeEnsembleRegressor"]
    assert len(data) < 3_000_000


def test_missing_files_are_named(tmp_path: Path, trained: Path) -> None:
    (tmp_path / "train.json").write_bytes((trained / "train.json").read_bytes())
    with pytest.raises(TrainingError, match=r"model\.lgb\.txt"):
        load_admission(tmp_path)
