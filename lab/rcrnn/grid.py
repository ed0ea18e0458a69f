"""Fig. 8: the workload classifier with other numbers of units and lengths of window.

Source: RC-RNN, Sec. 5.2.1. The trainings are `lab.rcrnn.grid_fit`'s.
"""

from pathlib import Path
from typing import Annotated

from cachezoo.meanings import Each
from cachezoo.show.formats import number
from cachezoo.show.table import Cell, Column, Table, number_cell
from lab.claims.evaluate import judged
from lab.claims.finding import Figure
from lab.claims.plot import BAR_COLOURS, headed, page
from lab.rcrnn.trained import Grid


class GridFigure(Figure):
    """The classifier's accuracy over units and window."""

    grid: Annotated[Grid, Each("the trainings", "the file")]


def grid_figure(grid: Grid) -> GridFigure:
    """The figure of the trainings."""
    found = GridFigure(
        id="fig8",
        source="Fig. 8",
        title="Workload classifier: units and length of window",
        note=f"{len(grid.categories)} categories, {grid.epochs} epochs, a train window every {grid.stride} requests; "
        "windows of validation that chose no epoch, mean ± standard deviation of the seeds.",
        findings=[],
        grid=grid,
    )
    return judged(found, "rcrnn", "fig8")


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
