"""Admission policies of the flash cache within a write budget: each has one knob.

The knob is set to the budget by simulation of the very trace, which is hindsight, or a controller moves it as the trace
goes by, as `cachezoo.kernels.write_budget` has it: that can be run. Which prefetch mode a policy takes is chosen on
validation traces, for the baselines as for the model.

A policy *without a model* is an admission of `ADMISSIONS` in a plain mode, in a cache that evicts in one of the ways of
`EVICTIONS`: the rivals of ours. Its name is the admission's, as `rejectx`, and with an eviction that is not the cache's
own `rejectx+s3fifo`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cachezoo.arrays import F64
from cachezoo.flash_cache.modes import NONE, plain_modes, plain_prefetch
from cachezoo.flash_cache.problem import BudgetSetting, FlashProblem
from cachezoo.kernels.flash import FlashRun, Prefetch, coin_flips
from cachezoo.kernels.flash_queue import Eviction
from cachezoo.kernels.write_budget import Controller
from cachezoo.metrics.flash import ModeFigures, PolicyModes, title
from cachezoo.seeds import derive_seed

COIN_STEPS = 1 << 12
ACCEPT_ALL, COIN_FLIP, REJECTX, BLOOM_REJECTX = "accept_all", "coin_flip", "rejectx", "bloom_rejectx"
BUDGETED = (COIN_FLIP, REJECTX)  # those that have a row wherever policies are compared
ADMISSIONS = (*BUDGETED, BLOOM_REJECTX)
BASELINES = (ACCEPT_ALL, *ADMISSIONS)
EVICTIONS: tuple[Eviction, ...] = ("fifo", "s3fifo")  # other than LRU; runtimes have them, but no Bloom filters
WITH_EVICTIONS = tuple(f"{name}+{eviction}" for name in ADMISSIONS for eviction in EVICTIONS)


def is_mounted(name: str) -> bool:
    """Whether a runtime has a policy without a model, in a cache of pages and with a fixed setting."""
    return name.partition("+")[0] != BLOOM_REJECTX


@dataclass(frozen=True)
class Tuned:
    """A policy at the budget."""

    run: FlashRun
    knob: float  # a probability, a window in requests, or a score threshold; with a controller, what that begins with
    reached: bool  # False where no setting comes within the tolerance; the run is then the largest below the budget


def accept_all(problem: FlashProblem, prefetch: Prefetch | None = None) -> Tuned:
    """AcceptAll, which has no knob and so no budget; without prefetch it is plain LRU (or FIFO)."""
    run = problem.accept_all if prefetch is None else problem.run(np.ones(len(problem), np.bool_), prefetch)
    return Tuned(run, 1.0, run.segment_writes <= problem.budget * (1 + problem.tolerance))


def rejectx(problem: FlashProblem, prefetch: Prefetch | None = None, *, filters: bool = False) -> Tuned:
    """RejectX, x = 1, with the window that meets the budget; with Bloom filters the misses between two rotations."""

    def run(window: int) -> FlashRun:
        return problem.run_rejectx(window, prefetch, filters)

    most = len(problem.accesses.segment) if filters else len(problem)
    found = problem.meet(lambda window: run(window).segment_writes, most)
    return Tuned(run(found.index), float(found.index), found.reached)


def coin_flip(problem: FlashProblem, seed: int, prefetch: Prefetch | None = None) -> Tuned:
    """CoinFlip with the probability that meets the budget."""
    draws = coin_flips(len(problem), seed)

    def run(step: int) -> FlashRun:
        return problem.run(draws < step / COIN_STEPS, prefetch)

    guess = int(COIN_STEPS * problem.budget / max(1, problem.accept_all.segment_writes))
    found = problem.meet(lambda step: run(step).segment_writes, COIN_STEPS, guess)
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
        prefetches: what an admitted miss of each part also fetches; None is nothing.

    Returns:
        The threshold (admit at or above it) and how the budget was met. Where even the best distinct score
        overruns the budget, a threshold above every score: nothing is admitted.
    """
    reads = [score[problem.read] for problem, score in zip(problems, scores, strict=True)]
    steps = thresholds(np.concatenate(reads))
    steps = np.concatenate([[steps[0] + 1.0], steps])
    fetched = [None] * len(problems) if prefetches is None else prefetches

    def writes_at(index: int) -> int:
        cases = zip(problems, scores, fetched, strict=True)
        return sum(problem.run(score >= steps[index], prefetch).segment_writes for problem, score, prefetch in cases)

    whole = replace(problems[0], budget=sum(problem.budget for problem in problems))
    found = whole.meet(writes_at, len(steps) - 1)
    return float(steps[found.index]), found


