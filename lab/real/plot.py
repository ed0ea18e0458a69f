"""lab/results/real.png and the tables in the terminal: measured response times beside those of models."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.io import atomic_file
from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.output import drawn
from cachezoo.show.style import BLACK, BLUE, DPI, GREY, VERMILION, panels, settings
from cachezoo.show.table import Table as Plain
from cachezoo.show.table import text_table
from lab.real.document import Agreement, Kind, Quantiles, RealDevices, Replay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

NAMES: dict[Kind, str] = {"hdd": "disk", "ssd": "SSD"}
COLOURS = {"measured": BLUE, "profile": VERMILION, "fitted": GREY}
LABELS = {"measured": "measured", "profile": "model of the profile", "fitted": "model fitted to a train trace"}
ROW_INCHES, HEAD_INCHES = 0.42, 1.6
APART = 0.22  # of neighbours on a row


def draw(found: RealDevices, path: Path) -> None:
    """Write a PNG: on each device median to 99th percentile of every trace, and how far rankings agree.

    Raises:
        CachezooError: the file cannot be written.
    """
    traces = found.traces()
    with settings(), atomic_file(path) as temporary:
        canvas, axes = panels(1, 3, HEAD_INCHES + ROW_INCHES * len(traces))
        for panel, (kind, name) in zip(axes[0], NAMES.items(), strict=False):
            rows = {row.trace: row for row in found.replays if row.device == kind}
            _spans(panel, [rows[trace] for trace in traces])
            panel.set_title(f"{name}, µs", loc="left")
        _agreement(axes[0][2], found, list(traces))
        for panel in axes[0]:
            panel.set_yticks(np.arange(len(traces)), traces if panel is axes[0][0] else [""] * len(traces))
            panel.set_ylim(len(traces) - 0.5, -0.5)
        said = [
            pair for panel in (axes[0][0], axes[0][2]) for pair in zip(*panel.get_legend_handles_labels(), strict=True)
        ]
        handles, labels = zip(*said, strict=True)
        canvas.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        canvas.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})


def _spans(panel: "Axes", rows: list[Replay]) -> None:
    for place, (times, colour) in enumerate(COLOURS.items()):
        own = [(y, one) for y, row in enumerate(rows) for one in row.quantiles if one.times == times]
        at = [y + (place - 1) * APART for y, _ in own]
        panel.hlines(at, [one.p50_us for _, one in own], [one.p99_us for _, one in own], color=colour, linewidth=2)
        panel.plot([one.mean_us for _, one in own], at, "o", color=colour, markersize=5, label=LABELS[times])
    panel.set_xscale("log")


def _agreement(panel: "Axes", found: RealDevices, traces: list[str]) -> None:
    """Kendall's correlation of rankings; the second round's as a line, beyond which no model can be held."""
    for place, times in ((1, "profile"), (2, "fitted")):
        own = [one for one in found.agreement if one.times == times]
        at = [traces.index(one.trace) + (place - 1.5) * APART for one in own]
        panel.plot([_known(one.tau) for one in own], at, "o", color=COLOURS[times], markersize=5)
    again = [one for one in found.agreement if one.times == "round"]
    for one in again:
        y = traces.index(one.trace)
        label = "two rounds" if one is again[0] else ""
        panel.vlines(_known(one.tau), y - 2 * APART, y + 2 * APART, color=BLACK, linewidth=2, label=label)
    panel.set_xlim(right=1.02)
    panel.set_title("rankings of caches, Kendall's tau", loc="left")


def _known(tau: float | None) -> float:
    return float("nan") if tau is None else tau


def tables(found: RealDevices) -> list["Table"]:
    """Times, fits and rankings, for the terminal."""
    times = text_table(
        f"Response times, µs; models of {found.profile} and fitted ones; demerit figures",
        ("trace", "device", "times", "mean", "p50", "p90", "p99", "demerit", "of two rounds"),
        [_cells(row, one) for row in found.replays for one in row.quantiles], 3,
    )  # fmt: skip
    fits = text_table(
        "Models fitted to the first half of a train trace's first requests, on their second half",
        ("category", "device", "requests", "demerit", "why none"),
        [(one.category, NAMES[one.device], number(one.requests), percent(one.demerit), one.why) for one in found.fits],
        2,
    )  # fmt: skip
    return [drawn(one) for one in (times, fits, _rankings(found.agreement, found.capacity_fraction))]


def _cells(row: Replay, one: Quantiles) -> tuple[str, ...]:
    figures = (number(value, 1) for value in (one.mean_us, one.p50_us, one.p90_us, one.p99_us))
    again = percent(row.round_demerit) if one.times == "measured" else ""
    apart = percent(one.demerit) if one.demerit is not None else NONE
    return (row.trace, NAMES[row.device], one.times, *figures, apart, again)


def _rankings(rows: list[Agreement], fraction: float) -> Plain:
    return text_table(
        f"Rankings of classics and optimum by mean response time, caches of {percent(fraction, 0)}",
        ("trace", "by the times of", "fastest, measured", "fastest", "tau", "takes longer by"),
        [(one.trace, one.times, one.best_measured, one.best, number(one.tau, 3), percent(one.loss, 2)) for one in rows],
        4,
    )  # fmt: skip
