import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.bundles.card import model_card
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import build_bundle, refusal, write_bundle
from cachezoo.errors import BundleError
from cachezoo.flash_cache.problem import flash_problem
from cachezoo.models.trained import read_trained
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.prefetch.model import load_prefetch
from tests.baleen_data import FLASH, LABEL
from tests.bundle_data import EXPORT, metrics
from tests.prefetch_data import make_trace


@pytest.fixture
def folder(trained_of: Callable[[str], tuple[Path, RequestBatch]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_of("prefetch")[0], tmp_path / "trained"))


def test_bundle_prefetches_like_the_trained_forests(
    folder: Path, trained_of: Callable[[str], tuple[Path, RequestBatch]], tmp_path: Path
) -> None:
    trace = make_trace(5_000, 9)
    requests = batch_of(trace).part(0, len(trace))
    write_bundle(folder, requests, metrics("prefetch.database.lgbm"), EXPORT, tmp_path / "bundle")
    ours, theirs = load_prefetch(folder)[1], load(tmp_path / "bundle").serving()
    rows = theirs.features(requests)
    np.testing.assert_array_equal(rows, ours.features(requests))
    np.testing.assert_array_equal(theirs.ranges(rows), ours.ranges(rows))
    mine, its = ours.prefetch(rows), theirs.prefetch(rows)
    np.testing.assert_array_equal((its.low, its.high), (mine.low, mine.high))
    # Rows of the admission model serve both; one run with what the two say beats the admission alone.
    admits = load_admission(trained_of("prefetch")[0].parent / "admission")[1]
    np.testing.assert_array_equal(admits.features(requests), rows)
    scores, problem = admits.scores(rows), flash_problem(trace, LABEL, FLASH)
    alone = problem.run(scores >= admits.threshold)
    both = problem.run(scores >= theirs.threshold, its)
    assert both.segment_writes <= 1.05 * alone.segment_writes  # each threshold met the budget elsewhere, to 2.5 %
    assert problem.dt_seconds(both).sum() < problem.dt_seconds(alone).sum()


def test_golden_rows_pass_every_branch(folder: Path) -> None:
    files, _ = build_bundle(folder, batch_of(make_trace(3_000, 9)).part(0, 3_000), Metrics(), EXPORT)
    manifest = {**json.loads(files["manifest.json"]), **json.loads(files["model.json"])}
    golden = manifest["golden"]
    assert golden["decisions"] == ["low", "high", "fetch"] and golden["outputs"] == ["before", "after", "worth"]
    assert set(golden["branches"]) == {"fetch", "leave", "write"} and all(golden["branches"].values())
    assert {"start.lgb.txt", "end.lgb.txt", "when.lgb.txt"} < set(files)
    assert manifest["policy"]["mode"] in ("ml_range", "ml_range_when")
    assert "may be champion" in files["card.md"].decode().lower()
    assert "model.prefetch(rows)" in files["card.md"].decode()
    lost = {**manifest["measured"], "beats_baseline": False, "reason": "it does not beat none"}
    card = model_card({**manifest, "measured": lost})
    assert "Prefetching without a model is the safer choice here: it does not beat none" in card


def test_a_beaten_or_untrained_model_is_refused(folder: Path) -> None:
    path = folder / "train.json"
    values = json.loads(path.read_text())
    requests = batch_of(make_trace(300, 9)).part(0, 300)
    for change, match in (
        ({"beats_baseline": False, "reason": "it does not beat none"}, "not shown to beat prefetching without a model"),
        ({"trained": False, "reason": "one class only"}, "never trained: one class only"),
        ({"calibration": {**values["calibration"], "curve": []}}, "threshold is not calibrated"),
    ):
        path.write_text(json.dumps({**values, **change}))
        with pytest.raises(BundleError, match=match):
            build_bundle(folder, requests, Metrics(), EXPORT)
    path.write_text(json.dumps({**values, "beats_baseline": False}))
    assert (refusal(read_trained(folder)) or "").startswith("not shown to beat")
