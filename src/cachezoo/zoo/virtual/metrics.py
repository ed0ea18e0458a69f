"""metrics/virtual/<category>.json: virtual caches and the plain policies of their queues on the test traces."""

from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Literal

from cachezoo import paths
from cachezoo.documents import Document, Figures, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Judged, Role
from cachezoo.metrics.files import read
from cachezoo.show.formats import percent

Queue = Literal["lru", "lfu", "arc"]
Start = Literal["cold", "warm"]
Kind = Literal["plain", "paper", "head", "tuned"]
VRM, HEAD, TUNED = "vrm", "head", "tuned"
RATIO, PER = "page hits per page access", "pages per page access"


class Setting(Document):
    """What is tuned of a virtual cache."""

    queue: Annotated[Queue, Means("what orders the queue")]
    pages: Annotated[int, Means("that the queue holds the ids of", "pages")]
    runs: Annotated[int, Means("of neighbouring fragments, mapped at most")]
    decay: Annotated[float, Means("that values are multiplied by after each quantum", "ratio")]
    quantum: Annotated[int, Means("between two mappings", "page accesses")]
    cost: Annotated[float, Means("of a page that enters a run from an unmapped position", "hits")]

    def arch(self, fragment: int) -> dict[str, int | float | str]:
        """`arch` of a model."""
        return {**self.model_dump(mode="json"), "fragment": fragment}

    def __str__(self) -> str:
        """In a line."""
        return (
            f"{self.queue} of {self.pages} pages, {self.runs} runs, decay {self.decay:g}, quantum {self.quantum}, "
            f"cost {self.cost:g}"
        )


class Tried(Document):
    """A setting on validation."""

    setting: Annotated[Setting, Means("what was tried")]
    hit_ratio: Annotated[float, Means("on the choosing blocks, mean over the traces", RATIO)]
    transfers: Annotated[float, Means("on all blocks, mean over the traces: pages read from the disk", PER)]
    allowed: Annotated[bool, Means("it makes no more transfers than judge.virtual.most_transfers allows")]


class VirtualRow(Document):
    """A cache on a test trace, from empty on."""

    policy: Annotated[
        str, Means("lru, lfu or arc; vrm.<queue> with the paper's settings; head; tuned.cold, tuned.warm")
    ]
    kind: Annotated[
        Kind,
        Means("a plain policy, a virtual cache of the paper's settings, the head of the tuned queue alone, or tuned"),
    ]
    setting: Annotated[Setting | None, Means("of a virtual cache; null of a plain policy and of the head")]
    hit_ratio: Annotated[float, Means(RATIO, "ratio")]
    hit_ratio_interval: Annotated[Interval, Means("90 % interval of it over blocks of time", "ratio")]
    gain: Annotated[float, Means("hit ratio less that of the trace's best plain policy", "ratio")]
    gain_interval: Annotated[Interval, Means("90 % interval of that, pairs of the same blocks", "ratio")]
    transfers: Annotated[float, Means("pages read from the disk: misses, allocation, fragmentation", PER)]
    allocation: Annotated[float, Means("of these, read because the mapping changed", PER)]
    fragmentation: Annotated[float, Means("of these, read because they came into a mapped run", PER)]
    of_plain_misses: Annotated[
        float, Means("misses over the best plain policy's: its disk time if transfers besides cost nothing", "ratio")
    ]
    of_plain_transfers: Annotated[
        float, Means("transfers over the best plain policy's: its disk time if all of them take as long", "ratio")
    ]


class Seeded(Document):
    """What one search chose, on a test trace."""

    number: Annotated[int, Means("of the search")]
    setting: Annotated[Setting, Means("that it chose on validation")]
    hit_ratio: Annotated[float, Means("from a cold start", RATIO)]
    transfers: Annotated[float, Means("from a cold start: pages read from the disk", PER)]
    gain: Annotated[float, Means("hit ratio less that of the trace's best plain policy", "ratio")]


