"""Share or split, as verdicts, sentences and tables: for `cachezoo models results` and for the report's page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from cachezoo.contest.verdict import LEAST_SAVING, judged
from cachezoo.contest.verdict import Verdict as Gate
from cachezoo.questions.share.columns import (
    HINDSIGHT,
    SHARED_LRU,
    STATIC,
    Kind,
    Saved,
    ShareMetrics,
    ShareMix,
    ShareRow,
)
from cachezoo.settings.share import EQUAL
from cachezoo.show.formats import NONE, number, percent, points, span, words
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.sizes import human
from cachezoo.traces.table import PAGE_BYTES

SHARED, GVPA, COSTED = "shared", "gvpa", "gvpa_cost"
NAMES = {
    EQUAL: "equal parts", "equal_any": "equal parts, a policy for each", SHARED_LRU: "one LRU for all",
    SHARED: "one cache, newer policies", "learned_lru": "a learned split of LRU",
    "learned": "a learned split, a policy for each", "ucp": "UCP", "ucp_any": "UCP, a policy for each",
    "climb": "hill climbing", GVPA: "G-VPA as published", COSTED: "G-VPA with costs",
    STATIC: "the best fixed split", HINDSIGHT: "the best split of each window",
}  # fmt: skip
Verdict = Literal["split", "share", "no matter", "cannot be told"]


@dataclass(frozen=True)
class Tested:
    """The advised family on a test mix at a size."""

    name: str
    mix: ShareMix
    row: ShareRow
    rival: ShareRow | None  # of the best family that does the other thing, share or split; None without one

    @property
    def saved(self) -> Saved | None:
        """Against the rival."""
        return self.row.saved.get(self.rival.family) if self.rival is not None else None

    @property
    def verdict(self) -> Verdict:
        """What this case says."""
        saved = self.saved
        if saved is None:
            return "cannot be told"
        own, other = _both(self.row.splits)
        found = judged(saved.transfers, saved.interval, LEAST_SAVING)
        low, high = saved.interval
        if found == Gate.BETTER:
            return own
        if found == Gate.WORSE and saved.transfers <= -LEAST_SAVING:
            return other
        narrow = -LEAST_SAVING < low and high < LEAST_SAVING
        return "no matter" if narrow or found in (Gate.TRIFLE, Gate.WORSE) else "cannot be told"

    @property
    def refuted(self) -> bool:
        """Whether the test mix says the other thing than validation."""
        return self.verdict == _both(self.row.splits)[1]

    @property
    def tone(self) -> str:
        """Of the verdict, as `cachezoo.show.table.Cell` has it."""
        if self.refuted:
            return "bad"
        return {"cannot be told": "unsure", "no matter": ""}.get(self.verdict, "good")


def _both(splits: bool) -> tuple[Verdict, Verdict]:
    """What a family does, and the other thing."""
    return ("split", "share") if splits else ("share", "split")


def cases(metrics: ShareMetrics, kinds: Sequence[Kind] = ("all", "unseen", "pair")) -> list[Tested]:
    """The advised family on the test mixes of some kinds, at each size."""
    found = []
    for name, mix in metrics.mixes.items():
        for size in metrics.sizes if mix.kind in kinds else []:
            row = mix.row(size.share, metrics.advised or "")
            if row is not None:
                found.append(Tested(name, mix, row, mix.row(size.share, metrics.rival or "")))
    return found


def verdict_of(found: Sequence[Tested]) -> Verdict:
    """What most of some cases show; without such a majority it cannot be told."""
    each = [case.verdict for case in found]
    verdicts: tuple[Verdict, ...] = ("split", "share", "no matter")
    return next((one for one in verdicts if 2 * each.count(one) > len(each)), "cannot be told")


def name_of(family: str) -> str:
    """A family as people call it."""
    return NAMES.get(family, family)


def fewer(saved: Saved) -> str:
    """`3.1 % fewer [2.0, 4.2] than`, or more."""
    low, high = saved.interval
    if saved.transfers >= 0:
        return f"{percent(saved.transfers)} fewer {span((low, high), 1)} than"
    return f"{percent(-saved.transfers)} more {span((-high, -low), 1)} than"


def against(found: Sequence[ShareRow], rival: str) -> str:
    """What rows read less than a rival at the same size, in the median; empty without such a rival."""
    saved = [row.saved[rival] for row in found if rival in row.saved]
    if not saved:
        return ""
    middle = median(one.transfers for one in saved)
    sure = sum((one.interval[0] > 0) if middle >= 0 else (one.interval[1] < 0) for one in saved)
    hits = points(100 * median(one.hits for one in saved))
    change = f"{percent(abs(middle))} {'fewer pages' if middle >= 0 else 'more pages'}"
    return f"{change} than {name_of(rival)} (surely in {sure} of {len(saved)}; {hits} of hit ratio)"


def goal(metrics: ShareMetrics) -> str:
    """Share or split, by what, and what that reads on the test mixes of all; empty where nothing was measured."""
    if metrics.advised is None:
        return ""
    found = cases(metrics, ("all",)) or cases(metrics)
    compared = [text for rival in rivals(metrics) if (text := against([case.row for case in found], rival))]
    begin = _nothing(found, metrics) or f"{_begin(found, metrics)}: validation chose {name_of(metrics.advised)}."
    if not compared:
        return begin
    return f"{begin} In the median of {len(found)} sizes it reads from the disk {words(compared)}."


def _nothing(found: Sequence[Tested], metrics: ShareMetrics) -> str:
    """That the choice of validation is not worth a change from one LRU for all; empty where it is in most sizes."""
    saved = [case.row.saved[SHARED_LRU] for case in found if SHARED_LRU in case.row.saved]
    pays = sum(judged(one.transfers, one.interval, LEAST_SAVING) == Gate.BETTER for one in saved)
    if not saved or 2 * pays > len(saved):
        return ""
    mixes = {case.name for case in found}
    on = f' of the mix "{found[0].name}"' if len(mixes) == 1 else ""
    return (
        f'Keep {name_of(SHARED_LRU)} if you run it: validation chose "{name_of(metrics.advised or "")}", which surely '
        f"reads fewer pages from the disk, and at least {percent(LEAST_SAVING, 0)} fewer, in only {pays} of "
        f"{len(saved)} sizes{on}."
    )


def rivals(metrics: ShareMetrics) -> list[str]:
    """What the advised family is compared with.

    One LRU for all, which changes nothing; the best that does the other thing; equal parts; the best fixed split.
    """
    return [
        name for name in dict.fromkeys((SHARED_LRU, metrics.rival, EQUAL, STATIC)) if name and name != metrics.advised
    ]


def _begin(found: Sequence[Tested], metrics: ShareMetrics) -> str:
    verdict = verdict_of(found)
    own: Verdict = "split" if metrics.splits else "share"
    if verdict in ("split", "share"):
        against_it = "" if verdict == own else f", though validation said to {own}"
        return f"{verdict.capitalize()} the cache{against_it}"
    if verdict == "no matter":
        return "It does not matter whether the cache is shared or split"
    by: dict[str, list[str]] = {}
    for case in found:
        by.setdefault(case.verdict, []).append(percent(case.row.size, 0))
    if len(by) == 1:
        return "Whether to share the cache or to split it cannot be told"
    sizes = words([f"{one} at {words(own)}" for one, own in by.items()])
    return f"It depends on the size of the cache ({sizes} of the data)"


def counted(metrics: ShareMetrics) -> str:
    """On how many of all test mixes and sizes the choice of validation holds; empty where nothing was measured."""
    if metrics.advised is None:
        return ""
    own = metrics.counts[metrics.advised]
    return (
        f"Of {own.cases} test mixes and sizes {name_of(metrics.advised)} reads least of all families in {own.least}; "
        f"it is within {percent(metrics.near, 0)} of the best fixed split's pages in {own.near_static}, and above "
        f"those of equal parts in {own.above_equal} (surely in {own.surely_above_equal})."
    )


def as_published(metrics: ShareMetrics) -> str:
    """What the published partitioner's hits cost; empty where it did not run."""
    rows = [row for mix in metrics.mixes.values() for row in mix.rows if row.family == GVPA]
    compared = against(rows, EQUAL)
    return f"{name_of(GVPA)} reads, in the median of all mixes and sizes, {compared}." if compared else ""


