from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import onnx
import onnxruntime
import pytest

from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import build_bundle
from cachezoo.errors import BundleError
from cachezoo.models.trained import read_trained
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.registry import SYSTEMS, bundling_of
from tests.bundle_data import EXPORT

EXPORTED = [name for name, system in SYSTEMS.items() if system.bundling is not None and system.bundling.onnx]
FORESTS = {"admission": "score", "prefetch": "reach", "reuse": "score"}
Trained = Callable[[str], tuple[Path, RequestBatch]]


@pytest.mark.parametrize("kind", EXPORTED)
def test_exporter_that_lies_is_caught(kind: str, trained_of: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, requests = trained_of(kind)
    reference = bundling_of(kind).reference
    assert reference is not None
    right = reference.load()

    def wrong(*arguments: Any, **given: Any) -> np.ndarray:
        return right(*arguments) + np.float32(0.1)

    monkeypatch.setattr(reference.name.replace(":", "."), wrong)
    with pytest.raises(BundleError, match=r"differs by 0\.1 from the trained one"):
        build_bundle(folder, requests, Metrics(), EXPORT)


@pytest.mark.parametrize("kind", FORESTS)
def test_forests_as_onnx_equal_lightgbm_bit_for_bit(kind: str, trained_of: Trained) -> None:
    (folder, _), bundling = trained_of(kind), bundling_of(kind)
    data, trained = bundling.onnx(folder), read_trained(folder)
    forests = [lgb.Booster(model_file=folder / name).trees_to_dataframe() for name in bundling.weights]
    limits = np.concatenate([forest["threshold"].dropna() for forest in forests]).astype(np.float32)
    # The nearest numbers on either side of a split; its own limit may lie between two numbers of float32.
    sides = np.concatenate([np.nextafter(limits, np.float32(-np.inf)), np.nextafter(limits, np.float32(np.inf))])
    rows = np.random.default_rng(3).choice(sides, (5000, len(trained.features)))
    wanted = bundling.reference(folder, trained, rows)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (found,) = session.run([FORESTS[kind]], {"features": rows})
    np.testing.assert_array_equal(found, wanted)
    one_by_one = [session.run([FORESTS[kind]], {"features": row[None]})[0][0] for row in rows[:200]]
    np.testing.assert_array_equal(one_by_one, wanted[:200])
    assert len(np.unique(wanted)) > 1


@pytest.mark.parametrize("kind", FORESTS)
def test_the_bytes_of_forests_as_onnx_are_equal_and_anonymous(kind: str, trained_of: Trained) -> None:
    (folder, _), bundling = trained_of(kind), bundling_of(kind)
    data = bundling.onnx(folder)
    assert data == bundling.onnx(folder) and len(data) < 3_000_000
    model = onnx.load_from_string(data)
    assert (model.producer_name, model.producer_version, len(model.metadata_props)) == ("", "", 0)
    (node,) = model.graph.node
    values = {attribute.name: attribute for attribute in node.attribute}
    assert node.op_type == "TreeEnsembleRegressor" and values["n_targets"].i == len(bundling.weights)
    assert set(values["target_ids"].ints) == set(range(len(bundling.weights)))
