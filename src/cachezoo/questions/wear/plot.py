"""Write amplification, erases and lifetime by placement, a row of panels for each over-provisioning."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.io import atomic_file
from cachezoo.questions.wear.table import WearRow, WearTable
from cachezoo.show.style import AMBER, BLACK, BLUE, GREY, panels, settings, write
from cachezoo.wear.names import LEGACY, ORACLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR = 0.72
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
ROOM = 1.3  # of the longest bar, so that its value stands inside the panel
COLUMNS = ("WAF, with 90 % interval", "erases of blocks in the cycle", "drive writes until worn out")


def draw_wear(table: WearTable, title: str, path: Path) -> None:
    """Write a PNG or SVG; its bytes depend on the rows alone.

    Args:
        table: the rows.
        title: of the trace.
        path: where to.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.ticker import EngFormatter

    shares = list(dict.fromkeys(row.over_provisioning for row in table.rows))
    height = 1.0 + len(shares) * 0.7 + 0.21 * len(table.rows)
    with settings(), atomic_file(path) as temporary:
        canvas, grid = panels(len(shares), len(COLUMNS), height)
        for line, share in zip(grid, shares, strict=True):
            rows = [row for row in table.rows if row.over_provisioning == share]
            _bars(line[0], rows, [row.waf for row in rows], "{:.2f}", [row.waf_interval for row in rows])
            _bars(line[1], rows, [row.erases for row in rows], "{:,.0f}")
            _bars(line[2], rows, [row.drive_writes for row in rows], "{:,.0f}")
            for axes in line[1:]:
                axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 400M in place of a power of ten in the corner
            line[0].axvline(1, color=GREY, linewidth=0.8)  # no drive can write less
            line[0].set_title(f"{share:.0%} over-provisioning", loc="left")
            line[0].set_yticks(range(len(rows)), [row.shown for row in rows])
        for axes, label in zip(grid[-1], COLUMNS, strict=True):
            axes.set_xlabel(label)
        canvas.suptitle(f"{title}: what placements wear out (dashed: without streams)", x=0.01, ha="left")
        write(canvas, temporary, path)


def _bars(
    axes: "Axes",
    rows: Sequence[WearRow],
    values: Sequence[float],
    form: str,
    intervals: Sequence[tuple[float, float]] = (),
) -> None:
    """A bar a row, legacy on top; placements that know the future in grey.

    Args:
        axes: where to.
        rows: of one over-provisioning.
        values: of each.
        form: of a value, as text.
        intervals: of each; may be none.
    """
    places = list(range(len(rows)))
    colours = {LEGACY: BLACK, ORACLE: GREY}
    axes.barh(places, values, BAR, color=[colours.get(row.placement, BLUE) for row in rows])
    axes.axvline(values[0], color=BLACK, linewidth=0.8, linestyle="--")
    ends = [max(value, high) for value, (_, high) in zip(values, intervals or [(0.0, 0.0)] * len(rows), strict=True)]
    if intervals:
        spread = [
            [max(0.0, value - low) for value, (low, _) in zip(values, intervals, strict=True)],
            [end - value for value, end in zip(values, ends, strict=True)],
        ]
        axes.errorbar(values, places, xerr=spread, fmt="none", ecolor=AMBER, elinewidth=1.5)
    for place, (value, end) in enumerate(zip(values, ends, strict=True)):
        axes.text(end, place, f" {form.format(value)}", va="center", fontsize=8, bbox=BEHIND)
    axes.set_xlim(0, ROOM * max([*ends, 1]))
    axes.locator_params(axis="x", nbins=4)  # numbers of many digits stand apart
    axes.set_yticks(places, [""] * len(rows))
    axes.grid(False, axis="y")
    axes.set_ylim(len(rows) - 0.4, -0.6)
