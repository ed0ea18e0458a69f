"""Write amplification by placement, a panel for each over-provisioning."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.evaluation.wear.table import WearRow, WearTable
from cachezoo.io import atomic_file
from cachezoo.style import AMBER, BLACK, BLUE, GREY, WIDTH, settings, write
from cachezoo.wear.names import LEGACY, ORACLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR = 0.72
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}


def draw_wear(table: WearTable, title: str, path: Path) -> None:
    """Write a PNG or SVG; its bytes depend on the rows alone.

    Args:
        table: the rows.
        title: of the trace.
        path: where to.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    shares = list(dict.fromkeys(row.over_provisioning for row in table.rows))
    height = 1.5 + 0.26 * len(table.rows) / len(shares)
    with settings(), atomic_file(path) as temporary:
        canvas = Figure(figsize=(WIDTH, height), layout="constrained")
        panels = canvas.subplots(1, len(shares), sharey=True, squeeze=False)[0]
        for axes, share in zip(panels, shares, strict=True):
            _bars(axes, [row for row in table.rows if row.over_provisioning == share])
            axes.set_title(f"{share:.0%} over-provisioning", loc="left")
        canvas.suptitle(f"{title}: what the drive writes for what it is asked to", x=0.01, ha="left")
        canvas.supxlabel(
            "WAF: flash pages written for each page of the host, with 90 % interval; dashed: without streams",
            fontsize=9,
        )
        write(canvas, temporary, path)


def _bars(axes: "Axes", rows: Sequence[WearRow]) -> None:
    """A bar a row, legacy on top; placements that know the future in grey."""
    places = list(range(len(rows)))
    colours = {LEGACY: BLACK, ORACLE: GREY}
    ratios = [row.waf for row in rows]
    spread = [
        [max(0.0, row.waf - row.waf_interval[0]) for row in rows],
        [max(0.0, row.waf_interval[1] - row.waf) for row in rows],
    ]
    axes.barh(places, ratios, BAR, color=[colours.get(row.placement, BLUE) for row in rows])
    axes.errorbar(ratios, places, xerr=spread, fmt="none", ecolor=AMBER, elinewidth=1.5)
    axes.axvline(ratios[0], color=BLACK, linewidth=0.8, linestyle="--")
    axes.axvline(1, color=GREY, linewidth=0.8)
    for place, (row, top) in enumerate(zip(rows, spread[1], strict=True)):
        axes.text(row.waf + top, place, f" {row.waf:.2f}", va="center", fontsize=8, bbox=BEHIND)
    axes.set_yticks(places, [row.shown for row in rows])
    axes.set_xlim(0, 1.22 * max(ratio + top for ratio, top in zip(ratios, spread[1], strict=True)))
    axes.grid(False, axis="y")
    axes.set_ylim(len(rows) - 0.4, -0.6)
