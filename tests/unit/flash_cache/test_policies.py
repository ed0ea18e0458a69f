from dataclasses import replace

import numpy as np
import pytest

from cachezoo.flash_cache.modes import plain_modes
from cachezoo.flash_cache.policies import (
    ADMISSIONS,
    BLOOM_REJECTX,
    COIN_FLIP,
    EVICTIONS,
    Tuned,
    WithoutModel,
    accept_all,
    baseline,
    best_of,
    best_without_model,
    choose_mode,
    coin_flip,
    evicting,
    learned,
    modes_of,
    most_of,
    prefetch_of,
    rejectx,
    threshold_curve,
    threshold_for_budget,
)
from cachezoo.flash_cache.problem import FlashProblem, flash_problem
from cachezoo.kernels.flash import Prefetch
from cachezoo.kernels.write_budget import Controller
from cachezoo.metrics.flash import ModeFigures, PolicyModes
from tests.baleen_data import FLASH, LABEL, lone_segments, make_trace, partial_scans

QUICK = Controller(step_misses=16, window_misses=1024, recent_misses=128, hold_misses=64)


def flip(problem: FlashProblem, prefetch: Prefetch | None) -> Tuned:
    return coin_flip(problem, 3, prefetch)


def chosen(trace_of, policy) -> PolicyModes:
    problems = [flash_problem(trace_of(12_000, seed), LABEL, FLASH) for seed in (1, 2)]
    return choose_mode(problems, [policy] * 2, modes_of(problems))


@pytest.mark.parametrize(("policy", "most", "met"), [(rejectx, 0.8, False), (flip, 0.95, True)])
def test_prefetch_is_chosen_where_blocks_are_scanned_in_parts(policy, most: float, met: bool) -> None:
    """RejectX cannot write as much as the budget allows there; CoinFlip can write anything."""
    choice = chosen(partial_scans, policy)
    assert set(choice.figures) == set(plain_modes(64))
    assert choice.mode in ("next(16)", "next(32)", "next(64)")
    assert choice.figures["all_on_miss"].mean_dt < most * choice.figures["none"].mean_dt
    assert choice.figures["none"].reached == met
    assert max(figures.writes for figures in choice.figures.values()) <= 0.25 * 1.025
    reached = [figures.writes for figures in choice.figures.values() if figures.reached]
    assert bool(reached) == met and reached == pytest.approx([0.25] * len(reached), rel=0.025)


@pytest.mark.parametrize("policy", [rejectx, flip])
def test_no_prefetch_is_chosen_where_reads_stand_alone(policy) -> None:
    choice = chosen(lone_segments, policy)
    assert choice.mode == "none"
    for mode in ("all_on_miss", "next(1)", "next(64)"):
        assert choice.figures["none"].mean_dt < choice.figures[mode].mean_dt


def test_ties_go_to_fewer_writes_and_then_to_the_first() -> None:
    problems = [flash_problem(make_trace(3000, 4), LABEL, FLASH)]
    none = np.zeros(3000, np.int32)
    same = {"none": None, "empty": Prefetch(none, none)}
    for modes in (["none", "empty"], ["empty", "none"]):
        found = choose_mode(problems, [rejectx], modes, lambda _, mode: same[mode])
        assert found.mode == modes[0] and found.figures["none"] == found.figures["empty"]


@pytest.mark.parametrize(("trace_of", "controller"), [(partial_scans, QUICK), (lone_segments, None)])
def test_the_best_without_a_model_is_the_best_of_each_in_each_mode_and_eviction(trace_of, controller) -> None:
    problems = [flash_problem(trace_of(6_000, seed), LABEL, FLASH) for seed in (1, 2)]
    found, owns = best_without_model(problems, ["a", "b"], 7, controller=controller), {}
    for name in ADMISSIONS:
        policies = [baseline(name, 7, trace_id, controller) for trace_id in ("a", "b")]
        choice = choose_mode(problems, policies, modes_of(problems))
        own = best_without_model(problems, ["a", "b"], 7, [name], [], controller)
        assert (own.policy, own.mode, own.figures) == (name, choice.mode, choice.figures[choice.mode])
        owns[name] = own.figures
        for eviction in EVICTIONS:
            both = f"{name}+{eviction}"
            policies = [baseline(both, 7, trace_id, controller) for trace_id in ("a", "b")]
            owns[both] = choose_mode(problems, policies, [choice.mode]).figures[choice.mode]
    assert owns[found.policy] == found.figures and found.policy == best_of(owns)
    reads = sum(int(problem.read[problem.first :].sum()) for problem in problems)
    seconds = [
        problem.dt_seconds(run)[problem.first :].sum() for problem, run in zip(problems, found.runs, strict=True)
    ]
    assert found.figures.mean_dt == pytest.approx(sum(seconds) / reads)


