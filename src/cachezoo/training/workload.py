"""Trains the workload classifier over all categories and judges it against a decision tree on validation windows.

Source: RC-RNN, Sec. 5.2.1: one LSTM layer over windows of consecutive requests, RMSProp, batch 32. The paper's fourth
input, the address, is given twice: as the jump from the request before and as the place in the trained range. The
baseline sees the same train windows; the classifier beats it only where the 90 % interval of the paired difference of
balanced accuracy on validation lies above 0.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.config.rcrnn import ManagerPolicy, SequenceFeatures, WorkloadModel, WorkloadTrain
from cachezoo.errors import TrainingError, no_trace
from cachezoo.evaluation.bootstrap import interval
from cachezoo.evaluation.windows import accuracy, balanced_accuracy, balanced_resamples
from cachezoo.features.sequence import COMMON_NAMES, WINDOW_WIDTH, Columns, fit_features
from cachezoo.io import read_rows, sha256_file
from cachezoo.kernels.sequence import N_SIZED
from cachezoo.models.trained import Feature, TracePart, TrainedModel
from cachezoo.models.window_tree import BASELINE, WindowTree, fit_tree
from cachezoo.models.workload_step import torch_windows
from cachezoo.policies.workload import BATCH
from cachezoo.seeds import derive_seed
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.training.fitted import Curves, Fitted, write_fitted
from cachezoo.training.volumes import check_one_volume
from cachezoo.training.windows import Part, Windows, cut_windows

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
CONTEXT = "train_workload"


@dataclass(frozen=True)
class Settings:
    """The parameters that training reads; blocks and samples are the bootstrap's."""

    features: SequenceFeatures
    model: WorkloadModel
    train: WorkloadTrain
    manager: ManagerPolicy
    blocks: int
    samples: int
    seed: int

    @classmethod
    def of(cls, params: "Params") -> "Settings":
        """Pick them from params.yaml."""
        return cls(
            params.features.sequence, params.model.workload, params.train.workload, params.policy.manager,
            params.evaluate.bootstrap_blocks, params.evaluate.bootstrap_samples, params.seed,
        )  # fmt: skip


def model_id(arch: str) -> str:
    """Id of the workload classifier."""
    return f"workload.{arch}"


def _policy(classes: list[str], settings: Settings) -> dict[str, Any]:
    return {
        "type": "workload_monitor",
        "classes": classes,
        "window": settings.model.window,
        "clip": settings.features.clip,
        "vote_windows": settings.manager.vote_windows,
        "switch_votes": settings.manager.switch_votes,
        "decide": "the likeliest class of each window; the most frequent of vote_windows windows is their vote",
        "ties": "the category in force if it is among them, else the first of classes",
        "switch": "the first vote sets the category, then switch_votes equal votes in a row change it",
    }


def _skeleton(classes: list[str], parts: list[Part], validation: list[Part], settings: Settings) -> TrainedModel:
    """Everything about the model that is known before it is trained."""
    roles: list[tuple[Part, Literal["train", "validation"]]] = [(part, "train") for part in parts]
    roles += [(part, "validation") for part in validation]
    return TrainedModel(
        model_id=model_id(settings.model.arch),
        kind="workload",
        category=None,
        arch={
            "layers": settings.model.layers,
            "units": settings.model.units,
            "precision": settings.train.precision,
            "threads": settings.train.threads,
        },
        features=[Feature(**row) for row in fit_features([part.columns for part in parts], "workload")],
        geometry={"page_bytes": PAGE_BYTES},
        policy=_policy(classes, settings),
        traces=[
            TracePart(trace=part.key, role=role, sha256=part.sha256, licence=part.licence) for part, role in roles
        ],
        inputs={},
        seeds={CONTEXT: derive_seed(settings.seed, CONTEXT)},
        trained=False,
        validation={},
        beats_baseline=False,
        reason="not trained yet",
    )


def _network(model: TrainedModel, settings: Settings) -> Any:  # noqa: ANN401 - WorkloadLstm, which needs torch
    from cachezoo.models.workload_lstm import WorkloadLstm
    from cachezoo.training.lightning_fit import seeded

    seeded(model.seeds[CONTEXT])
    return WorkloadLstm(
        len(model.features), settings.model.layers, settings.model.units, len(model.policy["classes"])
    )


def fit_network(
    model: TrainedModel, train: Windows, validation: Windows | None, settings: Settings
) -> tuple[dict[str, F32], Curves]:
    """Train the network; returns the best epoch's weights, empty where no loss was finite, and the curves."""
    import torch

    from cachezoo.training.lightning_fit import fit
    from cachezoo.training.workload_task import WorkloadTask, loader

    options, counts = settings.train, train.counts(len(model.policy["classes"]))
    weights = torch.from_numpy((len(train) / (len(counts) * counts)).astype(np.float32))
    batches = loader(train, options.batch, model.seeds[CONTEXT])
    network = _network(model, settings)
    task = WorkloadTask(network, options.learning_rate, options.max_epochs * len(batches), weights)
    judged = loader(validation, options.batch, None) if validation is not None else None
    fit(
        task, batches, judged, options.max_epochs, options.clip_norm, options.precision, options.threads,
        model.model_id,
    )  # fmt: skip
    return task.best, task.curves


def predict(weights: dict[str, F32], windows: Windows, threads: int) -> I64:
    """The likeliest class int64[w] of each window."""
    infer = torch_windows(weights, threads)
    lows = range(0, len(windows), BATCH)
    found = [infer(windows.take(np.arange(low, min(low + BATCH, len(windows))))).argmax(axis=1) for low in lows]
    return np.concatenate(found).astype(np.int64)