def sentences(metrics: ShareMetrics | None) -> list[str]:
    """All of these that there are."""
    return (
        [] if metrics is None else [text for text in (goal(metrics), counted(metrics), as_published(metrics)) if text]
    )


def tables(metrics: ShareMetrics | None) -> list[Table]:
    """The answer at each size, who it holds for, how often; then every family on each test mix."""
    if metrics is None:
        return []
    detail = [mix_table(metrics, name, mix) for name, mix in metrics.mixes.items()]
    apps = [app_table(metrics, name, mix) for name, mix in metrics.mixes.items() if mix.kind != "pair"]
    found = [summary_table(metrics), count_table(metrics), *apps, *detail]
    return [table for table in found if table.rows]


@dataclass(frozen=True)
class Figure:
    """A column of figures of a family's rows: what it is, and the cell of a row."""

    column: Column
    cell: Callable[[ShareRow], Cell]


def _slowest(row: ShareRow) -> Cell:
    slow = max(row.apps, key=lambda key: (row.apps[key].slowdown, key))
    return Cell(number(row.slowest, 2), row.slowest, slow)


READ = Figure(
    Column("read", "pages for each page access, 90 % interval"),
    lambda row: number_cell(row.transfers, 3, row.transfers_interval),
)
MOVED = Figure(
    Column("besides misses", "pages taken in by a mapping, for each page access"), lambda row: number_cell(row.moved, 3)
)
HITS = Figure(Column("hit ratio", "90 % interval"), lambda row: share_cell(row.hit_ratio, row.hit_interval))
FAIRNESS = Figure(
    Column("fairness", "mean speed, each application against the whole cache to itself under LRU"),
    lambda row: number_cell(row.fairness, 3),
)
SLOWEST = Figure(Column("slowest", "slowdown of the application that suffers most"), _slowest)


