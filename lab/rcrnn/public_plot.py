"""lab/results/rcrnn/public.png and the tables in the terminal: caches on public traces."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.output import drawn
from cachezoo.show.table import text_table
from lab.claims.plot import bars, headed, page
from lab.rcrnn.caches import ALL, BEST, ORACLE, PAPER, named
from lab.rcrnn.caches_plot import COLOURS
from lab.rcrnn.public import PublicTraces
from lab.rcrnn.sizes import CacheRun

if TYPE_CHECKING:
    from rich.table import Table

Number = Callable[[CacheRun], float | None]
QUANTITIES: dict[str, Number] = {
    "hit ratio, %": lambda run: 100 * run.hit_ratio,
    "pages replaced\nper 100 requests": lambda run: run.replacements,
    "pages written\nper 100 requests": lambda run: run.ssd_writes,
    "mean response\ntime, ms": lambda run: run.response_us / 1000,
}
ROW_INCHES = 1.7
SHOWN = [name for name in ALL if name != PAPER]  # the zoo that takes turns has no networks of the paper's size


def _sizes(found: PublicTraces) -> list[float]:
    return sorted({run.capacity_fraction for run in found.rows})


def draw(found: PublicTraces, path: Path) -> None:
    """Write a PNG: a row a quantity, a column a size, a group of bars a trace.

    Raises:
        CachezooError: the file cannot be written, or a cache is missing.
    """
    names, sizes, last = [one.trace for one in found.traces], _sizes(found), list(QUANTITIES)[-1]
    with page(found, path, len(QUANTITIES), len(sizes), ROW_INCHES * len(QUANTITIES)) as (canvas, axes):
        for column, fraction in enumerate(sizes):
            own = [named(found.rows, trace, fraction) for trace in names]
            for panels, (label, value) in zip(axes, QUANTITIES.items(), strict=True):
                panel = panels[column]
                bars(panel, names, {cache: [value(runs[cache]) for runs in own] for cache in SHOWN}, COLOURS)
                panel.tick_params(axis="x", labelrotation=20, labelbottom=label == last)
                if not column:
                    panel.set_ylabel(label)
            axes[0][column].set_title(f"cache of {100 * fraction:g} % of the pages")
        headed(canvas, found, axes[0][0])


def tables(found: PublicTraces) -> list["Table"]:
    """The traces and who decided on them, and every quantity."""
    about = text_table(
        "Public traces, and whose models decided",
        ("trace", "MSR volume", "format", "requests", "pages", "reads per write", "mean KiB", "takeovers", "decided"),
        [
            (one.trace, one.msr_volume or NONE, one.format, number(one.requests), number(one.distinct_pages),
             number(one.reads_per_write, 2), number(one.mean_kib, 1), number(one.takeovers),
             ", ".join(f"{own.category} {percent(own.share, 0)}" for own in one.decided))
            for one in found.traces
        ], 3,
    )  # fmt: skip
    return [drawn(about), *(_table(found, label.replace("\n", " "), value) for label, value in QUANTITIES.items())]


def _table(found: PublicTraces, label: str, value: Number) -> "Table":
    rows = []
    for trace in (one.trace for one in found.traces):
        for fraction in _sizes(found):
            own = named(found.rows, trace, fraction)
            cells = [number(value(own[cache]), 2) for cache in SHOWN]
            rows.append((trace, percent(fraction, 0), own[BEST].policy, *cells))
    heads = ("trace", "size", "best classic is", *SHOWN)
    return drawn(text_table(f"Public traces: {label}; {ORACLE} is a bound", heads, rows, 1))
