"""Table 5: how often the caching model's tags are the oracle's, beside always naming the commonest one.

Source: RC-RNN, Sec. 5.2.2. The paper's last column is Eq. 4 less 1: both tags' accuracies multiplied, over those of the
commonest tags. It counts the tags of all requests; those of the requests that a cache asks about are shown as well,
with balanced accuracy and Matthews correlation, as accuracy of an unbalanced tag says little.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np

from cachezoo.meanings import Each
from cachezoo.show.formats import percent
from cachezoo.show.style import BLACK, GREY
from cachezoo.show.table import Cell, Column, Table, number_cell, share_cell
from lab.claims.evaluate import judged
from lab.claims.finding import Figure
from lab.claims.plot import BAR_COLOURS, headed, page
from lab.rcrnn.files import OURS, PAPER, PAPER_SIZE, Network
from lab.rcrnn.sizes import TagRow

NAMES = {OURS: "caching model", PAPER: "the paper's network"}
HEIGHT, APART = 0.36, 0.2  # of a bar; of it from the middle of its trace


class TagTable(Figure):
    """The tags of every caching model on every test trace of its category."""

    rows: Annotated[list[TagRow], Each("one model on a test trace", "trace, capacity_fraction and network")]

    def of(self, network: Network, size: float) -> list[TagRow]:
        """A network's, at one size."""
        return [row for row in self.rows if (row.network, row.capacity_fraction) == (network, size)]


def tag_table(rows: Sequence[TagRow], own_size: float, note: str) -> TagTable:
    """The whole table.

    Args:
        rows: of all test traces.
        own_size: size of the cache that our models were judged at, a share of the distinct pages.
        note: on the models.
    """
    open_ = [row.trace for row in rows if (row.network, row.capacity_fraction) == (OURS, PAPER_SIZE) and not row.asked]
    if open_:
        note = f"{note} No tag that ours learns is settled at {percent(PAPER_SIZE, 0)} of {', '.join(open_)}.".strip()
    found = TagTable(
        id="table5",
        source="Table 5",
        title="The caching models' tags beside the oracle's",
        note=note,
        findings=[],
        rows=[row for row in rows if row.capacity_fraction in (own_size, PAPER_SIZE)],
    )
    return judged(found, "rcrnn", "table5", {"network": PAPER}, own_size=own_size)


def table(found: TagTable) -> Table:
    """For the terminal."""
    heads = ("trace", "size", "network", "asked", "cached: right", "commoner tag", "balanced", "MCC", "queue: right",
             "commonest queue", "Eq. 4 less 1", "all: cached", "all: queue", "all: Eq. 4 less 1")  # fmt: skip
    rows = [
        [Cell(row.trace), Cell(percent(row.capacity_fraction, 0)), Cell(NAMES[row.network]), number_cell(row.asked),
         share_cell(row.cached_accuracy), share_cell(row.cached_majority), share_cell(row.cached_balanced_accuracy),
         number_cell(row.cached_mcc, 2), share_cell(row.duration_accuracy), share_cell(row.duration_majority),
         share_cell(row.improvement_asked), share_cell(row.all_cached_accuracy), share_cell(row.all_duration_accuracy),
         share_cell(row.improvement)]
        for row in found.rows
    ]  # fmt: skip
    return Table(found.title, [Column(head, numeric=k not in (0, 2)) for k, head in enumerate(heads)], rows)


def draw(found: TagTable, path: Path) -> None:
    """Accuracy of both tags of all requests beside that of the commonest one, and of those that a cache asks about."""
    panels_of = (
        ("cached tag", "all_cached_accuracy", "all_cached_majority", "cached_accuracy"),
        ("queue (duration tag)", "all_duration_accuracy", "all_duration_majority", "duration_accuracy"),
    )
    with page(found, path, 1, 2, 3.4) as (canvas, axes):
        traces = [row.trace for row in found.of(OURS, PAPER_SIZE)]
        for panel, (title, right, commonest, asked) in zip(axes[0], panels_of, strict=True):
            for k, (network, name) in enumerate(NAMES.items()):
                own = found.of(network, PAPER_SIZE)
                places = np.array([traces.index(row.trace) for row in own]) + (2 * k - 1) * APART
                panel.barh(places, _percents(own, right), color=BAR_COLOURS[k], height=HEIGHT, label=name)
                panel.plot(_percents(own, commonest), places, "|", color=GREY, ms=11, mew=2.5,
                           label="commonest tag" if k else None)  # fmt: skip
                panel.plot(_percents(own, asked), places, "D", color=BLACK, ms=4,
                           label="requests asked about" if k else None)  # fmt: skip
            panel.set(title=title, xlabel="as the oracle, % of the requests", xlim=(0, 103))
            panel.set_yticks(np.arange(len(traces)), traces)
            panel.invert_yaxis()
            panel.grid(visible=False, axis="y")
        headed(canvas, found, axes[0][0])


def _percents(rows: Sequence[TagRow], name: str) -> list[float]:
    values = [getattr(row, name) for row in rows]
    return [float("nan") if value is None else 100 * value for value in values]
