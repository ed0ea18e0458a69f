"""Judges the workload classifier against its baselines on validation windows.

The baselines see the same train windows. Half of the time blocks of validation choose (epoch, penalties, what counts as
unknown), the other half judges. The classifier beats its baselines only where the 90 % interval of the paired
difference of balanced accuracy on the latter, to the best of them there, lies above 0 and the difference is worth
having. Every window counts there, sure or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32, I64
from cachezoo.contest.accuracy import accuracy, balanced_accuracy, balanced_mean
from cachezoo.contest.blocks import BLOCKS
from cachezoo.models.trained import FittedModel, TrainedModel, Verdict, read_fitted
from cachezoo.models.weights import read_weights
from cachezoo.params import At, Picked
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import ManagerPolicy
from cachezoo.training.fitted import write_judged_lstm
from cachezoo.zoo.workload.baselines import TREE, fit_baselines
from cachezoo.zoo.workload.fit import CONTEXT, model_id
from cachezoo.zoo.workload.infer import predict
from cachezoo.zoo.workload.known import Known
from cachezoo.zoo.workload.settings import Judge
from cachezoo.zoo.workload.unknown import Limits
from cachezoo.zoo.workload.windows import Inputs, Prepared, Windows, cut_windows, read_prepared

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    manager: Annotated[ManagerPolicy, At("policy.manager")]
    judge: Annotated[Judge, At("judge.workload")]
    arch: Annotated[str, At("model.workload.arch")]
    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]


def duel(
    labels: I64, ours: I64, rivals: Mapping[str, I64], least: float
) -> tuple[dict[str, float | None], str, bool, str]:
    """Hold the classifier against the best of its baselines on the same windows.

    Classes are int64[w]: the true ones, the classifier's, and those of each baseline, by name.

    Returns:
        Figures, the best baseline, whether it is beaten, and the reason in one line.
    """
    scores = {name: balanced_accuracy(labels, said) for name, said in rivals.items()}
    best = max(scores, key=lambda name: scores[name] or 0.0)
    lead = balanced_mean(labels, (ours == labels).astype(float) - (rivals[best] == labels))
    mine = balanced_accuracy(labels, ours)
    figures = {
        "accuracy": accuracy(labels, ours),
        "balanced_accuracy": mine,
        **{f"{name}_balanced_accuracy": score for name, score in scores.items()},
        "difference_low": lead.low,
        "difference_high": lead.high,
        "windows": float(len(labels)),
    }
    beats = lead.worth(least)
    verdict = "beats" if beats else "does not beat"
    reason = (
        f"{verdict} the best of its baselines on validation, {best}: balanced window accuracy {mine:.4f} against "
        f"{scores[best]:.4f}, 90 % interval of the difference [{lead.ends[0]:.4f}, {lead.ends[1]:.4f}]"
    )
    return figures, best, beats, reason


def _unjudged(classes: list[str], judging: Windows | None) -> str | None:
    """Why nothing can be claimed, or None."""
    counts = judging.counts(len(classes)) if judging is not None else np.zeros(len(classes), np.int64)
    short = [f"{name} {count}" for name, count in zip(classes, counts, strict=True) if count < BLOCKS]
    if not short:
        return None
    return f"not judged: validation windows that judge of {', '.join(short)}, and {BLOCKS} blocks of time judge"


def _policy(model: FittedModel, manager: ManagerPolicy) -> dict[str, Any]:
    policy = {
        "type": "workload_monitor",
        "classes": model.learned["classes"],
        "window": model.learned["window"],
        "clip": model.learned["clip"],
        "vote_windows": manager.vote_windows,
        "switch_votes": manager.switch_votes,
        "decide": "the likeliest class of each window; the most frequent of vote_windows windows is their vote",
        "ties": "the category in force if it is among them, else the first of classes",
        "switch": "the first vote sets the category, then switch_votes equal votes in a row change it",
    }
    if not model.learned["unknown_above"]:
        return policy
    unknown = (
        "a window whose strangeness, and a vote whose windows' mean strangeness, is above unknown_above; strangeness "
        "is the least distance to an entry of calibration.known; a vote for unknown switches as any other"
    )
    return {**policy, "unknown": unknown, "unknown_above": model.learned["unknown_above"]}


def _unknown(model: FittedModel, judging: Inputs, manager: ManagerPolicy) -> dict[str, float | None]:
    """Which share of the known windows and votes that judge is called unknown."""
    known = [Known.of(values, len(model.features)) for values in model.learned["known"]]
    found = Limits(manager.vote_windows, 0).strangeness(known, judging)
    values = {"window": found.windows, "vote": found.votes}
    limits: Mapping[str, float] = model.learned["unknown_above"]
    return {f"unknown_{name}s": float((values[name] > above).mean()) for name, above in limits.items()}


def judge(
    model: FittedModel,
    weights: Mapping[str, F32],
    parts: list[Prepared],
    validation: list[Prepared],
    settings: Settings,
) -> Verdict:
    """Judge a fitted classifier.

    The baselines are fitted on `parts`. Where a category has fewer judging windows in the validation traces than there
    are blocks of time, nothing is claimed.
    """
    policies = _policy(model, settings.manager)
    if not model.trained:
        return Verdict(calibration={}, policy=policies, validation={}, beats_baseline=False, reason=model.reason)
    learned, classes, seed = model.learned, list(model.learned["classes"]), model.seeds[CONTEXT]
    train = cut_windows(parts, classes, int(learned["window"]), int(learned["stride"]))
    held = cut_windows(validation, classes, int(learned["window"]), int(learned["window"])) if validation else None
    choosing, judging = (None, None) if held is None else held.halves()
    reason = _unjudged(classes, judging) or ""
    baselines = fit_baselines(train, None if reason else choosing, seed)
    figures: dict[str, float | None] = {}
    best, beats = TREE, False
    if judging is not None and not reason:
        inputs = judging.inputs(model.features, float(learned["clip"]))
        probabilities = predict(weights, inputs.rows, int(model.arch["threads"]))
        rivals = {name: one.predict(judging.columns) for name, one in baselines.items()}
        ours = probabilities.argmax(axis=1).astype(np.int64)
        figures, best, beats, reason = duel(judging.labels, ours, rivals, settings.judge.least_gain)
        figures |= _unknown(model, inputs, settings.manager)
    return Verdict(
        calibration={
            "baselines": [one.values() for one in baselines.values()],
            "judged_against": best,
            "known": learned["known"],
        },
        policy=policies,
        validation={**model.figures, **figures},
        beats_baseline=beats,
        reason=reason,
    )


def judge_workload(params: "Params", fitted_root: Path = paths.FITTED, trained_root: Path = paths.TRAINED) -> None:
    """Stage judge_workload: write `workload/workload.<arch>/` below `trained_root`.

    `policy.classes` of train.json names the categories in the order of the outputs, `calibration.baselines` holds
    what it was judged against, `calibration.judged_against` names the best of them.

    Raises:
        TrainingError: there is no readable fitted model.
        TraceError: a trace is missing or damaged.
    """
    settings = Settings.of(params)
    name = model_id(settings.arch)
    folder = paths.fitted(name, fitted_root)
    fitted, weights = read_fitted(folder, "workload"), read_weights(folder)
    parts, inputs = read_prepared(settings.categories, settings.roles, "train")
    validation, more = read_prepared(settings.categories, settings.roles, "validation")
    verdict = judge(fitted, weights, parts, validation, settings)
    model = TrainedModel.of(fitted, verdict, {**inputs, **more})
    write_judged_lstm(paths.trained(name, trained_root), folder, model, weights)
