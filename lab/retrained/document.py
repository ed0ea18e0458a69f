"""lab/results/retrained.json: the cache that was trained on each test stream's first half as well; its table."""

from pathlib import Path
from statistics import fmean, median
from typing import Annotated

from cachezoo.contest.gap import gap
from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.table import Cell, Column, Table, number_cell
from cachezoo.zoo.reuse.metrics import PLACES, ReuseMetrics, ReuseRow, Where
from cachezoo.zoo.reuse.report import SHOWN

FILE = Path("lab/results/retrained.json")


class RetrainedRow(Document):
    """A test stream at one capacity. What counts is what its row in metrics/reuse.json counts."""

    trace: Annotated[str, Means("key")]
    where: Annotated[Where, Means("home, set-up or program: what of it was trained on before")]
    capacity_fraction: Annotated[float, Means("of the stream's distinct pages", "share")]
    hit_ratios: Annotated[list[float], Means("page hits per page access of each seed's forest", "ratio")]


class Retrained(Document):
    """The cache that was trained on the first half of each test stream as well."""

    rows: Annotated[list[RetrainedRow], Each("one test stream", "trace and capacity_fraction")]


def read_retrained(path: Path) -> Retrained:
    """lab/results/retrained.json, see `cachezoo.metrics.files.read`."""
    return read(path, Retrained, MAKE)


def table(found: Retrained, metrics: ReuseMetrics) -> Table:
    """Home and away at each capacity: as trained, and retrained.

    Args:
        found: the retrained cache.
        metrics: the trained one on the same streams, and the rivals.
    """
    judged = {(key, row.capacity_fraction): row for key, trace in metrics.traces.items() for row in trace.rows}
    columns = [
        Column("where", numeric=False),
        Column("cache", "of distinct pages"),
        Column("streams"),
        Column("lead", "as trained, over the rival: mean (lowest), points of hit ratio"),
        Column("lead, retrained", "the same"),
        Column("better", "streams with more hits than as trained"),
        Column("gap closed", "as trained, from the best default in hindsight: median"),
        Column("gap, retrained", "the same"),
    ]
    rows = []
    for where in PLACES:
        for fraction in sorted({row.capacity_fraction for row in found.rows}):
            own = [row for row in found.rows if (row.where, row.capacity_fraction) == (where, fraction)]
            if own:
                rows.append(_cells(where, fraction, [(judged[row.trace, fraction], row) for row in own]))
    return Table("Trained on the first half of each stream as well", columns, rows)


def _cells(where: Where, fraction: float, pairs: list[tuple[ReuseRow, RetrainedRow]]) -> list[Cell]:
    before = [fmean(row.seed_hit_ratios) for row, _ in pairs]
    after = [fmean(row.hit_ratios) for _, row in pairs]
    rows = [row for row, _ in pairs]
    better = sum(new > old for old, new in zip(before, after, strict=True))
    return [
        Cell(SHOWN[where]),
        Cell(percent(fraction, 0), fraction),
        number_cell(len(pairs)),
        _leads(before, rows),
        _leads(after, rows),
        Cell(f"{better} of {len(pairs)}", better),
        _closed(before, rows),
        _closed(after, rows),
    ]


def _leads(ratios: list[float], rows: list[ReuseRow]) -> Cell:
    leads = [100 * (own - row.rival_hit_ratio) for own, row in zip(ratios, rows, strict=True)]
    return Cell(f"{number(fmean(leads), 1, True)} ({number(min(leads), 1, True)})", fmean(leads))


def _closed(ratios: list[float], rows: list[ReuseRow]) -> Cell:
    found = [
        gap(own, row.best_classic_hit_ratio, row.optimum_hit_ratio)[0] for own, row in zip(ratios, rows, strict=True)
    ]
    known = [one for one in found if one is not None]
    return Cell(percent(median(known)), median(known)) if known else Cell(NONE)
