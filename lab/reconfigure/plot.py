"""lab/results/reconfigure.png and the tables in the terminal: hit ratios around changes of workload, as in Fig. 17."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.io import atomic_file
from cachezoo.show.formats import NONE
from cachezoo.show.style import BLACK, BLUE, DPI, GREEN, GREY, LIGHT, SKY, VERMILION, panels, settings
from lab.reconfigure.document import FIXED, SWITCHING, Reconfigured, Row, Stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

COLUMNS, PANEL_INCHES = 2, 2.3
LINES = {
    "best classic": (GREY, ":"), "fixed_model": (VERMILION, "--"), "exact_monitor": (SKY, "-"),
    "single_model": (GREEN, "-"), "multiple_model": (BLUE, "-"),
}  # fmt: skip


def draw(found: Reconfigured, path: Path) -> None:
    """Write a PNG of hit ratios by period, a panel for each stream; its bytes depend on the figures alone.

    Raises:
        CachezooError: the file cannot be written.
    """
    rows = -(-len(found.streams) // COLUMNS)
    with settings(), atomic_file(path) as temporary:
        canvas, axes = panels(rows, COLUMNS, 0.6 + PANEL_INCHES * rows)
        for panel, stream in zip(axes.flat, found.streams, strict=False):
            _panel(panel, stream, found)
        for panel in axes.flat[len(found.streams) :]:
            panel.set_axis_off()
        for panel in axes[:, 0]:
            panel.set_ylabel("page hit ratio")
        handles, labels = axes[0][0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        canvas.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})


def shown(stream: Stream, found: Reconfigured) -> dict[str, Row]:
    """The rows that are drawn of a stream, by what the legend calls them; the fixed model is the first phase's."""
    own = [row for row in found.rows if row.stream == stream.name]
    first = stream.phases[0].category
    by_mode: dict[str, Row] = {row.mode: row for row in own if row.mode in SWITCHING}
    (fixed,) = [row for row in own if row.mode == FIXED and row.policy == first]
    (best,) = [row for row in own if row.mode == "rival" and row.policy == stream.best_classic]
    named = {**by_mode, "fixed_model": fixed, "best classic": best}
    return {label: named[label] for label in LINES}


def _panel(axes: "Axes", stream: Stream, found: Reconfigured) -> None:
    for phase in stream.phases[1:]:
        axes.axvline(phase.first, color=BLACK, linewidth=0.8)
    for label, row in shown(stream, found).items():
        middle = (np.arange(len(row.periods)) + 0.5) * found.period
        colour, line = LINES[label]
        # single_model is hardly ever apart from multiple_model, which is drawn over it.
        width, alpha = (5.0, 0.4) if label == "single_model" else (1.3, 1.0)
        axes.plot(middle, row.periods, color=colour, linestyle=line, linewidth=width, alpha=alpha, label=label)
    axes.axvspan(0, stream.first_counted, color=LIGHT, alpha=0.5, linewidth=0)
    axes.set_xlim(0, stream.phases[-1].end)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("requests")
    axes.set_title(_short(stream.name), loc="left")


def _short(stream: str) -> str:
    """A stream's name for people, without the role of its traces."""
    return stream.replace("_test", "")


def tables(found: Reconfigured) -> "list[Table]":
    """Ways to change the model, every cache on every stream, what changing the model cost, and the summary."""
    return [_ways(found), _each(found), _costs(found), _summary(found)]


def _table(title: str, columns: Sequence[str], words: int) -> "Table":
    """A table whose first columns are words and the others figures."""
    from rich.table import Table

    table = Table(title=title)
    for k, name in enumerate(columns):
        table.add_column(name, justify="left" if k < words else "right")
    return table


def _ways(found: Reconfigured) -> "Table":
    table = _table(
        "Ways to change the model, on validation streams", ("resident pages", "while unknown", "votes", "hit ratio"), 2
    )
    for one in found.candidates:
        table.add_row(one.requeue, one.unknown, str(one.switch_votes), f"{one.hit_ratio:.4f}")
    return table


def _each(found: Reconfigured) -> "Table":
    title = f"Changes of workload at {100 * found.capacity_fraction:g} % of a workload's pages"
    columns = ("stream", "cache", "hit ratio", "lead, points", "90 % interval", "after a change", "response, µs",
               "SSD writes / 100")  # fmt: skip
    table = _table(title, columns, 2)
    for row in found.rows:
        low, high = row.lead_interval
        table.add_row(
            _short(row.stream), " ".join(name for name in (row.mode, row.policy) if name and name != "rival"),
            f"{row.hit_ratio:.4f}", f"{row.lead:+.2f}", f"{low:+.2f} to {high:+.2f}", _ratio(row.after_hit_ratio),
            f"{row.mean_response_us:.0f}", f"{row.ssd_writes_per_100_io:.0f}",
        )  # fmt: skip
    return table


def _costs(found: Reconfigured) -> "Table":
    columns = ("stream", "mode", "votes", "wrong", "unknown", "takeovers", "wrong", "right model", "delays", "resident",
               "moved", "steps", "µs a request")  # fmt: skip
    table = _table("What changing the model cost; delays in requests from a change to the right model", columns, 2)
    streams = {stream.name: stream for stream in found.streams}
    for row in found.rows:
        if row.cost is None or row.mode == FIXED:
            continue
        own, stream = row.cost, streams[row.stream]
        votes = (stream.votes, stream.wrong_votes, stream.unknown_votes)
        if row.mode == "each_minute":
            votes = (stream.minute_votes, stream.minute_wrong_votes, stream.minute_unknown_votes)
        delays = ", ".join(NONE if delay is None else str(delay) for delay in own.delays)
        table.add_row(
            _short(row.stream), row.mode, *map(str, votes),
            str(own.takeovers), str(own.wrong_takeovers), f"{100 * own.right:.1f} %", delays, str(own.resident),
            str(own.moved), str(own.steps), f"{own.steps_us:.1f}",
        )  # fmt: skip
    return table


def _summary(found: Reconfigured) -> "Table":
    columns = ("mode", "hit ratio", "lead, points (lowest)", "after a change", "response, µs", "right model")
    table = _table(f"Summary of {len(found.streams)} streams: means; leads over the first phase's model", columns, 1)
    for one in found.summary:
        right = NONE if one.right is None else f"{100 * one.right:.1f} %"
        table.add_row(
            one.mode, f"{one.hit_ratio:.4f}", f"{one.lead:+.2f} ({one.lowest_lead:+.2f})", _ratio(one.after_hit_ratio),
            f"{one.mean_response_us:.0f}", right,
        )  # fmt: skip
    return table


def _ratio(share: float | None) -> str:
    return NONE if share is None else f"{share:.4f}"
