"""Tables and the plot of FIOS's figure."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.flash_drive.names import EQUAL, ORACLE
from cachezoo.show.formats import number, percent
from cachezoo.show.style import AMBER, BLACK, BLUE, GREEN, GREY, PINK, VERMILION
from cachezoo.show.table import Cell, Column, Table
from cachezoo.zoo.streams.cluster import COMBINATIONS
from lab.claims.plot import headed, page
from lab.fios.document import DriveCase, DriveRow, FiosFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

ROW_INCHES, LEGACY_LEVEL = 0.2, 100.0


def table(found: FiosFigure) -> Table:
    """For the terminal; a line a drive, WAF over that without streams."""
    heads = ("legacy WAF", "equal", "F", "FIOS's choice", "best combination", "validation's",
             "learned on the test", "ours, validation's", "oracle")  # fmt: skip
    rows = []
    for case in sorted(found.measured, key=lambda one: -one.legacy_waf):
        best, chosen, ours = case.best, case.chosen, case.ours
        told, left = case.hindsight
        own = [
            _of(case.row(EQUAL)), _of(case.row("F")), _of(case.own, case.automatic or "none"),
            _of(best, best.policy), _of(chosen, _named(chosen)), Cell(f"{told} {percent(left)}", left),
            _of(ours, ours.policy), _of(case.row(ORACLE)),
        ]  # fmt: skip
        rows.append([Cell(case.key), Cell(number(case.legacy_waf, 3), case.legacy_waf), *own])
    columns = [Column("drive", numeric=False), *(Column(head) for head in heads)]
    return Table("Streams: WAF on the test cycle, and of it what each placement leaves", columns, rows)


def _of(row: DriveRow, name: str = "") -> Cell:
    return Cell(f"{name} {percent(row.of_legacy)}".strip(), row.of_legacy)


def _named(row: DriveRow) -> str:
    return f"{row.policy}.{row.window}" if row.window else row.policy


def draw(found: FiosFigure, path: Path) -> None:
    """Fig. 9 above: a column of marks a drive. Fig. 7 below: a cell a drive and combination, FIOS's choice framed.

    Raises:
        CachezooError: the file cannot be written.
    """
    cases = sorted(found.heavy, key=lambda one: (one.corpus, -one.legacy_waf))
    with page(found, path, 2, 1, 3.2 + ROW_INCHES * len(cases) + 1.0) as (canvas, axes):
        _marks(axes[0][0], cases)
        _cells(axes[1][0], cases)
        headed(canvas, found, axes[0][0])


def _marks(axes: "Axes", cases: list[DriveCase]) -> None:
    places = np.arange(len(cases))
    series = (
        ("equal partition", GREY, "s", [case.row(EQUAL) for case in cases]),
        ("frequency alone", AMBER, "v", [case.row("F") for case in cases]),
        ("FIOS's choice", VERMILION, "o", [case.own for case in cases]),
        ("best combination", GREEN, "D", [case.best for case in cases]),
        ("ours, by validation", BLUE, "^", [case.ours for case in cases]),
        ("oracle by true lifetime", BLACK, "_", [case.row(ORACLE) for case in cases]),
    )
    axes.axhline(LEGACY_LEVEL, color=PINK, linewidth=1, label="legacy")
    for k, (label, colour, marker, rows) in enumerate(series):
        heights = [100 * row.of_legacy for row in rows]
        low, high = (np.array([100 * row.of_legacy_interval[end] for row in rows]) for end in (0, 1))
        axes.errorbar(
            places + 0.12 * (k - 2.5), heights, yerr=[np.maximum(heights - low, 0), np.maximum(high - heights, 0)],
            color=colour, marker=marker, markersize=4, linestyle="", elinewidth=0.8, label=label,
        )  # fmt: skip
    axes.set_xticks(places, [case.key for case in cases], rotation=60, ha="right", rotation_mode="anchor")
    axes.set(ylabel="WAF, % of legacy", title="Fig. 9: with 90 % intervals over blocks of time")
    axes.grid(visible=False, axis="x")


def _cells(axes: "Axes", cases: list[DriveCase]) -> None:
    if not cases:
        axes.set_title("Fig. 7: no drive has anything to save")
        return
    values = np.array([[100 * case.row(name).of_legacy for name in COMBINATIONS] for case in cases])
    reach = max(1.0, float(np.abs(values - LEGACY_LEVEL).max()))
    shown = axes.imshow(
        values, cmap="PuOr_r", aspect="auto", vmin=LEGACY_LEVEL - reach, vmax=LEGACY_LEVEL + reach,
    )  # fmt: skip
    for row, case in enumerate(cases):
        best = case.best.policy
        for column, name in enumerate(COMBINATIONS):
            dark = abs(values[row, column] - LEGACY_LEVEL) > 0.7 * reach
            axes.text(column, row, f"{values[row, column]:.0f}", ha="center", va="center", fontsize=8,
                      color="white" if dark else BLACK, fontweight="bold" if name == best else "normal")  # fmt: skip
            if name == case.automatic:
                axes.add_patch(_frame(column, row))
    axes.set_xticks(np.arange(len(COMBINATIONS)), COMBINATIONS)
    axes.set_yticks(np.arange(len(cases)), [case.key for case in cases])
    axes.set_title("Fig. 7: WAF, % of legacy; bold: the best, framed: FIOS's choice (none: it chooses no feature)")
    axes.grid(visible=False)
    axes.figure.colorbar(shown, ax=axes, pad=0.01, aspect=40)


def _frame(column: int, row: int) -> "Rectangle":
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.47, row - 0.45), 0.94, 0.9, fill=False, edgecolor=VERMILION, linewidth=1.6)
