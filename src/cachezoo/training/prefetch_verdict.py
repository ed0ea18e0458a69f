"""Which way to prefetch with an admission model, and whether a learned one beats the plain ones: validation says.

Each mode gets its own admission threshold, at which admission and prefetch together meet the write budget. Time is cut
into windows; every other one chooses the best learned and the best plain mode by mean read disk-head time, the verdict
is spoken on the rest, so that the choice cannot flatter it. The learned mode then meets the plain one, recalibrated to
the very writes that the learned one makes: it beats it where the 90 % interval of the paired saving lies above 0. It is
the mode to run where it was the best of all on the choosing windows and beats the plain one on the others; else the
plain one is. Source: Baleen post, "Evaluation"; the choice on windows of their own is ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.config.baleen import FlashPolicy
from cachezoo.evaluation.bootstrap import interval
from cachezoo.evaluation.flash_load import LoadWindows, load_curve, load_windows, resamples, time_scale
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.labels.calibrate import Calibration
from cachezoo.labels.flash_problem import FlashProblem
from cachezoo.policies.flash import calibrate_threshold
from cachezoo.policies.prefetch import ML_MODES, PLAIN_MODES, Mode
from cachezoo.traces.table import Trace

F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class JudgedPart:
    """A part to judge on: requests, cache, the admission's scores float64[n], and what each mode prefetches."""

    trace: Trace
    problem: FlashProblem
    scores: F64
    prefetches: Mapping[Mode, Prefetch]


@dataclass(frozen=True)
class Verdict:
    """What validation says.

    Attributes:
        mode: the one to run.
        threshold: of the admission's scores, at which that mode meets the budget.
        calibration: how it was met.
        modes: a row for each mode; `read_dt` figures in disk-head seconds per second.
        figures: for train.json, on the judging windows.
        beats: the mode is a learned one.
        reason: one line.
    """

    mode: Mode
    threshold: float
    calibration: Calibration
    modes: list[dict[str, Any]]
    figures: dict[str, float | None]
    beats: bool
    reason: str


@dataclass(frozen=True)
class _Tried:
    """A mode at its threshold: runs of each part, load in every window of all parts."""

    mode: Mode
    threshold: float
    found: Calibration
    runs: list[FlashRun]
    load: F64

    @property
    def writes(self) -> int:
        return sum(run.segment_writes for run in self.runs)


def _try(parts: Sequence[JudgedPart], windows: Sequence[LoadWindows], mode: Mode, budgets: Sequence[float]) -> _Tried:
    problems = [replace(part.problem, budget=budget) for part, budget in zip(parts, budgets, strict=True)]
    beside = [part.prefetches[mode] if mode != "none" else None for part in parts]
    threshold, found = calibrate_threshold(problems, [part.scores for part in parts], beside)
    cases = zip(parts, beside, strict=True)
    runs = [part.problem.run(part.scores >= threshold, prefetch) for part, prefetch in cases]
    trios = zip(parts, runs, windows, strict=True)
    load = np.concatenate([load_curve(part.problem.dt_seconds(run), cut) for part, run, cut in trios])
    return _Tried(mode, threshold, found, runs, load)


def _row(tried: _Tried, choosing: Bool, accept_all: int) -> dict[str, Any]:
    prefetched = sum(int(run.prefetched.sum(dtype=np.int64)) for run in tried.runs)
    used = sum(run.prefetched_used for run in tried.runs)
    return {
        "mode": tried.mode,
        "threshold": tried.threshold,
        "writes": tried.writes / accept_all,
        "unreached": not tried.found.reached,
        "choosing_mean_dt": float(tried.load[choosing].mean()),
        "mean_dt": float(tried.load.mean()),
        "peak_dt": float(tried.load.max()),
        "prefetched_writes": prefetched / accept_all,
        "prefetch_accuracy": used / prefetched if prefetched else None,
    }


def judge(parts: Sequence[JudgedPart], flash: FlashPolicy, seed: int, *, held_out: bool = True) -> Verdict:
    """Choose the mode and hold the best learned one against the best plain one.

    Args:
        parts: what to judge on; all know the same modes, of which `PLAIN_MODES` are some.
        flash: `policy.flash`; the windows are half as long as the evaluation's where the trace allows no more of them,
            since half of them choose.
        seed: the bootstrap's seed.
        held_out: False where these are the train traces, for want of others: then a plain mode is the one to run.
    """
    finer = flash.model_copy(update={"min_windows": 2 * flash.min_windows})
    windows = [load_windows(part.trace.time_us, part.problem, finer, time_scale(part.trace)) for part in parts]
    choosing = np.concatenate([np.arange(cut.count) % 2 == 0 for cut in windows])
    budgets = [part.problem.budget for part in parts]
    tried = {mode: _try(parts, windows, mode, budgets) for mode in parts[0].prefetches}

    def best_of(modes: Sequence[Mode]) -> _Tried:
        return min((tried[mode] for mode in modes if mode in tried), key=lambda one: one.load[choosing].mean())

    best, plain = best_of(tuple(tried)), best_of(PLAIN_MODES)
    accept_all = sum(part.problem.accept_all.segment_writes for part in parts)
    rows = [_row(one, choosing, accept_all) for one in tried.values()]
    figures: dict[str, float | None] = {"plain_mean_dt": float(plain.load[~choosing].mean())}
    chosen, reason = plain, f"no learned mode to judge; the best plain one is {plain.mode}"
    if any(mode in tried for mode in ML_MODES):
        ours = best_of(ML_MODES)
        rival = _try(parts, windows, plain.mode, [float(run.segment_writes) for run in ours.runs])
        more, won, reason = _duel(ours, rival, ~choosing, flash, seed)
        figures |= more
        if won and best is not ours:
            reason = f"{best.mode} was better on the choosing windows; {reason}"
        if not held_out:
            reason = "not judged: the category has no validation trace, so the train traces chose the mode"
        chosen = ours if won and best is ours and held_out else plain
    beats = chosen is not plain
    return Verdict(chosen.mode, chosen.threshold, chosen.found, rows, figures, beats, reason)


def _duel(
    ours: _Tried, rival: _Tried, judging: Bool, flash: FlashPolicy, seed: int
) -> tuple[dict[str, float | None], bool, str]:
    """Figures, whether the learned mode's saving is above 0 with confidence, and that in words."""
    mine, theirs = ours.load[judging], rival.load[judging]
    draws = resamples(len(mine), flash.bootstrap_samples, seed)
    low, high = interval((theirs - mine)[draws].mean(axis=1))
    figures: dict[str, float | None] = {
        "mean_dt": float(mine.mean()),
        "peak_dt": float(mine.max()),
        "plain_mean_dt": float(theirs.mean()),
        "plain_peak_dt": float(theirs.max()),
        "mean_dt_saved_low": low,
        "mean_dt_saved_high": high,
        "plain_writes_over_ours": rival.writes / ours.writes if ours.writes else None,
    }
    reason = (
        f"{ours.mode} {'beats' if low > 0 else 'does not beat'} {rival.mode} on the judging windows of validation: "
        f"mean read disk-head time {mine.mean():.4f} against {theirs.mean():.4f}, 90 % interval of the saving "
        f"[{low:.4f}, {high:.4f}], peak {mine.max():.4f} against {theirs.max():.4f} (disk-head seconds per second)"
    )
    return figures, bool(low > 0), reason
