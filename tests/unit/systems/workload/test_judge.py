from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles.measured import Metrics, measured, promotion
from cachezoo.serving.requests import batch_of
from cachezoo.systems.workload.infer import load_workload
from cachezoo.systems.workload.judge import duel_with_tree, judge
from cachezoo.systems.workload.tree import WindowTree
from tests.lstm_data import CLASSES, JUDGE, fit_and_judge, make_stream, parts
from tests.trained_data import MadeLstm, digest


@pytest.fixture(scope="module")
def made() -> MadeLstm:
    return fit_and_judge(CLASSES, parts(2000, 1), parts(1000, 3))


def test_learns_what_no_window_statistic_shows(made: MadeLstm, tmp_path: Path) -> None:
    model, figures = made.trained, made.trained.validation
    assert model.trained and model.promoted and model.reason.startswith("beats the decision tree")
    assert promotion(measured(model, Metrics())) == (True, model.reason)
    assert figures["accuracy"] > 0.9 and figures["difference_low"] > 0
    assert figures["tree_accuracy"] < 0.7
    assert model.policy["classes"] == CLASSES and model.category is None and model.model_id == "workload.lstm8"
    made.write(tmp_path / "model")
    assert set(digest(tmp_path / "model")) == {"weights.safetensors", "train.json", "curves.csv"}
    again, serving = load_workload(tmp_path / "model")
    assert again == model
    fresh = make_stream(600, 50, "turns")
    seen = serving.run(batch_of(fresh))
    assert (seen.classes == 1).mean() > 0.9 and seen.in_force[-1] == 1


def test_two_verdicts_are_the_same(made: MadeLstm) -> None:
    again = judge(made.fitted, made.weights, parts(2000, 1), parts(1000, 3), JUDGE)
    assert (again.calibration, again.policy) == (made.trained.calibration, made.trained.policy)
    assert (again.validation, again.reason) == (made.trained.validation, made.trained.reason)


def test_what_cannot_be_judged_is_not_claimed() -> None:
    for held in ([], parts(1000, 3)[:1], parts(150, 3)):
        model = fit_and_judge(CLASSES, parts(2000, 1), held).trained
        assert model.trained and not model.beats_baseline and model.reason.startswith("not judged: validation windows")
        assert set(model.validation) == {"train_windows"}
        assert WindowTree.of(model.calibration["baseline"]).label.max() <= 1


def test_a_verdict_needs_an_interval_above_zero() -> None:
    labels = np.repeat([0, 1], 200)
    right, noise = labels.copy(), np.random.default_rng(1).random(400) < 0.1
    figures, beats, reason = duel_with_tree(labels, right, np.where(noise, 1 - labels, labels), JUDGE.judge, 1)
    assert beats and figures["balanced_accuracy"] == 1.0 and "beats the decision tree" in reason
    for ours in (right, 1 - right):
        figures, beats, reason = duel_with_tree(labels, ours, right, JUDGE.judge, 1)
        assert not beats and reason.startswith("does not beat")
