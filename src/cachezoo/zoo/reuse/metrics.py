"""metrics/reuse.json: the cache that follows the forest or a classic, on test traces at home and away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Annotated, Literal

from cachezoo.documents import Document, Figures
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Judged, Role
from cachezoo.metrics.files import read
from cachezoo.show.formats import percent, points

Where = Literal["home", "set-up", "program"]
PLACES: tuple[Where, ...] = ("home", "set-up", "program")
WHERE: Mapping[Where, str] = {
    "home": "later days of recipes that the model was trained on",
    "set-up": "other set-ups of programs that it was trained on",
    "program": "programs that it was not trained on",
}
NAMES: Mapping[Where, str] = {"home": "home", "set-up": "setup", "program": "program"}  # in names of figures


class ReuseRow(Document):
    """A test trace at one capacity, counted after the warm-up."""

    policy: Annotated[str, Means("model")]
    capacity_fraction: Annotated[float, Means("of the trace's distinct pages", "share")]
    capacity: Annotated[int, Means("of the cache", "4 KiB pages")]
    hit_ratio: Annotated[float, Means("page hits per page access of the model that is kept", "ratio")]
    seed_hit_ratios: Annotated[list[float], Means("of each seed's forest; empty where one alone was run", "ratio")]
    rivals: Annotated[int, Means("ways to run a classic that the best one is chosen of, in hindsight")]
    best_classic: Annotated[str, Means("the best of them")]
    best_classic_hit_ratio: Annotated[float, Means("its page hits per page access", "ratio")]
    optimum_hit_ratio: Annotated[float, Means("that of Belady with bypass", "ratio")]
    gap_closed: Annotated[
        float | None,
        Means("from the best classic to the optimum, the mean of the seeds; null where that is below 0.02", "share"),
    ]
    gap_points: Annotated[float, Means("mean hit ratio of the seeds less the best classic's", "points of 0.01")]
    above_floor: Annotated[bool, Means("at most 0.01 and one reload of the cache below the best classic")]
    ssd_writes: Annotated[int, Means("pages admitted, and pages written on write hits", "4 KiB pages")]
    best_classic_ssd_writes: Annotated[int, Means("the best classic's", "4 KiB pages")]
    forest_led: Annotated[float, Means("page accesses at which the forest's cache was followed", "share")]


class ReuseTrace(Document):
    """A test trace."""

    category: Annotated[str, Means("of workload")]
    program: Annotated[str | None, Means("what was captured; null where the matrix does not say")]
    setup: Annotated[str | None, Means("the program's set-up; null where the matrix does not say")]
    where: Annotated[Where, Means("home, set-up or program: what of it was trained on")]
    role: Annotated[Role, Means("test")]
    requests: Annotated[int, Means("in the trace", "requests")]
    page_accesses: Annotated[int, Means("in the trace", "page accesses")]
    rows: Annotated[list[ReuseRow], Each("one capacity of a test trace", "trace and capacity_fraction")]


@dataclass(frozen=True)
class Group:
    """The test traces at home, of other set-ups or of other programs, at one capacity.

    Attributes:
        where: which of the three.
        capacity_fraction: of each trace's distinct pages.
        traces: how many.
        rivals: ways to run a classic that each trace's best one is chosen of, in hindsight.
        gap_closed: median over the traces whose gap is wide enough; None where none is.
        lowest_gap_closed, highest_gap_closed: of the same traces.
        sd_points: spread over seeds: median over the traces of the hit ratio's standard deviation in points of 0.01;
            None where fewer than two seeds were run.
        leading: traces with more hits than the best classic in hindsight.
        above_floor: traces at most 0.01 and one reload of the cache below it.
        lowest_points: lead on the trace where it is least, in points of 0.01.
        writes_ratio: SSD writes over the best classic's, median over the traces; None where none of these wrote.
    """

    where: Where
    capacity_fraction: float
    traces: int
    rivals: int
    gap_closed: float | None
    lowest_gap_closed: float | None
    highest_gap_closed: float | None
    sd_points: float | None
    leading: int
    above_floor: int
    lowest_points: float
    writes_ratio: float | None

    @property
    def worth(self) -> bool | None:
        """Whether the median of the gap closed is above 0; None where no trace has a gap."""
        return None if self.gap_closed is None else self.gap_closed > 0


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def sd_points(row: ReuseRow) -> float | None:
    """Standard deviation of a row's hit ratio over seeds, in points of 0.01; None of fewer than two seeds."""
    return 100 * stdev(row.seed_hit_ratios) if len(row.seed_hit_ratios) > 1 else None


