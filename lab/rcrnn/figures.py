"""All figures: what they are made of, and how each is printed and drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cachezoo import paths
from cachezoo.io import write_json
from cachezoo.metrics.files import MAKE, REPRO, present, read
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.params import At, Picked
from cachezoo.show.table import Table
from cachezoo.zoo.workload.metrics import WorkloadMetrics, read_metrics
from lab.claims.finding import Figure
from lab.rcrnn import accuracy, caches, caches_plot, grid, learning, sizes, tags, trained
from lab.rcrnn.files import FOLDER, OURS, PAPER, Network
from lab.rcrnn.published import FITTED, TRAINED

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage rcrnn reads of params.yaml."""

    categories: Annotated[list[str], At("data.page_categories")]
    caching: Annotated[str, At("model.caching.arch")]
    workload: Annotated[str, At("model.workload.arch")]
    own_size: Annotated[float, At("evaluate.capacity_fraction")]


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


def read_models(settings: Settings) -> dict[Network, list[TrainedModel]]:
    """The caching models of all page categories, ours and the paper's.

    Raises:
        CachezooError: one is missing or damaged.
    """
    folders: dict[Network, list[Path]] = {
        OURS: [present(paths.trained(f"caching.{name}.{settings.caching}"), REPRO) for name in settings.categories],
        PAPER: [present(paths.trained(f"caching.{name}.paper", TRAINED), MAKE) for name in settings.categories],
    }
    return {network: [read_trained(one, "caching") for one in own] for network, own in folders.items()}


def _note(models: Sequence[TrainedModel]) -> str:
    """What became of our models on validation."""
    refused = [str(one.category) for one in models if not one.promoted]
    return f"Caching models refused on validation: {', '.join(refused)}." if refused else ""


def _shaped(models: Sequence[TrainedModel]) -> caches.Models:
    untrained = [one.model_id for one in models if not one.trained]
    arch = models[0].arch
    return caches.Models(
        (int(arch["layers"]), int(arch["units"])), f"{untrained[0]} never trained" if untrained else ""
    )


def _learning(settings: Settings, models: Mapping[Network, Sequence[TrainedModel]]) -> learning.LearningCurves:
    classifiers: dict[Network, str] = {OURS: f"workload.{settings.workload}", PAPER: "workload.paper"}
    roots = {OURS: (paths.FITTED, paths.TRAINED, REPRO), PAPER: (FITTED, TRAINED, MAKE)}
    curves = []
    for network, name in classifiers.items():
        fitted, trained_root, made_by = roots[network]
        judged = read_trained(present(paths.trained(name, trained_root), made_by), "workload")
        curves.append(learning.read_curve(paths.fitted(name, fitted), name, accuracy=judged.validation.get("accuracy")))
    for network, own in models.items():
        for model in own:
            folder = present(paths.fitted(model.model_id, roots[network][0]), roots[network][2])
            networks = sorted(folder.glob("network_*"), key=lambda path: int(path.name.split("_")[1]))
            curves += [learning.read_curve(path, model.model_id, k) for k, path in enumerate(networks)]
    return learning.learning_curves(curves, classifiers[OURS], classifiers[PAPER])


def documents(params: "Params") -> list[Figure]:
    """Every figure.

    Raises:
        CachezooError: an input is missing or damaged; says which command makes it.
    """
    settings = Settings.of(params)
    models, found = read_models(settings), read(sizes.FILE, sizes.Sizes, MAKE)
    note = _note(models[OURS])
    bench = caches.Bench.of(
        found.rows, settings.own_size, {network: _shaped(own) for network, own in models.items()}, note
    )
    nine, sixteen = accuracy.classification(
        read_metrics(present(paths.overall_metrics("workload"), REPRO)),
        read(trained.CLASSIFIER, WorkloadMetrics, MAKE),
        read(trained.ADDED, trained.Added, MAKE),
    )
    return [
        tags.tag_table(found.tags, settings.own_size, note),
        _learning(settings, models),
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
