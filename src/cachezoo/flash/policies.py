"""Admission policies of the flash cache, each with its one knob set to meet a write budget by simulation.

A knob is set together with what the policy's misses prefetch. Which prefetch mode a policy takes is chosen on
validation traces, for the baselines as for the model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.flash.budget import BudgetSetting, meet_budget
from cachezoo.flash.modes import PLAIN_MODES, plain_prefetch
from cachezoo.flash.problem import FlashProblem
from cachezoo.kernels.flash import FlashRun, Prefetch, coin_flips

F64 = npt.NDArray[np.float64]
COIN_STEPS = 1 << 12


@dataclass(frozen=True)
class Tuned:
    """A policy at the budget.

    Attributes:
        run: its simulated run.
        knob: the setting: a probability, a window in requests, or a score threshold.
        reached: False where no setting comes within the tolerance; the run is then the largest below the
            budget.
    """

    run: FlashRun
    knob: float
    reached: bool


def accept_all(problem: FlashProblem, prefetch: Prefetch | None = None) -> Tuned:
    """AcceptAll, which has no knob and so no budget; without prefetch it is plain LRU (or FIFO)."""
    run = problem.accept_all if prefetch is None else problem.run(np.ones(len(problem), np.bool_), prefetch)
    return Tuned(run, 1.0, run.segment_writes <= problem.budget * (1 + problem.tolerance))


def rejectx(problem: FlashProblem, prefetch: Prefetch | None = None) -> Tuned:
    """RejectX, x = 1, with the window that meets the budget."""

    def writes_at(window: int) -> int:
        return problem.run_rejectx(window, prefetch).segment_writes

    found = meet_budget(writes_at, len(problem), problem.budget, problem.tolerance)
    return Tuned(problem.run_rejectx(found.index, prefetch), float(found.index), found.reached)


def coin_flip(problem: FlashProblem, seed: int, prefetch: Prefetch | None = None) -> Tuned:
    """CoinFlip with the probability that meets the budget."""
    draws = coin_flips(len(problem), seed)

    def run(step: int) -> FlashRun:
        return problem.run(draws < step / COIN_STEPS, prefetch)

    guess = int(COIN_STEPS * problem.budget / max(1, problem.accept_all.segment_writes))
    found = meet_budget(lambda step: run(step).segment_writes, COIN_STEPS, problem.budget, problem.tolerance, guess)
    return Tuned(run(found.index), found.index / COIN_STEPS, found.reached)


def thresholds(scores: F64) -> F64:
    """The thresholds that tell scores apart, falling: index i admits the i + 1 best distinct scores."""
    return np.unique(scores)[::-1]


def threshold_for_budget(
    problems: list[FlashProblem], scores: list[F64], prefetches: Sequence[Prefetch | None] | None = None
) -> tuple[float, BudgetSetting]:
    """The score threshold at which several parts together meet the sum of their budgets.

    Args:
        problems: the parts.
        scores: float64[n] of each part's requests.
        prefetches: what an admitted miss of each part fetches beside; None is nothing.

    Returns:
        The threshold (admit at or above it) and how the budget was met. Where even the best distinct score
        overruns the budget, a threshold above every score: nothing is admitted.
    """
    reads = [score[problem.read] for problem, score in zip(problems, scores, strict=True)]
    steps = thresholds(np.concatenate(reads))
    steps = np.concatenate([[steps[0] + 1.0], steps])
    beside = [None] * len(problems) if prefetches is None else prefetches

    def writes_at(index: int) -> int:
        cases = zip(problems, scores, beside, strict=True)
        return sum(problem.run(score >= steps[index], prefetch).segment_writes for problem, score, prefetch in cases)

    budget = sum(problem.budget for problem in problems)
    found = meet_budget(writes_at, len(steps) - 1, budget, problems[0].tolerance)
    return float(steps[found.index]), found


def learned(problem: FlashProblem, scores: F64, prefetch: Prefetch | None = None) -> Tuned:
    """The learned admission with the threshold that meets the budget on this very part."""
    threshold, found = threshold_for_budget([problem], [scores], [prefetch])
    return Tuned(problem.run(scores >= threshold, prefetch), threshold, found.reached)


Prefetches = Sequence[Prefetch | None]
Policy = Callable[[FlashProblem, Prefetch | None], Tuned]


def plain_prefetches(problem: FlashProblem) -> dict[str, Prefetch | None]:
    """What each mode that asks no model fetches beside, None for `none`."""
    n, per_block = len(problem), problem.accesses.per_block
    return {mode: None if mode == "none" else plain_prefetch(mode, n, per_block) for mode in PLAIN_MODES}


@dataclass(frozen=True)
class ModeFigures:
    """A policy in one prefetch mode on the validation traces.

    Attributes:
        mean_dt: read disk-head seconds per read after the warm-up.
        writes: segment writes, as a part of AcceptAll's without prefetch.
        knob: the mean of the parts' settings.
        reached: the budget was met on every part.
    """

    mean_dt: float
    writes: float
    knob: float
    reached: bool


@dataclass(frozen=True)
class ModeChoice:
    """The prefetch mode a policy takes.

    Attributes:
        mode: the one with the lowest mean read disk-head time; ties go to fewer writes, then to the one named first.
        figures: of every mode.
    """

    mode: str
    figures: dict[str, ModeFigures]


def choose_mode(
    problems: Sequence[FlashProblem], prefetches: Mapping[str, Prefetches], policies: Sequence[Policy]
) -> ModeChoice:
    """Choose a policy's prefetch mode on validation traces, its knob set to the budget in each mode on each trace.

    Args:
        problems: the parts to choose on, never those that are tested.
        prefetches: for each mode what it fetches on each part.
        policies: the policy on each part (CoinFlip has draws of its own on each).
    """
    figures = {}
    for mode, beside in prefetches.items():
        parts = zip(policies, problems, beside, strict=True)
        figures[mode] = _figures(problems, [policy(problem, prefetch) for policy, problem, prefetch in parts])
    return ModeChoice(min(figures, key=lambda mode: (figures[mode].mean_dt, figures[mode].writes)), figures)


def _figures(problems: Sequence[FlashProblem], tuned: list[Tuned]) -> ModeFigures:
    pairs = list(zip(problems, tuned, strict=True))
    seconds = sum(float(problem.dt_seconds(own.run)[problem.warmup :].sum()) for problem, own in pairs)
    reads = sum(int(problem.read[problem.warmup :].sum()) for problem in problems)
    accept_all = sum(problem.accept_all.segment_writes for problem in problems)
    return ModeFigures(
        mean_dt=seconds / max(1, reads),
        writes=sum(own.run.segment_writes for own in tuned) / max(1, accept_all),
        knob=float(np.mean([own.knob for own in tuned])),
        reached=all(own.reached for own in tuned),
    )


def threshold_curve(
    problems: list[FlashProblem], scores: list[F64], points: int, prefetches: Sequence[Prefetch | None] | None = None
) -> list[dict[str, float]]:
    """The whole threshold to write-rate curve: writes over AcceptAll's, and mean disk-head time per read."""
    reads = np.concatenate([score[problem.read] for problem, score in zip(problems, scores, strict=True)])
    steps = np.unique(np.quantile(reads, np.linspace(0.0, 1.0, points), method="nearest"))
    accept_all = sum(problem.accept_all.segment_writes for problem in problems)
    cases = list(zip(problems, scores, [None] * len(problems) if prefetches is None else prefetches, strict=True))
    curve = []
    for threshold in steps:
        runs = [problem.run(score >= threshold, prefetch) for problem, score, prefetch in cases]
        dt = sum(float(problem.dt_seconds(run).sum()) for problem, run in zip(problems, runs, strict=True))
        writes = sum(run.segment_writes for run in runs)
        point = {"threshold": float(threshold), "writes": writes / accept_all, "read_dt_ms": 1e3 * dt / len(reads)}
        curve.append(point)
    return curve
