"""The cache of classics and the forest on the report's page: may one cache serve every workload?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.show.formats import percent, points, words
from cachezoo.show.plots import CARRIED
from cachezoo.show.section import Figure, Section
from cachezoo.show.style import BLACK, BLUE, GREEN, GREY, VERMILION, panels, save
from cachezoo.zoo.base import AtSize, ReportSection
from cachezoo.zoo.reuse.metrics import PLACES, WHERE, ReuseMetrics, ReuseRow, Where, group_text, mean_hit_ratio
from cachezoo.zoo.reuse.results import SHOWN, ordered, tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cachezoo.models.measured import Measured

KIND = "reuse"
TITLE = "One cache for every workload: at home and carried over"
# Colour and form: either alone tells the three apart.
MARKS: Mapping[Where, tuple[str, str]] = {"home": (BLUE, "o"), "set-up": (GREEN, "s"), "program": (VERMILION, "^")}
LEFT_END = -0.5  # of the axis: what loses more is an arrow there, with its figure
LINE_INCHES = 0.19


def _metrics(sources: "Measured") -> ReuseMetrics | None:
    """metrics/reuse.json, where there is one."""
    found = sources.overall.get(KIND)
    return found if isinstance(found, ReuseMetrics) else None


def _answer(sources: "Measured") -> str:
    """Whether one cache may serve workloads that have, or lack, a model of their own."""
    model = next((model for model in sources.models if model.trained.kind == KIND), None)
    if model is None:
        return "No cache for every workload was trained: take what is said above of each."
    metrics = _metrics(sources)
    told = metrics.summary() if metrics is not None else ""
    if not told:
        return f"{model.id} has no figures on test traces: don't use it. {model.reason}."
    if not model.promoted:
        return f"For every workload there is {model.id}, but don't use it: {model.refused or model.reason}. {told}"
    return (
        f"One page cache for every workload is {model.id}, which follows the best of classics and of a next-use "
        f"forest. On validation: {model.reason}. {told}"
    )


def _section(sources: "Measured", figures: Mapping[str, Figure]) -> Section | None:
    metrics = _metrics(sources)
    if metrics is None:
        return None
    texts = [_missing(metrics), _where_not(metrics)]
    drawn = [figures[CARRIED]] if CARRIED in figures else []
    return Section(KIND, TITLE, [text for text in texts if text], tables(metrics), drawn)


def _missing(metrics: ReuseMetrics) -> str:
    missing = [SHOWN[where] for where in PLACES if metrics.group(where, metrics.capacity_fraction) is None]
    return f"There is no test trace of {words(missing)}, so nothing is known of them." if missing else ""


def _where_not(metrics: ReuseMetrics) -> str:
    """Each group where the median is not above 0, in plain words."""
    found = [metrics.group(where, metrics.capacity_fraction) for where in PLACES]
    lost = [group for group in found if group is not None and group.worth is False]
    return " ".join(map(group_text, lost))


def _draw(sources: "Measured", folder: Path) -> list[Figure]:
    figure = carried_figure(_metrics(sources), folder)
    return [] if figure is None else [figure]


def carried_figure(metrics: ReuseMetrics | None, folder: Path) -> Figure | None:
    """Gap closed on each test trace at the verdict's capacity: home, other set-ups, other programs."""
    rows = ordered(metrics) if metrics is not None else []
    shown = [(key, row) for key, row in rows if row.gap_closed is not None]
    if metrics is None or not shown:
        return None
    counts = {where: sum(metrics.traces[key].where == where for key, _ in shown) for where in PLACES}
    found = [where for where in PLACES if counts[where]]
    canvas, axes = panels(len(found), 1, LINE_INCHES * len(shown) + 0.5 * len(found) + 0.6, [counts[w] for w in found])
    highest = max(0.1, *(max(_ends(row)) for _, row in shown))
    for axis, where in zip([line[0] for line in axes], found, strict=True):
        _group_panel(axis, where, [(key, row) for key, row in shown if metrics.traces[key].where == where])
        axis.set_xlim(100 * _left(shown), 100 * 1.04 * highest)
        if where != found[-1]:
            axis.set_xticklabels([])
    axes[-1][0].set_xlabel("gap closed from the best classic in hindsight to the optimum, %")
    save(canvas, folder, CARRIED)
    medians = [group for where in found if (group := metrics.group(where, metrics.capacity_fraction)) is not None]
    said = [f"{percent(group.gap_closed or 0.0)} {SHOWN[group.where]}" for group in medians]
    alt = f"Gap closed on each of {len(shown)} test traces, as tabled; medians: {words(said)}."
    left_out = len(rows) - len(shown)
    narrow = f" Left out: {left_out} with a gap below 0.02." if left_out else ""
    caption = (
        f"Each test trace with a cache of {percent(metrics.capacity_fraction, 0)} of its pages: mean of the seeds, "
        f"line from the lowest to the highest; dashed: median of the group; left of 0 a classic is better.{narrow}"
    )
    return Figure(CARRIED, alt, caption)


