"""Write amplification by placement as tables: for `cachezoo results` and for the report's page."""

from collections.abc import Mapping, Sequence
from typing import Any

from cachezoo.contest.verdict import LEAST_SAVING
from cachezoo.show.formats import NONE, number, percent, span
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.wear.names import EQUAL, LEGACY, LIFETIME, ORACLE
from cachezoo.zoo.base import Results
from cachezoo.zoo.streams.metrics import StreamsMetrics, StreamsModel, StreamsRow, StreamsTrace

Found = Mapping[str, StreamsMetrics]
# An answer in a word, and how much of the writes must be left for it to be worth telling the drive about streams.
YES, PARTS, NO, UNSURE = "yes", "equal parts", "don't", "cannot be told"
MOST_OF_LEGACY = 1 - LEAST_SAVING
CHOSEN, AUTOMATIC, BEST = "chosen", "automatic", "best"


def tests(metrics: Found) -> list[tuple[StreamsMetrics, StreamsModel, str, StreamsTrace]]:
    """Each measured category with its model, and its test cycle by key."""
    return [
        (one, model, key, trace)
        for one in metrics.values()
        for model in one.models.values()
        for key, trace in one.traces.items()
    ]


def compared(model: StreamsModel, trace: StreamsTrace) -> dict[str, StreamsRow]:
    """What the model is compared with on a test cycle, by what it is; those that there are."""
    found = {
        LEGACY: trace.row(LEGACY),
        EQUAL: trace.row(EQUAL),
        AUTOMATIC: trace.row(model.automatic),
        CHOSEN: trace.row(model.variant),
        BEST: trace.best("fios", "ours"),
        LIFETIME: trace.row(LIFETIME),
        ORACLE: trace.row(ORACLE),
    }
    return {name: row for name, row in found.items() if row is not None}


def pays(model: StreamsModel, rows: Mapping[str, StreamsRow]) -> Cell:
    """Whether to use streams, and whose: validation says whether the model's, the test cycle whether it pays.

    Args:
        model: the dictionary's verdict.
        rows: of `compared`.
    """
    told, note = rows[CHOSEN], ""
    if not model.promoted:
        told, note = rows.get(EQUAL, told), "the dictionary is not promoted"
    if told.of_legacy_interval[1] < 1 and told.of_legacy <= MOST_OF_LEGACY:
        return Cell(YES if model.promoted else PARTS, note=note, tone="good")
    if told.of_legacy_interval[0] < 1 and told.of_legacy <= MOST_OF_LEGACY:
        return Cell(UNSURE, note=note, tone="unsure")
    return Cell(NO, note=note, tone="bad")


def tables(metrics: Found) -> list[Table]:
    """One row a category, then one a placement of each; those that have rows."""
    found = [summary_table(metrics), *(placement_table(one, key, trace) for one, _, key, trace in tests(metrics))]
    return [table for table in found if table.rows]


def summary_table(metrics: Found) -> Table:
    """Whether streams pay in each category, by the write amplification of its test cycle."""
    columns = [
        Column("category", numeric=False),
        Column("use streams?", numeric=False),
        Column("written", "times its footprint, in the test cycle"),
        Column("without streams", "WAF: flash pages written over the host's"),
        Column("equal parts", "of the address space, as validation chose; of the WAF without streams"),
        Column("FIOS's choice", "of features, by the trace's characteristics; likewise"),
        Column("chosen", "the dictionary that validation chose; likewise, 90 % interval"),
        Column("best dictionary", "in hindsight; likewise"),
        Column("forest", "that predicts when a write dies, the median of its seeds; no bundle; likewise"),
        Column("bound", "placement by true lifetimes; likewise"),
    ]
    rows = [_summary_cells(one, model, trace) for one, model, _, trace in tests(metrics)]
    missing = [
        [name_cell(one.category), Cell(UNSURE, note=one.reason.partition(":")[0], tone="unsure"), *[Cell(NONE)] * 8]
        for one in metrics.values()
        if not one.traces
    ]
    return Table("Write amplification of a drive with streams, on test cycles", columns, [*rows, *missing])


def _summary_cells(one: StreamsMetrics, model: StreamsModel, trace: StreamsTrace) -> list[Cell]:
    rows = compared(model, trace)

    def share(name: str, note: str = "") -> Cell:
        row = rows.get(name)
        return Cell(NONE) if row is None else Cell(percent(row.of_legacy), row.of_legacy, note)

    chosen = rows[CHOSEN]
    return [
        name_cell(one.category),
        pays(model, rows),
        number_cell(trace.footprints, 1),
        number_cell(rows[LEGACY].waf, 3),
        share(EQUAL, f"{rows[EQUAL].streams} streams" if EQUAL in rows else ""),
        share(AUTOMATIC, model.learned or "none"),
        share(CHOSEN, f"{chosen.policy} {span(chosen.of_legacy_interval, 1)}"),
        share(BEST, rows[BEST].policy if BEST in rows else ""),
        share(LIFETIME),
        share(ORACLE),
    ]


def placement_table(metrics: StreamsMetrics, key: str, trace: StreamsTrace) -> Table:
    """Every placement on a test cycle, least write amplification first."""
    shares = sorted({share for row in trace.rows for share in row.over_provisioning_waf}, key=float)
    columns = [
        Column("placement", numeric=False),
        Column("kind", numeric=False),
        Column("streams", "that are written to"),
        Column("WAF", f"at {percent(trace.over_provisioning, 0)} over-provisioning"),
        Column("of legacy", "90 % interval"),
        Column("validation", "WAF there"),
        Column("erases"),
        *(Column(f"WAF at {percent(float(share), 0)}", "over-provisioning") for share in shares),
    ]
    rows = [
        [
            name_cell(row.policy, note=", ".join(f"{name} {value}" for name, value in row.parameters.items())),
            Cell(row.kind),
            number_cell(row.streams),
            number_cell(row.waf, 3),
            share_cell(row.of_legacy, row.of_legacy_interval),
            number_cell(row.validation_waf, 3),
            number_cell(row.erases),
            *(number_cell(row.over_provisioning_waf.get(share), 3) for share in shares),
        ]
        for row in sorted(trace.rows, key=lambda row: (row.waf, row.policy))
    ]
    times = number(trace.footprints, 1)
    return Table(f"{metrics.category}: placements on {key}, which writes {times} times its footprint", columns, rows)


def values(metrics: Found) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The same as JSON values: `categories`, and `placements` with all that the metrics have."""
    placements = [
        {"category": one.category, "trace": key, **row.model_dump(mode="json")}
        for one, _, key, trace in tests(metrics)
        for row in trace.rows
    ]
    categories = [
        {
            "category": one.category,
            "reason": one.reason,
            "model": name,
            "promoted": model.promoted,
            "use": next((pays(model, compared(model, trace)).text for trace in one.traces.values()), UNSURE),
            **one.headline(name),
        }
        for one in metrics.values()
        for name, model in one.models.items()
    ]
    return {"categories": categories, "placements": placements}


PART = Results(tables, values)
