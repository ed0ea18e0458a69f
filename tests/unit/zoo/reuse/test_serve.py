import json
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.released import verify
from cachezoo.bundles.writer import write_bundle
from cachezoo.errors import ConfigError
from cachezoo.models.trained import TrainedModel
from cachezoo.questions.page.bundle import simulate_bundle
from cachezoo.serving.requests import batch_of
from cachezoo.zoo.reuse.evaluate import page_bundle
from cachezoo.zoo.reuse.model import load_reuse
from cachezoo.zoo.reuse.serve import ReuseServing
from tests.bundle_data import EXPORT
from tests.reuse_data import part, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reuse")
    write_model(path)
    return path


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Path:
    write_bundle(folder / "model", batch_of(part(2000, 5).trace), Metrics(), EXPORT, folder / "bundle")
    return folder / "bundle"


def test_a_bundle_runs_the_trained_cache(folder: Path, bundle: Path) -> None:
    own = part(4000, 6)
    ours = load_reuse(folder / "model")[1].run(batch_of(own.trace), own.pages, 60)
    theirs = load(bundle).serving().run(batch_of(own.trace), own.pages, 60)
    np.testing.assert_array_equal(ours.scores, theirs.scores)
    np.testing.assert_array_equal(ours.followed.run.outcome, theirs.followed.run.outcome)
    np.testing.assert_array_equal(ours.followed.run.victim, theirs.followed.run.victim)
    found = simulate_bundle(bundle, own.trace, own.pages, 60, 100)
    assert found.hits == int((ours.followed.run.outcome[100:] == 2).sum())
    assert page_bundle(load(bundle).serving(), "it", own.trace, own.pages, 60, 100).hits == found.hits


def test_a_bundle_verifies_and_its_golden_rows_hold_flags(bundle: Path) -> None:
    report = verify(bundle)
    assert report["ok"]
    assert (bundle / "golden/requests.csv").read_text().splitlines()[0].split(",")[-1] == "flags"
    branches = json.loads((bundle / "model.json").read_text())["golden"]["branches"]
    assert all(branches[name] > 0 for name in ("hit", "admitted", "bypass", "replaced", "forest_led"))


def test_requests_in_two_calls_of_scoring_score_alike(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serving, rows = load_reuse(folder / "model")[1], part(500, 7).inputs(30)
    whole = serving.scores(rows)
    monkeypatch.setattr("cachezoo.zoo.reuse.serve.SCORED_AT_ONCE", 7)
    np.testing.assert_array_equal(serving.scores(rows), whole)
    assert len(serving.scores(rows[:0])) == 0


def test_the_trace_s_own_forest_corrects_scores_once_it_is_grown(folder: Path) -> None:
    own, trained = part(4000, 6), load_reuse(folder / "model")[1]
    served = trained.run(batch_of(own.trace), own.pages, 60)
    apart = served.seen.corrected(served.scores) != served.scores
    assert not apart[: 5 * 60].any()
    assert apart[1000:].mean() > 0.9
    trained.policy = {**trained.policy, "own_trees": 0}
    without = trained.run(batch_of(own.trace), own.pages, 60)
    np.testing.assert_array_equal(served.scores, without.scores)
    assert (served.followed.run.outcome != without.followed.run.outcome).any()


@pytest.mark.parametrize(
    ("where", "change", "said"),
    [
        ("calibration", {"events": [[1.0]]}, "one row for each class"),
        ("calibration", {"quantiles": [float(-k) for k in range(15)]}, "quantiles do not fall"),
        ("features", [{"formula": "age"}], "features: age"),
    ],
)
def test_values_that_do_not_fit_are_one_line(folder: Path, where: str, change: object, said: str) -> None:
    model: TrainedModel = load_reuse(folder / "model")[0]
    values = {key: model.model_dump(mode="json")[key] for key in ("features", "policy", "calibration")}
    values[where] = {**values[where], **change} if isinstance(change, dict) else change
    with pytest.raises(ConfigError, match=said):
        ReuseServing(**values, infer=lambda rows: rows[:, 0])