def mean_hit_ratio(row: ReuseRow) -> float:
    """Mean over the seeds; that of the model that is kept where it alone was run."""
    return fmean(row.seed_hit_ratios) if row.seed_hit_ratios else row.hit_ratio


class ReuseMetrics(Document):
    """The model on every test trace of the page categories and the corpus."""

    capacity_fraction: Annotated[float, Means("at which the verdict is spoken", "share")]
    traces: Annotated[dict[str, ReuseTrace], Each("one test trace", "trace", "trace")]
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
            gap_closed=_median(closed),
            lowest_gap_closed=min(closed, default=None),
            highest_gap_closed=max(closed, default=None),
            sd_points=_median([sd for row in rows if (sd := sd_points(row)) is not None]),
            leading=sum(row.gap_points > 0 for row in rows),
            above_floor=sum(row.above_floor for row in rows),
            lowest_points=min(row.gap_points for row in rows),
            writes_ratio=_median(
                [row.ssd_writes / row.best_classic_ssd_writes for row in rows if row.best_classic_ssd_writes]
            ),
        )

    def groups(self) -> list[Group]:
        """Home, other set-ups and other programs, each at every capacity, the smallest first."""
        fractions = sorted({row.capacity_fraction for trace in self.traces.values() for row in trace.rows})
        found = [self.group(where, fraction) for where in PLACES for fraction in fractions]
        return [group for group in found if group is not None]

    def headline(self, model: str) -> Figures:
        """Means over the test traces at the verdict's capacity, and the medians of the gap closed at home and away."""
        rows = [row for where in PLACES for row in self.rows(where, self.capacity_fraction) if row.policy == model]
        if not rows:
            return {}
        closed = [row.gap_closed for row in rows if row.gap_closed is not None]
        groups = {where: self.group(where, self.capacity_fraction) for where in PLACES}
        return {
            "hit_ratio": fmean(map(mean_hit_ratio, rows)),
            "gap_closed": fmean(closed) if closed else None,
            "gap_points": fmean(row.gap_points for row in rows),
            **{f"{NAMES[where]}_gap_closed": group.gap_closed for where, group in groups.items() if group is not None},
        }

    def summary(self) -> str:
        """The median share of the gap closed at home and away, the lowest lead, and where not to use it."""
        found = [group for where in PLACES if (group := self.group(where, self.capacity_fraction)) is not None]
        return " ".join(map(group_text, found))


def group_text(group: Group) -> str:
    """What a group closes, its lowest lead, and a warning where the median is not above 0."""
    many = f"{group.traces} {'trace' if group.traces == 1 else 'traces'}"
    lead = f"The lowest lead over the best classic in hindsight is {points(group.lowest_points)} of hit ratio."
    if group.gap_closed is None:
        return f"On {WHERE[group.where]} the gap is below 0.02 on each of {many}, so nothing can be gained. {lead}"
    closed = f"it closes {percent(group.gap_closed)} of the gap in the median of {many}"
    said = f"On {WHERE[group.where]} {closed}. {lead}"
    return said if group.worth else f"{said} Don't use it there: in the median it gains nothing."


def read_metrics(path: Path) -> ReuseMetrics:
    """metrics/reuse.json, see `cachezoo.metrics.files.read`."""
    return read(path, ReuseMetrics)
