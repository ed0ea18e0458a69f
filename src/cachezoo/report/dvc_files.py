"""What DVC shows of a run: `dvc metrics show` one figure a deployable model, `dvc plots show` two plots."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from cachezoo import paths
from cachezoo.bundles.measured import headline, measured, read_metrics, seat_of, unseen_traces
from cachezoo.io import write_json
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.models.curves import write_rows
from cachezoo.report.gather import Model, Sources
from cachezoo.zoo.registry import SYSTEMS

HIT_RATIO, TRAINING = "hit_ratio.csv", "training.csv"
LOSS, LSTMS = "validation_loss", ("caching", "workload")
SUMMARY = Table(
    Each("the pipeline", "the file", text="one figure of each model that a cache runs, for `dvc metrics`"),
    {"<model>.<figure>": Column("number", Means("the first headline of its kind, as bundles and MLflow have it"))},
)
HIT_RATIOS = Table(
    Each("one cache size", "size_percent", text="page hit ratios by cache size, for `dvc plots`"),
    {
        "size_percent": Column("number", Means("size of the cache", "% of a trace's distinct pages")),
        "<policy>": Column("number", Means("mean page hit ratio over the test traces, after the warm-up")),
    },
)
LOSSES = Table(
    Each("one epoch", "epoch", text="validation losses of the LSTMs, for `dvc plots`"),
    {
        "epoch": Column("integer", Means("epochs so far")),
        "caching": Column("number or null", Means("mean validation loss of the caching models' networks", "nats")),
        "workload": Column("number or null", Means("validation loss of the workload classifier", "nats")),
    },
)


def write_summary(root: Path, sources: Sources) -> None:
    """Write `models/summary.json`: the headline of each category's own model, leaving out variants of it.

    Args:
        root: the project's.
        sources: what the report shows.

    Raises:
        CachezooError: a metrics file is damaged.
    """
    unseen, found = unseen_traces(root), {}
    for model in _deployable(sources.models):
        section = measured(model.trained, read_metrics(root, model.trained, needed=False))
        named = headline(section, model.trained.kind, unseen)
        if named is not None:
            found[model.id] = {named[0]: round(named[1], 6)}
    write_json(root / paths.SUMMARY, found)


def _deployable(models: Sequence[Model]) -> list[Model]:
    """The models that have a seat, and the classifier; of several in one seat and of one kind the first."""
    found: dict[tuple[str, str | None], Model] = {}
    for model in sorted(models, key=lambda own: own.id):
        kind, category = model.trained.kind, model.trained.category
        if seat_of(kind, category) is not None or SYSTEMS[kind].scope == "all":
            found.setdefault((kind, category), model)
    return list(found.values())


def write_plots(sources: Sources, folder: Path) -> None:
    """Write the data of DVC's plots into the report's folder."""
    tests = [facts for facts in sources.traces if facts.role == "test" and facts.hit_ratios]
    policies = list(tests[0].hit_ratios) if tests else []
    sizes = tests[0].capacities if tests else ()
    rows = [
        [round(100 * size, 6), *(round(fmean(facts.hit_ratios[name][k] for facts in tests), 6) for name in policies)]
        for k, size in enumerate(sizes)
    ]
    write_rows(folder / HIT_RATIO, ["size_percent", *policies], rows)
    losses = {kind: _losses(model for model in sources.models if model.trained.kind == kind) for kind in LSTMS}
    epochs = sorted({epoch for own in losses.values() for epoch in own})
    by_epoch = [[epoch, *(losses[kind].get(epoch) for kind in LSTMS)] for epoch in epochs]
    write_rows(folder / TRAINING, ["epoch", *LSTMS], by_epoch)


def _losses(models: Iterable[Model]) -> dict[int, float]:
    """The mean validation loss by epoch, over the networks of some models."""
    by_epoch: dict[int, list[float]] = {}
    for name, epoch, value in (point for model in models for point in model.curves):
        if name.endswith(LOSS):
            by_epoch.setdefault(epoch, []).append(value)
    return {epoch: round(fmean(values), 6) for epoch, values in by_epoch.items()}
