"""Fits the workload classifier over all categories.

Source: RC-RNN, Sec. 5.2.1: one LSTM layer over windows of consecutive requests, RMSProp, batch 32. The paper's address
and arrival time enter as differences within the window (`cachezoo.features.window`), which the disk's layout and the
clock's unit do not reach; or as in the paper (`conf/model/workload/paper.yaml`).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32
from cachezoo.errors import TrainingError, no_trace
from cachezoo.features.window import fit_inputs
from cachezoo.models.trained import Feature, FittedModel, trace_uses
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.base import fitted_by
from cachezoo.settings.data import Roles
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.training.fitted import Curves, network_weights, write_lstm
from cachezoo.zoo.workload.settings import Fit, Model
from cachezoo.zoo.workload.unknown import Limits, learn, left_out
from cachezoo.zoo.workload.windows import Inputs, Prepared, Windows, cut_windows, read_prepared

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

CONTEXT = "train_workload"
LEAST_CLASSES = 2  # between which there is something to tell


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    clip: Annotated[float, At("features.sequence.clip")]
    model: Annotated[Model, At("model.workload")]
    fit: Annotated[Fit, At("fit.workload")]
    vote_windows: Annotated[int, At("policy.manager.vote_windows")]
    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]
    seed: Annotated[int, At("seed")]


def model_id(arch: str) -> str:
    """Id of the workload classifier."""
    return f"workload.{arch}"


def _network(inputs: int, classes: int, settings: Settings, seed: int) -> Any:  # noqa: ANN401 - needs torch
    from cachezoo.models.lstm import WorkloadLstm
    from cachezoo.training.lightning_fit import seeded

    seeded(seed)
    return WorkloadLstm(inputs, settings.model.layers, settings.model.units, classes)


def fit_network(
    title: str, classes: int, train: Inputs, validation: Inputs | None, settings: Settings, seed: int
) -> tuple[dict[str, F32], Curves]:
    """Train the network; returns the best epoch's weights, empty where no loss was finite, and the curves."""
    import torch

    from cachezoo.training.lightning_fit import fit
    from cachezoo.zoo.workload.task import WorkloadTask, loader

    options, counts = settings.fit, np.bincount(train.labels, minlength=classes)
    weights = torch.from_numpy((len(train) / (len(counts) * counts)).astype(np.float32))
    batches = loader(train, options.batch, seed)
    network = _network(train.rows.shape[2], classes, settings, seed)
    task = WorkloadTask(network, options.learning_rate, options.max_epochs * len(batches), weights)
    judged = loader(validation, options.batch, None) if validation is not None else None
    fit(task, batches, judged, options, title)
    return task.best, task.curves


def _check_windows(classes: list[str], train: Windows, name: str, length: int) -> None:
    empty = [one for one, count in zip(classes, train.counts(len(classes)), strict=True) if not count]
    if empty:
        message = f"{name}: the train traces of {empty[0]} hold no whole window of {length} requests; give longer ones"
        raise TrainingError(message)


@dataclass(frozen=True)
class _Cut:
    """What a fit learns from.

    Attributes:
        classes: categories in the order of the outputs.
        train: train windows.
        choosing, judging: validation windows that choose, and those kept for verdicts; None where a category has too
            few of either.
    """

    classes: list[str]
    train: Windows
    choosing: Windows | None
    judging: Windows | None


def _cut(classes: list[str], parts: list[Prepared], validation: list[Prepared], settings: Settings) -> _Cut:
    length, least = settings.model.window, settings.fit.least_windows
    train = cut_windows(parts, classes, length, settings.fit.stride)
    if not validation:
        return _Cut(classes, train, None, None)
    halves = cut_windows(validation, classes, length, length).halves()
    enough = min(half.counts(len(classes)).min() for half in halves) >= least
    return _Cut(classes, train, *halves) if enough else _Cut(classes, train, None, None)


@dataclass(frozen=True)
class _Found:
    """What the fit found."""

    weights: dict[str, F32]  # of the best epoch; empty where none is
    curves: Curves  # of the training
    learned: dict[str, Any]  # what the model knows, and from where on it does not know
    figures: dict[str, float | None]  # of the fit
    reason: str  # why there are no weights; empty where there are


