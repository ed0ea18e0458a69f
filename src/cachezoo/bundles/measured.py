"""What was measured of a model, as its manifest holds it, and what follows for its promotion."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cachezoo import paths
from cachezoo.documents import Figures
from cachezoo.metrics.base import Measurements
from cachezoo.metrics.files import read_category, read_flash
from cachezoo.metrics.flash import Comparison, FlashMetrics
from cachezoo.models.inputs import read_inputs
from cachezoo.models.trained import TrainedModel
from cachezoo.zoo.registry import SYSTEMS

FLASH_MODEL = "baleen"
M = TypeVar("M")


@dataclass(frozen=True)
class Metrics:
    """What the stages that evaluate wrote of a model's category, or of its system where it is of all categories.

    Attributes:
        own: metrics/page/<category>.json, or metrics/<system>.json; None where it is not there.
        flash: metrics/flash/<category>.json; None where it is not there, or the model serves no flash cache.
        headline: of a model of all categories: its figures over the test traces.
        inputs: how the model's inputs were distributed on the train traces; empty where its folder does not say.
    """

    own: Measurements | None = None
    flash: FlashMetrics | None = None
    headline: Figures = field(default_factory=dict)
    inputs: Mapping[str, list[float]] = field(default_factory=dict)


def read_metrics(root: Path, trained: TrainedModel, *, needed: bool) -> Metrics:
    """Read what was measured of a model below a project's root.

    Args:
        root: the project's.
        trained: the model.
        needed: a file that is not there is an error.

    Raises:
        CachezooError: a file holds something else, or is not there.
    """

    def found(reader: Callable[[Path], M], path: Path) -> M | None:
        return reader(root / path) if needed or (root / path).exists() else None

    system, category = SYSTEMS[trained.kind], trained.category
    inputs = read_inputs(root / paths.trained(trained.model_id), trained.features)
    if category is None:
        overall = found(system.metrics.load(), paths.overall_metrics(system.id)) if system.metrics is not None else None
        own = overall if overall is not None and trained.model_id in overall.models else None
        return Metrics(overall, headline=own.headline(trained.model_id) if own is not None else {}, inputs=inputs)
    if system.metrics is not None and system.scope != "all":
        overall = found(system.metrics.load(), paths.METRICS / system.id / f"{category}.json")
        own = overall if overall is not None and trained.model_id in overall.models else None
        return Metrics(overall, headline=own.headline(trained.model_id) if own is not None else {}, inputs=inputs)
    in_flash = system.bundling is not None and system.bundling.calibrated  # a write budget is a flash cache's
    page = found(read_category, paths.metrics(category))
    return Metrics(page, found(read_flash, paths.flash_metrics(category)) if in_flash else None, inputs=inputs)


def measured(trained: TrainedModel, metrics: Metrics) -> dict[str, Any]:
    """The manifest's `measured` section: JSON values."""
    traces = metrics.own.traces if metrics.own is not None else {}
    model = metrics.own.models.get(trained.model_id) if metrics.own is not None else None
    evaluated = model.model_dump(mode="json") if model is not None else {}
    if metrics.headline:
        evaluated["test"] = {**evaluated.get("test", {}), **metrics.headline}
    if metrics.flash is not None and (own := _comparisons(trained, metrics.flash)):
        evaluated["flash"] = {name: _flash(comparison) for name, comparison in own.items()}
    return {
        "beats_baseline": trained.beats_baseline,
        "reason": trained.reason,
        "training": dict(trained.validation),
        "evaluated": evaluated,
        "baselines": {
            name: [row.model_dump(mode="json") for row in trace.rows]
            for name, trace in traces.items()
            if trace.role == "test"
        },
        **({"inputs": dict(metrics.inputs)} if metrics.inputs else {}),
    }


def _comparisons(trained: TrainedModel, flash: FlashMetrics) -> dict[str, Comparison]:
    """What a cache that runs the model does on each test trace: an admission with the prefetch that goes with it.

    A prefetch model that was not promoted runs nowhere.
    """
    if trained.model_id in flash.beside:
        return {name: trace.deployed for name, trace in flash.beside[trained.model_id].traces.items()}
    shipped = [flash.model_id, *([flash.prefetch.model_id] if flash.prefetch.promoted else [])]
    return {name: trace.deployed for name, trace in flash.traces.items()} if trained.model_id in shipped else {}


def _flash(comparison: Comparison) -> dict[str, Any]:
    """Read disk-head time as shipped: the model's, and each other policy's at its writes.

    What is saved stands flat against RejectX, and after `best_` against the best policy without a model.
    """
    out: dict[str, Any] = {}
    for policy, row in comparison.rows.items():
        prefix = "" if policy == FLASH_MODEL else f"{policy}_"
        load = row.read_dt
        out |= {f"{prefix}peak_dt": load.peak, f"{prefix}mean_dt": load.mean}
        out[f"{prefix}mean_dt_interval"] = list(row.read_dt_mean_interval)
    best = {f"best_{name}": value for name, value in comparison.best.model_dump(mode="json").items()}
    return {**out, **comparison.gap.model_dump(mode="json"), "best_policy": comparison.best_policy, **best}


def promotion(measured: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether a bundle may take an empty seat, and why: what its judge said on validation; test figures decide nothing.

    The same as `cachezoo.models.trained.TrainedModel.promoted`, read from a manifest; a model that never trained has no
    bundle.

    Args:
        measured: the manifest's section of that name.
    """
    return bool(measured["beats_baseline"]), str(measured["reason"])
