"""Judges a category's admission models: their thresholds, and whether each beats what asks no model on validation.

The threshold meets the write budget in simulation on the validation traces, without prefetch and in the plain prefetch
mode (one that asks no model) that is best there.

The rival is the best policy without a model there: RejectX or CoinFlip, in any plain mode, with its knob at the writes
that the model makes. A model beats it when the 90 % interval of the paired saving of mean read disk-head time lies
above 0, the saving is worth having and its peak is no higher. Where the rival cannot write that much, it runs at its
maximum, and the model has to beat it at those fewer writes as well. Figures against RejectX, the post's baseline, are
given too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.contest.lead import Lead, saving
from cachezoo.flash_cache.load import LoadWindows, load_curve, load_windows
from cachezoo.flash_cache.modes import NONE
from cachezoo.flash_cache.policies import (
    ADMISSIONS,
    REJECTX,
    WithoutModel,
    best_without_model,
    learned,
    modes_of,
    prefetch_of,
    threshold_curve,
    threshold_for_budget,
)
from cachezoo.flash_cache.problem import BudgetSetting, FlashProblem, flash_problem, label_of
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.kernels.write_budget import Controller
from cachezoo.labels.episodes import label_problem
from cachezoo.models.curves import CURVES_FILE, read_curves
from cachezoo.models.forest import Scorer, write_judged_forests
from cachezoo.models.inputs import INPUTS_FILE, read_inputs
from cachezoo.models.trained import FittedModel, Read, TrainedModel, Verdict, read_fitted, trace_uses
from cachezoo.params import At, Picked, traces_of
from cachezoo.settings.data import Roles
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.traces.clock import time_scale
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace
from cachezoo.training.episodes import read_traces
from cachezoo.zoo.admission.fit import CONTEXT, VARIANTS, model_id
from cachezoo.zoo.admission.model import MODEL_FILE, load_admission, scorer_of
from cachezoo.zoo.admission.serve import history_of, serve_trace
from cachezoo.zoo.admission.settings import Judge

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    label: Annotated[EpisodeLabel, At("label.episodes")]
    flash: Annotated[FlashPolicy, At("policy.flash")]
    judge: Annotated[Judge, At("judge.admission")]
    arch: Annotated[str, At("model.admission.arch")]
    roles: Annotated[Roles, At("data.roles.{category}")]


@dataclass(frozen=True)
class Duel:
    """Load float64[w] with the model and with a rival in the same windows, in disk-head seconds per second."""

    ours: F64
    theirs: F64
    least: float  # share of the rival's mean load that has to be saved

    @property
    def saved(self) -> Lead:
        """The share of the rival's mean load that is saved, in pairs of windows."""
        return saving(self.ours, self.theirs)

    @property
    def won(self) -> bool:
        """The saving is above chance and worth having, and the peak is no higher."""
        return bool(self.saved.worth(self.least) and self.ours.max() <= self.theirs.max())

    def describe(self) -> str:
        """Mean and peak of both, in words."""
        low, high = self.saved.ends
        return (
            f"mean read disk-head time {self.ours.mean():.4f} against {self.theirs.mean():.4f}, "
            f"90 % interval of the saving [{low:.1%}, {high:.1%}], "
            f"peak {self.ours.max():.4f} against {self.theirs.max():.4f} (disk-head seconds per second)"
        )


@dataclass(frozen=True)
class Part:
    """A part to judge on: requests, cache, and the admission's scores float64[n]."""

    trace: Trace
    problem: FlashProblem
    scores: F64


@dataclass(frozen=True)
class ScoredTrace(Part):
    """A part with OPT's run."""

    opt: FlashRun


@dataclass(frozen=True)
class Setting:
    """The admission with a prefetch mode, at the threshold with which both together meet the budget."""

    mode: str
    threshold: float  # of the scores
    found: BudgetSetting  # how the budget was met
    prefetches: list[Prefetch | None]  # what the mode fetches besides on each part
    runs: list[FlashRun]  # of each part

    @classmethod
    def of(
        cls, mode: str, problems: list[FlashProblem], scores: list[F64], prefetches: list[Prefetch | None]
    ) -> "Setting":
        """Set the threshold on some parts with scores float64[n]."""
        threshold, found = threshold_for_budget(problems, scores, prefetches)
        parts = zip(problems, scores, prefetches, strict=True)
        runs = [problem.run(score >= threshold, prefetch) for problem, score, prefetch in parts]
        return cls(mode, threshold, found, prefetches, runs)

    @property
    def writes(self) -> int:
        """Segments written on all parts."""
        return written(self.runs)


def written(runs: Sequence[FlashRun]) -> int:
    """Segments that some runs write."""
    return sum(run.segment_writes for run in runs)


def plain_settings(problems: list[FlashProblem], scores: list[F64]) -> list[Setting]:
    """Every plain mode at the budget, the lowest mean read disk-head time first, ties by fewer writes."""
    settings = [
        Setting.of(mode, problems, scores, [prefetch_of(problem, mode) for problem in problems])
        for mode in modes_of(problems)
    ]
    return sorted(settings, key=lambda one: (_seconds(problems, one.runs), one.found.writes))


