"""The cache of classics and the forest on the report's page: may one cache serve every workload?"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo.settings.base import Joining
from cachezoo.show.formats import NONE, UNIT_SPACE, number, percent, points, words
from cachezoo.show.plots import CARRIED
from cachezoo.show.section import Figure, Section
from cachezoo.show.style import BLACK, BLUE, GREEN, GREY, NARROW, VERMILION, save, settings
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.zoo.base import ReportSection, Results
from cachezoo.zoo.reuse.metrics import (
    PLACES,
    WHERE,
    Group,
    ReuseChange,
    ReuseJoined,
    ReuseMetrics,
    ReuseRow,
    Where,
    group_text,
    mean_hit_ratio,
    sd_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from cachezoo.models.measured import Measured

SHOWN = {"home": "home", "set-up": "other set-ups", "program": "other programs"}
KINDS: Mapping[Joining, str] = {
    "other": "other pages",
    "shared": "shared pages",
    "turns": "back and forth",
    "drift": "slow drift",
}
SPREAD = "lowest and highest"


def tables(metrics: ReuseMetrics) -> list[Table]:
    """Misses saved, home and away at each capacity, each stream, each change of workload; those with rows."""
    found = [reduction_table(metrics), group_table(metrics), trace_table(metrics), change_table(metrics)]
    return [table for table in found if table.rows]


def reduction_table(metrics: ReuseMetrics) -> Table:
    """One row for everything that was run on the streams: by how much it misses less than LRU."""
    at = metrics.capacity_fraction
    others = {size: {one.name: one for one in metrics.reductions(size)} for size in metrics.fractions if size != at}
    columns = [
        Column("cache", numeric=False),
        *(Column(name) for name in ("mean", "P10", "P50", "P90", "worst")),
        Column("first", "streams where no other row that can be run misses less"),
        *(Column(f"mean at {percent(other, 0)}") for other in others),
    ]
    rows = [
        [
            name_cell(one.name) if one.first is not None else Cell(one.name),
            *map(_saved, (one.mean, one.tenth, one.median, one.ninetieth, one.worst)),
            Cell(NONE) if one.first is None else number_cell(one.first),
            *(_saved(found[one.name].mean) for found in others.values()),
        ]
        for one in metrics.reductions()
    ]
    return Table(f"Misses saved against LRU, with a cache of {percent(at, 0)} of the distinct pages", columns, rows)


def _saved(value: float) -> Cell:
    return Cell(percent(value, signed=True), value)


def _points(value: float, note: str = "") -> Cell:
    return Cell(number(value, 1, signed=True), value, note)


def group_table(metrics: ReuseMetrics) -> Table:
    """One row for home, other set-ups and other programs at each capacity."""
    columns = [
        Column("where", numeric=False),
        Column("cache", "of distinct pages, and ways to run a classic that the rival is chosen of"),
        Column("streams"),
        Column("use it?", numeric=False),
        Column("lead", "over the rival, mean of the streams, points of hit ratio"),
        Column("lowest lead", "points of hit ratio"),
        Column("ahead", "streams above the rival"),
        Column("above the floor", "streams"),
        Column("gap closed", f"from the best default in hindsight: median, {SPREAD}"),
        Column("from the best setting", "gap closed from the best of all ways in hindsight: median"),
        Column("spread over seeds", "median of the sd, points of hit ratio"),
        Column("SSD writes", "times the rival's, median"),
    ]
    rows = [_group_cells(group, promoted(metrics)) for group in metrics.groups()]
    return Table(f"{_named(metrics)} at home and away", columns, rows)


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
        Cell(percent(group.capacity_fraction, 0), group.capacity_fraction, f"{group.rivals} ways"),
        number_cell(group.traces),
        advice(group, promoted),
        _points(group.lead_points),
        _points(group.lowest_points),
        Cell(f"{group.leading} of {group.traces}", group.leading),
        Cell(f"{group.above_floor} of {group.traces}", group.above_floor),
        Cell(closed.text, closed.value, ends),
        share_cell(group.gap_closed_of_all),
        number_cell(group.sd_points, 2),
        number_cell(group.writes_ratio, 2),
    ]


def advice(group: Group, promoted: bool) -> Cell:
    """Whether to use the cache there: don't where validation speaks against it, or it does not lead in the mean."""
    if not promoted:
        return Cell("don't", note="not promoted", tone="bad")
    if not group.worth:
        return Cell("don't", tone="bad")
    below = group.traces - group.above_floor
    return Cell(f"not on {below} of {group.traces}", tone="unsure") if below else Cell("yes", tone="good")


