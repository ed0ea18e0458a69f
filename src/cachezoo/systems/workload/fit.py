"""Fits the workload classifier over all categories.

Source: RC-RNN, Sec. 5.2.1: one LSTM layer over windows of consecutive requests, RMSProp, batch 32. The paper's fourth
input, the address, is given twice: as the jump from the request before and as the place in the trained range.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.errors import TrainingError, no_trace
from cachezoo.features.sequence import fit_features
from cachezoo.models.trained import Feature, FittedModel
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import SequenceFeatures
from cachezoo.systems.workload.settings import Fit, Model
from cachezoo.systems.workload.windows import Prepared, Windows, cut_windows, read_prepared
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.training.fitted import Curves, network_weights, write_lstm
from cachezoo.training.uses import trace_uses

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

F32 = npt.NDArray[np.float32]
CONTEXT = "train_workload"


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    features: Annotated[SequenceFeatures, At("features.sequence")]
    model: Annotated[Model, At("model.workload")]
    fit: Annotated[Fit, At("fit.workload")]
    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]
    seed: Annotated[int, At("seed")]


def model_id(arch: str) -> str:
    """Id of the workload classifier."""
    return f"workload.{arch}"


def _network(inputs: int, classes: int, settings: Settings, seed: int) -> Any:  # noqa: ANN401 - needs torch
    from cachezoo.systems.workload.network import WorkloadLstm
    from cachezoo.training.lightning_fit import seeded

    seeded(seed)
    return WorkloadLstm(inputs, settings.model.layers, settings.model.units, classes)


def fit_network(
    title: str, classes: int, train: Windows, validation: Windows | None, settings: Settings, seed: int
) -> tuple[dict[str, F32], Curves]:
    """Train the network; returns the best epoch's weights, empty where no loss was finite, and the curves."""
    import torch

    from cachezoo.systems.workload.task import WorkloadTask, loader
    from cachezoo.training.lightning_fit import fit

    options, counts = settings.fit, train.counts(classes)
    weights = torch.from_numpy((len(train) / (len(counts) * counts)).astype(np.float32))
    batches = loader(train, options.batch, seed)
    network = _network(train.rows.shape[1], classes, settings, seed)
    task = WorkloadTask(network, options.learning_rate, options.max_epochs * len(batches), weights)
    judged = loader(validation, options.batch, None) if validation is not None else None
    fit(task, batches, judged, options, title)
    return task.best, task.curves


def _check_windows(classes: list[str], train: Windows, name: str) -> None:
    empty = [one for one, count in zip(classes, train.counts(len(classes)), strict=True) if not count]
    if empty:
        message = (
            f"{name}: the train traces of {empty[0]} hold no whole window of {train.length} requests; give longer ones"
        )
        raise TrainingError(message)


def _enough(classes: list[str], held: Windows | None, least: int) -> Windows | None:
    """The validation windows, if each category has as many as their loss takes to choose the epoch."""
    return held if held is not None and held.counts(len(classes)).min() >= least else None


def _trained(
    classes: list[str], features: list[Feature], parts: list[Prepared], validation: list[Prepared], settings: Settings,
    name: str, seed: int,
) -> tuple[dict[str, F32], Curves, dict[str, float | None], str]:  # fmt: skip
    """Weights, curves and figures; or no weights, and why."""
    if len(classes) < 2:
        return {}, [], {}, f"{classes[0]} is the only category, so there is nothing to tell apart"
    clip, window = settings.features.clip, settings.model.window
    train = cut_windows(parts, features, classes, clip, window, settings.fit.stride)
    _check_windows(classes, train, name)
    held = cut_windows(validation, features, classes, clip, window, window) if validation else None
    judged = _enough(classes, held, settings.fit.least_windows)
    weights, curves = fit_network(name, len(classes), train, judged, settings, seed)
    figures: dict[str, float | None] = {"train_windows": float(len(train))}
    if not weights:
        return {}, curves, {}, "training never moved the model: no epoch's loss was finite"
    if judged is not None:
        figures["loss"] = min(loss for _, loss in curves if loss is not None)
    return weights, curves, figures, ""


def fit_prepared(
    classes: list[str],
    parts: list[Prepared],
    validation: list[Prepared],
    settings: Settings,
    inputs: dict[str, str],
) -> tuple[FittedModel, dict[str, F32], Curves]:
    """Fit on some traces, choose the epoch on others.

    Args:
        classes: categories in the order of the outputs.
        parts: train traces, at least one of each category.
        validation: validation traces; where a category has too few windows in them the train loss chooses the epoch.
        settings: parameters.
        inputs: sha256 of what was read, by path.

    Returns:
        The model, untrained where there is one category only or no loss was finite; its weights, those it began with
        where it is untrained; and the curves.

    Raises:
        TrainingError: a category without a train trace, or without a whole window.
    """
    missing = [name for name in classes if name not in {part.category for part in parts}]
    if missing or not classes:
        raise TrainingError(no_trace(missing[0] if missing else "NAME", "train"))
    name, seed = model_id(settings.model.arch), derive_seed(settings.seed, CONTEXT)
    features = [Feature(**row) for row in fit_features([part.columns for part in parts], "workload")]
    weights, curves, figures, reason = _trained(classes, features, parts, validation, settings, name, seed)
    fitted = FittedModel(
        model_id=name,
        kind="workload",
        category=None,
        arch={
            "layers": settings.model.layers,
            "units": settings.model.units,
            "precision": settings.fit.precision,
            "threads": settings.fit.threads,
        },
        features=features,
        geometry={"page_bytes": PAGE_BYTES},
        traces=trace_uses(parts, validation),
        inputs=inputs,
        seeds={CONTEXT: seed},
        trained=bool(weights),
        learned={
            "classes": classes,
            "window": settings.model.window,
            "clip": settings.features.clip,
            "stride": settings.fit.stride,
        },
        figures=figures,
        reason=reason,
    )
    return fitted, weights or network_weights(_network(len(features), len(classes), settings, seed)), curves


def fit_workload(params: "Params") -> None:
    """Stage fit_workload: write `models/fitted/workload.<arch>/`.

    Raises:
        TrainingError: nothing to train on.
    """
    settings = Settings.of(params)
    parts, inputs = read_prepared(settings.categories, settings.roles, "train")
    validation, more = read_prepared(settings.categories, settings.roles, "validation")
    fitted, weights, curves = fit_prepared(list(settings.categories), parts, validation, settings, {**inputs, **more})
    write_lstm(paths.fitted(fitted.model_id), fitted, weights, curves)
