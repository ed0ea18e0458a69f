import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.flash_cache.modes import ML_MODES, is_plain, plain_modes
from cachezoo.flash_cache.policies import Tuned, WithoutModel, best_without_model, prefetch_of
from cachezoo.flash_cache.problem import flash_problem
from cachezoo.kernels.flash import Prefetch
from cachezoo.labels.episodes import label_problem, opt_range
from cachezoo.metrics.flash import ModeFigures
from cachezoo.training.episodes import Prepared
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import serve_trace
from cachezoo.zoo.prefetch import judge
from cachezoo.zoo.prefetch.judge import ScoredTrace, choose
from cachezoo.zoo.prefetch.model import load_prefetch
from tests import baleen_data
from tests.baleen_data import FLASH, LABEL
from tests.prefetch_data import (
    FIT,
    PER_BLOCK,
    at_random,
    fit_and_judge,
    make_trace,
    part,
    points,
    write_both,
)
from tests.trained_data import MadeForests, digest

TRACE = make_trace(12_000, 2)
PROBLEM = flash_problem(TRACE, LABEL, FLASH)
LABELS = label_problem(PROBLEM, LABEL)
# OPT's scores, every episode's made distinct at random, so that thresholds meet budgets closely at all times.
APART = 1e-9 * np.append(np.random.default_rng(3).permutation(len(LABELS.score)), 0)
SCORES = (np.append(LABELS.score, -1.0) + APART)[LABELS.episodes.episode]
TRUE_RANGE = opt_range(LABELS.episodes, PROBLEM.geometry)
NOWHERE = Prefetch(np.zeros(len(TRACE), np.int32), np.zeros(len(TRACE), np.int32))
PLAIN_MODES = plain_modes(PER_BLOCK)
PLAIN = {mode: prefetch_of(PROBLEM, mode) for mode in PLAIN_MODES}


def judged(**learned: Prefetch) -> ScoredTrace:
    return ScoredTrace(TRACE, PROBLEM, SCORES, {**PLAIN, **learned})


def test_the_true_ranges_beat_the_plain_modes() -> None:
    found = choose([judged(ml_range=TRUE_RANGE, ml_range_when=NOWHERE)], FLASH, 0.02, 1)
    assert found.beats and found.mode == "ml_range"
    assert "ml_range beats none" in found.reason and re.search(r"; ml_range beats (CoinFlip|RejectX)", found.reason)
    assert found.figures["mean_dt_saved_low"] > 0 and found.figures["mean_dt"] < found.figures["plain_mean_dt"]
    assert found.figures["rival_dt_saved_low"] > 0 and found.figures["mean_dt"] < found.figures["rival_mean_dt"]
    rows = {row["mode"]: row for row in found.modes}
    assert rows["ml_range"]["prefetch_accuracy"] > rows["all_on_miss"]["prefetch_accuracy"]
    assert rows["ml_range_when"]["mean_dt"] == rows["none"]["mean_dt"]
    assert found.threshold == rows["ml_range"]["threshold"]


def test_ranges_that_beat_the_plain_modes_must_beat_what_asks_no_model_too(monkeypatch: pytest.MonkeyPatch) -> None:
    part = judged(ml_range=TRUE_RANGE)
    row = next(row for row in choose([part], FLASH, 0.02, 1).modes if row["mode"] == "ml_range")
    equal = Tuned(PROBLEM.run(SCORES >= row["threshold"], TRUE_RANGE), 1.0, True)
    strong = WithoutModel("rejectx", "next(2)", [equal], ModeFigures(mean_dt=0.0, writes=0.25, knob=1.0, reached=True))
    monkeypatch.setattr(judge, "best_without_model", lambda *_: strong)
    found = choose([part], FLASH, 0.02, 1)
    assert "ml_range beats none" in found.reason
    assert "; ml_range does not beat RejectX with prefetch next(2)" in found.reason
    assert found.figures["mean_dt_saved_low"] > 0 == found.figures["rival_dt_saved_low"]
    assert not found.beats and found.mode == "none"


