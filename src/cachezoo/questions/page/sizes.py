"""The sizes that a recommendation tries, what each brings, and which of them is recommended."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from cachezoo.contest.choice import Goal
from cachezoo.contest.lead import Lead
from cachezoo.contest.verdict import LEAST_HITS, Verdict, verdict
from cachezoo.questions.page.bench import Run
from cachezoo.questions.page.candidates import ADMISSION, SIMPLEST, Halves
from cachezoo.sizes import human
from cachezoo.traces.table import PAGE_BYTES

HALVINGS, MOST_HALVINGS = 6, 14
LOW_SHARE = 0.1
"""Sizes go down to one that has at most this share of the hits that all pages would bring."""
WORTH = 0.5
"""Of the hits that the average MiB brings, what a further MiB has to bring."""
TIES = 1e-9
APART = 1.25
"""How many times a power of two all pages are at least, for both to be tried."""
CLOSE = 1.025
"""How many times the size that misses a target the one that reaches it is at most."""
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
TERABYTE = 1e12
DAYS_A_YEAR = 365.25
SHORT_LIFE_YEARS = 3.0
"""Of an SSD; below this an admission that writes less is shown, and what it costs."""
Why = Literal["knee", "whole", "budget", "reached", "on average", "unreachable", "useless", "needless"]
NO_MORE = 0.005
"""Hit ratio that a larger size has to bring to be worth it within a budget."""
USELESS = 0.02
"""Hit ratio of a cache for all pages below which none helps."""


def ladder(n_pages: int, lru_ratio: Callable[[int], float], budget: int | None = None) -> list[int]:
    """Capacities in pages: powers of two below the distinct pages, these all, and the budget if it is less.

    Args:
        n_pages: distinct pages of the trace.
        lru_ratio: capacity to LRU's hit ratio.
        budget: pages that may be spent; None for no limit.
    """
    powers = [1 << k for k in range(n_pages.bit_length()) if APART * (1 << k) <= n_pages]
    least = LOW_SHARE * lru_ratio(n_pages)
    keep = min(HALVINGS, len(powers))
    while keep < min(MOST_HALVINGS, len(powers)) and lru_ratio(powers[-keep]) > least:
        keep += 1
    extra = [budget] if budget is not None and budget < n_pages else []
    return sorted({*powers[len(powers) - keep :], n_pages, *extra})


def knee(capacities: Sequence[int], ratios: Sequence[float]) -> int:
    """The place of the size beyond which a further MiB brings less than half of what the average MiB of all brings.

    Steps are those of the curve's upper concave hull, so a flat stretch before a cliff is bought together with what
    comes behind it, as far as that is worth it: of a loop, whose curve is flat up to its length, that length. A curve
    without a bend has its end.

    Args:
        capacities: pages, rising.
        ratios: hit ratios; what falls with the size is taken for chance.
    """
    sizes = np.asarray(capacities, np.float64)
    reached = np.maximum.accumulate(np.asarray(ratios, np.float64))
    least = WORTH * reached[-1] / sizes[-1]
    place, size, ratio = 0, 0.0, 0.0
    while size < sizes[-1]:
        further = np.flatnonzero(sizes > size)
        slopes = (reached[further] - ratio) / (sizes[further] - size)
        best = int(further[slopes >= slopes.max() * (1 - TIES)][-1])
        if slopes.max() <= 0 or slopes.max() < least:
            break
        place, size, ratio = best, float(sizes[best]), float(reached[best])
    return place


def middle(low: int, high: int) -> int | None:
    """The size halfway between two in logarithm; None where they are next to each other, or close enough."""
    if high - low <= 1 or high <= CLOSE * low:
        return None
    return min(max(round(math.sqrt(max(low, 1) * high)), low + 1), high - 1)


def typed(capacity: int, whole: bool = False) -> str:
    """A size as any `--size` takes it, to the page: `64MiB`, `1028KiB`; of all pages in whole MiB."""
    size = capacity * PAGE_BYTES
    if whole:
        size = -(-size // (1 << 20)) << 20
    unit, name = next((unit, name) for unit, name in UNITS if size % unit == 0)
    return f"{size // unit}{name}"


def shown(capacity: int, n_pages: int) -> str:
    """A size for people; that of all pages says so."""
    return f"all, {human(capacity * PAGE_BYTES)}" if capacity >= n_pages else human(capacity * PAGE_BYTES)


@dataclass(frozen=True)
class Row:
    """A size."""

    ran: Run  # the policy recommended at this size
    lru: float  # hit ratio of LRU
    # the policy that the first half chose; the one recommended unless it gains less than `LEAST_HITS` over LRU on the
    # second
    chosen: str
    lead: Lead  # of the chosen policy over LRU, in hit ratio on the second half
    optimum: float | None  # hit ratio of the cache that knows the future; None where it was not run at this size
    ssd_per_access: float  # pages written to the SSD per page access
    ssd_bytes_a_day: float | None  # None where less than an hour is counted, or the trace has no clock
    years: float | None  # how long the SSD's endurance lasts so; None likewise, or where nothing is written
    lru_error: float | None = None  # half the 90 % interval of LRU's hit ratio where it is estimated from a sample

    @property
    def capacity(self) -> int:
        """Pages."""
        return self.ran.capacity

    @property
    def verdict(self) -> Verdict:
        """On the chosen policy against LRU."""
        return verdict(self.lead, LEAST_HITS)

    def values(self) -> dict[str, Any]:
        """As JSON values, units in the keys."""
        ran, lead = self.ran, self.lead
        errors = {"hit_ratio_error_90": ran.error_90, "lru_hit_ratio_error_90": self.lru_error}
        return {
            "capacity_pages": ran.capacity,
            "capacity_bytes": ran.capacity * PAGE_BYTES,
            "policy": ran.policy,
            "hit_ratio": ran.hit_ratio,
            "hit_ratio_interval": ran.interval,
            "request_hit_ratio": ran.request_hit_ratio,
            "lru_hit_ratio": self.lru,
            "optimum_hit_ratio": self.optimum,
            "chosen_on_first_half": self.chosen,
            "lead_over_lru": lead.value,
            "lead_interval": lead.interval,
            "verdict": self.verdict,
            "blocks_won": lead.won,
            "blocks": lead.blocks,
            "mean_response_us": ran.mean_response_us,
            "mean_response_waiting_us": ran.mean_response_waiting_us,
            "ssd_pages_written": ran.ssd_writes,
            "disk_pages_written": ran.disk_writes,
            "ssd_pages_per_page_access": self.ssd_per_access,
            "ssd_bytes_a_day": self.ssd_bytes_a_day,
            "ssd_lifetime_years": self.years,
            **(errors if ran.groups is not None else {}),
        }


class Rows:
    """Makes rows of a trace.

    Attributes:
        bench: the trace, with the models' response times.
        endurance_tb: terabytes (10**12 bytes) that may be written to the SSD.
    """

    def __init__(self, bench: Halves, endurance_tb: float) -> None:
        self.bench, self.endurance_tb = bench, endurance_tb

    def row(self, policy_id: str, capacity: int, optimum: float | None = None) -> Row:
        """The policy that the first half chose at a size, or LRU where that gains too little on the second."""
        ran = self.bench.run(policy_id, capacity)
        found = self.against_lru(ran, optimum)
        if policy_id != SIMPLEST and not (found.lead.blocks and found.lead.value >= LEAST_HITS):
            simplest = self._of(self.bench.run(SIMPLEST, capacity), found.lru, policy_id, found.lead, optimum)
            return replace(simplest, lru_error=found.lru_error)
        return found

    def against_lru(self, ran: Run, optimum: float | None) -> Row:
        """A run compared with LRU of its size."""
        lru = self.bench.lru(ran.capacity)
        found = self._of(ran, lru.mean, ran.policy, ran.lead(lru, Goal.GAIN), optimum)
        return replace(found, lru_error=lru.error_90)

    def admitted(self, row: Row) -> Row | None:
        """The same behind RejectX, which writes less to the SSD; None where the row's policy is behind it already."""
        if row.ran.policy.startswith(f"{ADMISSION}+"):
            return None
        ran = self.bench.run(f"{ADMISSION}+{row.ran.policy}", row.capacity)
        return self._of(ran, row.lru, row.chosen, row.lead, None)

    def _of(self, ran: Run, lru: float, chosen: str, lead: Lead, optimum: float | None) -> Row:
        written = self.bench.ssd_bytes_a_day(ran)
        years = self.endurance_tb * TERABYTE / written / DAYS_A_YEAR if written else None
        return Row(ran, lru, chosen, lead, optimum, ran.ssd_writes / self.bench.counted, written, years)

    def refined(self, rows: Sequence[Row], place: int, meets: Callable[[Row], bool]) -> list[Row]:
        """The two sizes about a target, close to each other: the one that misses it, and the one that reaches it.

        They are found by halving the way between the row at `place` and the one below it, with the policy chosen for
        the upper one. A higher target takes the same ways, or turns up where a lower one turned down.

        Args:
            rows: by rising size.
            place: of the first that reaches the target.
            meets: whether a row reaches it.
        """
        low, high, found = rows[place - 1].capacity if place else 0, rows[place].capacity, {}
        while (size := middle(low, high)) is not None:
            found[size] = self.row(rows[place].chosen, size)
            low, high = (low, size) if meets(found[size]) else (size, high)
        return [found[size] for size in (low, high) if size in found]


