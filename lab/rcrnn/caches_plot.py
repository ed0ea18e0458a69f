"""Tables and plots of Figs. 10 to 15."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.palette import colour_of
from cachezoo.show.style import GREY, PINK, VERMILION
from cachezoo.show.table import Cell, Column, Table
from lab.claims.plot import bars, headed, page
from lab.rcrnn.caches import ACCESS, ALL, BEST, FREE, LARC, LRU, ORACLE, OURS, PAPER, RECA, CachesFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    LRU: colour_of("lru"), ACCESS: PINK, LARC: colour_of("larc"), RECA: colour_of("reca"), BEST: GREY,
    OURS: colour_of("caching"), PAPER: VERMILION, ORACLE: colour_of("oracle"),
}  # fmt: skip
COLOURS |= {free: f"{COLOURS[name]}80" for name, free in FREE.items()}  # half as opaque
OVER_SIZE = "fig10"
COLUMNS = 3


def _order(found: CachesFigure) -> list[str]:
    present = {point.cache for point in found.points}
    return [name for one in ALL for name in (one, FREE.get(one, "")) if name in present]


def _values(found: CachesFigure, fraction: float, traces: list[str]) -> dict[str, list[float | None]]:
    """Of each cache its values on the traces, in percents where they are shares."""
    scale = 100 if found.percent else 1
    known = {(one.cache, one.trace): one.value for one in found.points if one.capacity_fraction == fraction}
    return {
        name: [None if (value := known.get((name, trace))) is None else scale * value for trace in traces]
        for name in _order(found)
    }


def _traces(found: CachesFigure) -> list[str]:
    return list(dict.fromkeys(point.trace for point in found.points))


def _sizes(found: CachesFigure) -> list[float]:
    return sorted({point.capacity_fraction for point in found.points})


def table(found: CachesFigure) -> Table:
    """For the terminal; a line a trace and size, a column a cache."""
    names, traces = _order(found), _traces(found)
    best = {(one.trace, one.capacity_fraction): one.policy for one in found.points if one.cache == BEST}
    rows = []
    for trace in traces:
        for fraction in _sizes(found):
            own = {(one.cache): one.value for one in found.points
                   if (one.trace, one.capacity_fraction) == (trace, fraction)}  # fmt: skip
            cells = [_cell(own.get(name), found.percent) for name in names]
            rows.append([Cell(trace), Cell(percent(fraction, 0)), Cell(best.get((trace, fraction), NONE)), *cells])
    heads = [Column("trace", numeric=False), Column("size"), Column("best classic is", numeric=False)]
    return Table(f"{found.title}: {found.quantity}", [*heads, *(Column(name) for name in names)], rows)


def _cell(value: float | None, share: bool) -> Cell:
    if value is None:
        return Cell(NONE)
    return Cell(percent(value) if share else number(value, 2 if value < 10 else 1), value)


def draw(found: CachesFigure, path: Path) -> None:
    """Lines over the size, a panel a trace (Fig. 10), or bars a trace, a panel a size."""
    if found.id == OVER_SIZE:
        _lines(found, path)
        return
    traces, sizes = _traces(found), _sizes(found)
    with page(found, path, len(sizes), 1, 2.0 * len(sizes)) as (canvas, axes):
        for panel, fraction in zip(axes[:, 0], sizes, strict=True):
            bars(panel, traces, _values(found, fraction, traces), COLOURS)
            panel.set(title=f"cache of {100 * fraction:g} % of the pages")
        canvas.supylabel(_label(found), fontsize=9)
        headed(canvas, found, axes[0][0])


def _label(found: CachesFigure) -> str:
    return f"{found.quantity}, %" if found.percent else found.quantity


def _lines(found: CachesFigure, path: Path) -> None:
    traces, sizes = _traces(found), _sizes(found)
    columns = min(COLUMNS, len(traces))
    rows = -(-len(traces) // columns)
    with page(found, path, rows, columns, 2.1 * rows) as (canvas, axes):
        for panel in axes.flat[len(traces) :]:
            panel.remove()
        for panel, trace in zip(axes.flat, traces, strict=False):
            _over_size(panel, found, trace, sizes)
        canvas.supylabel(_label(found), fontsize=9)
        headed(canvas, found, axes[0][0])


def _over_size(panel: "Axes", found: CachesFigure, trace: str, sizes: list[float]) -> None:
    at = [100 * fraction for fraction in sizes]
    columns = {fraction: _values(found, fraction, [trace]) for fraction in sizes}
    for name in _order(found):
        values = [_known(columns[fraction][name][0]) for fraction in sizes]
        style = ":" if name == ORACLE else "-"
        panel.plot(at, values, f"{style}o", color=COLOURS[name], ms=3, lw=2 if name == OURS else 1.2,
                   label=name)  # fmt: skip
    panel.set_xticks(at, [f"{100 * fraction:g} %" for fraction in sizes])
    panel.set(title=trace)
    panel.set_ylim(bottom=0)


def _known(value: float | None) -> float:
    return float("nan") if value is None else value