def test_the_rival_without_a_model_writes_what_the_learned_mode_writes() -> None:
    found = choose([judged(ml_range=TRUE_RANGE)], FLASH, 0.02, 1)
    writes = next(row["writes"] for row in found.modes if row["mode"] == "ml_range")
    same = replace(PROBLEM, budget=writes * PROBLEM.accept_all.segment_writes)
    rival = best_without_model([same], [TRACE.meta.trace_id], 1)
    assert found.figures["rival_writes_over_ours"] == pytest.approx(rival.figures.writes / writes)
    assert found.figures["rival_writes_over_ours"] == pytest.approx(1.0, abs=0.03)
    assert f"beats {rival}:" in found.reason


def test_fetching_nothing_is_no_win() -> None:
    found = choose([judged(ml_range=NOWHERE, ml_range_when=NOWHERE)], FLASH, 0.02, 1)
    assert not found.beats and found.mode == "none" and "does not beat none" in found.reason
    assert found.figures["mean_dt_saved_low"] == found.figures["mean_dt_saved_high"] == 0.0


def test_train_traces_choose_a_plain_mode() -> None:
    found = choose([judged(ml_range=TRUE_RANGE, ml_range_when=NOWHERE)], FLASH, 0.02, 1, held_out=False)
    assert not found.beats and found.mode == "none" and found.reason.startswith("not judged")


def test_without_a_learned_mode_the_best_plain_one_is_named() -> None:
    found = choose([judged()], FLASH, 0.02, 1)
    assert not found.beats and found.mode == "none"
    assert found.reason == "no learned mode to judge; the best plain one is none"
    assert [row["mode"] for row in found.modes] == list(PLAIN_MODES)


def test_several_parts_share_one_threshold_and_one_budget() -> None:
    both = [judged(ml_range=TRUE_RANGE, ml_range_when=NOWHERE)] * 2
    found, one = choose(both, FLASH, 0.02, 1), choose(both[:1], FLASH, 0.02, 1)
    assert found.mode == one.mode and found.threshold == one.threshold
    assert found.calibration.writes == 2 * one.calibration.writes
    assert found.figures["mean_dt"] == pytest.approx(one.figures["mean_dt"])


def test_the_plain_mode_is_given_the_writes_of_the_learned_one() -> None:
    found = choose([judged(ml_range=TRUE_RANGE, ml_range_when=NOWHERE)], FLASH, 0.02, 1)
    assert found.figures["plain_writes_over_ours"] == pytest.approx(1.0, abs=0.03)
    larger = replace(PROBLEM, budget=2 * PROBLEM.budget)
    richer = choose([ScoredTrace(TRACE, larger, SCORES, {**PLAIN, "ml_range": TRUE_RANGE})], FLASH, 0.02, 1)
    assert richer.calibration.writes > found.calibration.writes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prefetch")


@pytest.fixture(scope="module")
def parts(folder: Path) -> list[Prepared]:
    return [part(make_trace(12_000, 1), "train", folder), part(make_trace(9_000, 2), "validation", folder)]


@pytest.fixture(scope="module")
def admitting(parts: list[Prepared]) -> MadeForests:
    return baleen_data.fit_and_judge(parts[:1], parts[1:])


@pytest.fixture(scope="module")
def trained(parts: list[Prepared], admitting: MadeForests, folder: Path) -> Path:
    admitting.write(folder / "admission")
    fit_and_judge(admitting, parts[:1], parts[1:]).write(folder / "model")
    return folder / "model"


