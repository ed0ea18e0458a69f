import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import build_bundle, write_bundle
from cachezoo.errors import BundleError
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.zoo.admission.evaluate import admission_page_decisions
from cachezoo.zoo.admission.model import load_admission
from tests.baleen_data import make_trace
from tests.bundle_data import EXPORT, metrics


@pytest.fixture
def folder(trained_of: Callable[[str], tuple[Path, RequestBatch]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_of("admission")[0], tmp_path / "trained"))


def test_bundle_decides_like_the_trained_forest(folder: Path, tmp_path: Path) -> None:
    requests = batch_of(make_trace(3000, 9)).part(0, 3000)
    write_bundle(folder, requests, metrics("admission.database.lgbm"), EXPORT, tmp_path / "bundle")
    ours, theirs = load_admission(folder)[1], load(tmp_path / "bundle").serving()
    rows = theirs.features(requests)
    np.testing.assert_array_equal(rows, ours.features(requests))
    np.testing.assert_array_equal(theirs.decide(rows), ours.decide(rows))
    assert 0 < theirs.decide(rows).mean() < 1


def test_a_page_cache_in_front_decides_on_reads_alone_and_by_what_came_before(folder: Path) -> None:
    trace = make_trace(15_000, 3, "test")
    decisions = admission_page_decisions(folder, trace)
    assert decisions.shape == (len(trace),) and decisions.dtype == np.bool_
    assert decisions.any() and not decisions[trace.op == 1].any()
    np.testing.assert_array_equal(decisions[:6000], admission_page_decisions(folder, trace.rows(0, 6000)))


def test_cost_counts_the_trees(folder: Path) -> None:
    import lightgbm as lgb

    requests = batch_of(make_trace(300, 9)).part(0, 300)
    files, _ = build_bundle(folder, requests, Metrics(), EXPORT)
    cost = json.loads(files["manifest.json"])["cost"]
    trees = lgb.Booster(model_file=folder / "model.lgb.txt").trees_to_dataframe()
    assert cost["comparisons"] == int((trees.groupby("tree_index")["node_depth"].max() - 1).sum())
    assert cost["parameters"] == len(trees) and cost["macs"] == 0 and cost["state_bytes"] == 8


def test_uncalibrated_threshold_is_refused(folder: Path) -> None:
    path = folder / "train.json"
    values = json.loads(path.read_text())
    for key, value in (("threshold", None), ("threshold", True), ("curve", [])):
        path.write_text(json.dumps({**values, "calibration": {**values["calibration"], key: value}}))
        with pytest.raises(BundleError, match="threshold is not calibrated"):
            build_bundle(folder, batch_of(make_trace(300, 9)).part(0, 300), Metrics(), EXPORT)


def test_golden_rows_grow_until_every_branch_is_passed(folder: Path) -> None:
    trace = make_trace(3000, 9)
    first_write = int(np.argmax(trace.op == 1))
    settings = EXPORT.__class__("0.1.0", max(1, first_write), 1000, EXPORT.libraries, {})
    files, _ = build_bundle(folder, batch_of(trace).part(0, 3000), Metrics(), settings)
    golden = json.loads(files["model.json"])["golden"]
    assert golden["rows"] > first_write and all(golden["branches"].values())
