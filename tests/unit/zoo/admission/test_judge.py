import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles.measured import Metrics, measured, promotion
from cachezoo.flash_cache.load import load_curve, load_windows
from cachezoo.flash_cache.modes import plain_modes
from cachezoo.flash_cache.policies import best_without_model, controlled
from cachezoo.flash_cache.problem import FlashProblem, flash_problem
from cachezoo.kernels.write_budget import Controller
from cachezoo.labels.episodes import label_problem
from cachezoo.models.trained import read_trained
from cachezoo.traces.table import Trace
from cachezoo.training.episodes import Prepared
from cachezoo.zoo.admission.judge import ScoredTrace, duel_without_model, plain_settings
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import serve_trace
from tests.baleen_data import (
    FLASH,
    JUDGE,
    LABEL,
    fit_and_judge,
    labelled_parts,
    make_trace,
    partial_scans,
    read_twice,
)

TRACE = make_trace(15_000, 2)
PROBLEM = flash_problem(TRACE, LABEL, FLASH)
LABELS = label_problem(PROBLEM, LABEL)
QUICK = Controller(step_misses=16, window_misses=1024, recent_misses=128, hold_misses=64)


def spread(scores: np.ndarray) -> np.ndarray:
    """Scores in the same order, evenly over the bins of a controller, as log-odds are."""
    ranks = np.unique(scores, return_inverse=True)[1]
    return QUICK.spread(1 - (ranks + 0.5) / (ranks.max() + 1))


SCORES = spread(np.append(LABELS.score, -1.0)[LABELS.episodes.episode])
NOISE = spread(np.random.default_rng(5).random(len(TRACE)))


def verdict(
    scores: np.ndarray, budget: float, trace: Trace = TRACE, problem: FlashProblem = PROBLEM
) -> tuple[dict[str, float | None], bool, str]:
    problem = replace(problem, budget=budget)
    ours = plain_settings([problem], [scores])[0]
    return duel_without_model([ScoredTrace(trace, problem, scores, LABELS.choice.run)], ours, JUDGE, 1, QUICK)


def test_opt_beats_what_asks_no_model_and_noise_does_not() -> None:
    figures, beats, reason = verdict(SCORES, PROBLEM.budget)
    assert beats and reason.startswith("beats the best policy without a model") and "both kept to the budget" in reason
    assert figures["rival_dt_saved_low"] > 0 and figures["mean_dt"] < figures["rival_mean_dt"]
    assert figures["mean_dt_saved_low"] > 0 and figures["rival_mean_dt"] <= figures["rejectx_mean_dt"]
    _, beats, reason = verdict(NOISE, PROBLEM.budget)
    assert not beats and reason.startswith("does not beat the best policy without a model")


def test_the_rival_is_the_best_admission_in_the_best_mode_under_our_controller() -> None:
    trace = read_twice(9000)
    problem = flash_problem(trace, LABEL, FLASH)
    scores = spread(np.random.default_rng(5).random(9000))
    ours = plain_settings([problem], [scores])[0]
    figures, beats, reason = duel_without_model(
        [ScoredTrace(trace, problem, scores, problem.accept_all)], ours, JUDGE, 1, QUICK
    )
    kept = controlled(problem, scores, ours.threshold, QUICK, ours.prefetches[0]).run
    best = best_without_model([problem], [trace.meta.trace_id], 1, controller=QUICK)
    windows = load_windows(trace.time_us, problem, FLASH)
    assert figures["mean_dt"] == load_curve(problem.dt_seconds(kept), windows).mean()
    assert figures["rival_writes_over_ours"] == best.runs[0].segment_writes / kept.segment_writes
    curve = load_curve(problem.dt_seconds(best.runs[0]), windows)
    assert (figures["rival_mean_dt"], figures["rival_peak_dt"]) == (curve.mean(), curve.max())
    assert f"without a model on validation, {best};" in reason
    rejectx_alone = best_without_model([problem], [trace.meta.trace_id], 1, ["rejectx"], [], QUICK)
    assert figures["rejectx_mean_dt"] == load_curve(problem.dt_seconds(rejectx_alone.runs[0]), windows).mean()
    assert best.policy == "coin_flip" and figures["rival_mean_dt"] < figures["rejectx_mean_dt"]
    assert not beats and figures["rival_dt_saved_low"] < 0


