from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.errors import TraceError
from cachezoo.flash_cache.policies import ADMISSIONS, WITH_EVICTIONS
from cachezoo.flash_cache.problem import FlashProblem, flash_problem
from cachezoo.kernels.flash import Prefetch
from cachezoo.kernels.write_budget import Controller
from cachezoo.labels.episodes import OPT_MODES, choose_episodes, label_problem
from cachezoo.questions.flash.stage import (
    Baselines,
    Comparisons,
    Decisions,
    LabelledTrace,
    Settings,
    choose_baseline_modes,
    chosen_baselines,
    decide,
    evaluate_models,
)
from cachezoo.zoo.admission.model import load_admission
from tests.baleen_data import FLASH, LABEL, fit_and_judge, labelled_parts, lone_segments, make_trace, partial_scans

EVALUATE = Settings(LABEL, FLASH, 7)
N = 9_000
TEST = make_trace(N, 3, "test")
VALIDATION = {"validation": make_trace(N, 2, "validation")}
NAMES = {"coin_flip", "rejectx", "opt", "baleen"}
PLAIN = {"coin_flip": "none", "rejectx": "none", "accept_all": "none"}
QUICK = Controller(step_misses=8, window_misses=400, recent_misses=80, hold_misses=32)
CHOSEN = Baselines(PLAIN, "coin_flip", "rejectx")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    traces = {"train": make_trace(N, 1), "validation": VALIDATION["validation"]}
    train, validation = labelled_parts(traces, folder)
    made = fit_and_judge([train], [validation])
    admission = made.trained
    for mode in ("none", "all_on_miss"):
        plain = {"mode": mode, "threshold": admission.calibration["threshold"] + 0.125}
        shipped = admission.model_copy(update={"calibration": {**admission.calibration, "with_prefetch": plain}})
        replace(made, trained=shipped).write(folder / mode)
    return folder


def test_result(folder: Path) -> None:
    result = evaluate_models("database", folder / "all_on_miss", VALIDATION, {"test": TEST}, EVALUATE)
    assert result == evaluate_models("database", folder / "all_on_miss", VALIDATION, {"test": TEST}, EVALUATE)
    assert (result.category, result.model_id, result.trained) == ("database", "admission.database.lgbm", True)
    assert result.mode == "all_on_miss" and result.modes_chosen_on == ["validation"]
    one = result.traces["test"]
    for name in ("deployed", "at_budget", "admission_alone"):
        comparison = getattr(one, name)
        rows, budget = comparison.rows, comparison.budget_writes
        without = {f"{policy}_no_prefetch" for policy in NAMES}
        assert set(rows) == (NAMES if name == "admission_alone" else NAMES | without)
        assert all(rows[policy].prefetch == "none" for policy in without & set(rows))
        reached = {policy: row for policy, row in rows.items() if row.reached}
        assert {"baleen", "coin_flip"} <= set(reached)
        writes = rows["baleen"].segment_writes
        assert abs(writes - budget) <= 0.025 * budget
        for policy, row in rows.items():
            near = abs(row.segment_writes - budget) <= 0.025 * budget
            in_hindsight = name == "at_budget" or policy.startswith("opt")
            assert row.reached == (row.segment_writes >= writes if in_hindsight else near)
        assert rows["coin_flip"].segment_writes <= 1.025 * max(writes, budget)
        for row in rows.values():
            assert (row.prefetch == "none") == (row.prefetched_segments == 0)
            low, high = row.read_dt_mean_interval
            assert low < row.read_dt.mean < high
            assert low + high == pytest.approx(2 * row.read_dt.mean)
        if name != "admission_alone":
            assert rows["opt"].read_dt.mean <= rows["opt_no_prefetch"].read_dt.mean
            for policy in ("rejectx", "coin_flip"):
                assert rows[policy].prefetch == result.modes[policy].mode
    assert one.deployed.rows["baleen"].prefetch == "all_on_miss"
    assert one.deployed.budget_writes == one.at_budget.budget_writes
    assert one.accept_all.prefetch == result.modes["accept_all"].mode
    assert one.accept_all_no_prefetch.prefetched_segments == 0
    assert all(row.knob is row.reached is None for row in one.unbudgeted().values())
    assert one.warmup_request == N // 2


