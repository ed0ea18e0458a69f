"""Judges a category's prefetch model: which way to prefetch, and whether a learned one beats the plain ones.

Each mode gets its own admission threshold, at which admission and prefetch together meet the write budget. Time is cut
into windows; every other one chooses the best learned and the best plain mode by mean read disk-head time, the verdict
is spoken on the rest, so that the choice cannot flatter it. The learned mode then meets two rivals: the plain mode with
the same admission, recalibrated to the very writes that the learned one makes, and the best policy without any model
(RejectX or CoinFlip in a plain mode, the best on all windows) at these writes. It beats them where the 90 % interval of
the paired saving lies above 0 for both. It is the mode to run where it was the best of all on the choosing windows and
beats both on the others; else the plain one is. Source: Baleen post, "Evaluation"; the choice on windows of their own
is ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64, Bool
from cachezoo.errors import TrainingError
from cachezoo.flash_cache.load import LoadWindows
from cachezoo.flash_cache.modes import ML_MODES, NONE, is_plain, plain_modes
from cachezoo.flash_cache.policies import best_without_model, prefetch_of, threshold_curve
from cachezoo.flash_cache.problem import BudgetSetting, FlashProblem, flash_problem, label_of
from cachezoo.io import sha256_file
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.models.forest import Scorer, forests_of, write_judged_forests
from cachezoo.models.inputs import INPUTS_FILE, read_inputs
from cachezoo.models.trained import FittedModel, Read, TrainedModel, Verdict, read_fitted, read_trained, trace_uses
from cachezoo.params import At, Picked
from cachezoo.settings.data import Roles
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.traces.table import Trace
from cachezoo.training.episodes import read_traces
from cachezoo.zoo.admission.fit import model_id as admission_id
from cachezoo.zoo.admission.judge import Duel, Part, Setting, load_of, mean_loads, windows_of, written
from cachezoo.zoo.admission.model import MODEL_FILE as ADMISSION_FILE
from cachezoo.zoo.admission.model import scorer_of
from cachezoo.zoo.admission.serve import history_of, serve_trace
from cachezoo.zoo.prefetch.fit import CONTEXT, model_id
from cachezoo.zoo.prefetch.model import MODEL_FILES, load_prefetch
from cachezoo.zoo.prefetch.serve import Infer, PrefetchServing
from cachezoo.zoo.prefetch.settings import Judge

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

EVEN_ODDS = 0.0


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    label: Annotated[EpisodeLabel, At("label.episodes")]
    flash: Annotated[FlashPolicy, At("policy.flash")]
    judge: Annotated[Judge, At("judge.prefetch")]
    arch: Annotated[str, At("model.prefetch.arch")]
    admission: Annotated[str, At("model.admission.arch")]
    roles: Annotated[Roles, At("data.roles.{category}")]


@dataclass(frozen=True)
class ScoredTrace(Part):
    """A part with what each mode prefetches."""

    prefetches: Mapping[str, Prefetch | None]


@dataclass(frozen=True)
class Choice:
    """What validation says of the modes."""

    mode: str  # the one to run
    threshold: float  # of the admission's scores, at which that mode meets the budget
    calibration: BudgetSetting  # how it was met
    modes: list[dict[str, Any]]  # a row for each mode; `read_dt` figures in disk-head seconds per second
    figures: dict[str, float | None]  # for train.json, on the judging windows
    beats: bool  # the mode is a learned one
    reason: str  # one line


@dataclass(frozen=True)
class _Tried(Setting):
    """A mode at its threshold, with the load in every window of all parts."""

    load: F64


def _try(parts: Sequence[ScoredTrace], windows: Sequence[LoadWindows], mode: str, budgets: Sequence[float]) -> _Tried:
    problems = [replace(part.problem, budget=budget) for part, budget in zip(parts, budgets, strict=True)]
    found = Setting.of(mode, problems, [part.scores for part in parts], [part.prefetches[mode] for part in parts])
    return _Tried(**vars(found), load=load_of(parts, windows, found.runs))


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


def choose(
    parts: Sequence[ScoredTrace], flash: FlashPolicy, least: float, seed: int, *, held_out: bool = True
) -> Choice:
    """Choose the mode and hold the best learned one against the best plain one.

    Args:
        parts: what to judge on; all know the same modes, of which some ask no model.
        flash: `policy.flash`; the windows are half as long as the evaluation's where the trace allows no more of them,
            since half of them choose.
        least: share of a rival's mean load that has to be saved.
        seed: of CoinFlip's draws.
        held_out: False where these are the train traces, for want of others: then a plain mode is the one to run.
    """
    finer = flash.model_copy(update={"min_windows": 2 * flash.min_windows})
    windows = windows_of(parts, finer)
    choosing = np.concatenate([np.arange(cut.count) % 2 == 0 for cut in windows])
    budgets = [part.problem.budget for part in parts]
    tried = {mode: _try(parts, windows, mode, budgets) for mode in parts[0].prefetches}

    def best_of(modes: Sequence[str]) -> _Tried:
        return min((tried[mode] for mode in modes if mode in tried), key=lambda one: one.load[choosing].mean())

    best, plain = best_of(tuple(tried)), best_of([mode for mode in tried if is_plain(mode)])
    accept_all = sum(part.problem.accept_all.segment_writes for part in parts)
    rows = [_row(one, choosing, accept_all) for one in tried.values()]
    figures: dict[str, float | None] = {"plain_mean_dt": float(plain.load[~choosing].mean())}
    chosen, reason = plain, f"no learned mode to judge; the best plain one is {plain.mode}"
    if any(mode in tried for mode in ML_MODES):
        ours = best_of(ML_MODES)
        more, won, reason = _duels(parts, windows, ours, plain.mode, ~choosing, least, seed)
        figures |= more
        if won and best is not ours:
            reason = f"{best.mode} was better on the choosing windows; {reason}"
        if not held_out:
            reason = "not judged: the category has no validation trace, so the train traces chose the mode"
        chosen = ours if won and best is ours and held_out else plain
    beats = chosen is not plain
    return Choice(chosen.mode, chosen.threshold, chosen.found, rows, figures, beats, reason)


def _duels(
    parts: Sequence[ScoredTrace],
    windows: Sequence[LoadWindows],
    ours: _Tried,
    plain: str,
    judging: Bool,
    least: float,
    seed: int,
) -> tuple[dict[str, float | None], bool, str]:
    """Figures, whether the learned mode's savings against both rivals are above 0 with confidence, and that in words.

    A rival without a model that cannot write as much as the learned mode is met at its own writes.
    """
    budgets = [float(run.segment_writes) for run in ours.runs]
    same = _try(parts, windows, plain, budgets)
    problems = [replace(part.problem, budget=budget) for part, budget in zip(parts, budgets, strict=True)]
    rival = best_without_model(problems, [part.trace.meta.trace_id for part in parts], seed)
    equal = ours
    if not all(own.reached for own in rival.tuned):
        equal = _try(parts, windows, ours.mode, [float(run.segment_writes) for run in rival.runs])
    duels = {
        plain: Duel(ours.load[judging], same.load[judging], least),
        str(rival): Duel(equal.load[judging], load_of(parts, windows, rival.runs)[judging], least),
    }
    over_plain, over_rival = duels.values()
    figures: dict[str, float | None] = {
        **_figures(over_plain, "plain", "mean_dt_saved"),
        "plain_writes_over_ours": same.writes / ours.writes if ours.writes else None,
        **_figures(over_rival, "rival", "rival_dt_saved"),
        "rival_writes_over_ours": written(rival.runs) / ours.writes if ours.writes else None,
        "mean_dt": float(ours.load[judging].mean()),
        "peak_dt": float(ours.load[judging].max()),
    }
    duelled = "; ".join(
        f"{ours.mode} {'beats' if duel.won else 'does not beat'} {name}: {duel.describe()}"
        for name, duel in duels.items()
    )
    won = all(duel.won for duel in duels.values())
    return figures, won, f"on the judging windows of validation {duelled}"


def _figures(duel: Duel, name: str, saving: str) -> dict[str, float | None]:
    """For train.json, the rival and the saving being called so."""
    return {
        f"{name}_mean_dt": float(duel.theirs.mean()),
        f"{name}_peak_dt": float(duel.theirs.max()),
        f"{saving}_low": duel.saved.low,
        f"{saving}_high": duel.saved.high,
    }


def judge(
    model: FittedModel, infer: Infer | None, admits: Scorer, parts: Sequence[Read], held_out: bool, settings: Settings
) -> Verdict:
    """Choose a fitted model's mode and judge it.

    `infer` None is a model that never trained: then there are the plain modes alone. Where there are no validation
    traces (`held_out`), the train traces choose the mode and the threshold; nothing is claimed, and a plain mode is the
    one to run.
    """
    label = label_of(settings.label, model.category or "")
    judged = [_scored(model, infer, admits, part, label, settings.flash) for part in parts]
    found = choose(judged, settings.flash, settings.judge.least_gain, model.seeds[CONTEXT], held_out=held_out)
    return Verdict(
        calibration={
            "eviction_age": model.learned["eviction_age"],
            "worth": EVEN_ODDS,
            **_calibration(judged, found, settings.judge.curve_points),
            "calibrated_on": "validation" if held_out else "train",
        },
        policy={**_policy(model, label, settings.flash), "mode": found.mode},
        validation={**model.figures, **found.figures},
        beats_baseline=found.beats,
        reason=model.reason or found.reason,
    )


def _scored(
    model: FittedModel, infer: Infer | None, admits: Scorer, part: Read, label: EpisodeLabel, flash: FlashPolicy
) -> ScoredTrace:
    """What every mode prefetches on a part; the modes that ask the model only where there is one."""
    problem = flash_problem(part.trace, label, flash)
    rows = serve_trace(history_of(model), part.trace)
    modes = plain_modes(problem.accesses.per_block)
    prefetches: dict[str, Prefetch | None] = {mode: prefetch_of(problem, mode) for mode in modes}
    if infer is not None:
        values = model.model_dump(mode="json")
        serving = PrefetchServing(
            features=values["features"],
            encodings=values["encodings"],
            geometry=values["geometry"],
            calibration={"worth": EVEN_ODDS, "threshold": EVEN_ODDS},
            policy={"history": model.learned["history"], "mode": NONE},
            infer=infer,
        )
        prefetches |= {mode: serving.prefetch(rows, mode) for mode in ML_MODES}
    return ScoredTrace(part.trace, problem, admits(rows), prefetches)


def _calibration(parts: list[ScoredTrace], found: Choice, points: int) -> dict[str, Any]:
    """The chosen mode's admission threshold, and how it was met; `modes` holds every mode's."""
    problems = [part.problem for part in parts]
    accept_all = sum(problem.accept_all.segment_writes for problem in problems)
    prefetches = [part.prefetches[found.mode] for part in parts]
    return {
        "threshold": found.threshold,
        "budget": sum(problem.budget for problem in problems) / accept_all,
        "writes": found.calibration.writes / accept_all,
        "unreached": not found.calibration.reached,
        "curve": threshold_curve(problems, [part.scores for part in parts], points, prefetches),
        "modes": found.modes,
        "capacity_segments": [problem.capacity for problem in problems],
    }


def _policy(model: FittedModel, label: EpisodeLabel, flash: FlashPolicy) -> dict[str, Any]:
    return {
        "type": "flash_prefetch",
        "admission": model.learned["admission"],
        "history": model.learned["history"],
        "range": "first segment - round(before) to last segment + round(after), within the request's first block",
        "when": "ml_range_when: where worth >= calibration.worth; ml_range: always",
        "fetch": "with a read's miss of which anything is admitted, the range's segments that are not resident: "
        "one backend I/O from the first to the last missing segment, all written to flash",
        "admit": "by the admission model with calibration.threshold in place of its own",
        "eviction": flash.eviction,
        "touch": flash.touch,
        "cache_fraction": label.cache_fraction,
    }


def judge_prefetch(params: "Params", category: str) -> None:
    """Stage judge_prefetch, one job: write `models/trained/prefetch/prefetch.<category>.lgbm/`.

    Raises:
        TrainingError: there is no readable fitted model of the prefetch or of the admission.
        TraceError: a trace is missing or damaged.
    """
    settings = Settings.of(params, category)
    name = model_id(category, settings.arch)
    folder, admission = paths.fitted(name), paths.fitted(admission_id(category, settings.admission))
    fitted, admitting = read_fitted(folder, "prefetch"), read_fitted(admission, "admission")
    read_inputs(folder, fitted.features)  # which is copied as it is
    held = settings.roles.get("validation", [])
    parts, inputs = read_traces(category, held or settings.roles.get("train", []))
    inputs[str(admission / ADMISSION_FILE)] = sha256_file(admission / ADMISSION_FILE)
    infer = forests_of(folder, fitted, MODEL_FILES) if fitted.trained else None
    admits = scorer_of(admission, admitting)
    verdict = judge(fitted, infer, admits, parts, bool(held), settings)
    model = TrainedModel.of(fitted, verdict, inputs, trace_uses([], parts) if held else [])
    files = (*(MODEL_FILES if fitted.trained else ()), INPUTS_FILE)
    write_judged_forests(paths.trained(name), folder, model, files)


def best_learned_load(folder: Path) -> float:
    """Mean read disk-head time of a trained model's best learned mode on the choosing windows.

    Raises:
        TrainingError: the model never trained, so that there is none.
    """
    trained = read_trained(folder)
    learned = [float(row["choosing_mean_dt"]) for row in trained.calibration["modes"] if row["mode"] in ML_MODES]
    if not learned:
        raise TrainingError(f"{folder}: has no learned mode to compare ({trained.reason})")
    return min(learned)


def test_loads(folder: Path, params: "Params", category: str) -> dict[str, float]:
    """Mean read disk-head time on each test trace, in the mode that validation chose, a plain one or a learned one."""
    model, serving = load_prefetch(folder)
    admission = paths.fitted(admission_id(category, params.model.admission.arch))
    admitting = read_fitted(admission, "admission")
    scorer, mode = scorer_of(admission, admitting), model.policy["mode"]

    def run(trace: Trace, problem: FlashProblem) -> FlashRun:
        rows = serve_trace(history_of(admitting), trace)
        fetched = prefetch_of(problem, mode) if serving is None or is_plain(mode) else serving.prefetch(rows)
        return problem.run(scorer(rows) >= model.calibration["threshold"], fetched)

    return mean_loads(params, category, run)
