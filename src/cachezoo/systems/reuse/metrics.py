"""metrics/reuse.json: the cache that follows the forest or a classic, on test traces at home and away."""

from pathlib import Path
from statistics import median
from typing import Annotated, Literal

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Judged, Role
from cachezoo.metrics.files import read
from cachezoo.view import percent

Where = Literal["home", "set-up", "program"]
WHERE = {
    "home": "later days of recipes that the model was trained on",
    "set-up": "other set-ups of programs that it was trained on",
    "program": "programs that it was not trained on",
}


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


class ReuseMetrics(Document):
    """The model on every test trace of the page categories and the corpus."""

    capacity_fraction: Annotated[float, Means("at which the verdict is spoken", "share")]
    traces: Annotated[dict[str, ReuseTrace], Each("one test trace", "trace", "trace")]
    models: Annotated[dict[str, Judged], Each("the model", "model", "model")]

    def rows(self, where: str, fraction: float) -> list[ReuseRow]:
        """Rows of the traces at home or away, at one capacity."""
        return [
            row
            for trace in self.traces.values() if trace.where == where
            for row in trace.rows if row.capacity_fraction == fraction
        ]  # fmt: skip

    def summary(self) -> str:
        """The median share of the gap closed at home and away, and the lowest."""
        said = []
        for where, words in WHERE.items():
            rows = self.rows(where, self.capacity_fraction)
            closed = [row.gap_closed for row in rows if row.gap_closed is not None]
            if closed:
                lowest = min(row.gap_points for row in rows)
                over = f"in the median of {len(rows)} traces" if len(rows) > 1 else "on the one trace"
                said.append(
                    f"On {words} it closes {percent(median(closed))} of the gap {over}; "
                    f"the lowest lead over the best classic in hindsight is {lowest:+.1f} points of hit ratio."
                )
        return " ".join(said)


def read_metrics(path: Path) -> ReuseMetrics:
    """metrics/reuse.json, see `cachezoo.metrics.files.read`."""
    return read(path, ReuseMetrics)