def trace_table(metrics: ReuseMetrics) -> Table:
    """One row a stream at the verdict's capacity, home first, the largest lead first."""
    columns = [
        Column("stream", numeric=False),
        Column("program", numeric=False),
        Column("where", numeric=False),
        Column("length", "page accesses over the capacity"),
        Column("rival", "chosen on the first half", numeric=False),
        Column("its hit ratio"),
        Column("ours", "mean ± sd over seeds"),
        Column("lead", "points, with its 90 % interval"),
        Column("by quarter", "lead in each, points; the lead is that of the last two"),
        Column("gap closed", "from the best default in hindsight"),
        Column("optimum"),
        Column("above the floor", numeric=False),
    ]
    rows = [_trace_cells(metrics, key, row) for key, row in ordered(metrics)]
    fraction = percent(metrics.capacity_fraction, 0)
    return Table(f"Each test stream, with a cache of {fraction} of its distinct pages", columns, rows)


def ordered(metrics: ReuseMetrics) -> list[tuple[str, ReuseRow]]:
    """Traces with their rows at the verdict's capacity: home, set-ups, programs; each by gap closed, widest first."""
    found = [
        (key, row)
        for key, trace in metrics.traces.items()
        for row in trace.rows
        if row.capacity_fraction == metrics.capacity_fraction
    ]

    def place(pair: tuple[str, ReuseRow]) -> tuple[int, float, str]:
        key, row = pair
        return PLACES.index(metrics.traces[key].where), -row.lead_points, key

    return sorted(found, key=place)


def _trace_cells(metrics: ReuseMetrics, key: str, row: ReuseRow) -> list[Cell]:
    trace = metrics.traces[key]
    closed = Cell("gap below 0.02") if row.gap_closed is None else Cell(
        percent(row.gap_closed, signed=True), row.gap_closed
    )  # fmt: skip
    ends = row.lead_interval
    quarters = [100 * (own - rival) for own, rival in zip(row.quarters, row.rival_quarters, strict=True)]
    return [
        name_cell(key),
        Cell(trace.program or NONE, note=trace.setup or ""),
        Cell(SHOWN[trace.where]),
        number_cell(row.capacities, 0),
        name_cell(row.rival),
        share_cell(row.rival_hit_ratio, digits=2),
        _seeds_cell(row),
        _points(row.lead_points, "" if ends is None else " to ".join(number(end, 1, signed=True) for end in ends)),
        Cell(", ".join(number(own, 1, signed=True) for own in quarters)),
        closed,
        share_cell(row.optimum_hit_ratio, digits=2),
        Cell("yes", tone="good") if row.above_floor else Cell("no", tone="bad"),
    ]


def _seeds_cell(row: ReuseRow | ReuseChange) -> Cell:
    mean, sd = mean_hit_ratio(row), sd_points(row)
    spread = "" if sd is None else f" ± {number(sd, 2)}"
    return Cell(f"{number(100 * mean, 2)}{spread}{UNIT_SPACE}%", mean)


def change_table(metrics: ReuseMetrics) -> Table:
    """One row a change of workload, in the order of the settings."""
    columns = [
        Column("change", numeric=False),
        Column("from", numeric=False),
        Column("to", numeric=False),
        Column("pages in common", "share of the distinct pages"),
        Column("length", "page accesses to the next change or the end, over the capacity"),
        Column("rival", "chosen before the change", numeric=False),
        Column("its hit ratio", "after the change"),
        Column("ours", "mean ± sd over seeds"),
        Column("lead", "over the rival, points"),
        Column("over LRU", "points"),
        Column("over the best way", "in hindsight, points"),
        Column("at first", "lead over the rival, and over LRU, in the first 10 capacities of page accesses, points"),
        Column("above the floor", numeric=False),
    ]
    rows = [_change_cells(one, place) for one in metrics.changes for place in range(len(one.changes))]
    fraction = percent(metrics.capacity_fraction, 0)
    title = f"Each change of workload, with a cache of {fraction} of a joined stream's distinct pages"
    return Table(title, columns, rows)


def _change_cells(joined: ReuseJoined, place: int) -> list[Cell]:
    change = joined.changes[place]
    ends = (joined.first, joined.second) if place % 2 == 0 else (joined.second, joined.first)
    bars = {"the rival": change.above_rival, "LRU": change.above_lru}
    below = [name for name, above in bars.items() if not above]
    return [
        Cell(KINDS[joined.kind]),
        *map(name_cell, ends),
        share_cell(joined.shared_pages),
        number_cell(change.capacities, 0),
        name_cell(change.rival),
        share_cell(change.rival_hit_ratio, digits=2),
        _seeds_cell(change),
        _points(change.lead_points),
        _points(change.lru_points),
        _points(100 * (mean_hit_ratio(change) - change.best_way_hit_ratio)),
        _points(
            100 * (change.early_hit_ratio - change.early_rival_hit_ratio),
            number(100 * (change.early_hit_ratio - change.early_lru_hit_ratio), 1, signed=True),
        ),
        Cell("no", note=f"below {words(below)}", tone="bad") if below else Cell("yes", tone="good"),
    ]