def _seconds(problems: list[FlashProblem], runs: list[FlashRun]) -> float:
    pairs = zip(problems, runs, strict=True)
    return sum(float(problem.dt_seconds(run)[problem.first :].sum()) for problem, run in pairs)


@dataclass(frozen=True)
class Against:
    """A model held against a rival."""

    rival: WithoutModel  # at the writes of the model, or its most
    duel: Duel  # so
    fewer: Duel | None  # the duel at the rival's writes, where it cannot write as much as the model
    writes: float | None  # the rival's over the model's

    @property
    def won(self) -> bool:
        """Every duel."""
        return self.duel.won and (self.fewer is None or self.fewer.won)

    def describe(self) -> str:
        """How it was compared, and the last duel, in words."""
        if self.fewer is None:
            return f"at equal writes: {self.duel.describe()}"
        return f"at the most that it can write: {self.fewer.describe()}"

    def figures(self, name: str) -> dict[str, float | None]:
        """For train.json, the rival being called so."""
        return {
            f"{name}_peak_dt": float(self.duel.theirs.max()),
            f"{name}_mean_dt": float(self.duel.theirs.mean()),
            f"{name}_writes_over_ours": self.writes,
            f"mean_dt_at_{name}_writes": None if self.fewer is None else float(self.fewer.ours.mean()),
        }


def windows_of(parts: Sequence[Part], flash: FlashPolicy) -> list[LoadWindows]:
    """The windows of time of each part."""
    return [load_windows(part.trace.time_us, part.problem, flash, time_scale(part.trace)) for part in parts]


def load_of(parts: Sequence[Part], windows: Sequence[LoadWindows], runs: Sequence[FlashRun]) -> F64:
    """Load in every window of all parts."""
    trios = zip(parts, windows, runs, strict=True)
    return np.concatenate([load_curve(part.problem.dt_seconds(run), cut) for part, cut, run in trios])


def _against(parts: list[ScoredTrace], ours: Setting, rival: WithoutModel, settings: Settings) -> Against:
    windows = windows_of(parts, settings.flash)

    def duel(runs: list[FlashRun]) -> Duel:
        ours, theirs = (load_of(parts, windows, own) for own in (runs, rival.runs))
        return Duel(ours, theirs, settings.judge.least_gain)

    fewer = None
    if not all(own.reached for own in rival.tuned):
        fewer = duel(_at_their_writes(parts, ours, rival.runs))
    ratio = written(rival.runs) / ours.writes if ours.writes else None
    return Against(rival, duel(ours.runs), fewer, ratio)


def _at_their_writes(parts: list[ScoredTrace], setting: Setting, theirs: list[FlashRun]) -> list[FlashRun]:
    """The model's runs with its threshold raised until it writes no more than the rival does."""
    ours = []
    for part, prefetch, run in zip(parts, setting.prefetches, theirs, strict=True):
        problem = replace(part.problem, budget=float(run.segment_writes), tolerance=0.0)
        ours.append(learned(problem, part.scores, prefetch).run)
    return ours


def duel_without_model(
    parts: list[ScoredTrace], ours: Setting, settings: Settings, seed: int
) -> tuple[dict[str, float | None], bool, str]:
    """Hold a model in a plain mode against the best policy without a model, and against RejectX.

    Returns:
        Figures, whether the model beats the best policy without a model, and the reason in one line.
    """
    problems = [
        replace(part.problem, budget=float(run.segment_writes)) for part, run in zip(parts, ours.runs, strict=True)
    ]
    trace_ids = [part.trace.meta.trace_id for part in parts]
    best = best_without_model(problems, trace_ids, seed, ADMISSIONS)
    found = _against(parts, ours, best, settings)
    post = found
    if best.policy != REJECTX:
        post = _against(parts, ours, best_without_model(problems, trace_ids, seed, (REJECTX,), ()), settings)
    bound = load_of(parts, windows_of(parts, settings.flash), [part.opt for part in parts])
    figures: dict[str, float | None] = {
        "peak_dt": float(found.duel.ours.max()),
        "mean_dt": float(found.duel.ours.mean()),
        "opt_peak_dt": float(bound.max()),
        "opt_mean_dt": float(bound.mean()),
        **found.figures("rival"),
        "rival_dt_saved_low": found.duel.saved.low,
        "rival_dt_saved_high": found.duel.saved.high,
        **post.figures(REJECTX),
        "mean_dt_saved_low": post.duel.saved.low,
        "mean_dt_saved_high": post.duel.saved.high,
    }
    verdict = "beats" if found.won else "does not beat"
    reason = (
        f"{verdict} the best policy without a model on validation, {best}; prefetch {ours.mode}, {found.describe()}"
    )
    return figures, found.won, reason


