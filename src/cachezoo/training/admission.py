"""Trains the admission model of a category on its train traces, with the threshold from validation.

Source: Baleen post, "Training Baleen to imitate OPT". The held-out blocks stop training early; the threshold
meets the write budget in simulation on the validation traces, without prefetch and in the plain prefetch mode that is
best there; in that mode the model is held against RejectX in its best one, at the very same writes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.config.baleen import AdmissionModel, AdmissionTrain, EpisodeLabel, FlashPolicy, HistoryFeatures
from cachezoo.errors import TrainingError, no_trace
from cachezoo.features.history import feature_list
from cachezoo.io import atomic_dir
from cachezoo.labels.episodes import label_problem
from cachezoo.labels.flash_problem import FlashProblem, flash_problem
from cachezoo.models.admission import MODEL_FILE, serving
from cachezoo.models.forest import Forest, fit_forest, forest_scorer, loss_rows, write_curves
from cachezoo.models.trained import Feature, TrainedModel
from cachezoo.seeds import derive_seed
from cachezoo.training.admission_verdict import JudgedPart, PlainSetting, judge, plain_settings, threshold_curve
from cachezoo.training.episode_rows import Part, encodings, held_out, read_parts, serve_trace, trace_parts

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Settings:
    """The parameters that training reads."""

    label: EpisodeLabel
    history: HistoryFeatures
    model: AdmissionModel
    train: AdmissionTrain
    flash: FlashPolicy
    seed: int

    @classmethod
    def of(cls, params: "Params", category: str) -> "Settings":
        """Pick a category's from params.yaml."""
        return cls(
            params.label.episodes.of(category),
            params.features.history,
            params.model.admission,
            params.train.admission,
            params.policy.flash,
            params.seed,
        )


def model_id(category: str, arch: str = "lgbm") -> str:
    """Id of a category's admission model."""
    return f"admission.{category}.{arch}"


def _skeleton(category: str, parts: list[Part], validation: list[Part], settings: Settings) -> TrainedModel:
    """Everything about the model that is known before it is trained."""
    age = int(np.median([part.labels.figures["eviction_age"] for part in parts]))
    bucket = max(1, round(age * settings.history.bucket_of_age))
    seed = derive_seed(settings.seed, "train_admission", category)
    windows = list(settings.history.windows)
    return TrainedModel(
        model_id=model_id(category, settings.model.arch),
        kind="admission",
        category=category,
        arch={**settings.model.model_dump(), "threads": settings.train.threads},
        features=[Feature(**row) for row in feature_list(windows)],
        encodings=encodings(parts),
        geometry={"block_bytes": settings.label.block_bytes, "segment_bytes": settings.label.segment_bytes},
        calibration={"eviction_age": age, "threshold": 0.0},
        policy={
            "type": "flash_admission",
            "history": {"bucket_requests": bucket, "windows": windows},
            "score": "log-odds that the episode is worth its flash writes",
            "decide": "a read's missing segments are admitted iff score >= calibration.threshold",
            "prefetch": "a cache that prefetches by calibration.with_prefetch.mode (all_on_miss: a miss's whole block; "
            "all_on_partial: the same where some of the request was resident) takes the threshold that stands there",
            "writes": "not cached; they invalidate what they overwrite; pass them to the features",
            "eviction": settings.flash.eviction,
            "cache_fraction": settings.label.cache_fraction,
        },
        traces=trace_parts(parts, validation),
        inputs={},
        seeds={"train_admission": seed},
        trained=False,
        validation={},
        beats_baseline=False,
        reason="not trained yet",
    )


def training_rows(parts: list[Part], model: TrainedModel, settings: Settings) -> tuple[F32, Bool, Bool]:
    """Rows, OPT labels and hold-out flags: the first k reads of each settled episode.

    Raises:
        TrainingError: no episode is settled.
    """
    chosen: list[tuple[F32, Bool, Bool]] = []
    for part in parts:
        rows = serve_trace(serving(model, lambda features: np.zeros(len(features))), part.trace)
        labels = part.labels
        keep = (labels.episode >= 0) & (labels.access_index < settings.train.first_accesses) & labels.settled
        held = held_out(part.trace, settings.label, settings.train.holdout_every)
        chosen.append((rows[keep], labels.opt[keep], held[keep]))
    rows, opt, held = (np.concatenate(column) for column in zip(*chosen, strict=True))
    if not len(rows):
        message = (
            f"{model.model_id}: no episode of the train traces began early enough to have a settled label; "
            "give longer train traces"
        )
        raise TrainingError(message)
    return rows, opt, held