def values(metrics: ReuseMetrics) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The same as JSON values: `reductions`, `groups`, and all the metrics of `traces` and `changes`."""
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
    changes = [{**one.model_dump(mode="json"), "above_floor": one.above_floor} for one in metrics.changes]
    reductions = [asdict(one) for one in metrics.reductions()]
    return {"reductions": reductions, "groups": groups, "traces": traces, "changes": changes}


RESULTS = Results(tables, values)


KIND = "reuse"
TITLE = "One cache for every workload: at home and away"
# Colour and form: either alone tells the three apart.
MARKS: Mapping[Where, tuple[str, str]] = {"home": (BLUE, "o"), "set-up": (GREEN, "s"), "program": (VERMILION, "^")}
LEFT_END = -10.0  # of the axis, in points: what loses more is an arrow there, with its figure
LINE_INCHES = 0.21


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
    return f"There is no test stream of {words(missing)}, so nothing is known of them." if missing else ""


def _where_not(metrics: ReuseMetrics) -> str:
    """Each group where the mean lead is not above 0, in plain words."""
    found = [metrics.group(where, metrics.capacity_fraction) for where in PLACES]
    lost = [group for group in found if group is not None and not group.worth]
    return " ".join(map(group_text, lost))


def _draw(sources: "Measured", folder: Path) -> list[Figure]:
    figure = carried_figure(_metrics(sources), folder)
    return [] if figure is None else [figure]


def carried_figure(metrics: ReuseMetrics | None, folder: Path) -> Figure | None:
    """Lead on each test stream at the verdict's capacity: home, other set-ups, other programs."""
    rows = ordered(metrics) if metrics is not None else []
    if metrics is None or not rows:
        return None
    found = [where for where in PLACES if any(metrics.traces[key].where == where for key, _ in rows)]
    with settings(narrow=True):
        canvas = _drawn(metrics, rows, found)
        save(canvas, folder, CARRIED)
    means = [group for where in found if (group := metrics.group(where, metrics.capacity_fraction)) is not None]
    said = [f"{points(group.lead_points)} {SHOWN[group.where]}" for group in means]
    alt = f"Lead on each of {len(rows)} test streams, as tabled; means: {words(said)}."
    caption = (
        f"Each test stream with a cache of {percent(metrics.capacity_fraction, 0)} of its pages: mean of the seeds, "
        "line of its 90 % interval over seeds and time; dashed: mean of the group; left of 0 the rival is better."
    )
    return Figure(CARRIED, alt, caption)


def _drawn(metrics: ReuseMetrics, rows: Sequence[tuple[str, ReuseRow]], found: Sequence[Where]) -> "Canvas":
    """A panel a group, as high as it has streams."""
    from matplotlib.figure import Figure as Canvas

    counts = [sum(metrics.traces[key].where == where for key, _ in rows) for where in found]
    canvas = Canvas(figsize=(NARROW, LINE_INCHES * len(rows) + 0.5 * len(found) + 0.8), layout="constrained")
    axes = canvas.subplots(len(found), 1, squeeze=False, gridspec_kw={"height_ratios": counts})
    highest = max(1.0, *(_ends(row)[1] for _, row in rows))
    for axis, where in zip([line[0] for line in axes], found, strict=True):
        _group_panel(axis, where, [(key, row) for key, row in rows if metrics.traces[key].where == where])
        axis.set_xlim(_left(rows), 1.04 * highest)
        if where != found[-1]:
            axis.set_xticklabels([])
    axes[-1][0].set_xlabel("lead over the classic that was best on the first half, points")
    return canvas


def _ends(row: ReuseRow) -> tuple[float, float]:
    """Of the lead's interval; the lead where a stream is too short for one."""
    return row.lead_interval or (row.lead_points, row.lead_points)


def _left(rows: Sequence[tuple[str, ReuseRow]]) -> float:
    """Where the axis begins: at the lowest figure, but not below `LEFT_END`."""
    return max(LEFT_END, min(0.0, *(_ends(row)[0] for _, row in rows))) - 0.4


def _group_panel(axis: "Axes", where: Where, rows: Sequence[tuple[str, ReuseRow]]) -> None:
    colour, mark = MARKS[where]
    leads = [row.lead_points for _, row in rows]
    at = np.arange(len(rows))[::-1]
    for y, value, (_, row) in zip(at, leads, rows, strict=True):
        if value < LEFT_END:
            axis.plot(LEFT_END, y, marker="<", color=colour, ms=5)
            axis.annotate(points(value), (LEFT_END, y), (6, 0), textcoords="offset points", va="center")
            continue
        axis.plot(_ends(row), [y, y], color=colour, lw=1)
        axis.plot(value, y, marker=mark, color=colour, ms=5)
    axis.axvline(0, color=BLACK, lw=1)
    axis.axvline(max(LEFT_END, float(np.mean(leads))), color=GREY, ls="--", lw=1)
    axis.set_yticks(at, [key for key, _ in rows])
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.grid(visible=False, axis="y")
    axis.set_title(WHERE[where], loc="left")


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
    more, lowest = sum(row.lead_points > 0 for row in rows), min(row.lead_points for row in rows)
    return (
        f"On {len(rows)} streams of this kind, {said}, it hits more than the way to run a classic that was best on the "
        f"first half on {more}; at worst {points(lowest)}."
    )


PART = ReportSection(KIND, TITLE, _answer, _section, _draw, _carried)
