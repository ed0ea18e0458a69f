"""All figures: what they are made of, and how each is printed and drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cachezoo import paths
from cachezoo.errors import CachezooError
from cachezoo.io import write_json
from cachezoo.metrics.files import MAKE, REPRO, present, read, read_category
from cachezoo.metrics.page import CategoryMetrics
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.params import At, Picked
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.show.table import Table
from cachezoo.zoo.workload.metrics import read_metrics
from lab.claims.finding import Figure
from lab.rcrnn import accuracy, caches, caches_plot, grid, learning, sizes, tags, trained
from lab.rcrnn.files import FOLDER

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage rcrnn reads of params.yaml."""

    categories: Annotated[list[str], At("data.page_categories")]
    caching: Annotated[str, At("model.caching.arch")]
    workload: Annotated[str, At("model.workload.arch")]


@dataclass(frozen=True)
class RcrnnFigure:
    """A figure: the id of its document, which its files are named by, and how that is printed and drawn."""

    id: str
    type: type[Figure]
    table: Callable[[Any], Table]
    draw: Callable[[Any, Path], None]

    @property
    def file(self) -> Path:
        """Its document."""
        return FOLDER / f"{self.id}.json"

    @property
    def plot(self) -> Path:
        """Its plot."""
        return FOLDER / f"{self.id}.png"


FIGURES = (
    RcrnnFigure("table5", tags.TagTable, tags.table, tags.draw),
    RcrnnFigure("fig7", learning.LearningCurves, learning.table, learning.draw),
    RcrnnFigure("fig8", grid.GridFigure, grid.table, grid.draw),
    RcrnnFigure("fig9", accuracy.Classification, accuracy.table, accuracy.draw),
    *(RcrnnFigure(name, caches.CachesFigure, caches_plot.table, caches_plot.draw) for name in caches.FIGURES),
    RcrnnFigure("fig16", accuracy.Classification, accuracy.table, accuracy.draw),
)


@dataclass(frozen=True)
class Category:
    """A category's metrics, and its caching model."""

    metrics: CategoryMetrics
    model: TrainedModel


def read_categories(settings: Settings) -> list[Category]:
    """All page categories.

    Raises:
        CachezooError: metrics or a model are missing or damaged.
    """
    found = []
    for name in settings.categories:
        metrics = read_category(present(paths.metrics(name), REPRO))
        model = read_trained(present(paths.trained(f"caching.{name}.{settings.caching}"), REPRO), "caching")
        if model.model_id not in metrics.models:
            raise CachezooError(f"{paths.metrics(name)}: has no {model.model_id}; run `{REPRO}`")
        found.append(Category(metrics, model))
    return found


def _note(categories: Sequence[Category]) -> str:
    """What became of the models on validation."""
    refused = [one.metrics.category for one in categories if not one.metrics.models[one.model.model_id].promoted]
    return f"Caching models refused on validation: {', '.join(refused)}." if refused else ""


def _learning(settings: Settings, categories: Sequence[Category]) -> learning.LearningCurves:
    name = f"workload.{settings.workload}"
    judged = read_trained(present(paths.trained(name), REPRO), "workload")
    curves = [learning.read_curve(paths.fitted(name), name)]
    for one in categories:
        folder = paths.fitted(one.model.model_id)
        networks = sorted(present(folder, REPRO).glob("network_*"), key=lambda path: int(path.name.split("_")[1]))
        curves += [learning.read_curve(path, one.model.model_id, k) for k, path in enumerate(networks)]
    return learning.learning_curves(curves, name, judged.validation)


def _bench(categories: Sequence[Category]) -> caches.Bench:
    (own_size, *others) = {one.metrics.capacity_fraction for one in categories}
    if others:
        message = f"metrics/: are of caches of {100 * own_size:g} % and of {100 * others[0]:g} %; run `{REPRO}`"
        raise CachezooError(message)
    runs = [run for one in categories
            for run in sizes.runs_of(one.metrics, one.model.model_id, classics(), OPTIMUM)]  # fmt: skip
    tests = {run.trace for run in runs}
    runs += [run for run in read(sizes.FILE, sizes.Sizes, MAKE).rows if run.trace in tests]
    untrained = [one.model.model_id for one in categories if not one.model.trained]
    arch = categories[0].model.arch
    return caches.Bench.of(
        runs, own_size, (int(arch["layers"]), int(arch["units"])),
        f"{untrained[0]} never trained" if untrained else "", _note(categories),
    )  # fmt: skip


def documents(params: "Params") -> list[Figure]:
    """Every figure.

    Raises:
        CachezooError: an input is missing or damaged; says which command makes it.
    """
    settings = Settings.of(params)
    categories = read_categories(settings)
    rows = [row for one in categories for row in tags.tag_rows(one.metrics, one.model.model_id)]
    bench = _bench(categories)
    nine, sixteen = accuracy.classification(
        read_metrics(present(paths.overall_metrics("workload"), REPRO)), read(trained.ADDED, trained.Added, MAKE)
    )
    return [
        tags.tag_table(rows, bench.own_size, bench.note),
        _learning(settings, categories),
        grid.grid_figure(read(trained.GRID, trained.Grid, MAKE)),
        nine,
        *(make(bench) for make in caches.FIGURES.values()),
        sixteen,
    ]


def write_figures(params: "Params") -> None:
    """Stage rcrnn of lab/dvc.yaml: write every figure's document and plot.

    Raises:
        CachezooError: an input is missing or damaged.
    """
    found = {one.id: one for one in documents(params)}
    for figure in FIGURES:
        figure.draw(found[figure.id], figure.plot)
        write_json(figure.file, found[figure.id].model_dump(mode="json"))
