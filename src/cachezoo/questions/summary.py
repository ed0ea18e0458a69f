"""What a run ends with, in one table: for each test trace the best classic, the best promoted model and the optimum."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cachezoo.questions.results import FlashSaved, PageResult, Results
from cachezoo.show.formats import NONE, number, percent, span

if TYPE_CHECKING:
    from rich.table import Table

OPTIMUM = "belady_bypass"


@dataclass(frozen=True)
class Line:
    """A test trace.

    Attributes:
        trace: its key.
        classic: the best classic's page hit ratio; None where the trace has no page cache, as of what follows.
        model: the promoted caching model with the most hits, as it is shown; None where none is promoted.
        hit_ratio: that model's.
        gap_closed: by it; None where there is no model, or the gap is too small to divide by.
        optimum: page hit ratio of the best cache possible.
        saved: what admission models save of the flash cache's mean read disk-head time, with its interval.
    """

    trace: str
    classic: float | None
    model: str | None
    hit_ratio: float | None
    gap_closed: float | None
    optimum: float | None
    saved: FlashSaved | None


def lines(run: Results) -> list[Line]:
    """A line for each test trace.

    Args:
        run: what the pipeline found.
    """
    pages: dict[str, list[PageResult]] = {}
    for found in run.page_rows():
        pages.setdefault(found.trace, []).append(found)
    saved = {one.trace: one for one in run.flash_saved() if one.rival == "best"}
    return [_line(trace, pages.get(trace, []), saved.get(trace)) for trace in sorted({*pages, *saved})]


def _line(trace: str, rows: Sequence[PageResult], saved: FlashSaved | None) -> Line:
    classics = [one.row.hit_ratio for one in rows if one.row.kind == "classic"]
    bounds = [one.row.hit_ratio for one in rows if one.row.policy == OPTIMUM]
    # An admission model was judged by disk-head time, and stands in the last column.
    models = [one.row for one in rows if one.promoted and not one.row.policy.startswith("admission.")]
    best = max(models, key=lambda row: row.hit_ratio, default=None)
    return Line(
        trace,
        max(classics, default=None),
        best.shown if best else None,
        best.hit_ratio if best else None,
        best.gap_closed if best else None,
        max(bounds, default=None),
        saved,
    )


def summary_table(found: Sequence[Line]) -> "Table":
    """The lines, for a terminal of 80 columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        title="hit ratio of a page cache on the test traces; disk time that a flash cache saves",
        caption="classic and model: those with the most hits on the trace itself; gap: how far the model gets from "
        "the best classic (0 %) to the optimum (100 %); disk time: read disk-head time against the best policy "
        "without a model, 90 % interval",
    )
    table.add_column("test trace", no_wrap=True)
    titles = ("best\nclassic", "promoted\nmodel", "its\nhits", "gap\nclosed", "optimum", "disk time\nsaved")
    for name in titles:
        table.add_column(name, justify="left" if "model" in name else "right", overflow="fold")
    for line in found:
        table.add_row(
            line.trace,
            number(line.classic, 3),
            (line.model or NONE).replace(" ", "\n"),
            number(line.hit_ratio, 3),
            percent(line.gap_closed, 0, signed=True),
            number(line.optimum, 3),
            _saved(line.saved),
        )
    return table


def _saved(found: FlashSaved | None) -> str:
    if found is None:
        return NONE
    return f"{percent(found.mean, 0)}\n{span(found.interval)}"
