"""The report's tables, from stage outputs."""

from collections.abc import Callable, Mapping, Sequence

from cachezoo.bundles.measured import FLASH_MODEL
from cachezoo.metrics.flash import FlashRow, FlashTrace, title
from cachezoo.metrics.page import PageTrace, PolicyRow
from cachezoo.models.measured import Model
from cachezoo.report.gather import Category, TraceFacts, flash_policies
from cachezoo.show.formats import NONE, money, number, percent, span, words
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell

MIB = 1 << 20
KINDS = ("model", "follower", "online", "classic", "composed", "bound")


def card_anchor(model_id: str) -> str:
    """Where a model's card stands on the page."""
    return f"card-{model_id}"


def trace_table(traces: Sequence[TraceFacts]) -> Table:
    """Statistics of every trace."""
    columns = [
        Column("trace", numeric=False),
        Column("workload, role", numeric=False),
        Column("requests"),
        Column("page accesses", "4 KiB each"),
        Column("read share", "of requests"),
        Column("footprint", "MiB of distinct pages"),
        Column("reuse", "accesses of pages seen before"),
        Column("mean size", "KiB a request"),
        Column("mean load", "requests/s"),
        Column("peak load", "requests/s, busiest of 100 windows"),
        Column("span", "s"),
        Column("programs", numeric=False),
    ]
    return Table("The traces, as ingested", columns, [_trace_row(facts) for facts in traces])


def _trace_row(facts: TraceFacts) -> list[Cell]:
    figures = facts.figures
    return [
        name_cell(facts.key, f"#trace-{facts.key}"),
        Cell(facts.category, note=facts.role + (", unseen program" if facts.unseen else "")),
        number_cell(figures["requests"]),
        number_cell(figures["page_accesses"]),
        share_cell(figures["read_share"]),
        Cell(number(figures["working_set_bytes"] / MIB), figures["working_set_bytes"]),
        share_cell(figures["reuse"]),
        Cell(number(figures["mean_size_bytes"] / 1024, 1), figures["mean_size_bytes"]),
        number_cell(figures["iops_mean"]),
        number_cell(figures["iops_peak"]),
        number_cell(figures["span_s"]),
        Cell(words(facts.programs) if facts.programs else NONE),
    ]


PROVENANCE = {
    "analytic": "devices are modelled",
    "emulated": "devices are emulated",
    "real": "devices are real and were measured",
    "real, on a virtual disk": "measured on a virtual machine's disk, which is neither a disk nor an SSD",
}


def times_from(categories: Sequence[Category]) -> str:
    """What the response times are, in a few words."""
    found = sorted({category.page.response_times for category in categories if category.page})
    return words([PROVENANCE.get(name, name) for name in found])


def policy_tables(categories: Sequence[Category]) -> list[Table]:
    """Policies (rows) by test traces (columns): hit ratio with interval and gap closed, response time, SSD writes."""
    tests: dict[str, PageTrace] = {}
    for category in categories:
        tests |= category.page.tests() if category.page else {}
    if not tests:
        return []

    def hits(row: PolicyRow, trace: PageTrace) -> Cell:
        note = span(row.hit_ratio_interval, 1)
        if row.policy == trace.best_classic:
            note += " best classic"
        elif row.gap_closed is not None and row.kind != "bound":
            note += f" gap {percent(row.gap_closed, 0, signed=True)}"
        return Cell(percent(row.hit_ratio), row.hit_ratio, note)

    def response(row: PolicyRow, trace: PageTrace) -> Cell:
        note = f"{number(row.decision_us)} µs of it deciding" if row.decision_us else ""
        return Cell(number(row.mean_response_us), row.mean_response_us, note)

    def writes(row: PolicyRow, trace: PageTrace) -> Cell:
        return number_cell(row.ssd_writes_per_100_io, 1)

    return [
        _matrix("Page hit ratio, 90 % interval, and share of the gap from best classic to optimum", tests, hits),
        _matrix(f"Mean response time in µs, decisions included; {times_from(categories)}", tests, response),
        _matrix("SSD writes: pages for 100 requests", tests, writes),
    ]