def beats(one: Row, other: Row) -> bool:
    """Whether one row is smaller, hits no less, on average and at the interval's low end, and is no slower."""
    return (
        one.capacity < other.capacity
        and one.ran.hit_ratio >= other.ran.hit_ratio
        and _sure(one) >= _sure(other)
        and one.ran.response_us <= other.ran.response_us
    )


@dataclass(frozen=True)
class Picked:
    """The size that is recommended."""

    rows: tuple[Row, ...]  # all that were tried, by rising size
    place: int  # of the recommended one; where none is, of the one that would be
    # `whole`: there is no knee, so all pages; `on average`: the hit ratio is reached, but the interval's low end is
    # not; `useless`: no cache helps, whatever the aim; `needless`: the disk alone reaches it
    why: Why
    knee: int | None  # place of the curve's knee; None where it has none below all pages, or no cache helps

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

    if maker.bench.no_cache_us <= 1e3 * target:
        return rows, 0, "needless"
    place = _first(rows, meets)
    if place is None:
        return rows, _best(rows, lambda row: -row.ran.response_us), "unreachable"
    return *_refined(maker, rows, place, meets), "reached"


def pick(
    maker: Rows, rows: Sequence[Row], budget: int | None = None, hit: float | None = None, ms: float | None = None
) -> Picked:  # fmt: skip
    """The size to recommend: for one aim, or at the knee of the curve without.

    Args:
        maker: makes further rows.
        rows: of the ladder, by rising size; the last holds all pages, the budget is among them if it is less.
        budget: pages that may be spent.
        hit: hit ratio to reach.
        ms: mean response time to reach.
    """
    # A budget's own size is no step of the curve: the knee is the same for every aim.
    steps = [row for row in rows if row is rows[-1] or not row.capacity & (row.capacity - 1)]
    bent = steps[knee([row.capacity for row in steps], [row.ran.hit_ratio for row in steps])]
    if max(row.ran.hit_ratio for row in rows) < USELESS:
        return Picked(tuple(rows), next(k for k, row in enumerate(rows) if row is bent), "useless", None)
    found: Sequence[Row] = rows
    why: Why = "budget"
    if hit is not None:
        found, place, why = _to_hit(maker, rows, hit)
    elif ms is not None:
        found, place, why = _to_ms(maker, rows, ms)
    elif budget is None:
        place, why = next(k for k, row in enumerate(rows) if row is bent), "whole" if bent is rows[-1] else "knee"
    else:
        within = [row for row in rows if row.capacity <= budget]
        most = max(row.ran.hit_ratio for row in within)
        place = _first(within, lambda row: row.ran.hit_ratio >= most - NO_MORE) or 0
    bend = None if bent is rows[-1] else next(k for k, row in enumerate(found) if row is bent)
    return Picked(tuple(found), place, why, bend)
