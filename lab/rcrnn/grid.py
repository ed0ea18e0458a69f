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
from lab.rcrnn.files import OURS, PAPER
from lab.rcrnn.trained import Grid

NAMES = {OURS: "ours", PAPER: "the paper's"}


class GridFigure(Figure):
    """The classifier's accuracy over units and window."""

    grid: Annotated[Grid, Each("the trainings", "the file")]


def grid_figure(grid: Grid) -> GridFigure:
    """The figure of the trainings."""
    found = GridFigure(
        id="fig8",
        source="Fig. 8",
        title="Workload classifier: units and length of window",
        note=f"{' and '.join(grid.categories)}, {grid.epochs} epochs, a train window every {grid.stride} requests; "
        "windows of validation that chose no epoch, mean ± standard deviation of the seeds.",
        findings=[],
        grid=grid,
    )
    return judged(found, "rcrnn", "fig8", {"network": PAPER})


def table(found: GridFigure) -> Table:
    """For the terminal; a line for each network and number of units."""
    grid = found.grid
    windows = sorted({row.window for row in grid.rows})
    rows = []
    for network, name in NAMES.items():
        for units in sorted({row.units for row in grid.of(network)}):
            own = [grid.row(network, units, window) for window in windows]
            cells = [Cell(f"{number(100 * row.mean, 1)} ± {number(100 * row.sd, 1)}", row.mean) if row else Cell("")
                     for row in own]  # fmt: skip
            rows.append([Cell(name), number_cell(units), *cells])
    lengths = [Column(f"window of {window}, %") for window in windows]
    heads = [Column("inputs", numeric=False), Column("units"), *lengths]
    return Table(found.title, heads, rows)


def draw(found: GridFigure, path: Path) -> None:
    """A panel a network: a line a number of units over the length of window, every seed a point."""
    with page(found, path, 1, len(NAMES), 2.9) as (canvas, axes):
        windows = sorted({row.window for row in found.grid.rows})
        place = {window: k for k, window in enumerate(windows)}
        for panel, (network, name) in zip(axes[0], NAMES.items(), strict=True):
            rows = found.grid.of(network)
            for k, units in enumerate(sorted({row.units for row in rows})):
                own = sorted((row for row in rows if row.units == units), key=lambda row: row.window)
                at = [place[row.window] + 0.06 * (k - 1.5) for row in own]
                colour = BAR_COLOURS[k]
                panel.plot(at, [100 * row.mean for row in own], "-o", color=colour, ms=5, label=f"{units} units")
                for x, row in zip(at, own, strict=True):
                    panel.plot([x] * len(row.accuracies), [100 * one for one in row.accuracies], "_", color=colour)
            panel.set_xticks(range(len(windows)), [str(window) for window in windows])
            panel.set(title=f"inputs: {name}", xlabel="requests in a window", ylabel="windows named right, %, balanced")
        headed(canvas, found, axes[0][0])