class Started(Document):
    """How long a start takes."""

    policy: Annotated[str, Means("virtual cache: vrm.<queue> or tuned")]
    start: Annotated[Start, Means("cold: from the head of the queue; warm: from the profile of the train traces")]
    steady: Annotated[float, Means("hit ratio of the trace's second half from a cold start", RATIO)]
    references: Annotated[
        int | None,
        Means("until the hit ratio of a window first is judge.virtual.steady of that; null: never", "page accesses"),
    ]


class VirtualTrace(Document):
    """A test trace."""

    role: Annotated[Role, Means("test")]
    references: Annotated[int, Means("page accesses; all are counted, from an empty cache on")]
    capacity: Annotated[int, Means("of the cache", "pages")]
    best_plain: Annotated[Queue, Means("plain policy of most hits on this trace")]
    window: Annotated[int, Means("that a start is looked at over", "page accesses")]
    rows: Annotated[list[VirtualRow], Each("a cache on a test trace", "trace and policy")]
    seeds: Annotated[list[Seeded], Each("one search", "trace and number", presence="sometimes")]
    starts: Annotated[list[Started], Each("one start", "trace, policy and start", presence="sometimes")]

    def row(self, policy: str) -> VirtualRow | None:
        """A cache's row."""
        return next((row for row in self.rows if row.policy == policy), None)

    def started(self, policy: str, start: Start) -> int | None:
        """References of a start; None where it never was over, or was not looked at."""
        found = [one.references for one in self.starts if (one.policy, one.start) == (policy, start)]
        return found[0] if found else None

    @property
    def spread(self) -> tuple[float, float | None]:
        """Mean gain of what the searches chose, and its standard deviation; None of fewer than two."""
        gains = [one.gain for one in self.seeds]
        return (fmean(gains) if gains else 0.0), (stdev(gains) if len(gains) > 1 else None)


class VirtualModel(Judged):
    """A virtual cache: its verdict, and what it is."""

    setting: Annotated[Setting | None, Means("that validation chose; null where nothing was judged")]
    start: Annotated[Start, Means("that validation chose")]


class VirtualMetrics(Document):
    """Virtual caches of a category on its test traces."""

    category: Annotated[str, Means("category")]
    reason: Annotated[str, Means("why something was not measured; empty where all was")]
    traces: Annotated[dict[str, VirtualTrace], Each("one test trace", "trace", "trace", presence="sometimes")]
    models: Annotated[dict[str, VirtualModel], Each("the category's virtual cache", "model", "model")]

    def chosen(self, trace: VirtualTrace) -> VirtualRow | None:
        """The row of the tuned cache with the start that validation chose."""
        return next((trace.row(f"{TUNED}.{model.start}") for model in self.models.values()), None)

    def headline(self, model: str) -> Figures:
        """Means over the test traces of the model's hit ratio, gain and transfers."""
        rows = [row for trace in self.traces.values() if (row := self.chosen(trace)) is not None]
        if not rows:
            return {}
        return {
            "hit_ratio": fmean(row.hit_ratio for row in rows),
            "gain": fmean(row.gain for row in rows),
            "transfers": fmean(row.transfers for row in rows),
            "transfers_besides": fmean(row.allocation + row.fragmentation for row in rows),
        }

    def summary(self) -> str:
        """What virtual caches do on the first test trace, in a sentence."""
        for key, trace in self.traces.items():
            row, plain = self.chosen(trace), trace.row(trace.best_plain)
            if row is not None and plain is not None:
                return (
                    f"Virtual cache, {self.category}: {percent(row.hit_ratio)} hits on {key} at {row.transfers:.3f} "
                    f"transfers a page access, {plain.policy} {percent(plain.hit_ratio)} at {plain.transfers:.3f}."
                )
        return ""


def metrics_of(category: str) -> Path:
    """Where stage evaluate_virtual writes."""
    return paths.METRICS / "virtual" / f"{category}.json"


def read_metrics(path: Path) -> VirtualMetrics:
    """metrics/virtual/<category>.json, see `cachezoo.metrics.files.read`."""
    return read(path, VirtualMetrics)
