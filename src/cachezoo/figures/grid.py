"""Fig. 8: the workload classifier with other numbers of units and lengths of window.

Source: RC-RNN, Sec. 5.2.1. The trainings are `cachezoo.figures.grid_fit`'s.
"""

from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Annotated, Literal

from cachezoo.figures.finding import Figure, held
from cachezoo.figures.plot import BAR_COLOURS, headed, page
from cachezoo.figures.trained import Grid, GridRow
from cachezoo.meanings import Each
from cachezoo.show.formats import number
from cachezoo.show.table import Cell, Column, Table, number_cell

Step = Literal["rise", "fall", "undecided"]
WORKLOADS = 2  # of the paper's figure
CHOSEN_UNITS, MORE_UNITS, CHOSEN_WINDOW, ACCURACY = 50, 100, 100, 0.99


class GridFigure(Figure):
    """The classifier's accuracy over units and window."""

    grid: Annotated[Grid, Each("the trainings", "the file")]


def grid_figure(grid: Grid) -> GridFigure:
    """The figure of the trainings."""
    few, many = (grid.row(units, CHOSEN_WINDOW) for units in (CHOSEN_UNITS, MORE_UNITS))
    more = None if few is None or many is None else many.mean - few.mean
    n = len(grid.categories)
    steps = _steps(grid)
    rises, unsure = steps.count("rise"), steps.count("undecided")
    most = (len(steps) // 2 + 1) / len(steps) if steps else 1.0
    return GridFigure(
        id="fig8",
        source="Fig. 8",
        title="Workload classifier: units and length of window",
        note=f"{n} categories, {grid.epochs} epochs, a train window every {grid.stride} requests; windows of "
        "validation that chose no epoch, mean ± standard deviation of the seeds.",
        findings=[
            held("longer windows are more accurate in most cases",
                 "share of the steps to the next longer window that raise the mean accuracy by more than its spread "
                 f"(most: above half); {unsure} of {len(steps)} steps undecided",
                 rises / len(steps) if steps else None, most,
                 at_best=(rises + unsure) / len(steps) if steps else None),
            held("more units do not always help: 100 are less accurate than 50, in windows of 100",
                 "accuracy with 100 units less that with 50", more, 0.0, "points", at_most=True,
                 spread=0.0 if few is None or many is None else hypot(few.sd_of_mean, many.sd_of_mean)),
            held("50 units in windows of 100 name above 99 % right", "balanced accuracy",
                 None if few is None else few.mean, ACCURACY, spread=0.0 if few is None else few.sd_of_mean,
                 apart="" if n == WORKLOADS else f"{n} categories here, {WORKLOADS} there"),
        ],
        grid=grid,
    )  # fmt: skip


def _steps(grid: Grid) -> list[Step]:
    """Of each number of units and next longer window, whether the mean accuracy rises by more than its spread."""
    found = []
    for units in sorted({row.units for row in grid.rows}):
        own = sorted((row for row in grid.rows if row.units == units), key=lambda row: row.window)
        found += [_step(shorter, longer) for shorter, longer in pairwise(own)]
    return found


def _step(shorter: GridRow, longer: GridRow) -> Step:
    gain, spread = longer.mean - shorter.mean, hypot(shorter.sd_of_mean, longer.sd_of_mean)
    if abs(gain) <= spread:
        return "undecided"
    return "rise" if gain > 0 else "fall"


def table(found: GridFigure) -> Table:
    """For the terminal; a line for each number of units."""
    grid = found.grid
    windows = sorted({row.window for row in grid.rows})
    rows = []
    for units in sorted({row.units for row in grid.rows}):
        own = [grid.row(units, window) for window in windows]
        cells = [Cell(f"{number(100 * row.mean, 1)} ± {number(100 * row.sd, 1)}", row.mean) if row else Cell("")
                 for row in own]  # fmt: skip
        rows.append([number_cell(units), *cells])
    heads = [Column("units"), *(Column(f"window of {window}, %") for window in windows)]
    return Table(found.title, heads, rows)


def draw(found: GridFigure, path: Path) -> None:
    """A line a number of units over the length of window, every seed a point."""
    with page(found, path, 1, 1, 2.9) as (canvas, axes):
        panel = axes[0][0]
        windows = sorted({row.window for row in found.grid.rows})
        place = {window: k for k, window in enumerate(windows)}
        for k, units in enumerate(sorted({row.units for row in found.grid.rows})):
            own = sorted((row for row in found.grid.rows if row.units == units), key=lambda row: row.window)
            at = [place[row.window] + 0.06 * (k - 1.5) for row in own]
            panel.plot(at, [100 * row.mean for row in own], "-o", color=BAR_COLOURS[k], ms=5, label=f"{units} units")
            for x, row in zip(at, own, strict=True):
                panel.plot([x] * len(row.accuracies), [100 * one for one in row.accuracies], "_", color=BAR_COLOURS[k])
        panel.set_xticks(range(len(windows)), [str(window) for window in windows])
        panel.set(xlabel="requests in a window", ylabel="windows named right, %, balanced")
        headed(canvas, found, panel)