def learned(problem: FlashProblem, scores: F64, prefetch: Prefetch | None = None) -> Tuned:
    """The learned admission with the threshold that meets the budget on this very part."""
    threshold, found = threshold_for_budget([problem], [scores], [prefetch])
    return Tuned(problem.run(scores >= threshold, prefetch), threshold, found.reached)


def controlled(
    problem: FlashProblem, scores: F64, threshold: float, controller: Controller, prefetch: Prefetch | None = None
) -> Tuned:
    """An admission by scores under a controller at the budget's rate, which knows nothing of what is to come.

    It begins with `threshold`, which is the knob.
    """
    return _kept(problem, problem.run_controlled(scores, threshold, controller, prefetch), threshold)


def controlled_coin_flip(
    problem: FlashProblem, seed: int, controller: Controller, prefetch: Prefetch | None = None
) -> Tuned:
    """CoinFlip whose probability a controller moves, from a half on: its scores are its draws."""
    scores = controller.spread(coin_flips(len(problem), seed))
    return controlled(problem, scores, controller.middle, controller, prefetch)


def controlled_rejectx(
    problem: FlashProblem, controller: Controller, prefetch: Prefetch | None = None, *, filters: bool = False
) -> Tuned:
    """RejectX, x = 1, whose window a controller moves."""
    return _kept(problem, problem.run_controlled_rejectx(controller, prefetch, filters), controller.middle)


def _kept(problem: FlashProblem, run: FlashRun, begun: float) -> Tuned:
    return Tuned(run, begun, abs(run.segment_writes - problem.budget) <= problem.tolerance * problem.budget)


Policy = Callable[[FlashProblem, Prefetch | None], Tuned]


def baseline(name: str, seed: int, trace_id: str, controller: Controller | None = None) -> Policy:
    """One of `BASELINES`, perhaps with an eviction; CoinFlip's draws depend on the seed and the trace alone.

    A controller keeps its budget as the trace goes by; without one its knob is set in hindsight.
    """
    admission, _, eviction = name.partition("+")
    for order in EVICTIONS:
        if order == eviction:
            own = baseline(admission, seed, trace_id, controller)
            return lambda problem, prefetch: own(evicting(problem, order), prefetch)
    if name == COIN_FLIP:
        coin_seed = derive_seed(seed, COIN_FLIP, trace_id)
        if controller is not None:
            return lambda problem, prefetch: controlled_coin_flip(problem, coin_seed, controller, prefetch)
        return lambda problem, prefetch: coin_flip(problem, coin_seed, prefetch)
    if name == ACCEPT_ALL:
        return accept_all
    filters = {REJECTX: False, BLOOM_REJECTX: True}[name]
    if controller is not None:
        return lambda problem, prefetch: controlled_rejectx(problem, controller, prefetch, filters=filters)
    return partial(rejectx, filters=filters)


def evicting(problem: FlashProblem, eviction: Eviction) -> FlashProblem:
    """A problem with another of `EVICTIONS`; its budget stays, and AcceptAll is run anew."""
    other = replace(problem, eviction=eviction)
    return replace(other, accept_all=other.run(np.ones(len(problem), np.bool_)))


def prefetch_of(problem: FlashProblem, mode: str) -> Prefetch | None:
    """What a plain mode fetches with each request of a part; None for `none`.

    Raises:
        ConfigError: it is no mode.
    """
    accesses = problem.accesses
    last = accesses.first.astype(np.int64) + accesses.sizes - 1
    return None if mode == NONE else plain_prefetch(mode, last, accesses.per_block)


def modes_of(problems: Sequence[FlashProblem]) -> tuple[str, ...]:
    """The plain modes that are tried on some parts of one geometry."""
    return plain_modes(problems[0].accesses.per_block)


