"""Trains the prefetch model of a category: ML-Range and ML-When, beside the category's admission model.

ML-Range learns how far each episode that OPT admits reaches before and after its first access; ML-When whether
fetching the predicted range at once saves disk-head time, from ranges that were predicted without the episode's own
fold of blocks (ranges of the training rows themselves would look better than any the model will serve). The mode is
chosen, and held against the plain modes, on the validation traces. Source: Baleen post, "Training Baleen to predict
what and when to prefetch"; out-of-fold ranges, and reaches in place of absolute positions, are ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo import paths
from cachezoo.config.baleen import EpisodeLabel, FlashPolicy, PrefetchModel, PrefetchTrain
from cachezoo.errors import TrainingError, no_trace
from cachezoo.io import atomic_dir, sha256_file
from cachezoo.kernels.flash import DiskHead
from cachezoo.labels.flash_problem import flash_problem
from cachezoo.models.admission import MODEL_FILE as ADMISSION_FILE
from cachezoo.models.admission import load_admission
from cachezoo.models.forest import Forest, forest_scorer, loss_rows, write_curves
from cachezoo.models.prefetch import MODEL_FILES, joined, serving
from cachezoo.models.trained import FILE, TrainedModel
from cachezoo.policies.admission import AdmissionServing
from cachezoo.policies.prefetch import MODES, PLAIN_MODES, Infer, PrefetchServing
from cachezoo.seeds import derive_seed
from cachezoo.training.admission import model_id as admission_id
from cachezoo.training.admission_verdict import threshold_curve
from cachezoo.training.episode_rows import Part, read_parts, serve_trace, trace_parts
from cachezoo.training.prefetch_ranges import Fitted, Fitter, prefetch_rows
from cachezoo.training.prefetch_verdict import JudgedPart, Verdict, judge

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

EVEN_ODDS = 0.0
SHARED = ("features", "encodings", "geometry")


@dataclass(frozen=True)
class Settings:
    """The parameters that training reads."""

    label: EpisodeLabel
    model: PrefetchModel
    train: PrefetchTrain
    flash: FlashPolicy
    seed: int

    @classmethod
    def of(cls, params: "Params", category: str) -> "Settings":
        """Pick a category's from params.yaml."""
        return cls(
            params.label.episodes.of(category),
            params.model.prefetch,
            params.train.prefetch,
            params.policy.flash,
            params.seed,
        )


def model_id(category: str, arch: str = "lgbm") -> str:
    """Id of a category's prefetch model."""
    return f"prefetch.{category}.{arch}"


def _skeleton(
    category: str, admitting: TrainedModel, parts: list[Part], validation: list[Part], settings: Settings
) -> TrainedModel:
    """Everything about the model that is known before it is trained; its inputs are the admission model's."""
    shape = {**settings.model.model_dump(), "threads": settings.train.threads}
    return TrainedModel(
        model_id=model_id(category, settings.model.arch),
        kind="prefetch",
        category=category,
        arch=shape,
        **{name: getattr(admitting, name) for name in SHARED},
        calibration={"eviction_age": admitting.calibration["eviction_age"], "worth": EVEN_ODDS, "threshold": 0.0},
        policy={
            "type": "flash_prefetch",
            "mode": "none",
            "admission": admitting.model_id,
            "history": admitting.policy["history"],
            "range": "first segment - round(before) to last segment + round(after), within the request's first block",
            "when": "ml_range_when: where worth >= calibration.worth; ml_range: always",
            "fetch": "with a read's miss of which anything is admitted, the range's segments that are not resident: "
            "one backend I/O from the first to the last missing segment, all written to flash",
            "admit": "by the admission model with calibration.threshold in place of its own",
            "eviction": settings.flash.eviction,
            "cache_fraction": settings.label.cache_fraction,
        },
        traces=trace_parts(parts, validation),
        inputs={},
        seeds={"train_prefetch": derive_seed(settings.seed, "train_prefetch", category)},
        trained=False,
        validation={},
        beats_baseline=False,
        reason="not trained yet",
    )


def _fresh(model: TrainedModel) -> PrefetchServing:
    """Features alone, from a fresh history."""
    return serving(model, lambda rows: np.zeros((len(rows), len(MODEL_FILES))))


def _judged_parts(
    model: TrainedModel, admits: AdmissionServing, infer: Infer | None, parts: list[Part], settings: Settings
) -> list[JudgedPart]:
    """What every mode prefetches on the parts; the modes that ask the model only where there is one."""
    judged = []
    for part in parts:
        problem = flash_problem(part.trace, settings.label, settings.flash)
        own = _fresh(model) if infer is None else serving(model, infer)
        rows = serve_trace(own, part.trace)
        modes = PLAIN_MODES if infer is None else MODES
        prefetches = {mode: own.prefetch(rows, mode) for mode in modes}
        judged.append(JudgedPart(part.trace, problem, admits.scores(rows), prefetches))
    return judged


