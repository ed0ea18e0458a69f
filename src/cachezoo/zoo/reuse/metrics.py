"""metrics/reuse.json: the cache that follows the forest or a classic, on test streams at home and away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from cachezoo.contest.choice import Goal
from cachezoo.documents import Document, Figures, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Judged, Role
from cachezoo.metrics.files import read
from cachezoo.settings.base import Joining
from cachezoo.show.formats import UNIT_SPACE, number, percent, points, words

Where = Literal["home", "set-up", "program"]
PLACES: tuple[Where, ...] = ("home", "set-up", "program")
WHERE: Mapping[Where, str] = {
    "home": "later days of recipes that the model was trained on",
    "set-up": "other set-ups of programs that it was trained on",
    "program": "programs that it was not trained on",
}
LRU = "lru"
NAMES: Mapping[Where, str] = {"home": "home", "set-up": "setup", "program": "program"}  # in names of figures


class ReuseRow(Document):
    """A test stream at one capacity. It counts from a full cache: its first half chooses, its second half judges."""

    policy: Annotated[str, Means("model")]
    capacity_fraction: Annotated[float, Means("of the trace's distinct pages", "share")]
    capacity: Annotated[int, Means("of the cache", "4 KiB pages")]
    capacities: Annotated[float, Means("how long the stream is", "page accesses over the capacity")]
    hit_ratio: Annotated[float, Means("page hits per page access of the model that is kept", "ratio")]
    seed_hit_ratios: Annotated[list[float], Means("of each seed's forest, the kept one first", "ratio")]
    quarters: Annotated[list[float], Means("mean of the seeds in each quarter of what counts, in time", "ratio")]
    rivals: Annotated[int, Means("ways to run a classic that the rival is chosen of")]
    rival: Annotated[str, Means("of them what hit most in the first half: what an operator would run")]
    rival_hit_ratio: Annotated[float, Means("its page hits per page access", "ratio")]
    rival_quarters: Annotated[list[float], Means("the same in each quarter", "ratio")]
    lead_points: Annotated[float, Means("mean hit ratio of the seeds less the rival's", "points of 0.01")]
    lead_interval: Annotated[
        Interval | None, Means("90 % interval of that over seeds and time; null of a short stream", "points of 0.01")
    ]
    above_floor: Annotated[bool, Means("at most 0.01 and one reload of the cache below the rival")]
    hit_ratios: Annotated[
        dict[str, float], Each(name="policy", text="of every classic, and of others' caches that learn", unit="ratio")
    ]
    best_classic: Annotated[str, Means("the best classic with its defaults, in hindsight")]
    best_classic_hit_ratio: Annotated[float, Means("its page hits per page access", "ratio")]
    best_way_hit_ratio: Annotated[float, Means("of the best of all ways to run a classic, in hindsight", "ratio")]
    optimum_hit_ratio: Annotated[float, Means("that of Belady with bypass", "ratio")]
    gap_closed: Annotated[
        float | None,
        Means("from the best classic to the optimum, the mean of the seeds; null where that is below 0.02", "share"),
    ]
    gap_points: Annotated[float, Means("mean hit ratio of the seeds less the best classic's", "points of 0.01")]
    gap_closed_of_all: Annotated[float | None, Means("the same from the best of all ways", "share")]
    ssd_writes: Annotated[int, Means("pages admitted, and pages written on write hits", "4 KiB pages")]
    rival_ssd_writes: Annotated[int, Means("the rival's", "4 KiB pages")]
    forest_led: Annotated[float, Means("page accesses at which the forest's cache was followed", "share")]


class ReuseChange(Document):
    """A change of workload. It counts from two capacities of page accesses after it to the next, or to the end."""

    capacities: Annotated[float, Means("to the next change or the end", "page accesses over the capacity")]
    seed_hit_ratios: Annotated[list[float], Means("of each seed's forest, the kept one first", "ratio")]
    rival: Annotated[str, Means("of all ways to run a classic what hit most before the change")]
    rival_hit_ratio: Annotated[float, Means("its page hits per page access", "ratio")]
    hit_ratios: Annotated[dict[str, float], Each(name="policy", text="of every classic", unit="ratio")]
    best_way_hit_ratio: Annotated[float, Means("of the best of all ways to run a classic, in hindsight", "ratio")]
    early_hit_ratio: Annotated[
        float, Means("mean of the seeds in the first ten capacities of page accesses after the change", "ratio")
    ]
    early_rival_hit_ratio: Annotated[float, Means("the rival's there", "ratio")]
    early_lru_hit_ratio: Annotated[float, Means("that of LRU there", "ratio")]
    above_rival: Annotated[bool, Means("at most 0.01 and one reload of the cache below the rival")]
    above_lru: Annotated[bool, Means("at most 0.01 below LRU")]

    @property
    def lead_points(self) -> float:
        """Mean hit ratio of the seeds less the rival's, in points of 0.01."""
        return 100 * (mean_hit_ratio(self) - self.rival_hit_ratio)

    @property
    def lru_points(self) -> float:
        """Mean hit ratio of the seeds less that of LRU, in points of 0.01."""
        return 100 * (mean_hit_ratio(self) - self.hit_ratios[LRU])


