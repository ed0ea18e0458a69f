"""What to buy, as tables and sentences: for `cachezoo models results` and for the report's page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from cachezoo.contest.verdict import LEAST_SAVING, Worth, worth
from cachezoo.questions.tiers.columns import (
    HCA,
    L2ARC,
    RAM,
    ZOO,
    Chosen,
    Saved,
    Sized,
    TiersMetrics,
    TiersRow,
    TiersTrace,
)
from cachezoo.show.formats import NONE, latency, lifetime, money, number, percent, span
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell
from cachezoo.sizes import human

Found = Mapping[str, TiersMetrics]
NAMES = {
    RAM: "RAM alone", "inclusive": "inclusive LRU and LRU", "promotion": "CacheLib-like", L2ARC: "ZFS's L2ARC",
    HCA: "HCA", ZOO: "any policies",
}  # fmt: skip
NO, UNSURE = "RAM alone", Worth.UNSURE.value
WORDS = {
    Worth.YES: Cell("buy an SSD", tone="good"),
    Worth.NO: Cell(NO, tone="bad"),
    Worth.UNSURE: Cell(UNSURE, tone="unsure"),
}
FORMATS: dict[str, Callable[[float], str]] = {
    "amat_us": latency, "alone_us": latency, "p99_us": latency, "iops": number, "rhr": percent, "shr": percent,
    "dhr": percent, "usd_month": money,
}  # fmt: skip
"""How figures of a row of metrics/tiers are written, in every table of hierarchies."""


@dataclass(frozen=True)
class Advised:
    """What a category is advised to buy, and what that does on a test trace."""

    metrics: TiersMetrics  # of the category
    choice: Chosen  # the best choice of validation at the advised budget
    usd: float  # of that budget
    family: str  # whose choice it is
    key: str  # of the test trace
    row: TiersRow  # what the choice does there

    @property
    def verdict(self) -> Cell:
        """Whether an SSD is worth its money here: against RAM alone for as much."""
        if self.choice.ssd_bytes == 0:
            return WORDS[Worth.NO]
        rival = self.row.saved.get(RAM)
        found = Worth.UNSURE if rival is None else worth(rival.share, rival.interval, LEAST_SAVING)
        return WORDS[found]


def name_of(family: str) -> str:
    """A family as people call it."""
    return NAMES.get(family, family)


def advised(metrics: Found) -> list[Advised]:
    """What each category is advised to buy, once for each test trace."""
    found = []
    for one in metrics.values():
        if one.advised is None:
            continue
        budget = one.budget(one.advised)
        for key, trace in one.traces.items():
            row = trace.row(one.advised, budget.best)
            if row is not None:
                found.append(Advised(one, budget.choices[budget.best], budget.usd, budget.best, key, row))
    return found


def sizes(what: Sized) -> str:
    """`12 MiB RAM + 300 MiB SSD`; the transient buffer is part of the RAM."""
    ram = f"{human(what.ram_bytes + what.buffer_bytes)} RAM"
    return f"{ram} + {human(what.ssd_bytes)} SSD" if what.ssd_bytes else ram


def faster(saved: Saved) -> str:
    """`12.0 % shorter [10, 14] than`, or longer."""
    low, high = _ends(saved)
    if saved.share >= 0:
        return f"{percent(saved.share)} shorter {span((low, high), 1)} than"
    return f"{percent(-saved.share)} longer {span((-high, -low), 1)} than"


def _ends(saved: Saved) -> tuple[float, float]:
    """The interval of what is saved, without the part above all of the time."""
    low, high = saved.interval
    return low, min(high, 1.0)


def lasts(row: TiersRow) -> str:
    """How long the SSD lasts, in words; empty without an SSD, or where the rate of writes is not known."""
    if row.ssd_years is None:
        return "nothing wears the SSD" if row.ssd_bytes and not row.ssd_writes else ""
    return lifetime(row.ssd_years)


def ratios(metrics: Found, rival: str) -> list[Saved]:
    """What the hierarchies of any policies save against a rival, at each budget of each test trace."""
    rows = (row for one in metrics.values() for trace in one.traces.values() for row in trace.rows)
    return [row.saved[rival] for row in rows if row.family == ZOO and rival in row.saved]


def goal(metrics: Found) -> str:
    """What any policies gain over HCA, L2ARC and RAM alone at equal money, in the median; empty where nothing ran."""
    parts = []
    for rival in (HCA, L2ARC, RAM):
        found = ratios(metrics, rival)
        if found:
            middle, alone = median(one.share for one in found), median(one.alone_share for one in found)
            better = sum(one.interval[0] > 0 for one in found)
            parts.append(
                f"{_change(middle)} than with {name_of(rival)} (surely shorter in {better} of {len(found)}; "
                f"{_change(alone)} if nothing waited)"
            )
    if not parts:
        return ""
    return f'In the median of budgets and test traces, page reads by "{name_of(ZOO)}" are {"; ".join(parts)}.'


def _change(share: float) -> str:
    return f"{percent(abs(share))} {'shorter' if share >= 0 else 'longer'}"


def tables(metrics: Found) -> list[Table]:
    """What to buy, a row a test trace; then each test trace's families at every budget; those that have rows."""
    detail = (family_table(one, key, trace) for one in metrics.values() for key, trace in one.traces.items())
    return [table for table in (summary_table(metrics), *detail) if table.rows]


