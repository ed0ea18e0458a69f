"""The report's tables, from stage outputs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cachezoo.evaluation.report.gather import Category, Model, flash_policies
from cachezoo.evaluation.report.traces import TraceFacts
from cachezoo.evaluation.report.verdict import Answer, Case
from cachezoo.evaluation.report.view import (
    NONE,
    Cell,
    Column,
    Table,
    name_cell,
    number,
    number_cell,
    percent,
    points,
    share_cell,
    span,
    words,
)

Json = Mapping[str, Any]
MIB = 1 << 20
PREFETCH_COLUMNS = [
    Column("prefetch", "mode chosen on validation", numeric=False),
    Column("prefetched used", "of the segments prefetched"),
]
KINDS = ("model", "online", "classic", "bound")


def card_anchor(model_id: str) -> str:
    """Where a model's card stands on the page."""
    return f"card-{model_id}"


def summary_table(answers: Mapping[str, Sequence[Answer]]) -> Table:
    """One row a category and test trace: what to deploy, what it gains, and whether it is worth it."""
    columns = [
        Column("workload", "and its test trace", numeric=False),
        Column("page cache: deploy", numeric=False),
        Column("page hits", "gained on the best classic"),
        Column("gap closed", "90 % interval"),
        Column("SSD writes", "pages for 100 requests"),
        Column("response", "mean µs, decisions included"),
        Column("page cache: worth it?", numeric=False),
        Column("flash cache: deploy", numeric=False),
        Column("peak disk-head time", "against RejectX"),
        Column("flash cache: worth it?", numeric=False),
    ]
    rows = []
    for category, (page, flash) in answers.items():
        by_trace: dict[str, tuple[Case | None, Case | None]] = {case.trace: (case, None) for case in page.cases}
        for case in flash.cases:
            by_trace[case.trace] = (by_trace.get(case.trace, (None, None))[0], case)
        for trace, (in_page, in_flash) in by_trace.items() or {"": (None, None)}.items():
            unseen = ", unseen program" if any(case is not None and case.unseen for case in (in_page, in_flash)) else ""
            first = Cell(category, note=f"{trace}{unseen}", link=f"#answer-{category}")
            rows.append([first, *_page_cells(page, in_page), *_flash_cells(flash, in_flash)])
    return Table("What to deploy for each workload, and what it gains on its test traces", columns, rows)


def _deploy_cell(answer: Answer) -> Cell:
    if not answer.deploy:
        return Cell(NONE, note=answer.worth)
    link = f"#{card_anchor(answer.deploy[0])}" if answer.model else ""
    return name_cell(" + ".join(answer.deploy), link, "bundle" if answer.model else "a classic, no model")


def _page_cells(answer: Answer, case: Case | None) -> list[Cell]:
    worth = Cell(answer.worth, tone=answer.tone)
    if case is None:
        return [_deploy_cell(answer), *[Cell(NONE)] * 4, worth]
    own, choice = case.own, case.choice
    hits = Cell(points(own["gap_points"]), own["gap_points"], f"against {case.best['policy']}")
    writes = number_cell(own["ssd_writes_per_100_io"], 1)
    response = number_cell(own["mean_response_us"])
    if choice is not None and choice["policy"] != own["policy"]:
        name = choice["policy"]
        if name != case.best["policy"]:
            gain = 100 * (own["hit_ratio"] - choice["hit_ratio"])
            hits = Cell(hits.text, hits.value, f"{hits.note}; {points(gain)} against {name}")
        writes = Cell(writes.text, writes.value, f"{name} {number(choice['ssd_writes_per_100_io'], 1)}")
        response = Cell(response.text, response.value, f"{name} {number(choice['mean_response_us'])}")
    closed = share_cell(own["gap_closed"], own.get("gap_closed_interval"), 0)
    return [_deploy_cell(answer), hits, closed, writes, response, worth]


def _flash_cells(answer: Answer, case: Case | None) -> list[Cell]:
    worth = Cell(answer.worth, tone=answer.tone)
    if case is None:
        return [_deploy_cell(answer), Cell(NONE), worth]
    if not answer.model:
        peak = case.own["read_dt"]["peak"]
        return [_deploy_cell(answer), Cell(number(peak, 2), peak, "disk-head s/s, its own"), worth]
    gap = case.gap or {}
    ends = gap["mean_dt_saved_interval"]
    mean = f"mean {percent(-gap['mean_dt_saved'], 1, signed=True)} {span([-ends[1], -ends[0]], 1)}"
    saved = -gap["peak_dt_saved"]
    return [_deploy_cell(answer), Cell(percent(saved, 1, signed=True), saved, mean), worth]


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


def _row_name(row: Json) -> str:
    """A policy in the matrix of policies and traces: models of a kind, one for each category, share a row."""
    parts = str(row["policy"]).split(".")
    return f"{parts[0]} {parts[-1]}" if row["kind"] == "model" else str(row["policy"])


def times_from(categories: Sequence[Category]) -> str:
    """What the response times are, in a few words."""
    found = sorted({str(category.page["response_times"]) for category in categories if category.page})
    return words([PROVENANCE.get(name, name) for name in found])


