"""Share or split, as tables and sentences: for `cachezoo results` and for the report's page."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from cachezoo.questions.share.columns import EQUAL, HINDSIGHT, STATIC, Saved, ShareMetrics, ShareMix, ShareRow
from cachezoo.questions.share.verdict import Case, Verdict, cases, verdict_of
from cachezoo.show.formats import NONE, number, percent, points, span, words
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.sizes import human
from cachezoo.traces.table import PAGE_BYTES

SHARED, SHARED_LRU, GVPA, COSTED = "shared", "shared_lru", "gvpa", "gvpa_cost"
NAMES = {
    EQUAL: "equal parts", SHARED_LRU: "one LRU for all",
    SHARED: "one cache, newer policies", "ucp": "UCP", GVPA: "G-VPA as published", COSTED: "G-VPA with costs",
    STATIC: "the best fixed split", HINDSIGHT: "the best split of each window",
}  # fmt: skip
HIT = "90 % interval"


def name_of(family: str) -> str:
    """A family as people call it."""
    return NAMES.get(family, family)


def per_access(value: float) -> str:
    """Pages read for each page access, with three digits."""
    return number(value, 3)


def fewer(saved: Saved) -> str:
    """`3.1 % fewer [2.0, 4.2] than`, or more."""
    low, high = saved.interval
    if saved.transfers >= 0:
        return f"{percent(saved.transfers)} fewer {span((low, high), 1)} than"
    return f"{percent(-saved.transfers)} more {span((-high, -low), 1)} than"


def _change(share: float) -> str:
    return f"{percent(abs(share))} {'fewer pages' if share >= 0 else 'more pages'}"


def against(found: Sequence[ShareRow], rival: str) -> str:
    """What rows read less than a rival at the same size, in the median; empty without such a rival."""
    saved = [row.saved[rival] for row in found if rival in row.saved]
    if not saved:
        return ""
    middle, said = median(one.transfers for one in saved), name_of(rival)
    sure = sum((one.interval[0] > 0) if middle >= 0 else (one.interval[1] < 0) for one in saved)
    hits = points(100 * median(one.hits for one in saved))
    return f"{_change(middle)} than {said} (surely in {sure} of {len(saved)}; {hits} of hit ratio)"


def goal(metrics: ShareMetrics) -> str:
    """Share or split, by what, and what that reads on the test mixes of all; empty where nothing was measured."""
    if metrics.advised is None:
        return ""
    found = cases(metrics, ("all",)) or cases(metrics)
    beside = [text for rival in rivals(metrics) if (text := against([case.row for case in found], rival))]
    begin = f"{_begin(found, metrics)}: validation chose {name_of(metrics.advised)}."
    if not beside:
        return begin
    return f"{begin} In the median of {len(found)} sizes it reads from the disk {words(beside)}."


def rivals(metrics: ShareMetrics) -> list[str]:
    """Who the advised family stands beside: the best that does the other thing, equal parts, the best fixed split."""
    return [name for name in dict.fromkeys((metrics.rival, EQUAL, STATIC)) if name and name != metrics.advised]


def _begin(found: Sequence[Case], metrics: ShareMetrics) -> str:
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
    said = words([f"{one} at {words(sizes)}" for one, sizes in by.items()])
    return f"It depends on the size of the cache ({said} of the data)"


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
    said = against(rows, EQUAL)
    return f"{name_of(GVPA)} reads, in the median of all mixes and sizes, {said}." if said else ""


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


def summary_table(metrics: ShareMetrics) -> Table:
    """Share or split at each size, on the mixes of more than two."""
    columns = [
        Column("mix", "test traces that run at the same time", numeric=False),
        Column("cache", "of the data"),
        Column("answer", "by pages read from the disk", numeric=False),
        Column("by", "what validation chose", numeric=False),
        Column("read", "pages for each page access, 90 % interval"),
        Column("hit ratio", HIT),
        *(Column(f"than {name_of(rival)}", "fewer pages read") for rival in rivals(metrics)),
        Column("fairness", "mean speed, each application against the whole cache to itself under LRU"),
        Column("slowest", "slowdown of the application that suffers most"),
    ]
    found = [case for case in cases(metrics, ("all", "unseen")) or cases(metrics)]
    rows = [_summary_cells(metrics, case) for case in found]
    if metrics.reason:
        rows.append([Cell(NONE), Cell(NONE), Cell("cannot be told", note=metrics.reason, tone="unsure"),
                     *[Cell(NONE)] * (len(columns) - 3)])  # fmt: skip
    return Table("Share or split: the choice of validation on test mixes", columns, rows)


def _summary_cells(metrics: ShareMetrics, case: Case) -> list[Cell]:
    row = case.row
    return [
        name_cell(case.name, note=f"{len(case.mix.apps)} applications"),
        _size_cell(row),
        Cell(case.verdict, note="against validation" if case.refuted else "", tone=case.tone),
        Cell(name_of(row.family), note=row.partitioner),
        _read_cell(row),
        share_cell(row.hit_ratio, row.hit_interval),
        *(saved_cell(row, rival) for rival in rivals(metrics)),
        *_fair_cells(row),
    ]


def _size_cell(row: ShareRow) -> Cell:
    return Cell(percent(row.size, 0), row.size, human(row.pages * PAGE_BYTES))


def _read_cell(row: ShareRow) -> Cell:
    return number_cell(row.transfers, 3, row.transfers_interval)


def saved_cell(row: ShareRow, rival: str) -> Cell:
    """What a row reads less than a rival's."""
    found = row.saved.get(rival)
    return Cell(NONE) if found is None else Cell(percent(found.transfers), found.transfers, span(found.interval, 1))


def _fair_cells(row: ShareRow) -> list[Cell]:
    slow = max(row.apps, key=lambda key: (row.apps[key].slowdown, key))
    return [number_cell(row.fairness, 3), Cell(number(row.slowest, 2), row.slowest, slow)]


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
    columns = [
        Column("cache", "of the data", numeric=False),
        Column("family", numeric=False),
        Column("run as", "the value that validation chose", numeric=False),
        Column("read", "pages for each page access, 90 % interval"),
        Column("besides misses", "pages taken in by a mapping, for each page access"),
        Column("hit ratio", HIT),
        Column("than equal parts", "fewer pages read"),
        Column("fairness", "mean speed, each application against the whole cache to itself under LRU"),
        Column("slowest", "slowdown of the application that suffers most"),
    ]
    rows = sorted(mix.rows, key=lambda row: (row.size, row.transfers, row.family))
    return Table(f"{name}: every way to share", columns, [_mix_cells(metrics, row) for row in rows])


def _mix_cells(metrics: ShareMetrics, row: ShareRow) -> list[Cell]:
    note = "knows the future" if row.bound else "advised" if row.family == metrics.advised else ""
    return [
        name_cell(percent(row.size, 0), note=human(row.pages * PAGE_BYTES)),
        Cell(name_of(row.family), note=note),
        Cell(row.partitioner),
        _read_cell(row),
        number_cell(row.moved, 3),
        share_cell(row.hit_ratio, row.hit_interval),
        saved_cell(row, EQUAL),
        *_fair_cells(row),
    ]


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
    note = f"{part} of it; {percent(own.hit_ratio)}, {per_access(own.transfers)}"
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