def _calibration(parts: list[JudgedPart], verdict: Verdict, points: int) -> dict[str, Any]:
    """The chosen mode's admission threshold, and how it was met; `modes` holds every mode's."""
    problems = [part.problem for part in parts]
    accept_all = sum(problem.accept_all.segment_writes for problem in problems)
    prefetches = [part.prefetches[verdict.mode] for part in parts]
    return {
        "threshold": verdict.threshold,
        "budget": sum(problem.budget for problem in problems) / accept_all,
        "writes": verdict.calibration.writes / accept_all,
        "unreached": not verdict.calibration.reached,
        "curve": threshold_curve(problems, [part.scores for part in parts], points, prefetches),
        "modes": verdict.modes,
        "capacity_segments": [problem.capacity for problem in problems],
    }


def fit(
    category: str,
    admitting: tuple[TrainedModel, AdmissionServing],
    parts: list[Part],
    validation: list[Part],
    settings: Settings,
) -> tuple[TrainedModel, dict[str, Forest]]:
    """Train on some parts, choose the mode and judge it on others.

    Args:
        category: workload category.
        admitting: the category's admission model, as `cachezoo.models.admission.load_admission` gives it. Its inputs
            are this model's too.
        parts: train traces with labels.
        validation: validation traces; where empty, the train traces choose the mode and the threshold, and the model
            is not said to beat anything, for nothing judged it: a plain mode is then the one to run.
        settings: parameters.

    Returns:
        What goes into `train.json`, and the forests by file name; none where nothing was learned.

    Raises:
        TrainingError: there is no train trace.
    """
    if not parts:
        raise TrainingError(no_trace(category, "train"))
    trained, admits = admitting
    model = _skeleton(category, trained, parts, validation, settings)
    fitted = _learn(model, trained, parts, settings)
    infer = None
    if fitted.forests:
        infer = joined([forest_scorer(fitted.forests[name].text, settings.train.threads) for name in MODEL_FILES])
    judged = _judged_parts(model, admits, infer, validation or parts, settings)
    verdict = judge(judged, settings.flash, model.seeds["train_prefetch"], held_out=bool(validation))
    calibration = _calibration(judged, verdict, settings.train.curve_points)
    changes = {
        "arch": {
            **model.arch,
            "trees": sum(forest.trees for forest in fitted.forests.values()),
            "splits": sum(forest.splits for forest in fitted.forests.values()),
        },
        "calibration": {**model.calibration, **calibration, "calibrated_on": "validation" if validation else "train"},
        "policy": {**model.policy, "mode": verdict.mode},
        "trained": bool(fitted.forests),
        "validation": {**fitted.figures, **verdict.figures},
        "beats_baseline": verdict.beats,
        "reason": fitted.reason or verdict.reason,
    }
    return model.model_copy(update=changes), fitted.forests


def _learn(model: TrainedModel, admitting: TrainedModel, parts: list[Part], settings: Settings) -> Fitted:
    """The forests, or why there are none."""
    if not admitting.trained:
        return Fitted({}, f"its admission model never trained: {admitting.reason}")
    cost = DiskHead(settings.flash.seek_ms, settings.flash.rate_mib_s)
    features = [(part, serve_trace(_fresh(model), part.trace)) for part in parts]
    rows = prefetch_rows(features, settings.label, settings.train)
    names = [feature.name for feature in model.features]
    seed = model.seeds["train_prefetch"]
    return Fitter(rows, names, settings.model, settings.train, settings.label, cost, seed).fit()


def train_prefetch(params: "Params", category: str, root: Path | None = None) -> TrainedModel:
    """Train a category's prefetch model and write `models/trained/prefetch.<category>.lgbm/`.

    Args:
        params: params.yaml.
        category: workload category; its admission model has been trained.
        root: where to write instead; None takes the model's own folder.

    Returns:
        What went into `train.json`.

    Raises:
        TrainingError: there is no train trace or no admission model.
    """
    parts, inputs = read_parts(params, category, "train")
    validation, more = read_parts(params, category, "validation")
    folder = paths.trained(admission_id(category, params.model.admission.arch))
    admitting = load_admission(folder)
    files = {str(folder / name): sha256_file(folder / name) for name in (ADMISSION_FILE, FILE)}
    model, forests = fit(category, admitting, parts, validation, Settings.of(params, category))
    model = model.model_copy(update={"inputs": {**inputs, **more, **files}})
    write_trained(model, forests, root or paths.trained(model.model_id))
    return model


def write_trained(model: TrainedModel, forests: Mapping[str, Forest], folder: Path) -> None:
    """Write the forests, `train.json` and `curves.csv` (forest, round, train_loss, holdout_loss)."""
    with atomic_dir(folder) as temporary:
        for name, forest in forests.items():
            (temporary / name).write_text(forest.text, encoding="utf-8")
        model.write(temporary)
        rows = [[name.split(".")[0], *row] for name, forest in forests.items() for row in loss_rows(forest)]
        write_curves(temporary, ["forest", "round", "train_loss", "holdout_loss"], rows)