def policy_tables(categories: Sequence[Category]) -> list[Table]:
    """Policies (rows) by test traces (columns): hit ratio with interval and gap closed, response time, SSD writes."""
    tests = {
        key: trace
        for category in categories
        for key, trace in ((category.page or {}).get("traces") or {}).items()
        if trace["role"] == "test"
    }
    if not tests:
        return []

    def hits(row: Json, trace: Json) -> Cell:
        note = span(row.get("hit_ratio_interval"), 1)
        if row["policy"] == trace["best_classic"]:
            note += " best classic"
        elif row["gap_closed"] is not None and row["kind"] != "bound":
            note += f" gap {percent(row['gap_closed'], 0, signed=True)}"
        return Cell(percent(row["hit_ratio"]), row["hit_ratio"], note.strip())

    def response(row: Json, trace: Json) -> Cell:
        note = f"{number(row['decision_us'])} µs of it deciding" if row["decision_us"] else ""
        return Cell(number(row["mean_response_us"]), row["mean_response_us"], note)

    def writes(row: Json, trace: Json) -> Cell:
        return number_cell(row["ssd_writes_per_100_io"], 1)

    return [
        _matrix("Page hit ratio, 90 % interval, and share of the gap from best classic to optimum", tests, hits),
        _matrix(f"Mean response time in µs, decisions included; {times_from(categories)}", tests, response),
        _matrix("SSD writes: pages for 100 requests", tests, writes),
    ]


def _matrix(caption: str, tests: Mapping[str, Json], cell: Callable[[Json, Json], Cell]) -> Table:
    found: dict[str, dict[str, Json]] = {}
    for key, trace in tests.items():
        for row in trace["rows"]:
            found.setdefault(_row_name(row), {})[key] = row

    def order(name: str) -> tuple[int, float, str]:
        rows = found[name].values()
        return KINDS.index(next(iter(rows))["kind"]), -sum(row["hit_ratio"] for row in rows) / len(rows), name

    body = []
    for name in sorted(found, key=order):
        rows = found[name]
        kind = next(iter(rows.values()))["kind"]
        cells = [cell(rows[key], trace) if key in rows else Cell(NONE) for key, trace in tests.items()]
        body.append([name_cell(name, note=kind if kind != "classic" else ""), *cells])
    return Table(caption, [Column("policy", numeric=False), *(Column(key) for key in tests)], body)


def flash_table(category: Category) -> Table | None:
    """Policies in the flash cache of a category's test traces, at the model's writes; AcceptAll without budget."""
    if category.flash is None or not category.flash["traces"]:
        return None
    columns = [
        Column("policy", numeric=False),
        Column("peak", "read disk-head s/s"),
        Column("mean", "read disk-head s/s"),
        Column("reads without disk I/O"),
        Column("bytes from flash"),
        Column("flash writes", "of AcceptAll's"),
    ]
    named_rows: list[tuple[str, str, Json]] = []
    for key, trace in category.flash["traces"].items():
        named_rows += [(policy, key, row) for policy, row in flash_policies(trace).items()]
    rows = [_flash_row(*parts) for parts in named_rows]
    if any("prefetch" in row for _, _, row in named_rows):
        columns += PREFETCH_COLUMNS
        rows = [
            [*cells, Cell(str(row.get("prefetch") or NONE)), share_cell(row.get("prefetch_accuracy"))]
            for cells, (_, _, row) in zip(rows, named_rows, strict=True)
        ]
    caption = f"Flash cache of {category.name}: load of the disk behind it"
    return Table(caption, columns, rows)


def _flash_row(policy: str, trace: str, row: Json) -> list[Cell]:
    ends = row.get("read_dt_interval") or {}
    return [
        name_cell(policy, note=trace),
        *(number_cell(row["read_dt"][name], 2, ends.get(name)) for name in ("peak", "mean")),
        share_cell(row["io_hit_ratio"]),
        share_cell(row["byte_hit_ratio"]),
        share_cell(row["writes_of_accept_all"]),
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


def workload_tables(workload: Json) -> list[Table]:
    """The classifier beside its baseline, on single programs and on mixtures of two."""
    columns = [
        Column("test trace", numeric=False),
        Column("policy", numeric=False),
        Column("windows"),
        Column("accuracy", "of windows, 90 % interval"),
        Column("votes right"),
    ]
    rows = [
        [
            name_cell(key),
            name_cell(row["policy"]),
            number_cell(row["windows"]),
            share_cell(row["accuracy"], row["accuracy_interval"]),
            share_cell(row.get("vote_accuracy")),
        ]
        for key, trace in workload["traces"].items()
        for row in trace["rows"]
    ]
    mixed = [
        [
            Cell(f"{percent(mixture['share'], 0)} {mixture['major']}, else {mixture['minor']}"),
            name_cell(row["policy"]),
            number_cell(row["windows"]),
            share_cell(row["accuracy"], row["accuracy_interval"]),
            share_cell(mixture["majority_share"]),
        ]
        for mixture in workload["mixtures"]
        for row in mixture["rows"]
    ]
    mixed_columns = [Column("mixture", numeric=False), *columns[1:4], Column("majority", "share of the likelier one")]
    tables = [Table("Which workload runs: windows of single programs", columns, rows)] if rows else []
    return [*tables, Table("Windows of two programs at once", mixed_columns, mixed)] if mixed else tables