def test_learnable_ranges_are_learned_and_beat_the_plain_modes(parts: list[Prepared], trained: Path) -> None:
    model, serving = load_prefetch(trained)
    assert model.trained and model.promoted and model.policy["mode"] in ML_MODES, model.reason
    assert serving is not None and serving.mode == model.policy["mode"]
    figures = model.validation
    assert figures["range_exact"] > 0.95 > figures["range_of_access_alone_exact"]
    assert figures["mean_dt_saved_low"] > 0 and figures["mean_dt"] < figures["plain_mean_dt"]
    rows = serve_trace(serving, parts[1].trace)
    low, high = serving.ranges(rows)
    labels, user = parts[1].labels, parts[1].trace.user
    first = (labels.access_index == 0) & labels.settled
    group, point = first & (user.codes == 1), first & (user.codes == 0)
    assert (high[group] == low[group] // 16 * 16 + 16).mean() > 0.85  # a tenth began with a write, and are shorter
    assert (high[point] - low[point] == 1).mean() > 0.95
    assert (serving.worth(rows)[group] > 0).mean() > 0.9 > 0.1 > (serving.worth(rows)[point] > 0).mean()


def test_each_mode_has_a_threshold_that_keeps_to_the_budget(parts: list[Prepared], trained: Path) -> None:
    model, serving = load_prefetch(trained)
    assert serving is not None
    modes = {row["mode"]: row for row in model.calibration["modes"]}
    assert tuple(modes) == (*PLAIN_MODES, *ML_MODES)
    problem = flash_problem(parts[1].trace, LABEL, FLASH)
    _, admits = load_admission(trained.parent / "admission")
    rows = serve_trace(serving, parts[1].trace)
    assert rows.tobytes() == serve_trace(admits, parts[1].trace).tobytes()
    scores = admits.scores(rows)
    for mode, row in modes.items():
        run = problem.run(scores >= row["threshold"], serving.prefetch(rows, mode))
        assert run.segment_writes / problem.accept_all.segment_writes == pytest.approx(row["writes"])
        assert row["writes"] <= 0.25 * 1.025
        assert run.prefetched.sum() / problem.accept_all.segment_writes == pytest.approx(row["prefetched_writes"])
    chosen = modes[model.policy["mode"]]
    assert chosen["mode"] in ML_MODES
    assert chosen["choosing_mean_dt"] == min(row["choosing_mean_dt"] for row in modes.values())
    assert model.calibration["threshold"] == chosen["threshold"] == serving.threshold
    curve = [point["threshold"] for point in model.calibration["curve"]]
    assert curve == sorted(curve) and len(curve) > 3


@pytest.mark.parametrize("script", [at_random, points])
def test_where_nothing_is_to_be_learned_it_says_so(script: object, tmp_path: Path) -> None:
    made = [part(make_trace(n, seed, script), str(seed), tmp_path) for n, seed in ((9_000, 1), (7_000, 2))]
    model = write_both(tmp_path, made[:1], made[1:])
    assert not model.beats_baseline and model.policy["mode"] == "none"
    assert model.calibration["modes"][0]["mode"] == "none"
    if script is points:
        assert not model.trained and "one class only" in model.reason
        assert [row["mode"] for row in model.calibration["modes"]] == list(PLAIN_MODES)
    else:
        assert model.trained and "does not beat none" in model.reason


def test_without_validation_nothing_is_claimed(parts: list[Prepared], admitting: MadeForests) -> None:
    model = fit_and_judge(admitting, parts[:1], []).trained
    assert model.trained and not model.beats_baseline and "no validation trace" in model.reason
    assert model.calibration["calibrated_on"] == "train" and is_plain(model.policy["mode"])


def test_an_untrained_model_is_written_without_forests(
    parts: list[Prepared], admitting: MadeForests, tmp_path: Path
) -> None:
    few = replace(FIT, fit=FIT.fit.model_copy(update={"min_episodes": 100_000}))
    model = fit_and_judge(admitting, parts[:1], parts[1:], few).write(tmp_path / "model")
    assert set(digest(tmp_path / "model")) == {"train.json", "curves.csv"}
    assert load_prefetch(tmp_path / "model") == (model, None)
