"""lab/results/carry_over.png and the table in the terminal: what the forest closes of the gap on traces left out."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.io import atomic_file
from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.style import BLACK, BLUE, DPI, GREY, VERMILION, panels, settings
from lab.carry_over.document import CarryOver, Ours, Row, Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

TITLES: dict[Split, str] = {"program": "its program left out of the fit", "set-up": "its set-up left out of the fit"}
ROW_INCHES = 0.22


def draw(found: CarryOver, path: Path) -> None:
    """Write a PNG of the gap closed on each trace, a panel for each split; its bytes depend on the figures alone.

    Traces without a gap, whose share is not known, are left out.

    Raises:
        CachezooError: the file cannot be written.
    """
    splits: list[Split] = [split for split in TITLES if any(one.split == split for one in found.summary)]
    shown = {split: _shown(found, split) for split in splits}
    with settings(), atomic_file(path) as temporary:
        canvas, axes = panels(1, len(splits), 1.6 + ROW_INCHES * max(len(rows) for rows in shown.values()))
        for panel, split in zip(axes[0], splits, strict=True):
            _panel(panel, shown[split])
            panel.set_title(TITLES[split], loc="left")
        ends = [panel.get_xlim() for panel in axes[0]]
        for panel in axes[0]:
            panel.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))
        handles, labels = axes[0][0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        canvas.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})


def _shown(found: CarryOver, split: Split) -> list[Row]:
    """Rows of a split that have a gap, the one of which most is closed first."""
    rows = [row for row in found.rows if row.split == split and row.followed.gap_closed is not None]
    return sorted(rows, key=lambda row: (-_percent(row.followed.gap_closed), row.trace))


def _percent(share: float | None) -> float:
    return float("nan") if share is None else 100 * share


def _panel(axes: "Axes", rows: list[Row]) -> None:
    places = np.arange(len(rows))
    ways: tuple[tuple[str, list[Ours], str, str, float], ...] = (
        ("forest alone", [row.alone for row in rows], VERMILION, "s", 0.15),
        ("with its follower", [row.followed for row in rows], BLUE, "o", -0.15),
    )
    axes.axvline(0, color=BLACK, linewidth=1)
    chosen = [_percent(row.chosen_gap_closed) for row in rows]
    axes.plot(chosen, places, color=GREY, marker="|", markersize=9, linestyle="", label="the classic chosen beforehand")
    for label, own, colour, marker, offset in ways:
        axes.errorbar(
            [_percent(one.gap_closed) for one in own], places + offset,
            xerr=[_percent(one.gap_closed_sd) for one in own],
            color=colour, marker=marker, markersize=4, linestyle="", elinewidth=1, label=label,
        )  # fmt: skip
    axes.set_yticks(places, [row.trace for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("gap closed from the best classic to the optimum, %")


def tables(found: CarryOver) -> "list[Table]":
    """Every trace, and the summary, for the terminal."""
    from rich.table import Table

    each = Table(title=f"Carry-over at {100 * found.capacity_fraction:g} % of the pages; mean ± sd of the seeds")
    names = ("left out", "trace", "best classic", "optimum", "gap closed alone", "with follower",
             "lead, points", "chosen classic", "lead over it", "floor")  # fmt: skip
    for k, name in enumerate(names):
        each.add_column(name, justify="left" if k in (0, 1, 2, 7) else "right")
    for row in found.rows:
        own = row.followed
        each.add_row(
            row.left_out, row.trace, f"{row.best_classic} {row.best_classic_hit_ratio:.3f}",
            f"{row.optimum_hit_ratio:.3f}", _closed(row.alone), _closed(own), f"{own.lead:+.1f}",
            f"{row.chosen} {row.chosen_hit_ratio:.3f}", f"{own.lead_over_chosen:+.1f}",
            "held" if own.above_floor else "broken",
        )  # fmt: skip
    short = Table(title="Summary; leads in points of hit ratio, median (lowest)")
    for k, name in enumerate(
        ("left out", "forest", "traces", "gap closed", "lead", "lead over chosen", "floor held", "not below chosen")
    ):
        short.add_column(name, justify="left" if k < 2 else "right")
    for one in found.summary:
        short.add_row(
            one.split, "alone" if one.way == "alone" else "with follower", str(one.traces),
            f"{percent(one.median_gap_closed, 0)} ({percent(one.lowest_gap_closed, 0)})",
            f"{number(one.median_lead, 1, True)} ({number(one.lowest_lead, 1, True)})",
            f"{number(one.median_lead_over_chosen, 1, True)} ({number(one.lowest_lead_over_chosen, 1, True)})",
            percent(one.above_floor, 0), percent(one.near_chosen, 0),
        )  # fmt: skip
    return [each, short]


def _closed(own: Ours) -> str:
    if own.gap_closed is None or own.gap_closed_sd is None:
        return NONE
    return f"{number(100 * own.gap_closed, 1)} ± {percent(own.gap_closed_sd)}"
