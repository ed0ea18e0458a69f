"""How the figures are drawn: a page with panels, one legend and the paper's claims under it."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo.io import atomic_file
from cachezoo.show.style import AMBER, BLACK, BLUE, DPI, GREEN, GREY, PINK, SKY, VERMILION, panels, settings
from lab.claims.finding import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

BAR_COLOURS = (BLUE, VERMILION, GREEN, PINK, SKY, AMBER, GREY, BLACK)
CAPTION_WIDTH, LINE_INCHES = 160, 0.15
ACROSS, SAMPLE = 115, 6  # letters of a legend that fit on a line; what an entry's line or bar takes of it


def caption(figure: Figure) -> str:
    """The paper's claims with what we find, a paragraph each."""
    said = [f"{one.stated}. Here, {one.measured}: {one.shown}; {one.judged}." for one in figure.findings]
    for place, (one, other) in enumerate(zip(figure.findings, figure.published, strict=False)):
        how = "" if other.measured == one.measured else f", {other.measured}"
        said[place] += f" The paper's network{how}: {other.shown}; {other.judged}."
    lines = [figure.note] * bool(figure.note) + said
    return "\n".join(textwrap.fill(line, CAPTION_WIDTH, subsequent_indent="    ") for line in lines)


@contextmanager
def page(figure: Figure, path: Path, rows: int, columns: int, height: float) -> Iterator[tuple["Canvas", Any]]:
    """Panels to draw into; on leaving, the PNG is written, whose bytes depend on the figure alone.

    Args:
        figure: whose title and claims stand there.
        path: where to.
        rows: of panels.
        columns: of panels.
        height: of the panels together, inches; the caption's comes on top.

    Raises:
        CachezooError: the file cannot be written.
    """
    below = caption(figure)
    with settings(), atomic_file(path) as temporary:
        canvas, axes = panels(rows, columns, height + LINE_INCHES * (below.count("\n") + 1) + 0.6)
        yield canvas, axes
        for panel in axes.flat:
            panel.set_title(panel.get_title(), loc="left")
            panel.set_title("")
        canvas.supxlabel(below, x=0.01, ha="left", fontsize=8)
        canvas.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})


def headed(canvas: "Canvas", figure: Figure, *axes: "Axes") -> None:
    """The figure's title and, below it, one legend of what these panels hold."""
    found = {label: handle for panel in axes for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    lines = -(-sum(len(label) + SAMPLE for label in found) // ACROSS)
    canvas.legend(
        found.values(), found, loc="outside upper left", ncols=-(-len(found) // lines),
        columnspacing=1.2, title=f"{figure.source}. {figure.title}", title_fontsize=11, alignment="left",
    )  # fmt: skip


def bars(
    axes: "Axes", groups: Sequence[str], series: Mapping[str, Sequence[float | None]], colours: Mapping[str, str]
) -> None:
    """A group of bars for each name, a bar for each of the series; what there is no number of is left out."""
    width = 0.84 / len(series)
    for k, (name, values) in enumerate(series.items()):
        middle = np.arange(len(groups)) + (k - (len(series) - 1) / 2) * width
        heights = [float("nan") if value is None else value for value in values]
        axes.bar(middle, heights, width=0.94 * width, color=colours[name], label=name)
    axes.set_xticks(np.arange(len(groups)), [group.replace(", ", ",\n") for group in groups])
    axes.grid(visible=False, axis="x")
