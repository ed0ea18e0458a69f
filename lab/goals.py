"""What was aimed at with the cache for every workload, and what metrics/reuse.json reaches of it."""

from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.table import Cell, Column, Table
from cachezoo.zoo.reuse.metrics import ReuseJoined, ReuseMetrics, ReuseRow, reductions


class Goal(NamedTuple):
    """A figure over test streams at one capacity, and the least that it should be."""

    text: str
    least: float
    of: Literal["all", "away", "joined"]  # streams; away: other set-ups and other programs alone
    reached: Callable[[Sequence[Any]], float | None]  # of what metrics/reuse.json has of each stream
    shown: Callable[[float], str]


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _saved(rows: Sequence[ReuseRow]) -> tuple[float, float]:
    """Misses saved against LRU by ours: mean, and the worst stream."""
    (own,) = (one for one in reductions(rows) if one.name == rows[0].policy)
    return own.mean, own.worst


def _above_floor(streams: Sequence[ReuseRow] | Sequence[ReuseJoined]) -> float:
    return fmean(stream.above_floor for stream in streams)


def _points(value: float) -> str:
    return number(value, 1, signed=True)


def _percent(value: float) -> str:
    return percent(value, 1, signed=True)


def _whole(value: float) -> str:
    return percent(value, 0)


GOALS = (
    Goal("gap closed from the best default in hindsight, median", 0.2, "all",
         lambda rows: _median([row.gap_closed for row in rows]), _percent),
    Goal("gap closed from the best setting in hindsight, median", 0.1, "all",
         lambda rows: _median([row.gap_closed_of_all for row in rows]), _percent),
    Goal("lead away over the rival, mean, points", 2.5, "away",
         lambda rows: fmean(row.lead_points for row in rows), _points),
    Goal("lead away over the rival, worst, points", -1, "away",
         lambda rows: min(row.lead_points for row in rows), _points),
    Goal("misses saved against LRU, mean", 0.11, "all", lambda rows: _saved(rows)[0], _percent),
    Goal("misses saved against LRU, worst", -0.01, "all", lambda rows: _saved(rows)[1], _percent),
    Goal("streams above the floor", 1, "all", _above_floor, _whole),
    Goal("joined streams above the floor, with changes of workload", 1, "joined", _above_floor, _whole),
)  # fmt: skip


def table(metrics: ReuseMetrics) -> Table:
    """Each goal, and what is reached at each capacity; of joined streams only where there are some."""
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
        for goal in GOALS if goal.of != "joined" or metrics.changes
    ]  # fmt: skip
    return Table("What was aimed at, over all test streams, and what is reached with a cache of that part of the pages",
                 columns, rows)  # fmt: skip


def _streams(goal: Goal, metrics: ReuseMetrics, fraction: float) -> Sequence[ReuseRow] | Sequence[ReuseJoined]:
    """Those that a goal is counted over, at one capacity."""
    if goal.of == "joined":
        return [one for one in metrics.changes if one.capacity_fraction == fraction]
    return [
        row
        for trace in metrics.traces.values() if goal.of == "all" or trace.where != "home"
        for row in trace.rows if row.capacity_fraction == fraction
    ]  # fmt: skip


def _cell(goal: Goal, metrics: ReuseMetrics, fraction: float) -> Cell:
    streams = _streams(goal, metrics, fraction)
    reached = goal.reached(streams) if streams else None
    if reached is None:
        return Cell(NONE)
    met = reached >= goal.least
    return Cell(f"{goal.shown(reached)} {'(met)' if met else '(missed)'}", reached, tone="good" if met else "bad")