def test_both_prefetch_in_their_best_plain_mode() -> None:
    trace = partial_scans(6000, 3)
    problem = flash_problem(trace, LABEL, FLASH)
    scores = spread(np.random.default_rng(5).random(6000))
    settings = plain_settings([problem], [scores])
    seconds = [float(problem.dt_seconds(one.runs[0])[problem.first :].sum()) for one in settings]
    assert seconds == sorted(seconds) and {one.mode for one in settings} == set(plain_modes(64))
    for one in settings:
        assert problem.run(scores >= one.threshold, one.prefetches[0]).segment_writes == one.found.writes
    part = ScoredTrace(trace, problem, scores, problem.accept_all)
    reason = duel_without_model([part], settings[0], JUDGE, 1, QUICK)[2]
    assert settings[0].mode.startswith("next(")
    assert re.search(r"validation, [\w, -]+ with prefetch [\w()]+; prefetch next\(\d+\), both kept", reason)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Prepared]:
    traces = {"train": make_trace(20_000, 1), "validation": TRACE}
    return labelled_parts(traces, tmp_path_factory.mktemp("labels"))


@pytest.fixture(scope="module")
def trained(parts: list[Prepared], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "admission.database.lgbm"
    fit_and_judge(parts[:1], parts[1:]).write(folder)
    return folder


def test_threshold_meets_the_budget_on_validation(parts: list[Prepared], trained: Path) -> None:
    model, serving = load_admission(trained)
    problem = flash_problem(parts[1].trace, LABEL, FLASH)
    decisions = serving.decide(serve_trace(serving, parts[1].trace))
    writes = problem.run(decisions).segment_writes
    assert writes / problem.accept_all.segment_writes == pytest.approx(model.calibration["writes"])
    assert Controller(**model.calibration["controller"]) == Controller()
    assert not model.calibration["unreached"] and abs(writes - problem.budget) <= 0.025 * problem.budget
    curve = model.calibration["curve"]
    assert curve[0]["writes"] == 1.0 and len(curve) > 3
    thresholds = [point["threshold"] for point in curve]
    assert thresholds == sorted(thresholds)


def test_what_train_json_says(trained: Path) -> None:
    model = read_trained(trained)
    assert model.trained and model.arch["splits"] > 0
    assert [(item.trace, item.role) for item in model.traces] == [
        ("train", "train"),
        ("validation", "validation"),
    ]
    assert model.beats_baseline == (model.reason.startswith("beats the best policy without a model"))
    assert promotion(measured(model, Metrics())) == (model.promoted, model.reason)
    figures = model.validation
    duel = figures["rival_dt_saved_low"] > 0 and figures["peak_dt"] <= figures["rival_peak_dt"]
    assert model.beats_baseline == duel


@pytest.mark.parametrize(
    ("scores", "beats"), [pytest.param(SCORES, True, id="opt"), pytest.param(NOISE, False, id="noise")]
)
def test_the_verdict_follows_from_its_figures(scores: np.ndarray, beats: bool) -> None:
    figures, won, _ = verdict(scores, PROBLEM.budget)
    assert won == beats == (figures["rival_dt_saved_low"] > 0 and figures["peak_dt"] <= figures["rival_peak_dt"])
    assert (
        figures["rival_dt_saved_low"]
        < 1 - figures["mean_dt"] / figures["rival_mean_dt"]
        < figures["rival_dt_saved_high"]
    )


def test_without_validation_nothing_is_claimed(parts: list[Prepared]) -> None:
    model = fit_and_judge(parts[:1], []).trained
    assert not model.beats_baseline and "no validation trace" in model.reason
    assert model.calibration["calibrated_on"] == "train"
