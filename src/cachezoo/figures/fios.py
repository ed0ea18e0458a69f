"""experiments/fios.json: WAF by combination of features, of all drives (FIOS, Figs. 7 and 9), and its claims."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

from cachezoo.documents import Document, Interval
from cachezoo.figures.finding import GOAL, Figure, Finding, held
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from cachezoo.show.formats import percent
from cachezoo.systems.streams.metrics import Kind
from cachezoo.wear.names import EQUAL, LEGACY, ORACLE

FILE, PLOT = Path("experiments/fios.json"), Path("experiments/fios.png")
SINGLE, ALL_FEATURES, FREQUENCY = ("F", "A", "S", "C"), "FASC", "F"
POSTMARK = ("mail", "postmark")  # the category that was captured of postmark, and the corpus's program
SAVING, POSTMARK_SAVING, NEAR_BEST, ABOVE_EQUAL, PAPER_SID_MB, PAPER_TB = 0.20, 0.70, 0.02, 0.01, 25.0, 3
SIGMAS = 3.29  # a 90 % interval of a normal distribution is so many standard deviations wide
SAME = 1e-9  # of WAF: dictionaries that come to the same streams


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
    high: Annotated[str, Means("bits of the train cycle's characteristics, as in FIOS's Table II")]
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


def _sd(row: DriveRow) -> float:
    low, high = row.of_legacy_interval
    return (high - low) / SIGMAS


def _least_saving(said: str, heavy: Sequence[DriveCase], which: Callable[[DriveCase], DriveRow]) -> Finding:
    claim = "WAF at least 20 % lower than without streams, for all workloads"
    case = min(heavy, key=lambda one: which(one).saved, default=None)
    if case is None:
        return held(claim, said, None, SAVING)
    count = sum(which(one).saved >= SAVING for one in heavy)
    measured = f"{said}: the least ({case.key}); {count} of {len(heavy)} drives reach it"
    return held(claim, measured, which(case).saved, SAVING, spread=_sd(which(case)))


def _flattered(heavy: Sequence[DriveCase]) -> Finding:
    """The same claim if each dictionary learns on the cycle that it is judged on."""
    saved = {case.key: 1 - case.hindsight[1] for case in heavy}
    key = min(saved, key=lambda one: saved[one], default="")
    count = sum(value >= SAVING for value in saved.values())
    least = f"the least ({key}); {count} of {len(heavy)} drives reach it"
    said = f"the best combination, learned on the test cycle itself: {least}"
    return held("the same, learned and judged on one cycle", said, saved.get(key), SAVING)


def _postmark(figure: FiosFigure) -> list[Finding]:
    claim, goal = "more than 70 % lower on Postmark", f"{GOAL}70 % of the way from legacy to the oracle on Postmark"
    own = [case for case in figure.measured if case.key.partition("_")[0] in POSTMARK]
    if not own:
        return [held(one, "no drive of postmark", None, POSTMARK_SAVING) for one in (claim, goal)]
    case = max(own, key=lambda one: one.best.saved)
    times = case.host_pages / case.footprint_pages
    apart = "" if case in figure.heavy else (
        f"WAF {case.legacy_waf:.3f} without streams: the host writes {times:.1f} times the footprint in the cycle"
    )  # fmt: skip
    best = case.best
    return [
        held(claim, f"best combination, {case.key}", best.saved, POSTMARK_SAVING, spread=_sd(best), apart=apart),
        held(goal, f"the combination that validation chose, {case.key}", case.way(case.chosen), POSTMARK_SAVING,
             apart=apart),
    ]  # fmt: skip


def _best_most_often(figure: FiosFigure, names: Sequence[str]) -> tuple[str, int]:
    """Which of some combinations is best among them on most drives, and on how many."""
    wins = Counter(
        name for case in figure.heavy for name in names
        if case.row(name).waf <= min(case.row(one).waf for one in names) + SAME
    )  # fmt: skip
    return max(((name, wins[name]) for name in names), key=lambda pair: pair[1])


def _worst(
    claim: str, said: str, heavy: Sequence[DriveCase], bound: float, rival: Callable[[DriveCase], float]
) -> Finding:
    """How far FIOS's own choice is above rivals, at most."""
    over = {case.key: case.own.waf / rival(case) - 1 for case in heavy}
    key = max(over, key=lambda one: over[one], default=None)
    if key is None:
        return held(claim, said, None, bound, at_most=True)
    count = sum(value <= bound for value in over.values())
    measured = f"{said}: the most ({key}); {count} of {len(heavy)} drives keep it"
    return held(claim, measured, over[key], bound, at_most=True)