def _matrix(caption: str, tests: Mapping[str, PageTrace], cell: Callable[[PolicyRow, PageTrace], Cell]) -> Table:
    found: dict[str, dict[str, PolicyRow]] = {}
    for key, trace in tests.items():
        for row in trace.rows:
            found.setdefault(row.shown, {})[key] = row

    def order(name: str) -> tuple[int, float, str]:
        rows = found[name].values()
        return KINDS.index(next(iter(rows)).kind), -sum(row.hit_ratio for row in rows) / len(rows), name

    body = []
    for name in sorted(found, key=order):
        rows = found[name]
        kind = next(iter(rows.values())).kind
        cells = [cell(rows[key], trace) if key in rows else Cell(NONE) for key, trace in tests.items()]
        body.append([name_cell(name, note=kind if kind != "classic" else ""), *cells])
    return Table(caption, [Column("policy", numeric=False), *(Column(key) for key in tests)], body)


def flash_leads(categories: Sequence[Category]) -> Table | None:
    """The models as shipped on each test trace: what they save of the best rival, the budget kept, and the cost."""
    rows = [
        _lead_row(category.name, key, trace)
        for category in categories
        if category.flash is not None
        for key, trace in category.flash.traces.items()
    ]
    columns = [
        Column("trace", numeric=False),
        Column("best without a model", "with its prefetch, chosen on validation", numeric=False),
        Column("saved", "of the disks' time that it keeps busy, mean"),
        Column("saved at peak", "of the busiest window"),
        Column("flash writes", "of the write budget"),
        Column("a year", "disks and flash"),
        Column("a year", "of the best without a model"),
    ]
    return (
        Table("Flash cache: the models as shipped, and the rival kept to the same write rate", columns, rows)
        if rows
        else None
    )


def _lead_row(category: str, key: str, trace: FlashTrace) -> list[Cell]:
    found = trace.deployed
    ours, rival = found.rows[FLASH_MODEL], found.rows[found.best_policy]
    mode = "" if rival.prefetch == "none" else f", {rival.prefetch}"
    return [
        name_cell(key, note=category),
        Cell(f"{title(found.best_policy)}{mode}"),
        share_cell(found.best.mean_dt_saved, found.best.mean_dt_saved_interval),
        share_cell(found.best.peak_dt_saved),
        share_cell(ours.segment_writes / trace.at_budget.budget_writes),
        *map(_year_cell, (ours, rival)),
    ]


def _year_cell(row: FlashRow) -> Cell:
    return Cell(NONE) if row.year is None else Cell(money(row.year.usd), row.year.usd)


def flash_table(category: Category) -> Table | None:
    """Policies in the flash cache of a category's test traces, kept to one write rate; AcceptAll without budget."""
    if category.flash is None or not category.flash.traces:
        return None
    columns = [
        Column("policy", numeric=False),
        Column("busiest window", "disks kept busy with reads"),
        Column("mean", "disks kept busy with reads"),
        Column("reads without disk I/O"),
        Column("bytes from flash"),
        Column("flash writes", "of AcceptAll's"),
        Column("a year", "disks and flash"),
        Column("prefetch", "mode chosen on validation", numeric=False),
        Column("prefetched used", "of the segments prefetched"),
    ]
    rows = [
        _flash_row(policy, key, row)
        for key, trace in category.flash.traces.items()
        for policy, row in flash_policies(trace).items()
    ]
    return Table(f"Flash cache of {category.name}: load of the disk behind it", columns, rows)


def _flash_row(policy: str, trace: str, row: FlashRow) -> list[Cell]:
    load = row.read_dt
    return [
        name_cell(policy, note=trace),
        number_cell(load.peak, 2),
        number_cell(load.mean, 2, row.read_dt_mean_interval),
        share_cell(row.io_hit_ratio),
        share_cell(row.byte_hit_ratio),
        share_cell(row.writes_of_accept_all),
        _year_cell(row),
        Cell(row.prefetch),
        share_cell(row.prefetch_accuracy),
    ]


def model_table(models: Sequence[Model]) -> Table:
    """Every trained model and its verdict."""
    columns = [
        Column("model", numeric=False),
        Column("workload", numeric=False),
        Column("bundle", numeric=False),
        Column("may be champion", numeric=False),
        Column("why", numeric=False),
    ]
    rows = [
        [
            name_cell(model.id, f"#{card_anchor(model.id)}"),
            Cell(model.trained.category or "all"),
            Cell("yes" if model.card is not None else "refused" if model.refused else "none"),
            Cell("yes", tone="good") if model.promoted else Cell("no", tone="bad"),
            Cell(model.refused or model.reason),
        ]
        for model in models
    ]
    return Table("The trained models, judged on validation", columns, rows)
