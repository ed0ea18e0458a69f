from dataclasses import replace

import numpy as np
import pytest

from cachezoo.kernels.flash import Prefetch
from cachezoo.labels.episodes import label_problem, opt_range
from cachezoo.labels.flash_problem import flash_problem
from cachezoo.policies.prefetch import PLAIN_MODES, plain_prefetch
from cachezoo.training.prefetch_verdict import JudgedPart, judge
from tests.baleen_data import FLASH, LABEL
from tests.prefetch_data import PER_BLOCK, make_trace

TRACE = make_trace(12_000, 2)
PROBLEM = flash_problem(TRACE, LABEL, FLASH)
LABELS = label_problem(PROBLEM, LABEL)
# OPT's scores, every episode's made distinct, so that thresholds meet budgets closely.
SCORES = np.append(LABELS.score, -1.0)[LABELS.episodes.episode] + 1e-9 * (LABELS.episodes.episode + 2)
TRUE_RANGE = opt_range(LABELS.episodes, PROBLEM.geometry)
NOWHERE = Prefetch(np.zeros(len(TRACE), np.int32), np.zeros(len(TRACE), np.int32))
PLAIN = {mode: plain_prefetch(mode, len(TRACE), PER_BLOCK) for mode in PLAIN_MODES}


def part(**learned: Prefetch) -> JudgedPart:
    return JudgedPart(TRACE, PROBLEM, SCORES, {**PLAIN, **learned})


def test_the_true_ranges_beat_the_plain_modes() -> None:
    verdict = judge([part(ml_range=TRUE_RANGE, ml_range_when=NOWHERE)], FLASH, 1)
    assert verdict.beats and verdict.mode == "ml_range" and verdict.reason.startswith("ml_range beats none")
    assert verdict.figures["mean_dt_saved_low"] > 0 and verdict.figures["mean_dt"] < verdict.figures["plain_mean_dt"]
    rows = {row["mode"]: row for row in verdict.modes}
    assert rows["ml_range"]["prefetch_accuracy"] > rows["all_on_miss"]["prefetch_accuracy"]
    assert rows["ml_range_when"]["mean_dt"] == rows["none"]["mean_dt"]
    assert verdict.threshold == rows["ml_range"]["threshold"]


def test_fetching_nothing_is_no_win() -> None:
    verdict = judge([part(ml_range=NOWHERE, ml_range_when=NOWHERE)], FLASH, 1)
    assert not verdict.beats and verdict.mode == "none" and "does not beat none" in verdict.reason
    assert verdict.figures["mean_dt_saved_low"] == verdict.figures["mean_dt_saved_high"] == 0.0


def test_train_traces_choose_a_plain_mode() -> None:
    verdict = judge([part(ml_range=TRUE_RANGE, ml_range_when=NOWHERE)], FLASH, 1, held_out=False)
    assert not verdict.beats and verdict.mode == "none" and verdict.reason.startswith("not judged")


def test_without_a_learned_mode_the_best_plain_one_is_named() -> None:
    verdict = judge([part()], FLASH, 1)
    assert not verdict.beats and verdict.mode == "none"
    assert verdict.reason == "no learned mode to judge; the best plain one is none"
    assert [row["mode"] for row in verdict.modes] == list(PLAIN_MODES)


def test_several_parts_share_one_threshold_and_one_budget() -> None:
    both = [part(ml_range=TRUE_RANGE, ml_range_when=NOWHERE)] * 2
    verdict, one = judge(both, FLASH, 1), judge(both[:1], FLASH, 1)
    assert verdict.mode == one.mode and verdict.threshold == one.threshold
    assert verdict.calibration.writes == 2 * one.calibration.writes
    assert verdict.figures["mean_dt"] == pytest.approx(one.figures["mean_dt"])


def test_the_plain_mode_is_given_the_writes_of_the_learned_one() -> None:
    verdict = judge([part(ml_range=TRUE_RANGE, ml_range_when=NOWHERE)], FLASH, 1)
    assert verdict.figures["plain_writes_over_ours"] == pytest.approx(1.0, abs=0.03)
    larger = replace(PROBLEM, budget=2 * PROBLEM.budget)
    richer = judge([JudgedPart(TRACE, larger, SCORES, {**PLAIN, "ml_range": TRUE_RANGE})], FLASH, 1)
    assert richer.calibration.writes > verdict.calibration.writes
