"""lab/results/goals.json: the cache at three capacities, as trained and retrained, beside tuned classics; its table."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated, Literal

from cachezoo.contest.gap import gap
from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from cachezoo.show.formats import NONE, number, percent, span
from cachezoo.zoo.reuse.judge import NEAR, allowed
from cachezoo.zoo.reuse.metrics import Where

if TYPE_CHECKING:
    from rich.table import Table

Protocol = Literal["trained", "retrained"]
Place = Literal["home", "away"]
PROTOCOLS: tuple[Protocol, ...] = ("trained", "retrained")
FILE = Path("lab/results/goals.json")


class GoalRow(Document):
    """A test stream at one capacity, as trained or retrained; counted after the warm-up, or on its second half."""

    trace: Annotated[str, Means("key")]
    where: Annotated[Where, Means("home, set-up or program: what of it was trained on")]
    protocol: Annotated[Protocol, Means("trained: on train traces; retrained: on the trace's first half as well")]
    capacity_fraction: Annotated[float, Means("of the trace's distinct pages", "share")]
    capacity: Annotated[int, Means("of the cache", "4 KiB pages")]
    counted: Annotated[int, Means("page accesses counted")]
    hit_ratios: Annotated[list[float], Means("page hits per page access of each seed's forest", "ratio")]
    rivals: Annotated[int, Means("ways to run a classic")]
    best_classic: Annotated[str, Means("best of them, in hindsight")]
    best_classic_hit_ratio: Annotated[float, Means("its page hits per page access", "ratio")]
    chosen: Annotated[str, Means("the one that is best on the category's validation traces at this capacity")]
    chosen_hit_ratio: Annotated[float, Means("its page hits per page access", "ratio")]
    optimum_hit_ratio: Annotated[float, Means("that of Belady with bypass", "ratio")]
    ssd_writes_ratio: Annotated[
        float | None,
        Means("SSD writes over the best classic's, mean of the seeds; null where that wrote nothing", "ratio"),
    ]

    @property
    def seed_gaps(self) -> list[float | None]:
        """Gap closed by each seed's forest."""
        return [gap(ratio, self.best_classic_hit_ratio, self.optimum_hit_ratio)[0] for ratio in self.hit_ratios]

    @property
    def lead(self) -> float:
        """Mean hit ratio less the best classic's."""
        return fmean(self.hit_ratios) - self.best_classic_hit_ratio

    @property
    def gap_closed(self) -> float | None:
        """Of the mean, from the best classic to the optimum; None where that is too small to be a share of."""
        return gap(fmean(self.hit_ratios), self.best_classic_hit_ratio, self.optimum_hit_ratio)[0]

    @property
    def above_floor(self) -> bool:
        """At most 0.01 and one reload of the cache below the best classic."""
        return self.lead >= -allowed(self.capacity, self.counted)


class GoalSummary(Document):
    """All rows of a protocol, place and capacity."""

    protocol: Annotated[Protocol, Means("as in the rows")]
    place: Annotated[Place, Means("home, or away: other set-ups and other programs")]
    capacity_fraction: Annotated[float, Means("of each trace's distinct pages", "share")]
    traces: Annotated[int, Means("rows")]
    median_gap_closed: Annotated[float | None, Means("of the traces; null where none has a gap", "share")]
    lowest_seed_gap_closed: Annotated[float | None, Means("the median of the seed that closes least of it", "share")]
    highest_seed_gap_closed: Annotated[float | None, Means("the median of the seed that closes most of it", "share")]
    median_lead: Annotated[float, Means("over the best classic in hindsight", "points of 0.01")]
    lowest_lead: Annotated[float, Means("likewise", "points of 0.01")]
    above_floor: Annotated[int, Means("traces that are above the floor")]
    lowest_lead_over_chosen: Annotated[float, Means("over the classic that validation chose", "points of 0.01")]
    near_chosen: Annotated[int, Means("traces at most 0.005 below that classic, or above it")]
    median_ssd_writes_ratio: Annotated[float | None, Means("over the best classic's; null where none wrote", "ratio")]


class Goals(Document):
    """What the cache reaches of its goals on test traces."""

    rows: Annotated[list[GoalRow], Each("one test trace", "protocol, trace and capacity_fraction")]
    summary: Annotated[list[GoalSummary], Each("one place", "protocol, place and capacity_fraction")]


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _seed_medians(rows: Sequence[GoalRow]) -> list[float]:
    """Median gap closed over the traces, of each seed."""
    medians = (_median(gaps) for gaps in zip(*(row.seed_gaps for row in rows), strict=True))
    return [value for value in medians if value is not None]


def summaries(rows: Sequence[GoalRow]) -> list[GoalSummary]:
    """Of each protocol, place and capacity that rows are of."""
    found = []
    keys = sorted({(PROTOCOLS.index(row.protocol), row.where != "home", row.capacity_fraction) for row in rows})
    for protocol, away, fraction in keys:
        own = [
            row for row in rows
            if (PROTOCOLS.index(row.protocol), row.where != "home", row.capacity_fraction) == (protocol, away, fraction)
        ]  # fmt: skip
        by_seed = _seed_medians(own)
        over = [100 * (fmean(row.hit_ratios) - row.chosen_hit_ratio) for row in own]
        found.append(
            GoalSummary(
                protocol=PROTOCOLS[protocol],
                place="away" if away else "home",
                capacity_fraction=fraction,
                traces=len(own),
                median_gap_closed=_median([row.gap_closed for row in own]),
                lowest_seed_gap_closed=min(by_seed, default=None),
                highest_seed_gap_closed=max(by_seed, default=None),
                median_lead=100 * median(row.lead for row in own),
                lowest_lead=100 * min(row.lead for row in own),
                above_floor=sum(row.above_floor for row in own),
                lowest_lead_over_chosen=min(over),
                near_chosen=sum(lead >= -100 * NEAR for lead in over),
                median_ssd_writes_ratio=_median([row.ssd_writes_ratio for row in own]),
            )
        )
    return found


def read_goals(path: Path) -> Goals:
    """lab/results/goals.json, see `cachezoo.metrics.files.read`."""
    return read(path, Goals, MAKE)


def _closed(one: GoalSummary) -> str:
    """Median gap closed, and that of the lowest and the highest seed."""
    closed, lowest, highest = one.median_gap_closed, one.lowest_seed_gap_closed, one.highest_seed_gap_closed
    if closed is None or lowest is None or highest is None:
        return NONE
    return f"{percent(closed)} {span((lowest, highest), 1)}"


def tables(found: Goals) -> "list[Table]":
    """The summary, for the terminal."""
    from rich.table import Table

    table = Table(title="reuse.follow on test traces, mean of the seeds; leads in points, median (lowest)")
    names = ("forest", "place", "capacity", "traces", "gap closed, median (seeds)", "lead over the best",
             "above the floor", "lowest lead over validation's choice", "not 0.5 below it",
             "SSD writes over the best's")  # fmt: skip
    for k, name in enumerate(names):
        table.add_column(name, justify="left" if k < 2 else "right")
    for one in found.summary:
        writes = one.median_ssd_writes_ratio
        table.add_row(
            one.protocol, one.place, f"{100 * one.capacity_fraction:g} %", str(one.traces),
            _closed(one), f"{number(one.median_lead, 1, True)} ({number(one.lowest_lead, 1, True)})",
            f"{one.above_floor} of {one.traces}", number(one.lowest_lead_over_chosen, 1, True),
            f"{one.near_chosen} of {one.traces}", number(writes, 2),
        )  # fmt: skip
    return [table]