def test_what_writes_more_than_it_may_is_chosen_only_where_all_do() -> None:
    """AcceptAll, which has no knob, is better in a cache for all than a small budget allows."""
    label = LABEL.model_copy(update={"cache_fraction": 1.0, "write_budget": 0.05})
    problems = [flash_problem(make_trace(3000, seed), label, FLASH) for seed in (1, 2)]
    most = most_of(problems)
    assert most == pytest.approx(label.write_budget * (1 + 2 * label.budget_tolerance))
    every = best_without_model(problems, ["a", "b"], 7, ["accept_all"], [])
    found = best_without_model(problems, ["a", "b"], 7, ["accept_all", "rejectx"], [])
    assert found.policy == "rejectx" and every.policy == "accept_all"
    assert found.figures.writes <= most < every.figures.writes and every.figures.mean_dt < found.figures.mean_dt
    both = {"over": every.figures, "within": found.figures}
    assert (best_of(both), best_of(both, most), best_of({"over": every.figures}, most)) == ("over", "within", "over")


def test_names_for_people() -> None:
    figures = ModeFigures(mean_dt=1.0, writes=0.2, knob=1.0, reached=True)
    assert str(WithoutModel("rejectx+s3fifo", "none", [], figures)) == "RejectX, S3-FIFO"
    assert str(WithoutModel("coin_flip+fifo", "next(4)", [], figures)) == "CoinFlip, FIFO with prefetch next(4)"


@pytest.mark.parametrize("eviction", EVICTIONS)
def test_an_eviction_leaves_the_budget_as_it_is(eviction: str) -> None:
    problem = flash_problem(make_trace(3000, 4), LABEL, FLASH)
    other = evicting(problem, eviction)
    assert (other.budget, other.first, other.capacity) == (problem.budget, problem.first, problem.capacity)
    assert accept_all(other).run.evictions != problem.accept_all.evictions
    for name in ADMISSIONS:
        tuned = baseline(f"{name}+{eviction}", 7, "a")(problem, None)
        assert tuned.run.segment_writes <= problem.budget * 1.025
        again = other.run_rejectx(int(tuned.knob), None, name == BLOOM_REJECTX) if name != COIN_FLIP else tuned.run
        assert again.segment_writes == tuned.run.segment_writes


@pytest.mark.parametrize("name", [*ADMISSIONS, "coin_flip+s3fifo", "rejectx+fifo"])
def test_a_controller_keeps_the_budget_without_looking_ahead(name: str) -> None:
    """At a tenth of what AcceptAll writes, which misses that come again can make up."""
    trace = make_trace(40_000, 4)
    problem = replace(flash_problem(trace, LABEL, FLASH), tolerance=0.05)
    problem = replace(problem, budget=0.1 * problem.accept_all.segment_writes)
    found = baseline(name, 7, "a", QUICK)(problem, None)
    assert found.reached and found.knob == QUICK.middle
    assert found.run.segment_writes == pytest.approx(problem.budget, rel=0.05)
    assert found.run.thresholds.size and not baseline(name, 7, "a")(problem, None).run.thresholds.size


def test_accept_all_has_no_knob() -> None:
    problem = flash_problem(make_trace(3000, 4), LABEL, FLASH)
    plain = accept_all(problem)
    assert baseline("accept_all", 7, "a", QUICK)(problem, None).run is plain.run
    assert plain.run is problem.accept_all and not plain.reached
    whole = accept_all(problem, prefetch_of(problem, "all_on_miss"))
    assert whole.run.segment_writes > plain.run.segment_writes and whole.run.prefetched.any()


def test_a_threshold_is_set_with_the_prefetch() -> None:
    problems = [flash_problem(make_trace(3000, seed), LABEL, FLASH) for seed in (4, 5)]
    scores = [np.random.default_rng(seed).normal(size=3000) for seed in (6, 7)]
    fetched = [prefetch_of(problem, "all_on_miss") for problem in problems]
    threshold, found = threshold_for_budget(problems, scores, fetched)
    triples = list(zip(problems, scores, fetched, strict=True))
    writes = [problem.run(score >= threshold, prefetch).segment_writes for problem, score, prefetch in triples]
    assert sum(writes) == found.writes and found.reached
    assert threshold_for_budget(problems, scores)[0] < threshold
    alone = learned(problems[0], scores[0], fetched[0])
    assert alone.reached and abs(alone.run.segment_writes - problems[0].budget) <= 0.025 * problems[0].budget


def test_the_curve_runs_from_everything_to_almost_nothing() -> None:
    problem = flash_problem(make_trace(15_000, 2), LABEL, FLASH)
    curve = threshold_curve([problem], [np.random.default_rng(5).random(15_000)], 9)
    writes = [point["writes"] for point in curve]
    assert writes[0] == 1.0 and writes == sorted(writes, reverse=True) and writes[-1] < 0.01
