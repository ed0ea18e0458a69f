"""Table 5: how often the caching model's tags are the oracle's, beside always naming the commonest one.

Source: RC-RNN, Sec. 5.2.2. The paper's last column is Eq. 4 less 1: both tags' accuracies multiplied, over those of the
commonest tags. Accuracy of an unbalanced tag says little, so balanced accuracy and Matthews correlation stand
beside it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.page import CategoryMetrics
from cachezoo.show.style import GREY
from cachezoo.show.table import Cell, Column, Table, number_cell, share_cell
from lab.claims.evaluate import judged
from lab.claims.finding import Figure
from lab.claims.plot import BAR_COLOURS, headed, page


class TagRow(Document):
    """A caching model's tags on a test trace, of the requests that its cache asks about."""

    trace: Annotated[str, Means("test trace")]
    model: Annotated[str, Means("caching model")]
    asked: Annotated[float | None, Means("requests counted", "requests")]
    cached_accuracy: Annotated[float | None, Means("cached tags equal to the oracle's", "share")]
    cached_majority: Annotated[float | None, Means("the same of always naming the commoner tag", "share")]
    cached_balanced_accuracy: Annotated[float | None, Means("cached tags, both weighing the same", "share")]
    cached_mcc: Annotated[float | None, Means("Matthews correlation of the cached tags")]
    duration_accuracy: Annotated[float | None, Means("queues equal to the oracle's where that cached", "share")]
    duration_majority: Annotated[float | None, Means("the same of always naming the commonest queue", "share")]
    improvement: Annotated[float | None, Means("Eq. 4 less 1; null where it is undefined", "share")]


class TagTable(Figure):
    """The tags of every caching model on every test trace of its category."""

    rows: Annotated[list[TagRow], Each("one test trace", "trace")]


def _improvement(ours: Iterable[float | None], commonest: Iterable[float | None]) -> float | None:
    """Eq. 4 less 1."""
    above, below = list(ours), list(commonest)
    known = [value for value in (*above, *below) if value is not None]
    if len(known) < len(above) + len(below) or not np.prod(known[len(above) :]):
        return None
    return float(np.prod(known[: len(above)]) / np.prod(known[len(above) :]) - 1)


def tag_rows(found: CategoryMetrics, model_id: str) -> list[TagRow]:
    """Rows of one category's test traces, as metrics/page/<category>.json has them."""
    rows = []
    for trace, row in found.models[model_id].test.items():
        own: Mapping[str, float | None] = row.model_extra or {}
        pairs = [own.get(f"{tag}_accuracy") for tag in ("cached", "duration")]
        commonest = [own.get(f"{tag}_majority") for tag in ("cached", "duration")]
        rows.append(
            TagRow(
                trace=trace,
                model=model_id,
                asked=own.get("cached_rows"),
                cached_accuracy=pairs[0],
                cached_majority=commonest[0],
                cached_balanced_accuracy=own.get("cached_balanced_accuracy"),
                cached_mcc=own.get("cached_mcc"),
                duration_accuracy=pairs[1],
                duration_majority=commonest[1],
                improvement=_improvement(pairs, commonest),
            )
        )
    return rows


def tag_table(rows: list[TagRow], fraction: float, note: str) -> TagTable:
    """The whole table.

    Args:
        rows: of all test traces.
        fraction: size of the cache that the tags are for, a share of the distinct pages.
        note: on the models.
    """
    found = TagTable(
        id="table5",
        source="Table 5",
        title=f"The caching model's tags beside the oracle's, cache of {100 * fraction:g} % of the pages",
        note=note,
        findings=[],
        rows=rows,
    )
    return judged(found, "rcrnn", "table5")


def table(found: TagTable) -> Table:
    """For the terminal."""
    heads = ("trace", "asked", "cached: right", "commoner tag", "balanced", "MCC", "queue: right", "commonest queue",
             "Eq. 4 less 1")  # fmt: skip
    rows = [
        [Cell(row.trace), number_cell(row.asked), share_cell(row.cached_accuracy), share_cell(row.cached_majority),
         share_cell(row.cached_balanced_accuracy), number_cell(row.cached_mcc, 2), share_cell(row.duration_accuracy),
         share_cell(row.duration_majority), share_cell(row.improvement)]
        for row in found.rows
    ]  # fmt: skip
    return Table(found.title, [Column(head, numeric=k > 0) for k, head in enumerate(heads)], rows)


def draw(found: TagTable, path: Path) -> None:
    """Accuracy of both tags beside that of the commonest one."""
    panels_of = (
        ("cached tag", "cached_accuracy", "cached_majority", "cached_balanced_accuracy"),
        ("queue (duration tag)", "duration_accuracy", "duration_majority", None),
    )
    with page(found, path, 1, 2, 3.0) as (canvas, axes):
        places = np.arange(len(found.rows))
        for panel, (title, ours, commonest, balanced) in zip(axes[0], panels_of, strict=True):
            panel.barh(places, _percents(found, ours), color=BAR_COLOURS[0], height=0.55, label="caching model")
            panel.plot(_percents(found, commonest), places, "|", color=GREY, ms=15, mew=2.5, label="commonest tag")
            if balanced is not None:
                panel.plot(_percents(found, balanced), places, "D", color=BAR_COLOURS[1], ms=5,
                           label="caching model, both tags weighing the same")  # fmt: skip
            panel.set(title=title, xlabel="as the oracle, % of the requests asked about", xlim=(0, 103))
            panel.set_yticks(places, [row.trace for row in found.rows])
            panel.invert_yaxis()
            panel.grid(visible=False, axis="y")
        headed(canvas, found, axes[0][0])


def _percents(found: TagTable, name: str) -> list[float]:
    values = [getattr(row, name) for row in found.rows]
    return [float("nan") if value is None else 100 * value for value in values]
