import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.bundles.requests import Requests, requests_of
from cachezoo.bundles.writer import build_bundle, write_bundle
from cachezoo.errors import BundleError
from cachezoo.models.admission import load_admission
from tests.baleen_data import make_trace
from tests.bundle_data import EXPORT, metrics


@pytest.fixture
def folder(trained_of: Callable[[str], tuple[Path, Requests]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_of("admission")[0], tmp_path / "trained"))


def test_bundle_decides_like_the_trained_forest(folder: Path, tmp_path: Path) -> None:
    requests = requests_of(make_trace(3000, 9), 3000)
    write_bundle(folder, requests, metrics("admission.database.lgbm"), EXPORT, tmp_path / "bundle")
    ours, theirs = load_admission(folder)[1], load(tmp_path / "bundle").serving()
    columns = [getattr(requests, n) for n in ("time_us", "op", "offset", "size", "volume", "namespace", "user")]
    rows = theirs.features(*columns)
    np.testing.assert_array_equal(rows, ours.features(*columns))
    np.testing.assert_array_equal(theirs.decide(rows), ours.decide(rows))
    assert 0 < theirs.decide(rows).mean() < 1


def test_cost_counts_the_trees(folder: Path) -> None:
    import lightgbm as lgb

    requests = requests_of(make_trace(300, 9), 300)
    files, _ = build_bundle(folder, requests, {}, EXPORT)
    cost = json.loads(files["manifest.json"])["cost"]
    trees = lgb.Booster(model_file=folder / "model.lgb.txt").trees_to_dataframe()
    assert cost["comparisons"] == int((trees.groupby("tree_index")["node_depth"].max() - 1).sum())
    assert cost["parameters"] == len(trees) and cost["macs"] == 0 and cost["state_bytes"] == 0


def test_uncalibrated_threshold_is_refused(folder: Path) -> None:
    path = folder / "train.json"
    values = json.loads(path.read_text())
    for key, value in (("threshold", None), ("threshold", True), ("curve", [])):
        path.write_text(json.dumps({**values, "calibration": {**values["calibration"], key: value}}))
        with pytest.raises(BundleError, match="threshold is not calibrated"):
            build_bundle(folder, requests_of(make_trace(300, 9), 300), {}, EXPORT)


def test_exporter_that_lies_is_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cachezoo.bundles import sources

    source = sources.SOURCES["admission"]
    wrong = sources.Source(source.export, lambda *a: source.reference(*a) + np.float32(0.1), source.libraries)
    monkeypatch.setitem(sources.SOURCES, "admission", wrong)
    with pytest.raises(BundleError, match=r"differs by 0\.1 from the trained one"):
        build_bundle(folder, requests_of(make_trace(300, 9), 300), {}, EXPORT)


def test_golden_rows_grow_until_every_branch_is_passed(folder: Path) -> None:
    trace = make_trace(3000, 9)
    first_write = int(np.argmax(trace.op == 1))
    settings = EXPORT.__class__("0.1.0", max(1, first_write), 1000, EXPORT.libraries, {})
    files, _ = build_bundle(folder, requests_of(trace, 3000), {}, settings)
    golden = json.loads(files["manifest.json"])["golden"]
    assert golden["rows"] > first_write and all(golden["branches"].values())
