import numpy as np
import pytest

from cachezoo.flash.policies import (
    ModeChoice,
    Tuned,
    accept_all,
    choose_mode,
    coin_flip,
    learned,
    rejectx,
    threshold_curve,
    threshold_for_budget,
)
from cachezoo.flash.problem import FlashProblem, flash_problem
from cachezoo.kernels.flash import Prefetch
from tests.baleen_data import FLASH, LABEL, lone_segments, make_trace, partial_scans


def modes_of(problems: list[FlashProblem]) -> dict[str, list[Prefetch | None]]:
    def whole(problem: FlashProblem, on_partial: bool) -> Prefetch:
        n, per_block = len(problem), problem.accesses.per_block
        return Prefetch(np.zeros(n, np.int32), np.full(n, per_block, np.int32), on_partial)

    return {
        "none": [None for _ in problems],
        "all_on_miss": [whole(problem, False) for problem in problems],
        "all_on_partial": [whole(problem, True) for problem in problems],
    }


def flip(problem: FlashProblem, prefetch: Prefetch | None) -> Tuned:
    return coin_flip(problem, 3, prefetch)


def chosen(trace_of, policy) -> ModeChoice:
    problems = [flash_problem(trace_of(6000, seed), LABEL, FLASH) for seed in (1, 2)]
    return choose_mode(problems, modes_of(problems), [policy] * 2)


@pytest.mark.parametrize(("policy", "most"), [(rejectx, 0.8), (flip, 0.95)])
def test_prefetch_is_chosen_where_blocks_are_scanned_in_parts(policy, most: float) -> None:
    choice = chosen(partial_scans, policy)
    assert choice.mode == "all_on_miss"
    assert choice.figures["all_on_miss"].mean_dt < most * choice.figures["none"].mean_dt
    for figures in choice.figures.values():
        assert figures.writes == pytest.approx(0.25, rel=0.026) or (not figures.reached and figures.writes < 0.25)


@pytest.mark.parametrize("policy", [rejectx, flip])
def test_no_prefetch_is_chosen_where_reads_stand_alone(policy) -> None:
    choice = chosen(lone_segments, policy)
    assert choice.mode == "none"
    assert choice.figures["none"].mean_dt < choice.figures["all_on_miss"].mean_dt


def test_ties_go_to_fewer_writes_and_then_to_the_first() -> None:
    problems = [flash_problem(make_trace(3000, 4), LABEL, FLASH)]
    none = np.zeros(3000, np.int32)
    same = {"none": [None], "empty": [Prefetch(none, none)]}
    assert choose_mode(problems, same, [rejectx]).mode == "none"
    assert choose_mode(problems, dict(reversed(same.items())), [rejectx]).mode == "empty"


def test_accept_all_has_no_knob() -> None:
    problem = flash_problem(make_trace(3000, 4), LABEL, FLASH)
    plain = accept_all(problem)
    assert plain.run is problem.accept_all and not plain.reached
    whole = accept_all(problem, modes_of([problem])["all_on_miss"][0])
    assert whole.run.segment_writes > plain.run.segment_writes and whole.run.prefetched.any()


def test_a_threshold_is_set_with_the_prefetch() -> None:
    problems = [flash_problem(make_trace(3000, seed), LABEL, FLASH) for seed in (4, 5)]
    scores = [np.random.default_rng(seed).normal(size=3000) for seed in (6, 7)]
    beside = modes_of(problems)["all_on_miss"]
    threshold, found = threshold_for_budget(problems, scores, beside)
    triples = list(zip(problems, scores, beside, strict=True))
    writes = [problem.run(score >= threshold, prefetch).segment_writes for problem, score, prefetch in triples]
    assert sum(writes) == found.writes and found.reached
    assert threshold_for_budget(problems, scores)[0] < threshold
    alone = learned(problems[0], scores[0], beside[0])
    assert alone.reached and abs(alone.run.segment_writes - problems[0].budget) <= 0.025 * problems[0].budget


def test_the_curve_runs_from_everything_to_almost_nothing() -> None:
    problem = flash_problem(make_trace(15_000, 2), LABEL, FLASH)
    curve = threshold_curve([problem], [np.random.default_rng(5).random(15_000)], 9)
    writes = [point["writes"] for point in curve]
    assert writes[0] == 1.0 and writes == sorted(writes, reverse=True) and writes[-1] < 0.01