def fewer_than(rival: str) -> Figure:
    """The pages that a row reads less than a rival's."""

    def cell(row: ShareRow) -> Cell:
        saved = row.saved.get(rival)
        return Cell(NONE) if saved is None else Cell(percent(saved.transfers), saved.transfers, span(saved.interval, 1))

    return Figure(Column(f"than {name_of(rival)}", "fewer pages read"), cell)


def summary_table(metrics: ShareMetrics) -> Table:
    """Share or split at each size, on the mixes of more than two."""
    figures = [READ, HITS, *map(fewer_than, rivals(metrics)), FAIRNESS, SLOWEST]
    columns = [
        Column("mix", "test traces that run at the same time", numeric=False),
        Column("cache", "of the data"),
        Column("answer", "by pages read from the disk", numeric=False),
        Column("by", "what validation chose", numeric=False),
        *(figure.column for figure in figures),
    ]
    rows = [
        [
            name_cell(case.name, note=f"{len(case.mix.apps)} applications"),
            Cell(percent(case.row.size, 0), case.row.size, human(case.row.pages * PAGE_BYTES)),
            Cell(case.verdict, note="against validation" if case.refuted else "", tone=case.tone),
            Cell(name_of(case.row.family), note=case.row.partitioner),
            *(figure.cell(case.row) for figure in figures),
        ]
        for case in cases(metrics, ("all", "unseen")) or cases(metrics)
    ]
    if metrics.reason:
        rows.append([Cell(NONE), Cell(NONE), Cell("cannot be told", note=metrics.reason, tone="unsure"),
                     *[Cell(NONE)] * (len(columns) - 3)])  # fmt: skip
    return Table("Share or split: the choice of validation on test mixes", columns, rows)


