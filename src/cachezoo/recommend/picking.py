"""Which size is recommended: at the curve's knee, within a budget, or the least that reaches a target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cachezoo.recommend.ladder import knee
from cachezoo.recommend.rows import Row, Rows

Why = Literal["knee", "budget", "reached", "on average", "unreachable", "useless"]
NO_MORE = 0.005
"""Hit ratio that a larger size has to bring to be worth it within a budget."""
USELESS = 0.02
"""Hit ratio of a cache for all pages below which none helps."""


@dataclass(frozen=True)
class Aim:
    """What a recommendation is to reach; at most one of them, and the knee of the curve without.

    Attributes:
        budget: pages that may be spent.
        hit: hit ratio.
        ms: mean response time.
    """

    budget: int | None = None
    hit: float | None = None
    ms: float | None = None


@dataclass(frozen=True)
class Picked:
    """The size that is recommended.

    Attributes:
        rows: all that were tried, by rising size.
        place: of the recommended one.
        why: `on average`: the hit ratio is reached, but the interval's low end is not.
        knee: place of the curve's knee.
    """

    rows: tuple[Row, ...]
    place: int
    why: Why
    knee: int

    @property
    def row(self) -> Row:
        """The recommended one."""
        return self.rows[self.place]


def _first(rows: Sequence[Row], meets: Callable[[Row], bool]) -> int | None:
    return next((place for place, row in enumerate(rows) if meets(row)), None)


def _sure(row: Row) -> float:
    """A hit ratio that is reached with confidence."""
    return row.ran.interval[0] if row.ran.interval else float("-inf")


def _best(rows: Sequence[Row], worth: Callable[[Row], float]) -> int:
    """The least size at which nothing larger is better."""
    return int(np.argmax([worth(row) for row in rows]))


def _refined(
    maker: Rows, rows: Sequence[Row], place: int, meets: Callable[[Row], bool]
) -> tuple[list[Row], int]:  # fmt: skip
    """All rows with those below the first that meets an aim, and the first of all that meets it."""
    found = sorted([*rows, *maker.refined(rows, place)], key=lambda row: row.capacity)
    return found, next(k for k, row in enumerate(found) if meets(row))


def _to_hit(maker: Rows, rows: Sequence[Row], target: float) -> tuple[Sequence[Row], int, Why]:
    """The least size whose interval lies above the target; else one that reaches it on average; else the best.

    What does not reach it with confidence is never less than the size that comes nearest with confidence, so that a
    higher target never gets a smaller cache.
    """
    sure = _first(rows, lambda row: _sure(row) >= target)
    if sure is not None:
        return *_refined(maker, rows, sure, lambda row: _sure(row) >= target), "reached"
    nearest = _best(rows, _sure)
    mean = _first(rows, lambda row: row.ran.hit_ratio >= target)
    if mean is None:
        return rows, max(_best(rows, lambda row: row.ran.hit_ratio), nearest), "unreachable"
    if mean <= nearest:
        return rows, nearest, "on average"
    return *_refined(maker, rows, mean, lambda row: row.ran.hit_ratio >= target), "on average"


def _to_ms(maker: Rows, rows: Sequence[Row], target: float) -> tuple[Sequence[Row], int, Why]:
    def meets(row: Row) -> bool:
        return row.ran.response_us <= 1e3 * target

    place = _first(rows, meets)
    if place is None:
        return rows, _best(rows, lambda row: -row.ran.response_us), "unreachable"
    return *_refined(maker, rows, place, meets), "reached"


def pick(maker: Rows, rows: Sequence[Row], aim: Aim) -> Picked:
    """The size to recommend.

    Args:
        maker: makes further rows.
        rows: of the ladder, by rising size; the last holds all pages, the budget is among them if it is less.
        aim: what to reach.
    """
    bend = knee([row.capacity for row in rows], [row.ran.hit_ratio for row in rows])
    bent = rows[bend].capacity
    found: Sequence[Row] = rows
    why: Why = "knee"
    place = bend
    if aim.hit is not None:
        found, place, why = _to_hit(maker, rows, aim.hit)
    elif aim.ms is not None:
        found, place, why = _to_ms(maker, rows, aim.ms)
    elif aim.budget is not None:
        within = [row for row in rows if row.capacity <= aim.budget]
        most = max(row.ran.hit_ratio for row in within)
        place, why = _first(within, lambda row: row.ran.hit_ratio >= most - NO_MORE) or 0, "budget"
    if why in ("knee", "budget") and max(row.ran.hit_ratio for row in rows) < USELESS:
        why = "useless"
    return Picked(tuple(found), place, why, next(k for k, row in enumerate(found) if row.capacity == bent))