def claims(figure: FiosFigure) -> list[Finding]:
    """The paper's claims and the project's goals, each on the drives that have something to save."""
    heavy = figure.heavy
    drives = len(heavy)
    part = 1 / drives if drives else 0.0
    name, wins = _best_most_often(figure, SINGLE)
    every, most = _best_most_often(figure, [row.policy for row in heavy[0].combinations]) if heavy else ("", 0)
    every_wins = sum(case.row(ALL_FEATURES).waf > case.best.waf + SAME for case in heavy)
    sizes = [PAPER_TB * case.sid_mb_per_tb for case in figure.measured if case.sid_mb_per_tb is not None]
    return [
        _least_saving("the best combination in hindsight", heavy, lambda case: case.best),
        _least_saving("the combination that validation chose", heavy, lambda case: case.chosen),
        _least_saving("FIOS's own choice", heavy, lambda case: case.own),
        _flattered(heavy),
        *_postmark(figure),
        held("no single feature is best everywhere", f"drives on which {name} is the best of the four, the most often",
             part * wins if drives else None, 1 - part, at_most=True),
        held("no combination is", f"drives on which {every} is the best of the fifteen, the most often",
             part * most if drives else None, 1 - part, at_most=True),
        held("more features do not always save more", "drives on which FASC is not the best",
             part * every_wins if drives else None, part),
        _worst("FIOS's choice below legacy, equal partition and frequency, everywhere", "above the best of the three",
               heavy, 0.0, lambda case: min(case.row(one).waf for one in (LEGACY, EQUAL, FREQUENCY))),
        _worst(f"{GOAL}FIOS's choice within 2 % of the best combination", "above the best combination",
               heavy, NEAR_BEST, lambda case: case.best.waf),
        _worst(f"{GOAL}never above equal partition by more than 1 %", "FIOS's choice above it",
               heavy, ABOVE_EQUAL, lambda case: case.row(EQUAL).waf),
        held("the dictionary of 3 TB takes less than 25 MB", "the largest of a drive, scaled to 3 TB of addresses",
             max(sizes, default=None), PAPER_SID_MB, "MB", at_most=True),
    ]  # fmt: skip


def figure_of(cases: Sequence[DriveCase], least_waf: float, over_provisioning: float) -> FiosFigure:
    """The figure and its claims."""
    found = FiosFigure(
        id="fios", source="FIOS, Figs. 7 and 9", title="Write amplification by combination of features",
        note="", findings=[], least_waf=least_waf, over_provisioning=over_provisioning, cases=list(cases),
    )  # fmt: skip
    return found.model_copy(update={"note": _note(found), "findings": claims(found)})


def _note(found: FiosFigure) -> str:
    heavy = found.heavy
    none = sum(not case.automatic for case in heavy)
    note = (
        f"Test cycle of {len(heavy)} drives whose WAF without streams is at least {found.least_waf:g}, of "
        f"{len(found.cases)}; {percent(found.over_provisioning, 0)} over-provisioning. Windows and numbers of streams "
        f"are chosen on validation. FIOS's rule chooses no feature on {none} of them, which leaves one stream."
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
    """experiments/fios.json, see `cachezoo.metrics.files.read`."""
    return read(path, FiosFigure, MAKE)
