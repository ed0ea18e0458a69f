"""Fig. 7: learning curves of the workload classifier, and of the caching models beside it.

Source: RC-RNN, Sec. 5.2.1. The paper plots accuracy by iteration; the fits keep the loss of each epoch, and accuracy
only of the epoch that they keep, on validation windows that chose nothing.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

from cachezoo.documents import Document
from cachezoo.errors import CachezooError
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import REPRO, present
from cachezoo.models.curves import CURVES_FILE, read_curves
from cachezoo.show.style import GREY
from cachezoo.show.table import Cell, Column, Table, number_cell, share_cell
from lab.claims.evaluate import judged
from lab.claims.finding import Figure
from lab.claims.plot import BAR_COLOURS, headed, page

SETTLED = 0.95  # of the fall of the loss after the first epoch
TRAIN, VALIDATION = "train_loss", "validation_loss"


class Curve(Document):
    """The losses of one training."""

    model: Annotated[str, Means("model")]
    network: Annotated[int, Means("which of the model's trainings, from 0")]
    train: Annotated[list[float], Means("mean loss on the train traces, by epoch", "nats")]
    validation: Annotated[list[float], Means("the same on validation; empty where that has too few windows", "nats")]

    @property
    def judged(self) -> list[float]:
        """The losses that chose the epoch."""
        return self.validation or self.train

    @property
    def best(self) -> int:
        """The epoch with the lowest of them, from 1."""
        return self.judged.index(min(self.judged)) + 1

    @property
    def settled(self) -> int:
        """The first epoch by which 95 % of their fall after the first epoch is done."""
        first, least = self.judged[0], min(self.judged)
        return next(k for k, loss in enumerate(self.judged, 1) if loss <= first - SETTLED * (first - least))


class LearningCurves(Figure):
    """The learning curves of all LSTMs."""

    classifier: Annotated[str, Means("the workload classifier")]
    accuracy: Annotated[float | None, Means("its windows of validation that are named right", "share")]
    curves: Annotated[list[Curve], Each("one training", "model and network")]


def read_curve(folder: Path, model: str, network: int = 0) -> Curve:
    """The curve in a fitted model's folder.

    Raises:
        CachezooError: there is none, or it cannot be read.
    """
    path = present(folder / CURVES_FILE, REPRO)
    series = read_curves(path)
    train, validation = ([loss for name, _, loss in series if name == own] for own in (TRAIN, VALIDATION))
    if not train:
        raise CachezooError(f"{path}: holds no {TRAIN}; run `{REPRO}`")
    return Curve(model=model, network=network, train=train, validation=validation)


def learning_curves(curves: Sequence[Curve], classifier: str, figures: Mapping[str, float | None]) -> LearningCurves:
    """The figure.

    Args:
        curves: the classifier's first.
        classifier: its id.
        figures: what its train.json says of validation.
    """
    found = LearningCurves(
        id="fig7",
        source="Fig. 7",
        title="Learning curves of the workload classifier and the caching models",
        note="",
        findings=[],
        classifier=classifier,
        accuracy=figures.get("accuracy"),
        curves=list(curves),
    )
    return judged(found, "rcrnn", "fig7")


def _models(found: LearningCurves) -> dict[str, list[Curve]]:
    return {name: [one for one in found.curves if one.model == name] for name in dict.fromkeys(
        one.model for one in found.curves)}  # fmt: skip


def table(found: LearningCurves) -> Table:
    """For the terminal; a line a model, the mean of its trainings."""
    heads = ("model", "trainings", "epochs", "settled after", "lowest loss in epoch", "first loss", "lowest loss",
             "accuracy")  # fmt: skip
    rows = []
    for name, own in _models(found).items():
        means = [fmean(values) for values in zip(
            *((one.settled, one.best, one.judged[0], min(one.judged)) for one in own), strict=True)]  # fmt: skip
        rows.append(
            [Cell(name), number_cell(len(own)), number_cell(len(own[0].train)), number_cell(means[0], 1),
             number_cell(means[1], 1), number_cell(means[2], 3), number_cell(means[3], 3),
             share_cell(found.accuracy if name == found.classifier else None)]
        )  # fmt: skip
    return Table(found.title, [Column(head, numeric=k > 0) for k, head in enumerate(heads)], rows)


def draw(found: LearningCurves, path: Path) -> None:
    """The classifier's losses left, those of the caching models right, each training a line."""
    models = _models(found)
    with page(found, path, 1, 2, 2.9) as (canvas, axes):
        left, right = axes[0]
        for k, (name, own) in enumerate(models.items()):
            panel, colour = (left if name == found.classifier else right), BAR_COLOURS[k]
            for one in own:
                label = name if one is own[0] else None
                epochs = range(1, len(one.train) + 1)
                panel.plot(epochs, one.train, "--", color=colour, lw=0.9)
                panel.plot(epochs[: len(one.judged)], one.judged, "-o", color=colour, lw=1.2, ms=3, label=label)
        left.set(title="workload classifier")
        right.set(title="caching models, every training")
        for panel in (left, right):
            panel.plot([], [], "--", color=GREY, label="train traces (solid: validation)")
            panel.set(xlabel="epoch", ylabel="mean loss, nats")
            panel.set_ylim(bottom=0)
        headed(canvas, found, left, right)
