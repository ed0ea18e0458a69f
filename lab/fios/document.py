"""lab/results/fios.json: WAF by combination of features, of all drives (FIOS, Figs. 7 and 9), and its claims."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

from cachezoo.documents import Document, Interval
from cachezoo.flash_drive.names import EQUAL, LEGACY, ORACLE, Kind
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from cachezoo.show.formats import percent
from lab.claims.evaluate import judged
from lab.claims.finding import Figure

FILE, PLOT = Path("lab/results/fios.json"), Path("lab/results/fios.png")


class DriveRow(Document):
    """A placement on a drive's test cycle, with the window and the number of streams that validation chose."""

    policy: Annotated[
        str,
        Means("letters of FIOS's features; P in place of C: coherency of pairs; a set of real values; or a placement"),
    ]
    kind: Annotated[Kind, Means("legacy, a baseline, FIOS's features, a variant of ours, or a bound")]
    window: Annotated[str, Means("of A, C and P; empty where there is none")]
    asked: Annotated[int, Means("K of K-means; of others the streams of the drive", "streams")]
    streams: Annotated[int, Means("that any write goes to", "streams")]
    waf: Annotated[float, Means("flash pages written over pages that the host wrote", "ratio")]
    of_legacy: Annotated[float, Means("its WAF over that without streams", "ratio")]
    of_legacy_interval: Annotated[Interval, Means("90 % interval of it over blocks of time", "ratio")]
    seeds_sd: Annotated[
        float | None,
        Means("standard deviation of its WAF over seeds of K-means; null of what has no seed", "ratio"),
    ]
    validation_waf: Annotated[float | None, Means("on validation; null of what was not tried there", "ratio")]
    hindsight_of_legacy: Annotated[
        float | None, Means("the same of a dictionary learned on the test cycle itself; null without one", "ratio")
    ]

    @property
    def saved(self) -> float:
        """Share of the WAF without streams."""
        return 1 - self.of_legacy


class DriveCase(Document):
    """A drive: a category's, or that of a trace of the corpus which is cut into three cycles."""

    key: Annotated[str, Means("the category, or the trace of the corpus")]
    corpus: Annotated[bool, Means("of the corpus")]
    reason: Annotated[str, Means("why nothing was measured; empty where something was")]
    theta: Annotated[dict[str, float | None], Means("the train cycle's characteristics, as in FIOS's Table II")]
    high: Annotated[str, Means("which of them are high, bits in their order")]
    automatic: Annotated[str, Means("features that FIOS chooses by them; empty for none, which leaves one stream")]
    pages_per_block: Annotated[int, Means("of an erase block", "flash pages")]
    host_pages: Annotated[int, Means("written in the test cycle", "flash pages")]
    footprint_pages: Annotated[int, Means("written in any cycle", "flash pages")]
    sid_mb_per_tb: Annotated[
        float | None,
        Means(
            "the dictionary of the combination that validation chose, for each TB up to its last range; null where it "
            "has one range, of stream 0",
            "MB",
        ),
    ]
    rows: Annotated[list[DriveRow], Each("a placement on the drive", "key and policy")]

    def row(self, policy: str) -> DriveRow:
        """A placement's row."""
        return next(row for row in self.rows if row.policy == policy)

    @property
    def legacy_waf(self) -> float:
        """WAF without streams."""
        return self.row(LEGACY).waf

    @property
    def combinations(self) -> list[DriveRow]:
        """FIOS's fifteen."""
        return [row for row in self.rows if row.kind == "fios"]

    @property
    def best(self) -> DriveRow:
        """The combination of least WAF in hindsight, as the paper reads its Fig. 7."""
        return min(self.combinations, key=lambda row: row.waf)

    @property
    def chosen(self) -> DriveRow:
        """The combination of least WAF on validation."""
        return min(self.combinations, key=lambda row: (row.validation_waf or 0.0, row.streams))

    @property
    def hindsight(self) -> tuple[str, float]:
        """The combination of least WAF if each learned on the test cycle itself, and that over legacy's."""
        known = {
            row.policy: row.hindsight_of_legacy for row in self.combinations if row.hindsight_of_legacy is not None
        }
        return min(known.items(), key=lambda pair: pair[1])

    @property
    def own(self) -> DriveRow:
        """FIOS's own choice: without features the drive without streams."""
        return self.row(self.automatic or LEGACY)

    @property
    def ours(self) -> DriveRow:
        """The variant of ours of least WAF on validation."""
        rows = [row for row in self.rows if row.kind == "ours"]
        return min(rows, key=lambda row: (row.validation_waf or 0.0, row.streams))

    def way(self, row: DriveRow) -> float | None:
        """Share of the way from legacy to the oracle; None where the oracle saves nothing."""
        gap = self.legacy_waf - self.row(ORACLE).waf
        return (self.legacy_waf - row.waf) / gap if gap > 0 else None


class FiosFigure(Figure):
    """WAF by combination of features on the test cycle of every drive."""

    least_waf: Annotated[float, Means("a drive whose WAF without streams is below has nothing to save", "ratio")]
    over_provisioning: Annotated[float, Means("flash that has no address", "share")]
    cases: Annotated[list[DriveCase], Each("one drive", "key")]

    @property
    def measured(self) -> list[DriveCase]:
        """Drives that were measured."""
        return [case for case in self.cases if not case.reason]

    @property
    def heavy(self) -> list[DriveCase]:
        """Of these, those that have something to save."""
        return [case for case in self.measured if case.legacy_waf >= self.least_waf]


def figure_of(cases: Sequence[DriveCase], least_waf: float, over_provisioning: float) -> FiosFigure:
    """The figure and its claims."""
    found = FiosFigure(
        id="fios", source="FIOS, Figs. 7 and 9", title="Write amplification by combination of features",
        note="", findings=[], least_waf=least_waf, over_provisioning=over_provisioning, cases=list(cases),
    )  # fmt: skip
    return judged(found.model_copy(update={"note": _note(found)}), "fios")


def _note(found: FiosFigure) -> str:
    heavy = found.heavy
    none = sum(not case.automatic for case in heavy)
    note = (
        f"Test cycle of {len(heavy)} drives whose WAF without streams is at least {found.least_waf:g}, of "
        f"{len(found.cases)}; {percent(found.over_provisioning, 0)} over-provisioning. Windows and numbers of streams "
        f"are chosen on validation. FIOS's rule, on our reading of its characteristics, chooses no feature on {none} "
        f"of them, which leaves one stream."
    )
    left = {
        "equal partition": [case.row(EQUAL).of_legacy for case in heavy],
        "the best combination": [case.best.of_legacy for case in heavy],
        "the same learned on the test cycle": [case.hindsight[1] for case in heavy],
        "ours by validation": [case.ours.of_legacy for case in heavy],
        "the oracle": [case.row(ORACLE).of_legacy for case in heavy],
    }
    said = [f"{name} {percent(median(values))}" for name, values in left.items() if values]
    return f"{note} Of legacy's WAF the median drive keeps: {', '.join(said)}." if said else note


def read_fios(path: Path) -> FiosFigure:
    """lab/results/fios.json, see `cachezoo.metrics.files.read`."""
    return read(path, FiosFigure, MAKE)
