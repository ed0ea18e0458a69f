"""Admission policies of the flash cache, each with its one knob set to meet a write budget by simulation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.flash import FlashRun, Prefetch, coin_flips, simulate_rejectx
from cachezoo.labels.calibrate import Calibration, calibrate
from cachezoo.labels.flash_problem import FlashProblem

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


def rejectx(problem: FlashProblem, prefetch: Prefetch | None = None) -> Tuned:
    """RejectX, x = 1, with the window that meets the budget."""

    def run(window: int) -> FlashRun:
        return simulate_rejectx(
            problem.accesses, problem.read, window, problem.capacity, lru=problem.lru, prefetch=prefetch
        )

    found = calibrate(
        lambda window: run(window).segment_writes, len(problem), problem.budget, problem.tolerance
    )
    return Tuned(run(found.index), float(found.index), found.reached)


def coin_flip(problem: FlashProblem, seed: int, prefetch: Prefetch | None = None) -> Tuned:
    """CoinFlip with the probability that meets the budget."""
    draws = coin_flips(len(problem), seed)

    def run(step: int) -> FlashRun:
        return problem.run(draws < step / COIN_STEPS, prefetch)

    guess = int(COIN_STEPS * problem.budget / max(1, problem.accept_all.segment_writes))
    found = calibrate(
        lambda step: run(step).segment_writes, COIN_STEPS, problem.budget, problem.tolerance, guess
    )
    return Tuned(run(found.index), found.index / COIN_STEPS, found.reached)


def thresholds(scores: F64) -> F64:
    """The thresholds that tell scores apart, falling: index i admits the i + 1 best distinct scores."""
    return np.unique(scores)[::-1]


def calibrate_threshold(
    problems: list[FlashProblem], scores: list[F64], prefetches: Sequence[Prefetch | None] | None = None
) -> tuple[float, Calibration]:
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
    found = calibrate(writes_at, len(steps) - 1, budget, problems[0].tolerance)
    return float(steps[found.index]), found


def learned(problem: FlashProblem, scores: F64, prefetch: Prefetch | None = None) -> Tuned:
    """The learned admission with the threshold that meets the budget on this very part."""
    threshold, found = calibrate_threshold([problem], [scores], [prefetch])
    return Tuned(problem.run(scores >= threshold, prefetch), threshold, found.reached)