def choose_mode(
    problems: Sequence[FlashProblem],
    policies: Sequence[Policy],
    modes: Sequence[str],
    prefetch: Callable[[FlashProblem, str], Prefetch | None] = prefetch_of,
) -> PolicyModes:
    """Choose a policy's prefetch mode on validation traces, each within its budget in each mode.

    Args:
        problems: the parts to choose on, never those that are tested.
        policies: the policy on each part (CoinFlip has draws of its own on each).
        modes: to choose from.
        prefetch: what a mode fetches on a part.
    """
    figures = {}
    for mode in modes:
        parts = zip(policies, problems, strict=True)
        figures[mode] = _figures(problems, [policy(problem, prefetch(problem, mode)) for policy, problem in parts])
    return PolicyModes(mode=best_of(figures, most_of(problems)), figures=figures)


def most_of(problems: Sequence[FlashProblem]) -> float:
    """What a policy may write on some parts to count as within their budgets, as a share of what AcceptAll writes."""
    allowed = sum(problem.budget * (1 + 2 * problem.tolerance) for problem in problems)
    return allowed / max(1, sum(problem.accept_all.segment_writes for problem in problems))


def best_of(figures: Mapping[str, ModeFigures], most: float = math.inf) -> str:
    """Which of some policies has the lowest mean read disk-head time; ties go to fewer writes, then to the first.

    Those that write more than `most` of AcceptAll's come after all others: a controller may fail to keep a rate, where
    one miss fetches much of the cache.
    """
    return min(figures, key=lambda name: _rank(figures[name], most))


def _rank(figures: ModeFigures, most: float) -> tuple[bool, float, float]:
    return figures.writes > most, figures.mean_dt, figures.writes


@dataclass(frozen=True)
class WithoutModel:
    """A policy without a model at the budgets of some parts."""

    policy: str  # of `ADMISSIONS` or `WITH_EVICTIONS`
    mode: str  # of prefetch
    tuned: list[Tuned]  # on each part
    figures: ModeFigures  # over the parts

    @property
    def runs(self) -> list[FlashRun]:
        """Of each part."""
        return [own.run for own in self.tuned]

    def __str__(self) -> str:
        """Its name for people."""
        return title(self.policy) + ("" if self.mode == NONE else f" with prefetch {self.mode}")


def best_without_model(
    problems: Sequence[FlashProblem],
    trace_ids: Sequence[str],
    seed: int,
    names: Sequence[str] = ADMISSIONS,
    evictions: Sequence[Eviction] = EVICTIONS,
    controller: Controller | None = None,
) -> WithoutModel:
    """The best policy without a model, kept to the budget of every part.

    Each admission is tried in every mode in the cache's own eviction, and in its best mode in the other evictions.

    Args:
        problems: the parts.
        trace_ids: of their traces.
        seed: of CoinFlip's draws.
        names: admissions to choose from.
        evictions: to choose from as well as the cache's own.
        controller: that keeps the budget; None: the knob is set to it in hindsight.
    """

    def tried(name: str, mode: str) -> WithoutModel:
        parts = zip(problems, trace_ids, strict=True)
        tuned = [
            baseline(name, seed, trace_id, controller)(problem, prefetch_of(problem, mode))
            for problem, trace_id in parts
        ]
        return WithoutModel(name, mode, tuned, _figures(problems, tuned))

    def best(every: Iterable[WithoutModel]) -> WithoutModel:
        return min(every, key=lambda one: _rank(one.figures, most))

    most = most_of(problems)
    owns = [best(tried(name, mode) for mode in modes_of(problems)) for name in names]
    others = [tried(f"{own.policy}+{eviction}", own.mode) for own in owns for eviction in evictions]
    return best([*owns, *others])


def _figures(problems: Sequence[FlashProblem], tuned: list[Tuned]) -> ModeFigures:
    pairs = list(zip(problems, tuned, strict=True))
    seconds = sum(float(problem.dt_seconds(own.run)[problem.first :].sum()) for problem, own in pairs)
    reads = sum(int(problem.read[problem.first :].sum()) for problem in problems)
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