def _judged_parts(
    parts: list[Part], problems: list[FlashProblem], scores: list[F64], label: EpisodeLabel
) -> list[JudgedPart]:
    """With the run of the OPT that the labels come from."""
    return [
        JudgedPart(part.trace, problem, score, label_problem(problem, label, label.opt_prefetch).choice.run)
        for part, problem, score in zip(parts, problems, scores, strict=True)
    ]


def fit(
    category: str, parts: list[Part], validation: list[Part], settings: Settings
) -> tuple[TrainedModel, Forest]:
    """Train on some parts and calibrate on others.

    Args:
        category: workload category.
        parts: train traces with labels.
        validation: validation traces with labels; where empty, the train traces calibrate the threshold, and
            the model is not said to beat its baseline, for nothing judged it.
        settings: parameters.

    Raises:
        TrainingError: there is no train trace, or nothing in it to learn from.
    """
    if not parts:
        raise TrainingError(no_trace(category, "train"))
    model = _skeleton(category, parts, validation, settings)
    seed = model.seeds["train_admission"]
    rows, opt, held = training_rows(parts, model, settings)
    names = [feature.name for feature in model.features]
    forest = fit_forest(rows, opt, held, settings.model, settings.train, seed, names)
    judged = validation or parts
    problems = [flash_problem(part.trace, settings.label, settings.flash) for part in judged]
    scorer = forest_scorer(forest.text, settings.train.threads)
    scores = [scorer(serve_trace(serving(model, scorer), part.trace)) for part in judged]
    plain = plain_settings(problems, scores)
    facing = _judged_parts(judged, problems, scores, settings.label)
    figures, beats, reason = judge(facing, plain[0], settings.flash, seed)
    curve = threshold_curve(problems, scores, settings.train.curve_points)
    calibration = _calibration(model, problems, plain, curve)
    figures["rows"], figures["positives"] = float(len(rows)), float(opt.mean())
    if not validation:
        beats, reason = (
            False,
            "not judged: the category has no validation trace, so the train traces set the threshold",
        )
    if not forest.splits:
        beats, reason = (
            False,
            "training never moved the model: no split improves the loss on the labels it was given",
        )
    changes = {
        "arch": {**model.arch, "trees": forest.trees, "splits": forest.splits},
        "calibration": {**calibration, "calibrated_on": "validation" if validation else "train"},
        "trained": forest.splits > 0,
        "validation": figures,
        "beats_baseline": beats,
        "reason": reason,
    }
    return model.model_copy(update=changes), forest


def _calibration(
    model: TrainedModel, problems: list[FlashProblem], plain: list[PlainSetting], curve: list[dict[str, float]]
) -> dict[str, Any]:
    """`threshold` is the admission's without prefetch; `with_prefetch` holds the plain mode that validation chose."""
    accept_all = sum(problem.accept_all.segment_writes for problem in problems)

    def values(one: PlainSetting) -> dict[str, Any]:
        return {"threshold": one.threshold, "writes": one.found.writes / accept_all, "unreached": not one.found.reached}

    alone = next(one for one in plain if one.mode == "none")
    return {
        **model.calibration,
        **values(alone),
        "with_prefetch": {"mode": plain[0].mode, **values(plain[0])},
        "budget": sum(problem.budget for problem in problems) / accept_all,
        "curve": curve,
        "capacity_segments": [problem.capacity for problem in problems],
    }


def train_admission(params: "Params", category: str, root: Path | None = None) -> TrainedModel:
    """Train a category's admission model and write `models/trained/admission.<category>.lgbm/`.

    Args:
        params: params.yaml.
        category: workload category.
        root: where to write instead; None takes the model's own folder.

    Returns:
        What went into `train.json`.

    Raises:
        TrainingError: nothing to train on.
    """
    parts, inputs = read_parts(params, category, "train")
    validation, more = read_parts(params, category, "validation")
    model, forest = fit(category, parts, validation, Settings.of(params, category))
    model = model.model_copy(update={"inputs": {**inputs, **more}})
    write_trained(model, forest, root or paths.trained(model.model_id))
    return model


def write_trained(model: TrainedModel, forest: Forest, folder: Path) -> None:
    """Write `model.lgb.txt`, `train.json` and `curves.csv` (round, train_loss, holdout_loss)."""
    with atomic_dir(folder) as temporary:
        (temporary / MODEL_FILE).write_text(forest.text, encoding="utf-8")
        model.write(temporary)
        write_curves(temporary, ["round", "train_loss", "holdout_loss"], loss_rows(forest))
