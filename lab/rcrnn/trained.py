"""What the trainings behind Figs. 8, 9 and 16 found: lab/results/rcrnn/grid.json and added.json."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Annotated

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from lab.rcrnn.files import FOLDER, Network

GRID, ADDED, CLASSIFIER = FOLDER / "grid.json", FOLDER / "added.json", FOLDER / "classifier.json"
MODEL, PAPER_MODEL = "LSTM", "LSTM, the paper's inputs"


class GridRow(Document):
    """One number of units and length of window, of a network of ours or the paper's, which differ in their inputs."""

    network: Annotated[Network, Means("whose network it is")]
    units: Annotated[int, Means("of the LSTM layer")]
    window: Annotated[int, Means("of requests that one answer is about", "requests")]
    train_windows: Annotated[int, Means("trained on", "windows")]
    accuracies: Annotated[
        list[float], Means("windows of validation that are named right, categories weighing the same, by seed", "share")
    ]

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return fmean(self.accuracies)

    @property
    def sd(self) -> float:
        """Standard deviation over the seeds."""
        return stdev(self.accuracies)

    @property
    def sd_of_mean(self) -> float:
        """Standard deviation of that mean, by the spread of the seeds."""
        return self.sd / sqrt(len(self.accuracies))


class Grid(Document):
    """The trainings of the grid, on the train traces; no test trace is read."""

    categories: Annotated[list[str], Means("told apart")]
    epochs: Annotated[int, Means("of each training")]
    stride: Annotated[int, Means("between the beginnings of train windows", "requests")]
    rows: Annotated[list[GridRow], Each("one setting", "network, units and window")]

    def of(self, network: Network) -> list[GridRow]:
        """Of one network."""
        return [row for row in self.rows if row.network == network]

    def row(self, network: Network, units: int, window: int) -> GridRow | None:
        """A setting's."""
        return next((row for row in self.of(network) if (row.units, row.window) == (units, window)), None)


class Told(Document):
    """A method on the test traces of some categories, of which alone it was trained."""

    categories: Annotated[list[str], Means("told apart")]
    method: Annotated[str, Means("LSTM, LSTM of the paper's inputs, or the name of a baseline")]
    windows: Annotated[int, Means("of the test traces", "windows")]
    accuracy: Annotated[float, Means("windows named right, categories weighing the same", "share")]


class Added(Document):
    """All sets of at least two categories but that of all."""

    rows: Annotated[list[Told], Each("one method on one set", "categories and method")]

    def sizes(self) -> list[int]:
        """Numbers of categories, rising."""
        return sorted({len(row.categories) for row in self.rows})

    def accuracies(self, method: str, size: int) -> list[float]:
        """A method's, of all sets of so many categories."""
        return [row.accuracy for row in self.rows if row.method == method and len(row.categories) == size]


def methods_of(rows: Sequence[Told]) -> list[str]:
    """In the order of their first rows."""
    return list(dict.fromkeys(row.method for row in rows))
