import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cachezoo.errors import TrainingError
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import serve_trace
from cachezoo.zoo.prefetch.model import MODEL_FILES, load_prefetch
from cachezoo.zoo.registry import bundling_of
from tests.prefetch_data import make_trace


@pytest.fixture
def trained(trained_of: Callable[[str], tuple[Path, object]]) -> Path:
    return trained_of("prefetch")[0]


def test_onnx_equals_the_three_forests_bit_for_bit(trained: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(bundling_of("prefetch").onnx(trained), providers=["CPUExecutionProvider"])
    _, serving = load_prefetch(trained)
    assert serving is not None
    rows = serve_trace(serving, make_trace(5_000, 3))
    ours = serving.outputs(rows)
    (theirs,) = session.run(["reach"], {"features": rows})
    assert theirs.shape == (5_000, 3) and (theirs == ours).all()
    assert all(len(np.unique(column)) > 1 for column in ours[:, 1:].T)
    one_by_one = np.concatenate([session.run(["reach"], {"features": row[None]})[0] for row in rows[:200]])
    assert (one_by_one == ours[:200]).all()


def test_onnx_bytes_are_equal_and_one_operator(trained: Path) -> None:
    import onnx

    data = bundling_of("prefetch").onnx(trained)
    assert data == bundling_of("prefetch").onnx(trained)
    (node,) = onnx.load_from_string(data).graph.node
    values = {attribute.name: attribute for attribute in node.attribute}
    assert node.op_type == "TreeEnsembleRegressor" and values["n_targets"].i == 3
    assert set(values["target_ids"].ints) == {0, 1, 2}


def test_missing_files_and_other_kinds_are_named(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "train.json").write_bytes((trained / "train.json").read_bytes())
    with pytest.raises(TrainingError, match=r"start\.lgb\.txt: cannot be read"):
        load_prefetch(tmp_path)
    for name in MODEL_FILES:
        (tmp_path / name).write_text("tree\n")
    with pytest.raises(TrainingError, match=r"not a .*LightGBM model text"):
        load_prefetch(tmp_path)
    with pytest.raises(TrainingError, match="kind prefetch, not admission"):
        load_admission(trained)
    values = json.loads((trained / "train.json").read_text())
    (tmp_path / "train.json").write_text(json.dumps({**values, "kind": "admission"}))
    with pytest.raises(TrainingError, match="kind admission, not prefetch"):
        load_prefetch(tmp_path)