class ReuseJoined(Document):
    """A test stream that is joined of two, so that its workload changes, at the capacity of the verdict."""

    policy: Annotated[str, Means("model")]
    kind: Annotated[Joining, Means("how it changes: to `other` pages, `shared` ones, in `turns`, or in a slow `drift`")]
    first: Annotated[str, Means("test stream whose first half runs at first")]
    second: Annotated[str, Means("test stream whose second half takes its place")]
    requests: Annotated[int, Means("in the joined stream", "requests")]
    page_accesses: Annotated[int, Means("in the joined stream", "page accesses")]
    capacity_fraction: Annotated[float, Means("of its distinct pages", "share")]
    capacity: Annotated[int, Means("of the cache", "4 KiB pages")]
    shared_pages: Annotated[float, Means("of the distinct pages, those that both access", "share")]
    rivals: Annotated[int, Means("ways to run a classic that the rival is chosen of")]
    changes: Annotated[list[ReuseChange], Each("one change of workload", "kind, first, second and place in the list")]

    @property
    def above_floor(self) -> bool:
        """Whether it is after every change: neither far below the rival nor below LRU."""
        return all(change.above_rival and change.above_lru for change in self.changes)


class ReuseTrace(Document):
    """A test stream."""

    category: Annotated[str, Means("of workload")]
    program: Annotated[str | None, Means("what was captured; null where the matrix does not say")]
    setup: Annotated[str | None, Means("the program's set-up; null where the matrix does not say")]
    where: Annotated[Where, Means("home, set-up or program: what of it was trained on")]
    role: Annotated[Role, Means("test")]
    requests: Annotated[int, Means("in the trace", "requests")]
    page_accesses: Annotated[int, Means("in the trace", "page accesses")]
    rows: Annotated[list[ReuseRow], Each("one capacity of a test stream", "trace and capacity_fraction")]


@dataclass(frozen=True)
class Group:
    """The test streams at home, of other set-ups or of other programs, at one capacity.

    Attributes:
        where: which of the three.
        capacity_fraction: of each stream's distinct pages.
        traces: how many.
        rivals: ways to run a classic that each stream's rival is chosen of.
        lead_points: over the rival, mean over the streams, in points of 0.01.
        lowest_points: that of the stream where it is least.
        leading: streams with more hits than the rival.
        above_floor: streams at most 0.01 and one reload of the cache below it.
        gap_closed: from the best classic in hindsight to the optimum: median over the streams whose gap is wide enough;
            None where none is.
        lowest_gap_closed, highest_gap_closed: of the same streams.
        gap_closed_of_all: the same median from the best of all ways in hindsight.
        sd_points: spread over seeds: median over the streams of the hit ratio's standard deviation in points of 0.01;
            None where fewer than two seeds were run.
        writes_ratio: SSD writes over the rival's, median over the streams; None where none of these wrote.
    """

    where: Where
    capacity_fraction: float
    traces: int
    rivals: int
    lead_points: float
    lowest_points: float
    leading: int
    above_floor: int
    gap_closed: float | None
    lowest_gap_closed: float | None
    highest_gap_closed: float | None
    gap_closed_of_all: float | None
    sd_points: float | None
    writes_ratio: float | None

    @property
    def worth(self) -> bool:
        """Whether it has more hits than the rivals in the mean."""
        return self.lead_points > 0


CHOSEN = "the classic and setting chosen on each stream's first half"
RIVAL = f"The rival of the learned cache is {CHOSEN}."
DEFAULTS, SETTINGS, OPTIMAL = "the best default in hindsight", "the best setting in hindsight", "the optimum"
"""What stands for several policies in `Reduction.name`."""


