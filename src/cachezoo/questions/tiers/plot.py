"""A contest of hierarchies as a picture: who serves page reads, and what a page read takes."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.io import atomic_file
from cachezoo.questions.tiers.judged import Contest, Judged
from cachezoo.questions.tiers.response import DRAM_US
from cachezoo.show.formats import latency
from cachezoo.show.style import AMBER, BLUE, GREEN, GREY, SKY, VERMILION, WIDTH, settings, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_NAME = 34
ROW, EDGES = 0.42, 1.5
LEAST_WRITTEN = 0.06  # of the axis: a part that is narrower has no figure in it


def _name(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def draw_contest(found: Contest, title: str, path: Path) -> None:
    """Write a PNG, or an SVG by the name; its bytes depend on the contest alone.

    Args:
        found: the hierarchies, fastest first; RAM alone of each cache is drawn below them.
        title: above it.
        path: where to.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    shown = {str(row.hierarchy): row for row in found.rows}
    alone = {f"{text} alone": row for text, row in found.baselines.items() if text not in shown}
    rows = {**shown, **alone}
    with settings(), atomic_file(path) as temporary:
        canvas = Figure(figsize=(WIDTH, EDGES + ROW * len(rows)), layout="constrained")
        left, right = canvas.subplots(1, 2, sharey=True)
        _served(left, list(rows.values()))
        _times(right, list(rows.values()))
        left.set_yticks(range(len(rows)), [_name(text) for text in rows])
        left.invert_yaxis()
        for axes in (left, right):
            axes.grid(visible=False, axis="y")
            axes.tick_params(axis="y", length=0)
        canvas.suptitle(title, x=0.01, ha="left", fontsize=10)
        write(canvas, temporary, path)


def _stacked(axes: "Axes", parts: list[tuple[str, str, list[float]]]) -> None:
    begin = [0.0] * len(parts[0][2])
    for name, colour, lengths in parts:
        axes.barh(range(len(lengths)), lengths, left=begin, color=colour, label=name, height=0.68)
        begin = [start + length for start, length in zip(begin, lengths, strict=True)]
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(parts), fontsize=8, columnspacing=1.0)


def _served(axes: "Axes", rows: list[Judged]) -> None:
    own = [row.tiered for row in rows]
    parts = [
        ("RAM", GREEN, [100 * (one.rhr - one.bhr) for one in own]),
        ("buffer", AMBER, [100 * one.bhr for one in own]),
        ("SSD", BLUE, [100 * one.shr for one in own]),
        ("disk", GREY, [100 * one.dhr for one in own]),
    ]
    _stacked(axes, parts)
    axes.set_xlim(0, 100)
    axes.set_xlabel("page reads served by, %")
    for place, one in enumerate(own):
        if one.dhr > LEAST_WRITTEN:
            axes.text(99, place, f"{100 * one.dhr:.0f}", ha="right", va="center", fontsize=8, color="white")


def _times(axes: "Axes", rows: list[Judged]) -> None:
    """AMAT, cut into what each tier brings to it."""
    own = [row.tiered for row in rows]
    scale, unit = (1e3, "ms") if max(one.amat_us for one in own) >= 1e3 else (1.0, "µs")
    parts = [
        ("of RAM", GREEN, [one.rhr * DRAM_US / scale for one in own]),
        ("of the SSD", SKY, [one.shr * one.rta_ssd_us / scale for one in own]),
        ("of the disk", VERMILION, [one.dhr * one.rta_hdd_us / scale for one in own]),
    ]
    _stacked(axes, parts)
    axes.set_xlim(0, 1.22 * max(one.amat_us for one in own) / scale)
    axes.set_xlabel(f"mean time of a page read (AMAT), {unit}")
    for place, one in enumerate(own):
        axes.text(one.amat_us / scale, place, f" {latency(one.amat_us)}", va="center", fontsize=8)
