"""Fig. 7: learning curves of the workload classifier, and of the caching models beside it.

Source: RC-RNN, Sec. 5.2.1. The paper plots accuracy by iteration; the fits keep the loss of each epoch, and accuracy
only of the epoch that they keep, on validation windows that chose nothing.
"""

from collections.abc import Sequence
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
    accuracy: Annotated[
        float | None, Means("windows of validation that a classifier names right; null of caching models", "share")
    ] = None

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

    curves: Annotated[list[Curve], Each("one training, ours and the classifiers first", "model and network")]

    def of(self, model: str) -> list[Curve]:
        """A model's."""
        return [one for one in self.curves if one.model == model]


def read_curve(folder: Path, model: str, network: int = 0, accuracy: float | None = None) -> Curve:
    """The curve in a fitted model's folder, with what its classifier names right.

    Raises:
        CachezooError: there is none, or it cannot be read.
    """
    path = present(folder / CURVES_FILE, REPRO)
    series = read_curves(path)
    train, validation = ([loss for name, _, loss in series if name == own] for own in (TRAIN, VALIDATION))
    if not train:
        raise CachezooError(f"{path}: holds no {TRAIN}; run `{REPRO}`")
    return Curve(model=model, network=network, train=train, validation=validation, accuracy=accuracy)


def learning_curves(curves: Sequence[Curve], classifier: str, published: str) -> LearningCurves:
    """The figure.

    Args:
        curves: of all models.
        classifier: our workload classifier.
        published: the paper's.
    """
    found = LearningCurves(
        id="fig7",
        source="Fig. 7",
        title="Learning curves of the workload classifiers and the caching models",
        note="",
        findings=[],
        curves=list(curves),
    )
    return judged(found, "rcrnn", "fig7", {"classifier": published}, classifier=classifier)


def _models(found: LearningCurves) -> list[str]:
    return list(dict.fromkeys(one.model for one in found.curves))


def table(found: LearningCurves) -> Table:
    """For the terminal; a line a model, the mean of its trainings."""
    heads = ("model", "trainings", "epochs", "settled after", "lowest loss in epoch", "first loss", "lowest loss",
             "accuracy")  # fmt: skip
    rows = []
    for name in _models(found):
        own = found.of(name)
        means = [fmean(values) for values in zip(
            *((one.settled, one.best, one.judged[0], min(one.judged)) for one in own), strict=True)]  # fmt: skip
        rows.append(
            [Cell(name), number_cell(len(own)), number_cell(len(own[0].train)), number_cell(means[0], 1),
             number_cell(means[1], 1), number_cell(means[2], 3), number_cell(means[3], 3),
             share_cell(own[0].accuracy)]
        )  # fmt: skip
    return Table(found.title, [Column(head, numeric=k > 0) for k, head in enumerate(heads)], rows)


def draw(found: LearningCurves, path: Path) -> None:
    """The classifiers' losses, those of our caching models and of the paper's, each training a line."""
    kinds = ("workload classifiers", "our caching models", "the paper's caching network")
    panels: dict[str, list[str]] = {kind: [] for kind in kinds}
    for name in _models(found):
        panels[kinds[0 if name.startswith("workload.") else 2 if name.endswith(".paper") else 1]].append(name)
    categories: dict[str, str] = {}  # the colour of each
    with page(found, path, 1, len(panels), 2.9) as (canvas, axes):
        for panel, (title, names) in zip(axes[0], panels.items(), strict=True):
            for k, name in enumerate(names):
                if name.startswith("workload."):
                    colour, label = BAR_COLOURS[k], ("ours", "the paper's")[name.endswith(".paper")]
                else:
                    label = name.split(".")[1]
                    colour = categories.setdefault(label, BAR_COLOURS[2 + len(categories)])
                for one in found.of(name):
                    epochs = range(1, len(one.train) + 1)
                    panel.plot(epochs, one.train, "--", color=colour, lw=0.9)
                    panel.plot(epochs[: len(one.judged)], one.judged, "-o", color=colour, lw=1.2, ms=3,
                               label=None if one.network else label)  # fmt: skip
            panel.plot([], [], "--", color=GREY, label="train traces (solid: validation)")
            panel.set(title=title, xlabel="epoch", ylabel="mean loss, nats")
            panel.set_ylim(bottom=0)
        headed(canvas, found, *axes[0])
