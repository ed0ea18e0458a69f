from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles.measured import Metrics, measured, promotion
from cachezoo.contest.blocks import BLOCKS
from cachezoo.serving.requests import batch_of
from cachezoo.zoo.workload.baselines import BASELINES, read_baseline
from cachezoo.zoo.workload.infer import load_workload
from cachezoo.zoo.workload.judge import duel, judge
from cachezoo.zoo.workload.windows import cut_windows
from tests.lstm_data import CLASSES, JUDGE, fit_and_judge, make_stream, parts
from tests.trained_data import MadeLstm, digest


@pytest.fixture(scope="module")
def made() -> MadeLstm:
    return fit_and_judge(CLASSES, parts(2000, 1), parts(1000, 3))


def test_learns_what_no_window_statistic_shows(made: MadeLstm, tmp_path: Path) -> None:
    model, figures = made.trained, made.trained.validation
    assert model.trained and model.promoted
    assert model.reason.startswith("beats the best of its baselines on validation, ")
    assert promotion(measured(model, Metrics())) == (True, model.reason)
    assert figures["accuracy"] > 0.9 and figures["difference_low"] > 0
    assert max(figures[f"{name}_balanced_accuracy"] for name in BASELINES) < 0.7
    assert figures[f"{model.calibration['judged_against']}_balanced_accuracy"] == max(
        figures[f"{name}_balanced_accuracy"] for name in BASELINES
    )
    assert model.policy["classes"] == CLASSES and model.category is None and model.model_id == "workload.lstm8"
    made.write(tmp_path / "model")
    assert set(digest(tmp_path / "model")) == {"weights.safetensors", "train.json", "curves.csv"}
    again, serving = load_workload(tmp_path / "model")
    assert again == model
    fresh = make_stream(600, 50, "turns")
    seen = serving.run(batch_of(fresh))
    assert (seen.classes == 1).mean() > 0.9 and seen.in_force[-1] == 1


def test_what_cannot_be_judged_is_not_claimed() -> None:
    for held in ([], parts(1000, 3)[:1], parts(150, 3)):
        model = fit_and_judge(CLASSES, parts(2000, 1), held).trained
        assert model.trained and not model.beats_baseline and model.reason.startswith("not judged: validation windows")
        assert set(model.validation) == {"train_windows"}
        assert [values["model"] for values in model.calibration["baselines"]] == list(BASELINES)
        windows = cut_windows(parts(100, 9), CLASSES, 12, 12)
        for values in model.calibration["baselines"]:
            assert set(read_baseline(values).predict(windows.columns)) <= {0, 1}
        assert "unknown_above" not in model.policy and model.calibration["known"] == []


def test_a_verdict_needs_an_interval_above_zero_over_the_best_baseline() -> None:
    labels = np.repeat([0, 1], 200)
    right, noise = labels.copy(), np.random.default_rng(1).random(400) < 0.1
    noisy = np.where(noise, 1 - labels, labels)
    rivals = {"twsd": 1 - labels, "tree4": noisy, "iosize": np.zeros(400, np.int64)}
    figures, best, beats, reason = duel(labels, right, rivals, 0.0)
    assert best == "tree4" and beats and reason.startswith("beats the best of its baselines on validation, tree4:")
    assert figures["balanced_accuracy"] == 1.0 and figures["iosize_balanced_accuracy"] == 0.5
    for ours in (right, 1 - right):
        figures, best, beats, reason = duel(labels, ours, {**rivals, "frequency": right}, 0.0)
        assert best == "frequency" and not beats and reason.startswith("does not beat")


def test_what_chooses_does_not_judge(made: MadeLstm) -> None:
    held = parts(1000, 3)
    choosing, judging = cut_windows(held, CLASSES, 12, 12).halves()
    assert made.trained.validation["windows"] == len(judging)
    spoilt = []
    for one in held:  # the windows that choose become those of the other program
        op = one.trace.op.copy()
        other = make_stream(len(one.trace), 77, "turns" if one.category == "pairs" else "pairs").op
        blocks = np.array_split(np.arange(len(op) // 12), 2 * BLOCKS)[::2]
        for window in np.concatenate(blocks):
            op[12 * window : 12 * window + 12] = other[12 * window : 12 * window + 12]
        spoilt.append(replace(one, trace=replace(one.trace, op=op)))
    again = judge(made.fitted, made.weights, parts(2000, 1), spoilt, JUDGE)
    assert again.validation["balanced_accuracy"] == made.trained.validation["balanced_accuracy"]
    assert len(choosing) + len(judging) == 2 * 83


def test_known_windows_are_seldom_unknown(made: MadeLstm) -> None:
    limits = made.trained.policy["unknown_above"]
    assert set(limits) == {"window", "vote"} and 0 < limits["vote"] <= limits["window"]
    assert made.fitted.learned["unknown_above"] == limits
    assert [known["trace"] for known in made.trained.calibration["known"]] == ["pairs_1", "turns_2"]
    assert made.trained.validation["unknown_windows"] < 0.25 and made.trained.validation["unknown_votes"] < 0.5