def test_the_admissions_prefetch_mode_ships(folder: Path) -> None:
    problem = flash_problem(TEST, LABEL, FLASH)
    decisions = decide(folder / "all_on_miss", TEST, problem)
    admission = load_admission(folder / "all_on_miss")[0].calibration["threshold"]
    assert (decisions.threshold, decisions.alone, decisions.mode) == (admission + 0.125, admission, "all_on_miss")
    bench = bench_of(TEST, decisions)
    assert decisions.prefetch is not None
    want = problem.run_controlled(decisions.scores, admission + 0.125, decisions.controller, decisions.prefetch)
    np.testing.assert_array_equal(bench.shipped().run.written, want.written)
    alone = bench.compare_alone()
    kept = problem.run_controlled(decisions.scores, admission, decisions.controller)
    assert alone.rows["baleen"].segment_writes == kept.segment_writes
    assert kept.segment_writes == pytest.approx(problem.budget, rel=0.025)
    assert decide(folder / "none", TEST, problem).prefetch is None


def bench_of(trace, decisions: Decisions, chosen: Baselines = CHOSEN) -> Comparisons:
    return Comparisons(LabelledTrace.of(trace, EVALUATE), decisions, chosen, EVALUATE)


def oracle_decisions(trace, mode: str) -> tuple[FlashProblem, Decisions]:
    """Scores that know OPT, so that a perfect model stands for the learned one."""
    problem = flash_problem(trace, LABEL, FLASH)
    labels = label_problem(problem, LABEL, "opt_range" if mode == "all_on_miss" else "none")
    scores = np.append(labels.score, -1.0)
    whole = Prefetch(np.zeros(len(trace), np.int32), np.full(len(trace), 64, np.int32))
    own = Decisions(scores[labels.episodes.episode], 0.0, 0.0, mode, whole if mode == "all_on_miss" else None, QUICK)
    return problem, own


def test_rivals_are_the_best_without_a_model_rejectx_and_plain_rejectx() -> None:
    _, own = oracle_decisions(TEST, "none")
    modes = {"accept_all": "none", "coin_flip": "next(4)", "rejectx": "next(2)"}
    bench = bench_of(TEST, own, Baselines(modes, "coin_flip", "rejectx"))
    found = bench.compare(flash_problem(TEST, LABEL, FLASH).budget)
    rows = found.rows
    assert (rows["coin_flip"].prefetch, rows["rejectx"].prefetch) == ("next(4)", "next(2)")
    assert found.best_policy == "coin_flip"
    for gap, rival in ((found.best, "coin_flip"), (found.gap, "rejectx"), (found.plain, "rejectx_no_prefetch")):
        ours, theirs = rows["baleen"].read_dt, rows[rival].read_dt
        assert rows[rival].reached == (rows[rival].segment_writes >= rows["baleen"].segment_writes)
        assert gap.mean_dt_saved == pytest.approx((theirs.mean - ours.mean) / theirs.mean)
        assert gap.peak_dt_saved == pytest.approx((theirs.peak - ours.peak) / theirs.peak)
        low, high = gap.mean_dt_saved_interval
        assert low < gap.mean_dt_saved < high and low + high == pytest.approx(2 * gap.mean_dt_saved)
    shipped = bench.compare_shipped().rows
    for name, mode in modes.items():
        if name != "accept_all":
            kept = bench.plain(name, mode, QUICK).shipped
            assert kept is not None and shipped[name].segment_writes == kept(bench.problem).run.segment_writes
            assert shipped[name].prefetch == mode and shipped[name].knob == QUICK.middle
    assert shipped["baleen_no_prefetch"].segment_writes == bench.alone().run.segment_writes
    alone = bench.compare_alone()
    assert alone.best_policy == "rejectx" and alone.best == alone.gap == alone.plain
    assert {row.prefetch for row in alone.rows.values()} == {"none"}


def test_the_gap_is_the_share_of_a_rival_to_opt() -> None:
    _, own = oracle_decisions(TEST, "none")
    comparison = bench_of(TEST, own).compare(flash_problem(TEST, LABEL, FLASH).budget)
    rows, gap = comparison.rows, comparison.gap
    ours = {"peak": 1 - gap.peak_dt_saved, "mean": 1 - gap.mean_dt_saved}  # of RejectX's
    for name, share in (("peak", gap.peak_gap_closed), ("mean", gap.mean_gap_closed)):
        theirs, ideal = (getattr(rows[policy].read_dt, name) for policy in ("rejectx", "opt"))
        assert (share is None) == (theirs - ideal < FLASH.min_gap * theirs)
        assert share is None or share == pytest.approx((1 - ours[name]) / (1 - ideal / theirs))
    assert gap.mean_gap_closed is not None and gap.mean_gap_closed > 0 and gap.mean_gap_closed_interval is not None
    low, high = gap.mean_gap_closed_interval
    assert low < gap.mean_gap_closed < high


