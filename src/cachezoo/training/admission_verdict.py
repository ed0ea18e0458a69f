"""Whether a trained admission model beats RejectX on validation, and its whole threshold to write-rate curve.

A model beats RejectX when the 90 % interval of the paired saving of mean read disk-head time lies above 0 and
its peak is no higher, with RejectX at the writes that the model makes. Where RejectX cannot write that much,
it runs at its maximum, and the model has to beat it at those fewer writes as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cachezoo.config.baleen import FlashPolicy
from cachezoo.evaluation.bootstrap import interval
from cachezoo.evaluation.flash_load import load_curve, load_windows, resamples, time_scale
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.labels.flash_problem import FlashProblem
from cachezoo.policies.flash import learned, rejectx
from cachezoo.traces.table import Trace

F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class JudgedPart:
    """A part to judge on: requests, cache, the model's scores float64[n] and OPT's decisions bool[n]."""

    trace: Trace
    problem: FlashProblem
    scores: F64
    opt: Bool


@dataclass(frozen=True)
class Duel:
    """Load of the model and of RejectX in the same windows.

    Attributes:
        ours: float64[w] disk-head seconds per second with the model.
        theirs: float64[w] with RejectX.
        low: lower end of the 90 % interval of the paired saving of the mean.
        high: its upper end.
    """

    ours: F64
    theirs: F64
    low: float
    high: float

    @property
    def won(self) -> bool:
        """The saving is above 0 with confidence, and the peak is no higher."""
        return bool(self.low > 0 and self.ours.max() <= self.theirs.max())

    def describe(self) -> str:
        """Mean and peak of both, in words."""
        return (
            f"mean read disk-head time {self.ours.mean():.4f} against {self.theirs.mean():.4f}, "
            f"90 % interval of the saving [{self.low:.4f}, {self.high:.4f}], "
            f"peak {self.ours.max():.4f} against {self.theirs.max():.4f} (disk-head seconds per second)"
        )


def _load(parts: list[JudgedPart], runs: list[FlashRun], flash: FlashPolicy) -> F64:
    """Load in each window of each part."""
    curves = []
    for part, run in zip(parts, runs, strict=True):
        windows = load_windows(part.trace.time_us, part.problem, flash, time_scale(part.trace))
        curves.append(load_curve(part.problem.dt_seconds(run), windows))
    return np.concatenate(curves)


def _duel(
    parts: list[JudgedPart], ours: list[FlashRun], theirs: list[FlashRun], flash: FlashPolicy, seed: int
) -> Duel:
    mine, baseline = _load(parts, ours, flash), _load(parts, theirs, flash)
    draws = resamples(len(mine), flash.bootstrap_samples, seed)
    low, high = interval((baseline - mine)[draws].mean(axis=1))
    return Duel(mine, baseline, low, high)


def judge(
    parts: list[JudgedPart], threshold: float, flash: FlashPolicy, seed: int
) -> tuple[dict[str, float | None], bool, str]:
    """Judge a model with its threshold against RejectX.

    Args:
        parts: what to judge on.
        threshold: the model's.
        flash: `policy.flash`.
        seed: the bootstrap's seed.

    Returns:
        Figures, whether the model beats RejectX, and the reason in one line.
    """
    runs = [part.problem.run(part.scores >= threshold) for part in parts]
    pairs = zip(parts, runs, strict=True)
    baseline = [rejectx(replace(part.problem, budget=float(run.segment_writes))) for part, run in pairs]
    duel = _duel(parts, runs, [tuned.run for tuned in baseline], flash, seed)
    best = _load(parts, [part.problem.run(part.opt) for part in parts], flash)
    beats, note = duel.won, "at equal writes"
    figures: dict[str, float | None] = {
        "peak_dt": float(duel.ours.max()),
        "mean_dt": float(duel.ours.mean()),
        "rejectx_peak_dt": float(duel.theirs.max()),
        "rejectx_mean_dt": float(duel.theirs.mean()),
        "opt_peak_dt": float(best.max()),
        "opt_mean_dt": float(best.mean()),
        "mean_dt_saved_low": duel.low,
        "mean_dt_saved_high": duel.high,
        "rejectx_writes_over_ours": _ratio(baseline_runs=[tuned.run for tuned in baseline], runs=runs),
        "mean_dt_at_rejectx_writes": None,
    }
    if not all(tuned.reached for tuned in baseline):
        duel = _at_their_writes(parts, [tuned.run for tuned in baseline], flash, seed)
        figures["mean_dt_at_rejectx_writes"] = float(duel.ours.mean())
        beats, note = beats and duel.won, "at the most that RejectX can write"
    verdict = "beats" if beats else "does not beat"
    return figures, beats, f"{verdict} RejectX on validation; {note}: {duel.describe()}"


def _ratio(baseline_runs: list[FlashRun], runs: list[FlashRun]) -> float | None:
    ours = sum(run.segment_writes for run in runs)
    return sum(run.segment_writes for run in baseline_runs) / ours if ours else None


def _at_their_writes(parts: list[JudgedPart], theirs: list[FlashRun], flash: FlashPolicy, seed: int) -> Duel:
    """The duel with the model's threshold raised until it writes no more than RejectX does."""
    ours = []
    for part, run in zip(parts, theirs, strict=True):
        problem = replace(part.problem, budget=float(run.segment_writes))
        ours.append(learned(problem, part.scores).run)
    return _duel(parts, ours, theirs, flash, seed)


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