def count_table(metrics: ShareMetrics) -> Table:
    """How often each family reads least, is near the best fixed split, or is worse than equal parts."""
    columns = [
        Column("family", numeric=False),
        Column("cases", "test mixes and sizes"),
        Column("reads least", "of all families"),
        Column(f"within {percent(metrics.near, 0)}", "of the best fixed split's pages"),
        Column("below equal", "surely fewer pages than equal parts"),
        Column("above equal", "more pages, and surely more"),
        Column("than equal parts", "fewer pages read, median"),
        Column("hit ratio", "points above equal parts, median"),
    ]
    rows = []
    for family, own in metrics.counts.items():
        saved = [row.saved[EQUAL] for mix in metrics.mixes.values() for row in mix.rows
                 if row.family == family and EQUAL in row.saved]  # fmt: skip
        shown = [Cell(NONE), Cell(NONE)]
        if saved:
            read, hits = median(one.transfers for one in saved), median(one.hits for one in saved)
            shown = [Cell(percent(read), read), Cell(points(100 * hits), hits)]
        rows.append([
            Cell(name_of(family), note="advised" if family == metrics.advised else ""),
            *map(number_cell, (own.cases, own.least, own.near_static, own.below_equal)),
            Cell(number(own.above_equal), own.above_equal, f"surely {own.surely_above_equal}"),
            *shown,
        ])  # fmt: skip
    return Table("Over all test mixes and sizes", columns, rows)


def mix_table(metrics: ShareMetrics, name: str, mix: ShareMix) -> Table:
    """Every family and bound on a test mix at every size, those that read least first."""
    figures = [READ, MOVED, HITS, fewer_than(EQUAL), FAIRNESS, SLOWEST]
    columns = [
        Column("cache", "of the data", numeric=False),
        Column("family", numeric=False),
        Column("run as", "the value that validation chose", numeric=False),
        *(figure.column for figure in figures),
    ]
    rows = [
        [
            name_cell(percent(row.size, 0), note=human(row.pages * PAGE_BYTES)),
            Cell(
                name_of(row.family),
                note="knows the future" if row.bound else "advised" if row.family == metrics.advised else "",
            ),
            Cell(row.partitioner),
            *(figure.cell(row) for figure in figures),
        ]
        for row in sorted(mix.rows, key=lambda row: (row.size, row.transfers, row.family))
    ]
    return Table(f"{name}: every way to share", columns, rows)


def app_table(metrics: ShareMetrics, name: str, mix: ShareMix) -> Table:
    """Slowdown of each application, and what part of the cache it has: the advised, its rival, equal parts."""
    columns = [
        Column("cache", "of the data", numeric=False),
        Column("family", numeric=False),
        *(Column(key, "slowdown; part of the cache, hit ratio, pages read for each access") for key in mix.apps),
    ]
    families = [family for family in dict.fromkeys((metrics.advised, metrics.rival, EQUAL, GVPA)) if family]
    rows = []
    for size in metrics.sizes:
        for row in filter(None, (mix.row(size.share, family) for family in families)):
            cells = [_app_cell(row, key) for key in mix.apps]
            rows.append([name_cell(percent(size.share, 0)), Cell(name_of(row.family)), *cells])
    return Table(f"{name}: who gains and who pays", columns, rows)


def _app_cell(row: ShareRow, key: str) -> Cell:
    own = row.apps.get(key)
    if own is None:
        return Cell(NONE, note="ended before counting began")
    part = "not told how much" if own.share is None else percent(own.share, 0)
    note = f"{part} of it; {percent(own.hit_ratio)}, {number(own.transfers, 3)}"
    return Cell(number(own.slowdown, 2), own.slowdown, note)


def values(metrics: ShareMetrics | None) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The same as JSON values: `advised` at each size, `choices` of validation, `counts`, and `rows` of test mixes."""
    if metrics is None:
        return {"advised": [], "choices": [], "counts": [], "rows": []}
    return {
        "advised": [
            {"mix": case.name, "verdict": case.verdict, **case.row.model_dump(mode="json")} for case in cases(metrics)
        ],
        "choices": [
            {"size": size.share, "family": family, "advised": family == metrics.advised,
             **choice.model_dump(mode="json")}
            for size in metrics.sizes
            for family, choice in size.choices.items()
        ],
        "counts": [{"family": family, **own.model_dump(mode="json")} for family, own in metrics.counts.items()],
        "rows": [
            {"mix": name, "kind": mix.kind, **row.model_dump(mode="json")}
            for name, mix in metrics.mixes.items()
            for row in mix.rows
        ],
    }  # fmt: skip