def _ends(row: ReuseRow) -> tuple[float, float]:
    """Gap closed by the worst and by the best seed; the row's own where one alone was run."""
    room = row.optimum_hit_ratio - row.best_classic_hit_ratio
    each = [(ratio - row.best_classic_hit_ratio) / room for ratio in row.seed_hit_ratios] or [row.gap_closed or 0.0]
    return min(each), max(each)


def _left(shown: Sequence[tuple[str, ReuseRow]]) -> float:
    """Where the axis begins: at the lowest figure, but not below `LEFT_END`."""
    return max(LEFT_END, min(0.0, *(_ends(row)[0] for _, row in shown))) - 0.04


def _group_panel(axis: "Axes", where: Where, rows: Sequence[tuple[str, ReuseRow]]) -> None:
    colour, mark = MARKS[where]
    closed = np.array([row.gap_closed for _, row in rows], np.float64)
    at = np.arange(len(rows))[::-1]
    for y, value, (_, row) in zip(at, closed, rows, strict=True):
        if value < LEFT_END:
            axis.plot(100 * LEFT_END, y, marker="<", color=colour, ms=5)
            axis.annotate(f"{percent(value, 0)}", (100 * LEFT_END, y), (6, 0), textcoords="offset points", va="center")
            continue
        axis.plot([100 * end for end in _ends(row)], [y, y], color=colour, lw=1)
        axis.plot(100 * value, y, marker=mark, color=colour, ms=5)
    axis.axvline(0, color=BLACK, lw=1)
    axis.axvline(100 * max(LEFT_END, float(np.median(closed))), color=GREY, ls="--", lw=1)
    axis.set_yticks(at, [key for key, _ in rows], fontsize=8)
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.grid(visible=False, axis="y")
    axis.set_title(f"{SHOWN[where]}: {WHERE[where]}", loc="left")


def _sizes(sources: "Measured", trace: str) -> list[AtSize]:
    metrics = _metrics(sources)
    if metrics is None or trace not in metrics.traces:
        return []
    return [
        AtSize(
            row.policy, row.capacity, mean_hit_ratio(row), row.best_classic_hit_ratio, row.optimum_hit_ratio,
            row.seed_hit_ratios,
        )
        for row in metrics.traces[trace].rows
    ]  # fmt: skip


def _carried(sources: "Measured", category: str) -> str:
    """Other set-ups and other programs of one category, at the capacity of the verdict."""
    metrics = _metrics(sources)
    if metrics is None:
        return ""
    away = [trace for trace in metrics.traces.values() if trace.category == category and trace.where != "home"]
    rows = [row for trace in away for row in trace.rows if row.capacity_fraction == metrics.capacity_fraction]
    if not rows:
        return ""
    said = words([
        f"{count} of {SHOWN[where]}" for where in PLACES if (count := sum(trace.where == where for trace in away))
    ])  # fmt: skip
    more, lowest = sum(row.gap_points > 0 for row in rows), min(row.gap_points for row in rows)
    return (
        f"On {len(rows)} more traces of this kind, {said}, it hits more than the best classic in hindsight on {more}; "
        f"at worst {points(lowest)}."
    )


PART = ReportSection(KIND, TITLE, _answer, _section, _draw, _sizes, _carried)
