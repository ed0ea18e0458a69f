"""The picture of `recommend --only flash`: disks that reads keep busy, by policy, over writes or sizes."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from cachezoo.flash_cache.policies import ACCEPT_ALL
from cachezoo.io import atomic_file
from cachezoo.metrics.flash import RateRow
from cachezoo.questions.flash.bench import MODEL, OPT, ORACLE, WITHOUT
from cachezoo.questions.flash.table import FlashTable, name_of
from cachezoo.show.formats import percent
from cachezoo.show.palette import colour_of, look_of
from cachezoo.show.style import BLACK, BLUE, GREY, NARROW, legend_room, settings, write
from cachezoo.sizes import human

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
BUSY = "disks kept busy by reads"
COST = "disk-head ms a read"
MIB = 2**20
LONGEST = 72  # characters of a line above the plot
KEPT = "best without a model, kept"


def _busy(row: RateRow) -> float:
    """What is drawn: disks kept busy, or where no clock says how long the trace took, milliseconds a read."""
    return row.disk_ms_per_read if row.disks_busy is None else row.disks_busy


def _error(row: RateRow) -> float | None:
    """Half the 90 % interval of what is drawn, where that is estimated from a sample."""
    return row.errors_90.get("disk_ms_per_read" if row.disks_busy is None else "disks_busy")


def draw_flash(tables: Sequence[FlashTable], title: str, path: Path) -> None:
    """Draw disks kept busy: bars of one size and rate, else over the write rate, or of several sizes over the size.

    Vertical lines, and those of bars, are what a sample may be off. The bytes of the file depend on the rows alone.

    Args:
        tables: of each size.
        title: of the trace.
        path: a PNG or SVG.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    table = tables[0]
    rates = list(dict.fromkeys(row.asked for row in table.rows if row.asked is not None))
    cache = human(table.capacity * table.geometry.segment_bytes)
    names = list(dict.fromkeys(_line_of(row) for one in tables for row in one.rows))
    columns, room = legend_room(names)
    part = "" if table.sampled is None else f", from {percent(table.sampled)} of the blocks, ± 90\u00a0%"
    with settings(narrow=True), atomic_file(path) as temporary:
        if len(tables) > 1:
            panels = rates or [""]
            canvas = Figure(figsize=(NARROW, 3.4 * len(panels) + room), layout="constrained")
            for axes, rate in zip(canvas.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
                _over_sizes(axes, tables, rate)
                limit = f", writes {rate}" if rate else ""
                axes.set_title(_wrapped(f"{title}: flash caches by size{limit}{part}"), loc="left")
            _legend(canvas, columns)
        else:
            height = 3.6 + room if len(rates) > 1 else 1.7 + 0.3 * len(table.rows)
            canvas = Figure(figsize=(NARROW, height), layout="constrained")
            axes = canvas.subplots()
            if len(rates) > 1:
                _curves(axes, table)
            else:
                _bars(axes, table.rows)
            _legend(canvas, columns)
            limit = f", writes {rates[0]}" if len(rates) == 1 else ""
            axes.set_title(_wrapped(f"{title}: a flash cache of {cache}{limit}{part}"), loc="left")
        write(canvas, temporary, path)


def _wrapped(title: str) -> str:
    return fill(title, LONGEST)


def _legend(canvas: "Figure", columns: int) -> None:
    """What is drawn, beneath; of several panels, what the first has."""
    canvas.legend(*canvas.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def _over_sizes(axes: "Axes", tables: Sequence[FlashTable], rate: str) -> None:
    """A policy's colour and a line a mode over the size, at one rate; what nothing limits is in every panel."""
    rows = [row for table in tables for row in table.rows if row.asked in (rate, None)]
    modes = _modes(rows)
    named = [(_line_of(row), row) for row in rows]
    for name in dict.fromkeys(name for name, _ in named):
        own = sorted((row for key, row in named if key == name), key=lambda row: row.capacity_bytes)
        first = own[0]
        colour = _colour(first)
        line = ":" if first.kind == ORACLE else _line(modes, first)
        marker = "x" if first.as_shipped else look_of(first.policy).marker
        sizes = [row.capacity_bytes / MIB for row in own]
        axes.plot(sizes, [_busy(row) for row in own], color=colour, linestyle=line, marker=marker, ms=5, label=name)
        _off(axes, sizes, own, colour)
    axes.set_xscale("log")
    axes.set_xticks(*_ticks(rows), minor=False)
    axes.set_xticks([], minor=True)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("size of the flash cache")
    axes.set_ylabel(COST if rows[0].disks_busy is None else BUSY)


def _ticks(rows: Sequence[RateRow]) -> tuple[list[float], list[str]]:
    """Places and names of the sizes."""
    sizes = {row.capacity_bytes / MIB: f"{row.size}\n{human(row.capacity_bytes)}" for row in rows}
    return list(sizes), list(sizes.values())


def _modes(rows: Sequence[RateRow]) -> list[str]:
    """The modes of prefetching of what a limit holds, in the order of their lines."""
    limited = [row for row in rows if row.asked is not None]
    return list(dict.fromkeys(row.prefetch for row in limited if row.kind != ORACLE))


def _colour(row: RateRow) -> str:
    """A policy's colour."""
    return BLUE if row.kind == MODEL else BLACK if row.kind == ORACLE else colour_of(row.policy)


def _curves(axes: "Axes", table: FlashTable) -> None:
    """A policy's colour and a line a mode over what is written; AcceptAll, which nothing limits, as a level."""
    known = all(row.written_bytes_s is not None for row in table.rows)
    modes = _modes(table.rows)
    for name in dict.fromkeys(map(_line_of, table.rows)):
        own = [row for row in table.rows if _line_of(row) == name]
        first = own[0]
        own.sort(key=lambda row: (_written_at(row, known), _busy(row)))
        points = [(_written_at(row, known), _busy(row)) for row in own]
        if first.policy == ACCEPT_ALL:
            axes.axhline(_busy(first), color=GREY, linewidth=1, linestyle=_line(modes, first), label=name)
            continue
        line = ":" if first.kind == ORACLE else _line(modes, first)
        style: dict[str, Any] = {"linestyle": line, "marker": look_of(first.policy).marker}
        if first.as_shipped:
            style = {"linestyle": "", "marker": "x"}
        style |= {"color": _colour(first), "markersize": 5}
        axes.plot(*zip(*points, strict=True), label=name, **style)
        _off(axes, [place for place, _ in points], own, _colour(first))
    values = [_busy(row) + sign * (_error(row) or 0.0) for row in table.rows for sign in (-1, 1)]
    room = 0.08 * max(max(values) - min(values), max(values) / 10)
    axes.set_ylim(min(values) - room, max(values) + room)
    axes.set_xlim(left=0)
    axes.set_xlabel("SSD writes, MB a second" if known else "SSD writes, share of accept_all's")
    axes.set_ylabel(COST if table.rows[0].disks_busy is None else BUSY)


def _off(axes: "Axes", places: Sequence[float], rows: Sequence[RateRow], colour: str) -> None:
    """Draw the 90 % errors of points from a sample."""
    errors = [error for row in rows if (error := _error(row)) is not None]
    if errors:
        axes.errorbar(places, [_busy(row) for row in rows], yerr=errors, fmt="none", ecolor=colour, elinewidth=0.8)


def _line_of(row: RateRow) -> str:
    """Which line a row is on: OPT's whichever mode is best, and one for whichever policy is best that is kept."""
    if row.kind == ORACLE:
        return OPT
    return KEPT if row.kind == WITHOUT and row.as_shipped else name_of(row)


def _line(modes: Sequence[str], row: RateRow) -> Any:  # noqa: ANN401 - a style of matplotlib
    return LINES[modes.index(row.prefetch) % len(LINES)] if row.prefetch in modes else "-"


def _written_at(row: RateRow, known: bool) -> float:
    return row.written_bytes_s / 1e6 if known and row.written_bytes_s is not None else row.written_share


def _bars(axes: "Axes", rows: Sequence[RateRow]) -> None:
    """Means as bars with their 90 % intervals, over time or of the sample, peaks as ticks."""
    names = [name_of(row) for row in rows]
    colours = [_colour(row) for row in rows]
    means, places = [_busy(row) for row in rows], range(len(rows))
    peaks = [row.disks_busy_peak for row in rows if row.disks_busy_peak is not None]
    intervals = [row.disks_busy_interval for row in rows if row.disks_busy_interval is not None]
    errors = [error for row in rows if (error := _error(row)) is not None]
    spread = [[max(0.0, mean - low) for mean, (low, _) in zip(means, intervals, strict=False)],
              [max(0.0, high - mean) for mean, (_, high) in zip(means, intervals, strict=False)]]  # fmt: skip
    off, label = (spread, "mean, 90 % interval") if peaks else (None, "mean")
    if errors:
        off, label = [errors, errors], "mean, 90 % error of the sample"
    axes.barh(places, means, color=colours, height=0.7, xerr=off, ecolor=BLACK, label=label)
    if peaks:
        axes.plot(peaks, places, "|", color=BLACK, markersize=9, label="peak")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(COST if rows[0].disks_busy is None else BUSY)
