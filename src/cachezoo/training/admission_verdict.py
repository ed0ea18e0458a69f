"""Whether a trained admission model beats RejectX on validation, and its whole threshold to write-rate curve.

Both prefetch in the plain mode (one that asks no model) that is best for them there. A model beats RejectX when the
90 % interval of the paired saving of mean read disk-head time lies above 0 and its peak is no higher, with RejectX at
the writes that the model makes. Where RejectX cannot write that much, it runs at its maximum, and the model has to
beat it at those fewer writes as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cachezoo.config.baleen import FlashPolicy
from cachezoo.evaluation.bootstrap import interval
from cachezoo.evaluation.flash_load import load_curve, load_windows, resamples, time_scale
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.labels.calibrate import Calibration
from cachezoo.labels.flash_problem import FlashProblem
from cachezoo.policies.flash import Tuned, calibrate_threshold, learned, plain_prefetches, rejectx
from cachezoo.traces.table import Trace

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JudgedPart:
    """A part to judge on: requests, cache, the model's scores float64[n], and OPT's run."""

    trace: Trace
    problem: FlashProblem
    scores: F64
    opt: FlashRun


@dataclass(frozen=True)
class PlainSetting:
    """The admission with a prefetch mode that asks no model.

    Attributes:
        mode: the mode.
        threshold: of the scores, with which admission and prefetch together meet the budget.
        found: how it was met.
        prefetches: what the mode fetches beside on each part.
        runs: of each part.
    """

    mode: str
    threshold: float
    found: Calibration
    prefetches: list[Prefetch | None]
    runs: list[FlashRun]


def plain_settings(problems: list[FlashProblem], scores: list[F64]) -> list[PlainSetting]:
    """Every plain mode at the budget, the lowest mean read disk-head time first, ties by fewer writes."""
    settings = []
    plain = [plain_prefetches(problem) for problem in problems]
    for mode in plain[0]:
        beside = [own[mode] for own in plain]
        threshold, found = calibrate_threshold(problems, scores, beside)
        parts = zip(problems, scores, beside, strict=True)
        runs = [problem.run(score >= threshold, prefetch) for problem, score, prefetch in parts]
        settings.append(PlainSetting(mode, threshold, found, beside, runs))
    return sorted(settings, key=lambda one: (_seconds(problems, one.runs), one.found.writes))


def _seconds(problems: list[FlashProblem], runs: list[FlashRun]) -> float:
    pairs = zip(problems, runs, strict=True)
    return sum(float(problem.dt_seconds(run)[problem.warmup :].sum()) for problem, run in pairs)


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


def _rivals(parts: list[JudgedPart], runs: list[FlashRun]) -> tuple[str, list[Tuned]]:
    """RejectX at the writes of these runs, in its best plain mode."""
    problems = [
        replace(part.problem, budget=float(run.segment_writes)) for part, run in zip(parts, runs, strict=True)
    ]
    plain = [plain_prefetches(problem) for problem in problems]
    found = {
        mode: [rejectx(problem, own[mode]) for problem, own in zip(problems, plain, strict=True)] for mode in plain[0]
    }
    mode = min(found, key=lambda mode: _seconds(problems, [tuned.run for tuned in found[mode]]))
    return mode, found[mode]


def judge(
    parts: list[JudgedPart], ours: PlainSetting, flash: FlashPolicy, seed: int
) -> tuple[dict[str, float | None], bool, str]:
    """Judge a model in a plain mode against RejectX.

    Args:
        parts: what to judge on.
        ours: the model's mode, with its runs.
        flash: `policy.flash`.
        seed: the bootstrap's seed.

    Returns:
        Figures, whether the model beats RejectX, and the reason in one line.
    """
    their_mode, tuned = _rivals(parts, ours.runs)
    theirs = [own.run for own in tuned]
    duel = _duel(parts, ours.runs, theirs, flash, seed)
    best = _load(parts, [part.opt for part in parts], flash)
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
        "rejectx_writes_over_ours": _ratio(baseline_runs=theirs, runs=ours.runs),
        "mean_dt_at_rejectx_writes": None,
    }
    if not all(own.reached for own in tuned):
        duel = _at_their_writes(parts, ours, theirs, flash, seed)
        figures["mean_dt_at_rejectx_writes"] = float(duel.ours.mean())
        beats, note = beats and duel.won, "at the most that RejectX can write"
    verdict = "beats" if beats else "does not beat"
    modes = f"prefetch {ours.mode} against its {their_mode}"
    return figures, beats, f"{verdict} RejectX on validation; {modes}, {note}: {duel.describe()}"


def _ratio(baseline_runs: list[FlashRun], runs: list[FlashRun]) -> float | None:
    ours = sum(run.segment_writes for run in runs)
    return sum(run.segment_writes for run in baseline_runs) / ours if ours else None


def _at_their_writes(
    parts: list[JudgedPart], setting: PlainSetting, theirs: list[FlashRun], flash: FlashPolicy, seed: int
) -> Duel:
    """The duel with the model's threshold raised until it writes no more than RejectX does."""
    ours = []
    for part, prefetch, run in zip(parts, setting.prefetches, theirs, strict=True):
        problem = replace(part.problem, budget=float(run.segment_writes))
        ours.append(learned(problem, part.scores, prefetch).run)
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