@dataclass(frozen=True)
class Reduction:
    """By how much a policy misses less than LRU over the test streams: 1 - its misses over LRU's.

    Attributes:
        name: the policy, or what stands for several.
        mean, tenth, median, ninetieth, worst: over the streams; tenth and ninetieth are percentiles.
        first: streams where no other that could be run misses less; None of what only hindsight knows.
    """

    name: str
    mean: float
    tenth: float
    median: float
    ninetieth: float
    worst: float
    first: int | None


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def sd_points(row: ReuseRow | ReuseChange) -> float | None:
    """Standard deviation of a row's hit ratio over seeds, in points of 0.01; None of fewer than two seeds."""
    return 100 * stdev(row.seed_hit_ratios) if len(row.seed_hit_ratios) > 1 else None


def mean_hit_ratio(row: ReuseRow | ReuseChange) -> float:
    """Mean over the seeds."""
    return fmean(row.seed_hit_ratios)


def reductions(rows: Sequence[ReuseRow]) -> list[Reduction]:
    """Of all that was run on some streams, at least one: what could be run, the best mean first, then the rest."""
    could = {
        **{name: [row.hit_ratios[name] for row in rows] for name in rows[0].hit_ratios if name != LRU},
        CHOSEN: [row.rival_hit_ratio for row in rows],
        rows[0].policy: [mean_hit_ratio(row) for row in rows],
    }
    known = {
        DEFAULTS: [row.best_classic_hit_ratio for row in rows],
        SETTINGS: [row.best_way_hit_ratio for row in rows],
        OPTIMAL: [row.optimum_hit_ratio for row in rows],
    }
    most = [max(own) for own in zip(*could.values(), strict=True)]
    found = []
    for name, ratios in {**could, **known}.items():
        saved = [Goal.COST.lead(1 - own, 1 - row.hit_ratios[LRU]) for own, row in zip(ratios, rows, strict=True)]
        tenth, middle, ninetieth = np.percentile(saved, [10, 50, 90]).tolist()
        first = sum(own == top for own, top in zip(ratios, most, strict=True)) if name in could else None
        found.append(Reduction(name, fmean(saved), tenth, middle, ninetieth, min(saved), first))
    return sorted(found, key=lambda one: (one.first is None, -one.mean))


class ReuseMetrics(Document):
    """The model on long test streams, at several capacities."""

    capacity_fraction: Annotated[float, Means("at which the verdict is spoken", "share")]
    traces: Annotated[dict[str, ReuseTrace], Each("one test stream", "trace", "trace")]
    changes: Annotated[list[ReuseJoined], Each("one test stream whose workload changes", "kind, first and second")] = (
        Field(default_factory=list)
    )
    models: Annotated[dict[str, Judged], Each("the model", "model", "model")]

    def rows(self, where: Where, fraction: float) -> list[ReuseRow]:
        """Rows of the traces at home or away, at one capacity."""
        return [
            row
            for trace in self.traces.values() if trace.where == where
            for row in trace.rows if row.capacity_fraction == fraction
        ]  # fmt: skip

    def group(self, where: Where, fraction: float) -> Group | None:
        """The traces at home or away, at one capacity; None where there are none."""
        rows = self.rows(where, fraction)
        if not rows:
            return None
        closed = [row.gap_closed for row in rows if row.gap_closed is not None]
        return Group(
            where=where,
            capacity_fraction=fraction,
            traces=len(rows),
            rivals=max(row.rivals for row in rows),
            lead_points=fmean(row.lead_points for row in rows),
            lowest_points=min(row.lead_points for row in rows),
            leading=sum(row.lead_points > 0 for row in rows),
            above_floor=sum(row.above_floor for row in rows),
            gap_closed=_median(closed),
            lowest_gap_closed=min(closed, default=None),
            highest_gap_closed=max(closed, default=None),
            gap_closed_of_all=_median([own for row in rows if (own := row.gap_closed_of_all) is not None]),
            sd_points=_median([sd for row in rows if (sd := sd_points(row)) is not None]),
            writes_ratio=_median([row.ssd_writes / row.rival_ssd_writes for row in rows if row.rival_ssd_writes]),
        )

    def groups(self) -> list[Group]:
        """Home, other set-ups and other programs, each at every capacity, the smallest first."""
        found = [self.group(where, fraction) for where in PLACES for fraction in self.fractions]
        return [group for group in found if group is not None]

    def at(self, fraction: float) -> list[ReuseRow]:
        """Rows of all streams at one capacity, home first."""
        return [row for where in PLACES for row in self.rows(where, fraction)]

    @property
    def fractions(self) -> list[float]:
        """The capacities, the smallest first."""
        return sorted({row.capacity_fraction for trace in self.traces.values() for row in trace.rows})

    def reductions(self, fraction: float | None = None) -> list[Reduction]:
        """See `reductions`, at one capacity, or that of the verdict; empty without streams."""
        rows = self.at(self.capacity_fraction if fraction is None else fraction)
        return reductions(rows) if rows else []

    def headline(self, model: str) -> Figures:
        """Over the test streams at the verdict's capacity: means, and leads and median gap closed at home and away."""
        rows = [row for row in self.at(self.capacity_fraction) if row.policy == model]
        if not rows:
            return {}
        closed = [row.gap_closed for row in rows if row.gap_closed is not None]
        groups = {where: self.group(where, self.capacity_fraction) for where in PLACES}
        (own,) = (one for one in reductions(rows) if one.name == model)
        return {
            "miss_reduction": own.mean,
            "worst_miss_reduction": own.worst,
            "lead_points": fmean(row.lead_points for row in rows),
            "hit_ratio": fmean(map(mean_hit_ratio, rows)),
            "gap_closed": fmean(closed) if closed else None,
            "gap_points": fmean(row.gap_points for row in rows),
            **{
                f"{NAMES[where]}_{name}": value
                for where, group in groups.items() if group is not None
                for name, value in (("lead_points", group.lead_points), ("gap_closed", group.gap_closed))
            },
        }  # fmt: skip

    def summary(self) -> str:
        """What it brings over all streams, then at home and away, and where not to use it."""
        rows = self.at(self.capacity_fraction)
        if not rows:
            return ""
        found = [group for where in PLACES if (group := self.group(where, self.capacity_fraction)) is not None]
        said = [headline_text(self), RIVAL, *map(group_text, found)]
        return " ".join([*said, changes_text(self.changes)] if self.changes else said)