def test_the_share_of_a_gap_that_may_be_none_has_no_interval() -> None:
    """A rival whose load is OPT's but for luck."""
    problem, own = oracle_decisions(TEST, "none")
    bench = bench_of(TEST, own)
    ideal = choose_episodes(problem, label_problem(problem, LABEL).episodes).run
    window = np.append(np.full(bench.windows.first, -1), bench.windows.of)
    rival = ideal.io_segments.copy()
    rival[problem.read & (window == 8)] += 400  # one window was bad
    theirs = replace(ideal, io_segments=rival)
    gap = bench.gap(ideal, theirs, ideal)
    assert gap.mean_gap_closed == pytest.approx(1.0) and gap.mean_gap_closed_interval is None


def test_there_is_no_share_of_a_gap_to_a_rival_that_cannot_write_as_much() -> None:
    problem, own = oracle_decisions(TEST, "none")
    bench = bench_of(TEST, own)
    best = choose_episodes(problem, label_problem(problem, LABEL).episodes).run
    nothing = problem.run(np.zeros(len(TEST), np.bool_))
    for share in (1.0, 0.5):
        gap = bench.gap(best, replace(nothing, written=np.array([int(best.segment_writes * share)], np.int32)), best)
        assert gap.no_more_writes == (share == 1.0) and (gap.mean_gap_closed is None) == (share == 0.5)


def test_modes_follow_the_workload() -> None:
    scans = choose_baseline_modes({key: partial_scans(12_000, seed, key) for seed, key in enumerate("ab")}, EVALUATE)
    lone = choose_baseline_modes({key: lone_segments(12_000, seed, key) for seed, key in enumerate("ab")}, EVALUATE)
    assert all(scans[name].mode.startswith("next(") for name in ("rejectx", "coin_flip"))
    assert lone["rejectx"].mode == lone["coin_flip"].mode == "none"
    kept = choose_baseline_modes({"a": partial_scans(12_000, 0, "a")}, EVALUATE, QUICK)
    assert kept["coin_flip"].mode in ("next(16)", "next(32)", "next(64)") and set(kept) == set(scans)
    assert {kept[name].figures["none"].knob for name in kept if name != "accept_all"} == {QUICK.middle}
    for choices in (scans, lone):
        found = chosen_baselines(choices, EVALUATE.label)
        assert found.modes == {name: choice.mode for name, choice in choices.items()}
        best = {name: choices[name].figures for name in (*ADMISSIONS, *WITH_EVICTIONS)}
        assert set(best) == set(choices) - {"accept_all"}
        assert found.best == min(best, key=lambda name: best[name][found.modes[name]].mean_dt)
        assert found.best_alone == min(best, key=lambda name: best[name]["none"].mean_dt)


def test_opt_takes_the_mode_that_is_best_on_the_trace() -> None:
    for trace, ranged in ((partial_scans(6000, 5), True), (lone_segments(6000, 5), False)):
        problem, own = oracle_decisions(trace, "none")
        bench = bench_of(trace, own)
        best = bench.opt().run(problem)
        loads = [bench.opt((mode,)).run(problem).mean for mode in OPT_MODES]
        assert best.mean == bench.curve(best.tuned.run).mean() == min(loads)
        assert best.mode == "none" or ranged
        if ranged:
            assert min(loads[1:]) < 0.9 * loads[0]


def test_prefetch_on_scans_saves_what_admission_alone_cannot() -> None:
    trace = partial_scans(6000, 5)
    problem, own = oracle_decisions(trace, "all_on_miss")
    rows = bench_of(trace, own, replace(CHOSEN, modes=dict.fromkeys(PLAIN, "all_on_miss"))).compare(problem.budget).rows
    assert rows["baleen"].read_dt.mean < 0.95 * rows["baleen_no_prefetch"].read_dt.mean
    assert rows["rejectx"].read_dt.mean < 0.95 * rows["rejectx_no_prefetch"].read_dt.mean
    assert rows["baleen"].prefetch_accuracy > 0.5


def test_a_trace_without_reads_is_named(folder: Path) -> None:
    writes = replace(TEST, op=np.ones(N, np.uint8))
    with pytest.raises(TraceError, match="test: the trace has no reads"):
        evaluate_models("database", folder / "none", VALIDATION, {"test": writes}, EVALUATE)
