"""Judges the workload classifier against a decision tree on validation windows.

The baseline sees the same train windows; the classifier beats it only where the 90 % interval of the paired difference
of balanced accuracy on validation lies above 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.measures.bootstrap import interval
from cachezoo.measures.windows import accuracy, balanced_accuracy, balanced_resamples
from cachezoo.models.trained import FittedModel, TrainedModel, Verdict, read_fitted
from cachezoo.models.weights import read_weights
from cachezoo.params import At, Picked
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import ManagerPolicy
from cachezoo.systems.workload.fit import CONTEXT, model_id
from cachezoo.systems.workload.infer import torch_windows
from cachezoo.systems.workload.serve import BATCH
from cachezoo.systems.workload.settings import Judge
from cachezoo.systems.workload.tree import BASELINE, fit_tree
from cachezoo.systems.workload.windows import Prepared, Windows, cut_windows, read_prepared
from cachezoo.training.fitted import write_judged_lstm

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    manager: Annotated[ManagerPolicy, At("policy.manager")]
    judge: Annotated[Judge, At("judge.workload")]
    arch: Annotated[str, At("model.workload.arch")]
    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]


def predict(weights: Mapping[str, F32], windows: Windows, threads: int) -> I64:
    """The likeliest class int64[w] of each window."""
    infer = torch_windows(weights, threads)
    lows = range(0, len(windows), BATCH)
    found = [infer(windows.take(np.arange(low, min(low + BATCH, len(windows))))).argmax(axis=1) for low in lows]
    return np.concatenate(found).astype(np.int64)


def duel_with_tree(
    labels: I64, ours: I64, theirs: I64, draws: Judge, seed: int
) -> tuple[dict[str, float | None], bool, str]:
    """Hold the classifier against the tree on the same windows.

    Returns:
        Figures, whether it beats the tree, and the reason in one line.
    """
    resampling = (draws.blocks, draws.bootstrap_samples, seed)
    difference = balanced_resamples(labels, ours, *resampling) - balanced_resamples(labels, theirs, *resampling)
    low, high = interval(difference)
    mine, rival = balanced_accuracy(labels, ours), balanced_accuracy(labels, theirs)
    figures = {
        "accuracy": accuracy(labels, ours),
        "balanced_accuracy": mine,
        "tree_accuracy": accuracy(labels, theirs),
        "tree_balanced_accuracy": rival,
        "difference_low": low,
        "difference_high": high,
        "windows": float(len(labels)),
    }
    verdict = "beats" if low > 0 else "does not beat"
    reason = (
        f"{verdict} the decision tree on validation: balanced window accuracy {mine:.4f} against {rival:.4f}, "
        f"90 % interval of the difference [{low:.4f}, {high:.4f}]"
    )
    return figures, low > 0, reason


def _unjudged(classes: list[str], validation: Windows | None, blocks: int) -> str | None:
    """Why nothing can be claimed, or None."""
    counts = validation.counts(len(classes)) if validation is not None else np.zeros(len(classes), np.int64)
    short = [f"{name} {count}" for name, count in zip(classes, counts, strict=True) if count < blocks]
    if not short:
        return None
    return f"not judged: validation windows of {', '.join(short)}, and {blocks} blocks are drawn"


def _policy(model: FittedModel, manager: ManagerPolicy) -> dict[str, Any]:
    return {
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


def judge(
    model: FittedModel,
    weights: Mapping[str, F32],
    parts: list[Prepared],
    validation: list[Prepared],
    settings: Settings,
) -> Verdict:
    """Judge a fitted classifier.

    Args:
        model: the fitted model.
        weights: its weights.
        parts: train traces, from which the tree is grown.
        validation: validation traces; where a category has fewer windows in them than the bootstrap has blocks, nothing
            is claimed.
        settings: parameters.
    """
    policies = _policy(model, settings.manager)
    if not model.trained:
        return Verdict(calibration={}, policy=policies, validation={}, beats_baseline=False, reason=model.reason)
    learned, classes, seed = model.learned, list(model.learned["classes"]), model.seeds[CONTEXT]
    cut = (model.features, classes, float(learned["clip"]), int(learned["window"]))
    train = cut_windows(parts, *cut, int(learned["stride"]))
    held = cut_windows(validation, *cut, int(learned["window"])) if validation else None
    tree = fit_tree(train.statistics, train.labels, seed)
    figures: dict[str, float | None] = {}
    beats, reason = False, _unjudged(classes, held, settings.judge.blocks) or ""
    if held is not None and not reason:
        ours, theirs = predict(weights, held, int(model.arch["threads"])), tree.predict(held.statistics)
        figures, beats, reason = duel_with_tree(held.labels, ours, theirs.astype(np.int64), settings.judge, seed)
    return Verdict(
        calibration={"baseline": tree.values(), "judged_against": BASELINE},
        policy=policies,
        validation={**model.figures, **figures},
        beats_baseline=beats,
        reason=reason,
    )


def judge_workload(params: "Params") -> None:
    """Stage judge_workload: write `models/trained/workload.<arch>/`.

    `policy.classes` of train.json names the categories in the order of the outputs, `calibration.baseline` holds the
    tree that it was judged against.

    Raises:
        TrainingError: there is no readable fitted model.
        TraceError: a trace or its features are missing or damaged.
    """
    settings = Settings.of(params)
    name = model_id(settings.arch)
    folder = paths.fitted(name)
    fitted, weights = read_fitted(folder, "workload"), read_weights(folder)
    parts, inputs = read_prepared(settings.categories, settings.roles, "train")
    validation, more = read_prepared(settings.categories, settings.roles, "validation")
    verdict = judge(fitted, weights, parts, validation, settings)
    model = TrainedModel.of(fitted, verdict, {**inputs, **more})
    write_judged_lstm(paths.trained(name), folder, model, weights)
