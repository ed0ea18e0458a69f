"""What was aimed at with the cache for every workload, and what metrics/reuse.json reaches of it."""

from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import NamedTuple

from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.table import Cell, Column, Table
from cachezoo.zoo.reuse.metrics import ReuseMetrics, ReuseRow, reductions


class Goal(NamedTuple):
    """A figure over test streams at one capacity, and the least that it should be."""

    text: str
    least: float
    away: bool  # counted over other set-ups and other programs alone
    reached: Callable[[Sequence[ReuseRow]], float | None]
    shown: Callable[[float], str]


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _saved(rows: Sequence[ReuseRow]) -> tuple[float, float]:
    """Misses saved against LRU by ours: mean, and the worst stream."""
    (own,) = (one for one in reductions(rows) if one.name == rows[0].policy)
    return own.mean, own.worst


def _points(value: float) -> str:
    return number(value, 1, signed=True)


def _percent(value: float) -> str:
    return percent(value, 1, signed=True)


GOALS = (
    Goal("gap closed from the best classic in hindsight, median", 0.2, False,
         lambda rows: _median([row.gap_closed for row in rows]), _percent),
    Goal("gap closed from the best of all ways in hindsight, median", 0.1, False,
         lambda rows: _median([row.gap_closed_of_all for row in rows]), _percent),
    Goal("lead away over the rival, mean, points", 2.5, True,
         lambda rows: fmean(row.lead_points for row in rows), _points),
    Goal("lead away over the rival, worst, points", -1, True,
         lambda rows: min(row.lead_points for row in rows), _points),
    Goal("misses saved against LRU, mean", 0.11, False, lambda rows: _saved(rows)[0], _percent),
    Goal("misses saved against LRU, worst", -0.01, False, lambda rows: _saved(rows)[1], _percent),
    Goal("streams above the floor", 1, False,
         lambda rows: fmean(row.above_floor for row in rows), lambda value: percent(value, 0)),
)  # fmt: skip


def table(metrics: ReuseMetrics) -> Table:
    """Each goal, and what is reached at each capacity."""
    columns = [
        Column("goal", numeric=False),
        Column("at least"),
        *(Column(f"at {percent(fraction, 0)}") for fraction in metrics.fractions),
    ]
    rows = [
        [
            Cell(goal.text),
            Cell(goal.shown(goal.least), goal.least),
            *(_cell(goal, metrics, fraction) for fraction in metrics.fractions),
        ]
        for goal in GOALS
    ]
    return Table("What was aimed at, over all test streams, and what is reached with a cache of that part of the pages",
                 columns, rows)  # fmt: skip


def _cell(goal: Goal, metrics: ReuseMetrics, fraction: float) -> Cell:
    rows = [
        row
        for trace in metrics.traces.values() if not goal.away or trace.where != "home"
        for row in trace.rows if row.capacity_fraction == fraction
    ]  # fmt: skip
    reached = goal.reached(rows) if rows else None
    if reached is None:
        return Cell(NONE)
    met = reached >= goal.least
    return Cell(f"{goal.shown(reached)} {'(met)' if met else '(missed)'}", reached, tone="good" if met else "bad")