def judge(model: FittedModel, scorer: Scorer, parts: Sequence[Read], held_out: bool, settings: Settings) -> Verdict:
    """Calibrate a fitted model and judge it.

    Where there are no validation traces (`held_out`), the train traces set the threshold and nothing is claimed.
    """
    label = label_of(settings.label, model.category or "")
    problems = [flash_problem(part.trace, label, settings.flash) for part in parts]
    scores = [scorer(serve_trace(history_of(model), part.trace)) for part in parts]
    plain = plain_settings(problems, scores)
    facing = [
        ScoredTrace(part.trace, problem, score, label_problem(problem, label, label.opt_prefetch).choice.run)
        for part, problem, score in zip(parts, problems, scores, strict=True)
    ]
    figures, beats, reason = duel_without_model(facing, plain[0], settings, model.seeds[CONTEXT])
    if not held_out:
        beats, reason = (
            False,
            ("not judged: the category has no validation trace, so the train traces set the threshold"),
        )
    if not model.trained:
        beats, reason = False, model.reason
    return Verdict(
        calibration={
            "eviction_age": model.learned["eviction_age"],
            **_calibration(problems, plain),
            "curve": threshold_curve(problems, scores, settings.judge.curve_points),
            "calibrated_on": "validation" if held_out else "train",
        },
        policy=_policy(model, label, settings.flash),
        validation={**figures, **model.figures},
        beats_baseline=beats,
        reason=reason,
    )


def _calibration(problems: list[FlashProblem], plain: list[Setting]) -> dict[str, Any]:
    """`threshold` is the admission's without prefetch; `with_prefetch` holds the plain mode that validation chose."""
    accept_all = sum(problem.accept_all.segment_writes for problem in problems)

    def values(one: Setting) -> dict[str, Any]:
        return {"threshold": one.threshold, "writes": one.found.writes / accept_all, "unreached": not one.found.reached}

    alone = next(one for one in plain if one.mode == NONE)
    return {
        **values(alone),
        "with_prefetch": {"mode": plain[0].mode, **values(plain[0])},
        "budget": sum(problem.budget for problem in problems) / accept_all,
        "controller": Controller().document(),
        "capacity_segments": [problem.capacity for problem in problems],
    }


def _policy(model: FittedModel, label: EpisodeLabel, flash: FlashPolicy) -> dict[str, Any]:
    return {
        "type": "flash_admission",
        "history": model.learned["history"],
        "score": "log-odds of the share of write budgets at which the episode is worth its flash writes from here on",
        "decide": "a read's missing segments are admitted iff score >= calibration.threshold",
        "write_rate": "where one is to be kept, calibration.controller sets the threshold anew, this one at first",
        "prefetch": "a cache that prefetches by calibration.with_prefetch.mode (all_on_miss: a miss's whole block; "
        "all_on_partial: the same where some of the request was resident; next(n): the n segments after the request "
        "in its block) takes the threshold that stands there",
        "writes": "not cached; they invalidate what they overwrite; pass them to the features",
        "eviction": flash.eviction,
        "cache_fraction": label.cache_fraction,
    }


def judge_admission(params: "Params", category: str) -> None:
    """Stage judge_admission, one job: write each of `VARIANTS` to `models/trained/admission/<id>/`.

    Raises:
        TrainingError: there is no readable fitted model.
        TraceError: a trace is missing or damaged.
    """
    settings = Settings.of(params, category)
    held = settings.roles.get("validation", [])
    parts, inputs = read_traces(category, held or settings.roles.get("train", []))
    for variant in VARIANTS:
        name = model_id(category, variant.arch(settings.arch))
        folder = paths.fitted(name)
        fitted = read_fitted(folder, "admission")
        read_inputs(folder, fitted.features)  # which is copied as it is
        verdict = judge(fitted, scorer_of(folder, fitted), parts, bool(held), settings)
        model = TrainedModel.of(fitted, verdict, inputs, trace_uses([], parts) if held else [])
        write_judged_forests(paths.trained(name), folder, model, [MODEL_FILE, INPUTS_FILE])


def least_holdout_loss(folder: Path) -> float:
    """The least loss on the blocks of the train traces that the forest did not see."""
    return min(value for name, _, value in read_curves(folder / CURVES_FILE) if name == "holdout_loss")


def mean_loads(params: "Params", category: str, run: Callable[[Trace, FlashProblem], FlashRun]) -> dict[str, float]:
    """Mean read disk-head time of a way to run the flash cache on each test trace, in disk-head seconds per second."""
    flash, label, found = params.policy.flash, label_of(params.label.episodes, category), {}
    for key in traces_of(params, category, "test"):
        trace = read_trace(paths.requests(category, key))
        problem = flash_problem(trace, label, flash)
        windows = load_windows(trace.time_us, problem, flash, time_scale(trace))
        found[key] = float(load_curve(problem.dt_seconds(run(trace, problem)), windows).mean())
    return found


def test_loads(folder: Path, params: "Params", category: str) -> dict[str, float]:
    """Loads on the test traces as shipped: in the plain prefetch mode of validation, the controller at the budget."""

    def run(trace: Trace, problem: FlashProblem) -> FlashRun:
        model, serving = load_admission(folder)
        setting = model.calibration["with_prefetch"]
        scores, fetched = serving.scores(serve_trace(serving, trace)), prefetch_of(problem, setting["mode"])
        controller = Controller(**model.calibration["controller"])
        return problem.run_controlled(scores, setting["threshold"], controller, fetched)

    return mean_loads(params, category, run)
