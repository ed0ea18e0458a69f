"""A comparison of partitioners as a picture: who has how much of the cache over time, and what the disk reads."""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo.io import atomic_file
from cachezoo.questions.share.answer import uneven
from cachezoo.questions.share.case import Comparison, Score
from cachezoo.show.style import (
    AMBER,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIGHT,
    NARROW,
    PINK,
    SKY,
    SMALL,
    VERMILION,
    settings,
    write,
)
from cachezoo.sizes import PAGE_BYTES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

COUNTING = "counting begins"
COLOURS = (BLUE, VERMILION, GREEN, AMBER, SKY, PINK, GREY)
PANEL, BAR, EDGES, COLUMNS = 1.7, 0.36, 1.9, 2
LONGEST_NAME, LONGEST_PARTITIONER, LONGEST_LABEL, LONGEST_NOTE, MOST_LISTED = 18, 30, 26, 74, 8
POINTS = 400
MOST_RATIO = 50  # of the longest bar to the shortest, on a linear axis
MIB = 2**20 / PAGE_BYTES


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def draw(found: Comparison, title: str, path: Path) -> None:
    """Write a PNG, or an SVG by the name; its bytes depend on the comparison alone.

    Args:
        found: the partitioners.
        title: above it.
        path: where to.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    columns = min(COLUMNS, len(found.rows))
    lines = -(-len(found.rows) // columns)
    heights = [PANEL * lines + 0.7, BAR * len(found.rows) + 1.2]
    unit = 1e6 if found.case.mix.references >= 1e6 else 1e3
    with settings(narrow=True), atomic_file(path) as temporary:
        canvas = Figure(figsize=(NARROW, sum(heights) + EDGES), layout="constrained")
        both: Any = canvas.subfigures(2, 1, height_ratios=heights)
        above, beneath = both
        grid = above.add_gridspec(lines, columns)
        first = None
        for k, row in enumerate(found.rows):
            axes = above.add_subplot(grid[k // columns, k % columns], sharey=first)
            first = first or axes
            _split(axes, found, row, unit)
            below = k + columns >= len(found.rows)
            axes.tick_params(labelleft=k % columns == 0, labelbottom=below)
            axes.set_xlabel(f"page accesses, {'millions' if unit == 1e6 else 'thousands'}" if below else "")
            if k % columns == 0:
                axes.set_ylabel("MiB of the cache")
        _transfers(beneath.subplots(), found.rows)
        _legend(above, found)
        notes = [fill(line, LONGEST_NOTE) for line in uneven(found.case)]
        canvas.suptitle("\n".join([title, *notes]), x=0.01, ha="left", fontsize=11)
        write(canvas, temporary, path)


def _colours(count: int) -> list[str]:
    """A colour for each application; beyond seven the colours come again, paler."""
    from matplotlib.colors import to_hex, to_rgb

    def paler(colour: str, turn: int) -> str:
        part = 0.75**turn
        red, green, blue = (1 - part * (1 - value) for value in to_rgb(colour))
        return to_hex((red, green, blue))

    return [paler(COLOURS[k % len(COLOURS)], k // len(COLOURS)) for k in range(count)]


def _split(axes: "Axes", found: Comparison, row: Score, unit: float) -> None:
    """Pages of each application over time, as stacked areas; each look shows the split that held then."""
    if row.shared.known:
        looks = np.linspace(0, found.case.total - 1, POINTS)
        held = row.shared.splits[np.searchsorted(row.shared.begins, looks, side="right") - 1]
        along = found.case.mix.before(looks) if found.case.sampled else looks
        axes.stackplot(along / unit, held.T / MIB, colors=_colours(found.case.mix.count), linewidth=0, rasterized=True)
    else:
        axes.text(0.5, 0.5, "not known", transform=axes.transAxes, ha="center", va="center", color=GREY)
    axes.axvline(int(found.case.mix.before(found.case.first)) / unit, color=BLACK, linewidth=1, linestyle=":")
    axes.set_title(_short(str(row.candidate), LONGEST_PARTITIONER), fontsize=SMALL)
    axes.set_xlim(0, found.case.mix.references / unit)
    axes.locator_params(axis="x", nbins=4)
    axes.set_ylim(0, found.case.pages / MIB)


def _transfers(axes: "Axes", rows: tuple[Score, ...]) -> None:
    names = [_short(str(row.candidate), LONGEST_LABEL) for row in rows]
    parts = [
        ("misses", GREY, [row.misses for row in rows]),
        ("new splits and mappings", LIGHT, [row.allocation or 0.0 for row in rows]),
        ("runs away from the head", BLACK, [row.fragmentation or 0.0 for row in rows]),
    ]
    begin = [0.0] * len(rows)
    for name, colour, lengths in parts:
        axes.barh(range(len(rows)), lengths, left=begin, color=colour, label=name, height=0.68)
        begin = [start + length for start, length in zip(begin, lengths, strict=True)]
    if unknown := [place for place, row in enumerate(rows) if not row.shared.known]:
        both = [rows[place].moved for place in unknown]
        axes.barh(unknown, both, left=[begin[place] for place in unknown], color=LIGHT, edgecolor=BLACK, hatch="////",
                  label="these two together", height=0.68)  # fmt: skip
        for place, length in zip(unknown, both, strict=True):
            begin[place] += length
    low, wide = _scale(axes, [row.transfers for row in rows])
    for place, row in enumerate(rows):
        label = f" {row.transfers:.4f}" if wide else f" {row.transfers:.3f}"
        axes.text(max(begin[place], low), place, label, va="center", fontsize=SMALL)
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"pages read from the disk for each page access{' (logarithmic)' if wide else ''}")
    axes.legend(loc="lower left", bbox_to_anchor=(-0.3, 1.0), ncols=2, columnspacing=1.0)


def _scale(axes: "Axes", values: list[float]) -> tuple[float, bool]:
    """Limits of the axis: where it begins, and whether it is logarithmic, as the least bar would else not be seen."""
    seen = [value for value in values if value > 0]
    if not seen or max(seen) <= MOST_RATIO * min(seen):
        axes.set_xlim(0, 1.2 * max(*values, 1e-9))
        return 0.0, False
    low = min(seen) / 2
    axes.set_xscale("log")
    axes.set_xlim(low, (max(seen) / low) ** 0.1 * max(seen))  # room for the label of the longest
    return low, True


def _legend(canvas: "SubFigure", found: Comparison) -> None:
    """The applications by colour, of many the first ones and how many more there are; and the line of the warm-up."""
    from matplotlib.artist import Artist
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    colours = _colours(found.case.mix.count)
    shown = list(zip(found.case.mix.names, colours, strict=True))[:MOST_LISTED]
    handles: list[Artist] = [Patch(color=colour, label=_short(name, LONGEST_NAME)) for name, colour in shown]
    if found.case.mix.count > MOST_LISTED:
        handles.append(Patch(color="none", label=f"and {found.case.mix.count - MOST_LISTED} more"))
    handles.append(Line2D([], [], color=BLACK, linewidth=1, linestyle=":", label=COUNTING))
    canvas.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)))
