"""Which size is recommended: at the curve's knee, within a budget, or the least that reaches a target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cachezoo.questions.page.recommend.ladder import knee
from cachezoo.questions.page.recommend.rows import Row, Rows

Why = Literal["knee", "whole", "budget", "reached", "on average", "unreachable", "useless", "needless"]
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
        place: of the recommended one; where none is, of the one that would be.
        why: `whole`: there is no knee, so all pages; `on average`: the hit ratio is reached, but the interval's low
            end is not; `useless`: no cache helps, whatever the aim; `needless`: the disk alone reaches it.
        knee: place of the curve's knee; None where it has none below all pages, or no cache helps.
    """

    rows: tuple[Row, ...]
    place: int
    why: Why
    knee: int | None

    @property
    def useful(self) -> bool:
        """Whether a cache is recommended at all."""
        return self.why not in ("useless", "needless")

    @property
    def most(self) -> float:
        """The highest hit ratio of all sizes."""
        return max(row.ran.hit_ratio for row in self.rows)

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
    """All rows with the two about the aim, and the first of all that meets it."""
    found = sorted([*rows, *maker.refined(rows, place, meets)], key=lambda row: row.capacity)
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
    # A budget's own size is no step of the curve: the knee is the same for every aim.
    steps = [row for row in rows if row is rows[-1] or not row.capacity & (row.capacity - 1)]
    bent = steps[knee([row.capacity for row in steps], [row.ran.hit_ratio for row in steps])]
    if max(row.ran.hit_ratio for row in rows) < USELESS:
        return Picked(tuple(rows), next(k for k, row in enumerate(rows) if row is bent), "useless", None)
    found, place, why = _placed(maker, rows, aim, bent)
    bend = None if bent is rows[-1] else next(k for k, row in enumerate(found) if row is bent)
    return Picked(tuple(found), place, why, bend)


def _placed(maker: Rows, rows: Sequence[Row], aim: Aim, bent: Row) -> tuple[Sequence[Row], int, Why]:
    """All rows, the place of the recommended one, and why it is."""
    if aim.hit is not None:
        return _to_hit(maker, rows, aim.hit)
    if aim.ms is not None and maker.bench.no_cache_us <= 1e3 * aim.ms:
        return rows, 0, "needless"
    if aim.ms is not None:
        return _to_ms(maker, rows, aim.ms)
    if aim.budget is None:
        return rows, next(k for k, row in enumerate(rows) if row is bent), "whole" if bent is rows[-1] else "knee"
    within = [row for row in rows if row.capacity <= aim.budget]
    most = max(row.ran.hit_ratio for row in within)
    return rows, _first(within, lambda row: row.ran.hit_ratio >= most - NO_MORE) or 0, "budget"