def _know(
    cut: _Cut, inputs: tuple[Inputs, Inputs, Inputs], keys: list[str], settings: Settings
) -> tuple[dict[str, Any], dict[str, float | None]]:
    """What the model knows, and how well that tells strange categories."""
    train, *halves = inputs
    limits = Limits(settings.vote_windows, settings.fit.unknown_share)
    known = learn(train, keys)
    learned = {"known": [one.values() for one in known], "unknown_above": limits.found(known, halves[0])}
    return learned, left_out(cut.classes, train, (halves[0], halves[1]), keys, limits)


def _trained(cut: _Cut, features: list[Feature], keys: list[str], settings: Settings, name: str, seed: int) -> _Found:
    """What was trained and its figures; or no weights, and why."""
    nothing: dict[str, Any] = {"known": [], "unknown_above": {}}
    if len(cut.classes) < LEAST_CLASSES:
        return _Found({}, [], nothing, {}, f"{cut.classes[0]} is the only category, so there is nothing to tell apart")
    train = cut.train.inputs(features, settings.clip)
    halves = [half.inputs(features, settings.clip) for half in (cut.choosing, cut.judging) if half is not None]
    choosing = halves[0] if halves else None
    weights, curves = fit_network(name, len(cut.classes), train, choosing, settings, seed)
    if not weights:
        return _Found({}, curves, nothing, {}, "training never moved the model: no epoch's loss was finite")
    figures: dict[str, float | None] = {"train_windows": float(len(train))}
    if not halves:
        return _Found(weights, curves, nothing, figures, "")
    figures["loss"] = min(loss for _, loss in curves if loss is not None)
    learned, told = _know(cut, (train, halves[0], halves[1]), keys, settings)
    return _Found(weights, curves, learned, {**figures, **told}, "")


def fit_prepared(
    classes: list[str],
    parts: list[Prepared],
    validation: list[Prepared],
    settings: Settings,
    inputs: dict[str, str],
) -> tuple[FittedModel, dict[str, F32], Curves]:
    """Fit on some traces, choose the epoch on the choosing blocks of others.

    Args:
        classes: categories in the order of the outputs.
        parts: train traces, at least one of each category.
        validation: validation traces; where a category has too few windows in them the train loss chooses the epoch,
            and the model says of nothing that it is unknown.
        settings: parameters.
        inputs: sha256 of what was read, by path.

    Returns:
        The model, untrained where there is one category only or no loss was finite; its weights, those it began with
        where it is untrained; and the curves.

    Raises:
        TrainingError: a category without a train trace, or without a whole window.
        ConfigError: an input that there is not.
    """
    missing = [name for name in classes if name not in {part.category for part in parts}]
    if missing or not classes:
        raise TrainingError(no_trace(missing[0] if missing else "NAME", "train"))
    name, seed = model_id(settings.model.arch), derive_seed(settings.seed, CONTEXT)
    cut = _cut(classes, parts, validation, settings)
    _check_windows(classes, cut.train, name, settings.model.window)
    features = [Feature(**row) for row in fit_inputs(cut.train.columns, settings.model.inputs)]
    found = _trained(cut, features, [part.key for part in parts], settings, name, seed)
    fitted = FittedModel(
        model_id=name,
        kind="workload",
        category=None,
        arch={
            "layers": settings.model.layers,
            "units": settings.model.units,
            **fitted_by(settings.fit),
        },
        features=features,
        geometry={"page_bytes": PAGE_BYTES},
        traces=trace_uses(parts, validation),
        inputs=inputs,
        seeds={CONTEXT: seed},
        trained=bool(found.weights),
        learned={
            "classes": classes,
            "window": settings.model.window,
            "clip": settings.clip,
            "stride": settings.fit.stride,
            **found.learned,
        },
        figures=found.figures,
        reason=found.reason,
    )
    weights = found.weights or network_weights(_network(len(features), len(classes), settings, seed))
    return fitted, weights, found.curves


def fit_workload(params: "Params", root: Path = paths.FITTED) -> None:
    """Stage fit_workload: write `workload/workload.<arch>/` below `root`.

    Raises:
        TrainingError: nothing to train on.
    """
    settings = Settings.of(params)
    parts, inputs = read_prepared(settings.categories, settings.roles, "train")
    validation, more = read_prepared(settings.categories, settings.roles, "validation")
    fitted, weights, curves = fit_prepared(list(settings.categories), parts, validation, settings, {**inputs, **more})
    write_lstm(paths.fitted(fitted.model_id, root), fitted, weights, curves)