def summary_table(metrics: Found) -> Table:
    """What to buy for each category, and what it does on its test traces."""
    columns = [
        Column("category", numeric=False),
        Column("verdict", "against RAM alone for the same money", numeric=False),
        Column("buy", "the hierarchy that validation chose", numeric=False),
        Column("for", "of what RAM for all the data would cost"),
        Column("page read", "mean time; 90 % intervals, cut where a time would be below 0"),
        Column("alone", "the same if nothing waited"),
        *(Column(f"than {name_of(rival)}", "shorter by") for rival in (RAM, HCA, L2ARC)),
        Column("SSD lasts", "at the trace's rate of writes"),
        Column("a month", "parts as they wear out, and power"),
    ]
    rows = [_summary_cells(one) for one in advised(metrics)]
    missing = [
        [name_cell(one.category), Cell(UNSURE, note=one.reason, tone="unsure"), *[Cell(NONE)] * (len(columns) - 2)]
        for one in metrics.values()
        if not one.traces
    ]
    return Table("What to buy, and what it does on test traces", columns, [*rows, *missing])


def _summary_cells(one: Advised) -> list[Cell]:
    row, share = one.row, one.metrics.advised
    return [
        name_cell(one.metrics.category, note=one.key),
        one.verdict,
        Cell(sizes(one.choice), note=one.choice.hierarchy),
        Cell(money(one.usd), one.usd, percent(share or 0.0)),
        _time_cell(row),
        _cell(row, "alone_us"),
        *(_saved_cell(row, rival) for rival in (RAM, HCA, L2ARC)),
        Cell(lasts(row) or NONE, row.ssd_years),
        _cell(row, "usd_month"),
    ]


def _time_cell(row: TiersRow) -> Cell:
    low, high = row.amat_interval
    return _cell(row, "amat_us", f"[{latency(max(low, 0.0))}, {latency(high)}]")


def _cell(row: TiersRow, name: str, note: str = "") -> Cell:
    value = getattr(row, name)
    return Cell(FORMATS[name](value), value, note)


def _saved_cell(row: TiersRow, rival: str) -> Cell:
    if row.family == rival:
        return Cell("itself")
    found = row.saved.get(rival)
    return Cell(NONE) if found is None else Cell(percent(found.share), found.share, span(_ends(found), 1))


def family_table(metrics: TiersMetrics, key: str, trace: TiersTrace) -> Table:
    """Every family's choice at every budget on a test trace, the cheapest and fastest first."""
    columns = [
        Column("budget", "of what RAM for all the data would cost", numeric=False),
        Column("family", numeric=False),
        Column("hierarchy", "that validation chose", numeric=False),
        Column("page read", "mean time, 90 % interval"),
        Column("alone", "the same if nothing waited"),
        Column("RAM", "page reads that it serves"),
        Column("SSD", "likewise"),
        Column("disk", "likewise"),
        Column("p99", "of read requests"),
        Column("IOPS", "that the busiest tier can serve"),
        Column("SSD writes", "pages"),
        Column("SSD lasts", "at this rate of writes"),
        Column("a month", "parts as they wear out, and power"),
    ]
    rows = sorted(trace.rows, key=lambda row: (row.budget, row.amat_us, row.family))
    cells = [_family_cells(metrics, row) for row in rows]
    return Table(f"{metrics.category}: the same money on {key}", columns, cells)


def _family_cells(metrics: TiersMetrics, row: TiersRow) -> list[Cell]:
    budget = metrics.budget(row.budget)
    best = "best on validation" if budget.best == row.family else ""
    return [
        name_cell(percent(row.budget), note=money(budget.usd)),
        Cell(name_of(row.family), note=best),
        Cell(row.hierarchy, note=sizes(row)),
        _time_cell(row),
        *(_cell(row, name) for name in ("alone_us", "rhr", "shr", "dhr", "p99_us", "iops")),
        number_cell(row.ssd_writes),
        Cell(lasts(row) or NONE, row.ssd_years),
        _cell(row, "usd_month"),
    ]


def _choices(metrics: Found) -> Iterator[dict[str, Any]]:
    for one in metrics.values():
        for budget in one.budgets:
            for family, choice in budget.choices.items():
                values = {"category": one.category, "budget": budget.share, "usd": budget.usd, "family": family}
                yield {**values, "best": family == budget.best, **choice.model_dump(mode="json")}


def values(metrics: Found) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The same as JSON values: `advised`, `choices` of validation, and `rows` of test traces with all they have."""
    buys = [
        {"category": one.metrics.category, "trace": one.key, "verdict": one.verdict.text, "usd": one.usd,
         **one.row.model_dump(mode="json")}
        for one in advised(metrics)
    ]  # fmt: skip
    rows = [
        {"category": one.category, "trace": key, **row.model_dump(mode="json")}
        for one in metrics.values()
        for key, trace in one.traces.items()
        for row in trace.rows
    ]
    return {"advised": buys, "choices": list(_choices(metrics)), "rows": rows}
