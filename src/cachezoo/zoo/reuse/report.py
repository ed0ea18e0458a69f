"""The cache of classics and the forest on the report's page: may one cache serve every workload?"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo.show.formats import NONE, UNIT_SPACE, number, percent, points, words
from cachezoo.show.plots import CARRIED
from cachezoo.show.section import Figure, Section
from cachezoo.show.style import BLACK, BLUE, GREEN, GREY, VERMILION, panels, save
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.zoo.base import AtSize, ReportSection, Results
from cachezoo.zoo.reuse.metrics import (
    PLACES,
    WHERE,
    Group,
    ReuseMetrics,
    ReuseRow,
    Where,
    group_text,
    mean_hit_ratio,
    sd_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cachezoo.models.measured import Measured

SHOWN = {"home": "home", "set-up": "other set-ups", "program": "other programs"}
SPREAD = "lowest and highest"


def tables(metrics: ReuseMetrics) -> list[Table]:
    """Home and carry-over at each capacity, then each trace at the verdict's; those that have rows."""
    found = [group_table(metrics), trace_table(metrics)]
    return [table for table in found if table.rows]


def group_table(metrics: ReuseMetrics) -> Table:
    """One row for home, other set-ups and other programs at each capacity."""
    columns = [
        Column("where", numeric=False),
        Column("cache", "of distinct pages, and rivals: classics to choose of"),
        Column("traces"),
        Column("gap closed", f"median, {SPREAD}"),
        Column("use it?", numeric=False),
        Column("spread over seeds", "median of the sd, points of hit ratio"),
        Column("lead", "traces above the best classic in hindsight"),
        Column("above the floor", "traces"),
        Column("lowest lead", "points of hit ratio"),
        Column("SSD writes", "over the best classic's, median"),
    ]
    rows = [_group_cells(group, promoted(metrics)) for group in metrics.groups()]
    return Table(f"{_named(metrics)} at home and carried over", columns, rows)


def _named(metrics: ReuseMetrics) -> str:
    return next(iter(metrics.models), "the cache")


def promoted(metrics: ReuseMetrics) -> bool:
    """Whether validation speaks for the model."""
    return any(model.promoted for model in metrics.models.values())


def _group_cells(group: Group, promoted: bool) -> list[Cell]:
    low, high = group.lowest_gap_closed, group.highest_gap_closed
    ends = "" if low is None or high is None else f"{number(100 * low, 1)} to {number(100 * high, 1)}"
    closed = share_cell(group.gap_closed)
    return [
        Cell(SHOWN[group.where]),
        Cell(percent(group.capacity_fraction, 0), group.capacity_fraction, f"{group.rivals} rivals"),
        number_cell(group.traces),
        Cell(closed.text, closed.value, ends),
        advice(group, promoted),
        number_cell(group.sd_points, 2),
        Cell(f"{group.leading} of {group.traces}", group.leading),
        Cell(f"{group.above_floor} of {group.traces}", group.above_floor),
        Cell(points(group.lowest_points), group.lowest_points),
        number_cell(group.writes_ratio, 2),
    ]


def advice(group: Group, promoted: bool) -> Cell:
    """Whether to use the cache there: don't where validation speaks against it, or the median closes nothing."""
    if not promoted:
        return Cell("don't", note="not promoted", tone="bad")
    if group.worth is None:
        return Cell("cannot be told", tone="unsure")
    if not group.worth:
        return Cell("don't", tone="bad")
    below = group.traces - group.above_floor
    return Cell(f"not on {below} of {group.traces}", tone="unsure") if below else Cell("yes", tone="good")


def trace_table(metrics: ReuseMetrics) -> Table:
    """One row a trace at the verdict's capacity, home first, the widest gap closed first."""
    columns = [
        Column("trace", numeric=False),
        Column("program", numeric=False),
        Column("where", numeric=False),
        Column("best classic", "in hindsight", numeric=False),
        Column("its hit ratio"),
        Column("ours", "mean ± sd over seeds"),
        Column("optimum"),
        Column("gap closed"),
        Column("above the floor", numeric=False),
    ]
    rows = [_trace_cells(metrics, key, row) for key, row in ordered(metrics)]
    fraction = percent(metrics.capacity_fraction, 0)
    return Table(f"Each test trace, with a cache of {fraction} of its distinct pages", columns, rows)


def ordered(metrics: ReuseMetrics) -> list[tuple[str, ReuseRow]]:
    """Traces with their rows at the verdict's capacity: home, set-ups, programs; each by gap closed, widest first."""
    found = [
        (key, row)
        for key, trace in metrics.traces.items()
        for row in trace.rows
        if row.capacity_fraction == metrics.capacity_fraction
    ]

    def place(pair: tuple[str, ReuseRow]) -> tuple[int, bool, float, str]:
        key, row = pair
        closed = row.gap_closed
        return PLACES.index(metrics.traces[key].where), closed is None, -(closed or 0.0), key

    return sorted(found, key=place)


def _trace_cells(metrics: ReuseMetrics, key: str, row: ReuseRow) -> list[Cell]:
    trace, mean, sd = metrics.traces[key], mean_hit_ratio(row), sd_points(row)
    spread = "" if sd is None else f" ± {number(sd, 2)}"
    closed = Cell("gap below 0.02") if row.gap_closed is None else Cell(
        percent(row.gap_closed, signed=True), row.gap_closed
    )  # fmt: skip
    return [
        name_cell(key),
        Cell(trace.program or NONE, note=trace.setup or ""),
        Cell(SHOWN[trace.where]),
        name_cell(row.best_classic),
        share_cell(row.best_classic_hit_ratio, digits=2),
        Cell(f"{number(100 * mean, 2)}{spread}{UNIT_SPACE}%", mean),
        share_cell(row.optimum_hit_ratio, digits=2),
        closed,
        Cell("yes", tone="good") if row.above_floor else Cell("no", tone="bad"),
    ]


def values(metrics: ReuseMetrics) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The same as JSON values: `groups`, and `traces` with all that the metrics have at the verdict's capacity."""
    traces = [
        {
            "trace": key,
            "category": trace.category,
            "program": trace.program,
            "setup": trace.setup,
            "where": trace.where,
            **row.model_dump(mode="json"),
            "mean_hit_ratio": mean_hit_ratio(row),
            "sd_points": sd_points(row),
        }
        for key, row in ordered(metrics)
        for trace in [metrics.traces[key]]
    ]
    groups = [{**asdict(group), "use": advice(group, promoted(metrics)).text} for group in metrics.groups()]
    return {"groups": groups, "traces": traces}


RESULTS = Results(tables, values)


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