def judge(
    labels: I64, ours: I64, theirs: I64, settings: Settings, seed: int
) -> tuple[dict[str, float | None], bool, str]:
    """Hold the classifier against the tree on the same windows.

    Returns:
        Figures, whether it beats the tree, and the reason in one line.
    """
    draws = (settings.blocks, settings.samples, seed)
    low, high = interval(balanced_resamples(labels, ours, *draws) - balanced_resamples(labels, theirs, *draws))
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


def _check_windows(classes: list[str], train: Windows, model: TrainedModel) -> None:
    empty = [name for name, count in zip(classes, train.counts(len(classes)), strict=True) if not count]
    if empty:
        message = (
            f"{model.model_id}: the train traces of {empty[0]} hold no whole window of {train.length} requests; "
            "give longer ones"
        )
        raise TrainingError(message)


def _untrained(model: TrainedModel, settings: Settings, curves: Curves, reason: str) -> Fitted:
    state = _network(model, settings).state_dict()
    weights = {name: tensor.numpy() for name, tensor in state.items()}
    return Fitted(model.model_copy(update={"reason": reason}), weights, curves)


def fit_workload(classes: list[str], parts: list[Part], validation: list[Part], settings: Settings) -> Fitted:
    """Train on some traces, choose the epoch and judge on others.

    Args:
        classes: categories in the order of the outputs.
        parts: train traces, at least one of each category.
        validation: validation traces; where a category has too few windows in them for the bootstrap, the train loss
            chooses the epoch and the model is not said to beat its baseline, for nothing judged it.
        settings: parameters.

    Returns:
        The model; untrained where there is one category only, or where no loss was finite.

    Raises:
        TrainingError: a category without a train trace, or without a whole window.
    """
    missing = [name for name in classes if name not in {part.category for part in parts}]
    if missing or not classes:
        raise TrainingError(no_trace(missing[0] if missing else "NAME", "train"))
    model = _skeleton(classes, parts, validation, settings)
    if len(classes) < 2:
        return _untrained(model, settings, [], f"{classes[0]} is the only category, so there is nothing to tell apart")
    train = cut_windows(parts, model, settings.train.stride)
    _check_windows(classes, train, model)
    held = cut_windows(validation, model, settings.model.window) if validation else None
    unjudged = _unjudged(classes, held, settings.blocks)
    weights, curves = fit_network(model, train, None if unjudged else held, settings)
    if not weights:
        return _untrained(model, settings, curves, "training never moved the model: no epoch's loss was finite")
    tree = fit_tree(train.statistics, train.labels, model.seeds[CONTEXT])
    return Fitted(_judged(model, weights, tree, (train, held), curves, settings, unjudged), weights, curves)


def _judged(
    model: TrainedModel,
    weights: dict[str, F32],
    tree: WindowTree,
    windows: tuple[Windows, Windows | None],
    curves: Curves,
    settings: Settings,
    unjudged: str | None,
) -> TrainedModel:
    train, held = windows
    figures: dict[str, float | None] = {"train_windows": float(len(train))}
    beats, reason = False, unjudged or ""
    if held is not None and unjudged is None:
        ours, theirs = predict(weights, held, settings.train.threads), tree.predict(held.statistics).astype(np.int64)
        more, beats, reason = judge(held.labels, ours, theirs, settings, model.seeds[CONTEXT])
        figures |= {**more, "loss": min(loss for _, loss in curves if loss is not None)}
    changes = {
        "calibration": {"baseline": tree.values(), "judged_against": BASELINE},
        "trained": True,
        "validation": figures,
        "beats_baseline": beats,
        "reason": reason,
    }
    return model.model_copy(update=changes)


def _read_columns(path: Path, rows: int) -> Columns:
    table, _ = read_rows(path, "features", rows, list(COMMON_NAMES[:WINDOW_WIDTH]))
    common = np.stack([table.column(name).to_numpy() for name in COMMON_NAMES[:WINDOW_WIDTH]], axis=1)
    return Columns(common, np.zeros((0, rows, N_SIZED), np.float32), np.zeros(0, np.float64))


def _read_parts(params: "Params", role: str) -> tuple[list[Part], dict[str, str]]:
    parts, inputs = [], {}
    for category in params.page_categories:
        for key in params.traces_of(category, role):
            requests, features = paths.requests(category, key), paths.features(category, key)
            trace = read_trace(requests)
            check_one_volume(trace, key)
            columns = _read_columns(features, len(trace))
            parts.append(Part(key, category, columns, trace.meta.source_sha256, trace.meta.licence))
            inputs.update({str(path): sha256_file(path) for path in (requests, features)})
    return parts, inputs


def train_workload(params: "Params", root: Path | None = None) -> TrainedModel:
    """Train the workload classifier and write `models/trained/workload.<arch>/`.

    `policy.classes` of train.json names the categories in the order of the outputs, `calibration.baseline` holds the
    tree that it was judged against.

    Args:
        params: params.yaml.
        root: where to write instead; None takes the model's own folder.

    Raises:
        TrainingError: nothing to train on.
    """
    parts, inputs = _read_parts(params, "train")
    validation, more = _read_parts(params, "validation")
    fitted = fit_workload(list(params.page_categories), parts, validation, Settings.of(params))
    model = fitted.model.model_copy(update={"inputs": {**inputs, **more}})
    write_fitted(Fitted(model, fitted.weights, fitted.curves), root or paths.trained(model.model_id))
    return model