def headline_text(metrics: ReuseMetrics) -> str:
    """By how much it misses less than LRU, and what comes next."""
    fraction, rows = metrics.capacity_fraction, metrics.at(metrics.capacity_fraction)
    found = {one.name: one for one in metrics.reductions()}
    own = found.pop(rows[0].policy)
    rival = max((one for one in found.values() if one.first is not None), key=lambda one: one.mean)
    return (
        f"Over {_streams(len(rows))}, captures of programs under benchmark loads, with a cache of "
        f"{percent(fraction, 0)} of their pages, {rows[0].policy} misses {percent(own.mean)} less than LRU in the mean "
        f"({percent(own.worst)} at worst), and less than all others on {own.first}. "
        f"{'Second' if rival.mean < own.mean else 'Ahead of it'} is {rival.name}: {percent(rival.mean)} "
        f"({percent(rival.worst)} at worst). The optimum misses {percent(found[OPTIMAL].mean)} less."
    )


def _streams(count: int) -> str:
    return f"{count} test {'stream' if count == 1 else 'streams'}"


def group_text(group: Group) -> str:
    """The lead over what an operator would run, and a warning where the mean is not above 0."""
    said = (
        f"On {WHERE[group.where]}, it leads its rival by {points(group.lead_points)} of hit ratio in the mean of "
        f"{_streams(group.traces)}, at worst by {points(group.lowest_points)}."
    )
    return said if group.worth else f"{said} Don't use it there: in the mean it gains nothing."


def changes_text(joined: Sequence[ReuseJoined]) -> str:
    """On how many of some joined streams the floor is kept, and why not on the others."""
    lost = [f"{one.first} → {one.second} ({why_below(one)})" for one in joined if not one.above_floor]
    kept = f"Where the workload changes, the floor is kept on {len(joined) - len(lost)} of {len(joined)} joined streams"
    return f"{kept}; it is missed on {words(lost)}." if lost else f"{kept}."


def why_below(joined: ReuseJoined) -> str:
    """By how much a joined stream is below the rival or LRU after its changes; empty where it is above the floor."""
    found = [(change.lead_points, "the rival") for change in joined.changes if not change.above_rival]
    found += [(change.lru_points, "LRU") for change in joined.changes if not change.above_lru]
    return words([f"{number(-below, 1)}{UNIT_SPACE}points below {name}" for below, name in found])


def read_metrics(path: Path) -> ReuseMetrics:
    """metrics/reuse.json, see `cachezoo.metrics.files.read`."""
    return read(path, ReuseMetrics)
