from dataclasses import replace

import numpy as np

from cachezoo.labels.episodes import label_problem
from cachezoo.labels.flash_problem import flash_problem
from cachezoo.policies.flash import calibrate_threshold, rejectx
from cachezoo.training.admission_verdict import JudgedPart, judge, threshold_curve
from tests.baleen_data import FLASH, LABEL, make_trace

TRACE = make_trace(15_000, 2)
PROBLEM = flash_problem(TRACE, LABEL, FLASH)
LABELS = label_problem(PROBLEM, LABEL)
OPT = LABELS.opt()
SCORES = np.append(LABELS.score, -1.0)[LABELS.episodes.episode]
NOISE = np.random.default_rng(5).random(len(TRACE))


def verdict(scores: np.ndarray, budget: float) -> tuple[dict[str, float | None], bool, str]:
    problem = replace(PROBLEM, budget=budget)
    threshold, _ = calibrate_threshold([problem], [scores])
    return judge([JudgedPart(TRACE, problem, scores, OPT)], threshold, FLASH, 1)


def test_opt_beats_rejectx_and_noise_does_not() -> None:
    figures, beats, reason = verdict(SCORES, PROBLEM.budget)
    assert beats and reason.startswith("beats RejectX") and "at equal writes" in reason
    assert figures["mean_dt_saved_low"] > 0 and figures["mean_dt"] < figures["rejectx_mean_dt"]
    _, beats, reason = verdict(NOISE, PROBLEM.budget)
    assert not beats and reason.startswith("does not beat")


def test_winning_by_more_writes_is_no_win() -> None:
    most = rejectx(replace(PROBLEM, budget=1e12))
    assert not most.reached
    budget = 1.5 * most.run.segment_writes
    assert budget < PROBLEM.accept_all.segment_writes
    figures, beats, reason = verdict(NOISE, budget)
    assert not beats and "at the most that RejectX can write" in reason
    assert figures["mean_dt_at_rejectx_writes"] is not None and figures["rejectx_writes_over_ours"] < 0.8


def test_the_curve_runs_from_everything_to_almost_nothing() -> None:
    curve = threshold_curve([PROBLEM], [NOISE], 9)
    writes = [point["writes"] for point in curve]
    assert writes[0] == 1.0 and writes == sorted(writes, reverse=True) and writes[-1] < 0.01
