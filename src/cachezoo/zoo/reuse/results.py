"""The cache at home and away, as tables: for `cachezoo models results` and for the report's page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cachezoo.show.formats import NONE, UNIT_SPACE, number, percent, points
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.zoo.base import Results
from cachezoo.zoo.reuse.metrics import PLACES, Group, ReuseMetrics, ReuseRow, mean_hit_ratio, sd_points

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


PART = Results(tables, values)
