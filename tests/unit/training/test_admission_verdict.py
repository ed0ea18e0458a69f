from dataclasses import replace

import numpy as np

from cachezoo.labels.episodes import label_problem
from cachezoo.labels.flash_problem import FlashProblem, flash_problem
from cachezoo.policies.flash import rejectx
from cachezoo.traces.table import Trace
from cachezoo.training.admission_verdict import JudgedPart, judge, plain_settings, threshold_curve
from tests.baleen_data import FLASH, LABEL, lone_segments, make_trace, partial_scans

TRACE = make_trace(15_000, 2)
PROBLEM = flash_problem(TRACE, LABEL, FLASH)
LABELS = label_problem(PROBLEM, LABEL)
SCORES = np.append(LABELS.score, -1.0)[LABELS.episodes.episode]
NOISE = np.random.default_rng(5).random(len(TRACE))


def verdict(
    scores: np.ndarray, budget: float, trace: Trace = TRACE, problem: FlashProblem = PROBLEM
) -> tuple[dict[str, float | None], bool, str]:
    problem = replace(problem, budget=budget)
    ours = plain_settings([problem], [scores])[0]
    return judge([JudgedPart(trace, problem, scores, LABELS.choice.run)], ours, FLASH, 1)


def test_opt_beats_rejectx_and_noise_does_not() -> None:
    figures, beats, reason = verdict(SCORES, PROBLEM.budget)
    assert beats and reason.startswith("beats RejectX") and "at equal writes" in reason
    assert figures["mean_dt_saved_low"] > 0 and figures["mean_dt"] < figures["rejectx_mean_dt"]
    _, beats, reason = verdict(NOISE, PROBLEM.budget)
    assert not beats and reason.startswith("does not beat")


def test_winning_by_more_writes_is_no_win() -> None:
    trace = lone_segments(15_000, 2)  # nothing to prefetch, which would let RejectX write more
    problem = flash_problem(trace, LABEL, FLASH)
    most = rejectx(replace(problem, budget=1e12))
    assert not most.reached
    budget = 1.2 * most.run.segment_writes
    assert budget < problem.accept_all.segment_writes
    figures, beats, reason = verdict(NOISE, budget, trace, problem)
    assert not beats and "at the most that RejectX can write" in reason
    assert figures["mean_dt_at_rejectx_writes"] is not None and figures["rejectx_writes_over_ours"] < 0.9


def test_both_prefetch_in_their_best_plain_mode() -> None:
    trace = partial_scans(6000, 3)
    problem = flash_problem(trace, LABEL, FLASH)
    scores = np.random.default_rng(5).random(6000)
    settings = plain_settings([problem], [scores])
    seconds = [float(problem.dt_seconds(one.runs[0])[problem.warmup :].sum()) for one in settings]
    assert seconds == sorted(seconds) and {one.mode for one in settings} == {"none", "all_on_miss", "all_on_partial"}
    for one in settings:
        assert problem.run(scores >= one.threshold, one.prefetches[0]).segment_writes == one.found.writes
    reason = judge([JudgedPart(trace, problem, scores, problem.accept_all)], settings[0], FLASH, 1)[2]
    assert settings[0].mode == "all_on_miss" and "prefetch all_on_miss against its all_on_miss" in reason


def test_the_curve_runs_from_everything_to_almost_nothing() -> None:
    curve = threshold_curve([PROBLEM], [NOISE], 9)
    writes = [point["writes"] for point in curve]
    assert writes[0] == 1.0 and writes == sorted(writes, reverse=True) and writes[-1] < 0.01
