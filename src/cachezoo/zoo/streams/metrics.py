"""metrics/streams/<category>.json: write amplification of a drive by placement, on the category's test cycle."""

from pathlib import Path
from typing import Annotated

from cachezoo import paths
from cachezoo.documents import Document, Figures, Interval
from cachezoo.flash_drive.names import Kind
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Judged, Role
from cachezoo.metrics.files import read
from cachezoo.show.formats import percent

WAF = "flash pages written over pages that the host wrote"
LEARNED = "features that FIOS chooses by the train cycle's characteristics; empty for none"
AUTOMATIC = "the placement of those features; legacy where there are none"
VALUE = Annotated[int | float | str, Means("of an argument of the placement, chosen on validation")]


class Tried(Document):
    """A placement on the validation cycle."""

    policy: Annotated[str, Means("placement; of FIOS the features and the window, as `FSC.100th`")]
    kind: Annotated[
        Kind,
        Means(
            "legacy, a baseline that a host can name, a drive that places by itself, a combination of FIOS's features, "
            "a variant of ours, a forest of lifetimes, a dictionary learned anew each cycle, one that learned on the "
            "cycle itself, or a bound that knows the future"
        ),
    ]
    streams: Annotated[int, Means("that any write goes to", "streams")]
    parameters: Annotated[
        dict[str, VALUE],
        Each("an argument of a placement", "placement", "argument", "its value", presence="sometimes"),
    ]
    waf: Annotated[float, Means(WAF, "ratio")]


class StreamsRow(Tried):
    """A placement on the test cycle."""

    waf_interval: Annotated[Interval, Means("90 % interval of it over blocks of time", "ratio")]
    of_legacy: Annotated[float, Means("its WAF over that of a drive without streams", "ratio")]
    of_legacy_interval: Annotated[Interval, Means("90 % interval of that", "ratio")]
    validation_waf: Annotated[float | None, Means("on validation; null of one that was not judged there", "ratio")]
    copied_pages: Annotated[int, Means("that the drive copied in the cycle", "flash pages")]
    erases: Annotated[int, Means("of blocks in the cycle")]
    erases_most: Annotated[int, Means("of the most erased block since the drive was new")]
    noise: Annotated[
        float | None,
        Means(
            "how far chance among equal victims moves what it saves of legacy's writes; null of the lesser ones",
            "share",
        ),
    ]
    victim_waf: Annotated[
        dict[str, float],
        Each("a placement on a drive of another victim", "policy and victim", "victim", "its WAF there", "ratio"),
    ]
    victim_of_legacy: Annotated[
        dict[str, float],
        Each(
            "a placement on a drive of another victim",
            "policy and victim",
            "victim",
            "its WAF over that without streams there",
            "ratio",
        ),
    ]
    victim_of_legacy_interval: Annotated[
        dict[str, Interval],
        Each(
            "a placement on a drive of another victim",
            "policy and victim",
            "victim",
            "90 % interval of its WAF over that without streams there",
            "ratio",
        ),
    ]
    over_provisioning_waf: Annotated[
        dict[str, float],
        Each(
            "a placement on a drive of another size", "policy and share", "share", "its WAF there", "ratio", "",
            "sometimes",
        ),
    ]  # fmt: skip


class StreamsTrace(Document):
    """The test cycle of one drive."""

    role: Annotated[Role, Means("test")]
    host_pages: Annotated[int, Means("that the host wrote in the cycle", "flash pages")]
    footprint_pages: Annotated[int, Means("written in any cycle, which the drive's size follows", "flash pages")]
    over_provisioning: Annotated[float, Means("of the drive: flash that has no address", "share")]
    rows: Annotated[list[StreamsRow], Each("a placement on the test cycle", "trace and policy")]

    @property
    def footprints(self) -> float:
        """How many times its footprint the host wrote in the cycle."""
        return self.host_pages / self.footprint_pages

    def row(self, policy: str) -> StreamsRow | None:
        """A placement's row."""
        return next((row for row in self.rows if row.policy == policy), None)

    def best(self, *kinds: Kind) -> StreamsRow | None:
        """The row of least WAF among those of some kinds."""
        return min((row for row in self.rows if row.kind in kinds), key=lambda row: row.waf, default=None)


class StreamsModel(Judged):
    """A dictionary: its verdict, and what it is."""

    variant: Annotated[str, Means("placement that validation chose; empty where nothing was judged")]
    learned: Annotated[str, Means(LEARNED)]
    automatic: Annotated[str, Means(AUTOMATIC)]
    sid_bytes: Annotated[int, Means("of the dictionary", "bytes")]


class StreamsMetrics(Document):
    """Write amplification of a category's drive by placement, on its test cycle."""

    category: Annotated[str, Means("category")]
    reason: Annotated[str, Means("why nothing was measured; empty where something was")]
    traces: Annotated[dict[str, StreamsTrace], Each("one test cycle", "trace", "trace", presence="sometimes")]
    models: Annotated[dict[str, StreamsModel], Each("the category's dictionary", "model", "model")]

    def chosen(self, trace: StreamsTrace) -> StreamsRow | None:
        """The row of the dictionary that validation chose."""
        return next((row for model in self.models.values() if (row := trace.row(model.variant)) is not None), None)

    def headline(self, model: str) -> Figures:
        """WAF of the dictionary on the test cycle, and over that of a drive without streams."""
        for trace in self.traces.values():
            row = trace.row(self.models[model].variant)
            if row is not None:
                return {"waf": row.waf, "of_legacy": row.of_legacy}
        return {}

    def summary(self) -> str:
        """What streams save on the test cycle, in a sentence."""
        for key, trace in self.traces.items():
            row, legacy = self.chosen(trace), trace.best("legacy")
            if row is not None and legacy is not None:
                return (
                    f"Streams, {self.category}: WAF {row.waf:.3f} on {key} with {row.policy}, "
                    f"{percent(row.of_legacy)} of the {legacy.waf:.3f} without streams."
                )
        return ""


def metrics_of(category: str) -> Path:
    """Write amplification on a category's test cycle (stage evaluate_streams)."""
    return paths.METRICS / "streams" / f"{category}.json"


def read_metrics(path: Path) -> StreamsMetrics:
    """metrics/streams/<category>.json, see `cachezoo.metrics.files.read`."""
    return read(path, StreamsMetrics)
