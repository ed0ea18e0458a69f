"""What was measured of a model, as its manifest holds it, and what follows for its promotion."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cachezoo import paths
from cachezoo.documents import Figures
from cachezoo.errors import ConfigError
from cachezoo.metrics.base import Measurements
from cachezoo.metrics.files import read_category, read_flash
from cachezoo.metrics.flash import Comparison, FlashMetrics
from cachezoo.models.inputs import read_inputs
from cachezoo.models.trained import TrainedModel
from cachezoo.yaml_file import read_yaml
from cachezoo.zoo.registry import SYSTEMS, UNTRAINED

FLASH_MODEL = "baleen"
M = TypeVar("M")


@dataclass(frozen=True)
class Metrics:
    """What the stages that evaluate wrote of a model's category, or of its system where it is of all categories.

    A file that is not there is None.
    """

    own: Measurements | None = None  # metrics/page/<category>.json or metrics/<system>.json
    flash: FlashMetrics | None = None  # metrics/flash/<category>.json of a model for a flash cache
    headline: Figures = field(default_factory=dict)  # of a model of all categories, over the test traces
    inputs: Mapping[str, list[float]] = field(default_factory=dict)  # their distributions on the train traces, if known


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
    """Read disk-head time as shipped: the model's, and each other policy's under its controller.

    Savings have no prefix against RejectX, and `best_` against the best policy without a model.
    """
    out: dict[str, Any] = {}
    for policy, row in comparison.rows.items():
        prefix = "" if policy == FLASH_MODEL else f"{policy}_"
        load = row.read_dt
        out |= {f"{prefix}peak_dt": load.peak, f"{prefix}mean_dt": load.mean}
        out[f"{prefix}mean_dt_interval"] = list(row.read_dt_mean_interval)
        if row.year is not None:
            out[f"{prefix}usd_a_year"] = row.year.usd
    best = {f"best_{name}": value for name, value in comparison.best.model_dump(mode="json").items()}
    return {**out, **comparison.gap.model_dump(mode="json"), "best_policy": comparison.best_policy, **best}


def promotion(measured: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether a bundle may take an empty seat, and why: the verdict on validation; test figures decide nothing.

    The same as `cachezoo.models.trained.TrainedModel.promoted`, read from a manifest; a model that never trained has no
    bundle.

    Args:
        measured: the manifest's section of that name.
    """
    return bool(measured["beats_baseline"]), str(measured["reason"])


PAGE, FLASH = "page", "flash"
ALL = "all"
ROLES = {"caching": PAGE, "reuse": PAGE, "admission": FLASH}


def seat_of(kind: str, category: str | None) -> str | None:
    """The seat of a bundle: `page/all`, `flash/web`; None where its kind does not run alone.

    Args:
        kind: of the bundle.
        category: of the bundle; None where it is of all.
    """
    return f"{ROLES[kind]}/{category or ALL}" if kind in ROLES else None


UNSEEN = "unseen"
# Of a model of all categories: its median at home is its headline, as a mean over programs that it never saw is none.
MEDIANS = {"home_gap_closed": "gap_closed", "program_gap_closed": f"{UNSEEN}/gap_closed"}
PER_TRACE = ("hit_ratio", "gap_closed", "gap_points")


def unseen_traces(root: Path) -> frozenset[str]:
    """Test traces of programs that no train trace came from, as params.yaml names them; none without one.

    Raises:
        CachezooError: params.yaml is damaged.
    """
    if not (root / paths.PARAMS).exists():
        return frozenset()
    found = read_yaml(root / paths.PARAMS)
    data = found.get("data") if isinstance(found, dict) else None
    traces = data.get("traces") if isinstance(data, dict) else None
    if not isinstance(traces, dict):
        raise ConfigError(f"{root / paths.PARAMS}: holds no data.traces; run `dvc repro compose`")
    return frozenset(key for key, entry in traces.items() if entry.get("unseen"))


def headline(section: Mapping[str, Any], kind: str, unseen: Collection[str] = ()) -> tuple[str, float] | None:
    """Name and value of the first headline of a model's kind; None where it was not measured.

    Args:
        section: the manifest's `measured`.
        kind: of the model.
        unseen: test traces of programs that no train trace came from.
    """
    if kind in UNTRAINED:
        return None
    names = SYSTEMS[kind].headline
    found = figures(section, names, unseen)
    return (names[0], found[names[0]]) if names[0] in found else None


def figures(
    section: Mapping[str, Any], headline: Collection[str], unseen: Collection[str] = ()
) -> dict[str, float]:  # fmt: skip
    """Flat figures of a manifest's `measured`: the same name for the same thing in every kind.

    Headlines keep their bare name (`hit_ratio`, `gap_closed` …): the mean over the test traces at home, those of
    programs that train traces came from. The rest has a prefix: `unseen/` the mean of a headline over the other test
    traces, `TRACE/` one trace's, `test/` other means over those at home, `flash/` other figures of the flash cache,
    `validation/`. An interval becomes NAME_low and NAME_high.

    Args:
        section: the manifest's.
        headline: of the model's system.
        unseen: test traces of programs that no train trace came from.
    """
    evaluated = section["evaluated"]
    validation = {**section["training"], **_scalars(evaluated.get("validation", {}))}
    flat = _prefixed("validation", {**_scalars(evaluated), **validation})
    test = evaluated.get("test", {})
    medians = {to: test[name] for name, to in MEDIANS.items() if name in test}
    # A mean over home and away is no headline: such a model has medians instead.
    bare = [name for name in headline if not (medians and name in PER_TRACE)]
    flat.update(_over_traces(test, "test", bare, unseen))
    flat.update(_over_traces(evaluated.get("flash", {}), "flash", headline, unseen))
    flat.update(medians)
    return {name: float(value) for name, value in flat.items() if value is not None}


def _prefixed(prefix: str, values: Mapping[str, Any], bare: Collection[str] = ()) -> dict[str, Any]:
    return {name if name in bare else f"{prefix}/{name}": value for name, value in values.items()}


def _scalars(values: Mapping[str, Any]) -> dict[str, float]:
    """Numbers and intervals of a mapping; texts, truth values and nested parts are left out."""
    out: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            out[name] = value
        elif isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
            stem = name.removesuffix("_interval")
            out[f"{stem}_low"], out[f"{stem}_high"] = value
    return out


def _over_traces(
    values: Mapping[str, Any], prefix: str, bare: Collection[str], unseen: Collection[str]
) -> dict[str, float]:  # fmt: skip
    """Figures given flat, or by trace: then the mean over those at home, that over the unseen, and each trace's own."""
    by_trace = {name: _scalars(part) for name, part in values.items() if isinstance(part, Mapping)}
    home = [part for trace, part in by_trace.items() if trace not in unseen]
    out = _prefixed(prefix, {**_scalars(values), **_means(home)}, bare)
    away = _means([part for trace, part in by_trace.items() if trace in unseen])
    out.update({f"{UNSEEN}/{name}": value for name, value in away.items() if name in bare})
    for trace, part in by_trace.items():
        out.update(_prefixed(trace, part))
    return out


def _means(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each figure, over the parts that have it."""
    found = {name: [part[name] for part in parts if name in part] for part in parts for name in part}
    return {name: sum(values) / len(values) for name, values in sorted(found.items())}
