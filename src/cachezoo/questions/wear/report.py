"""Does it pay to use streams here? Tables for `cachezoo models results`, and the section of the report's page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.flash_drive.names import EQUAL, LEGACY, LIFETIME, ORACLE
from cachezoo.questions.wear.verdict import CHOSEN, DEPENDS, NO, PARTS, UNSURE, YES, pays
from cachezoo.show.formats import NONE, number, percent, span
from cachezoo.show.plots import STREAMS
from cachezoo.show.section import Figure, Section
from cachezoo.show.style import AMBER, BLACK, BLUE, GREEN, GREY, LIGHT, VERMILION, panels, save
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.zoo.base import ReportSection, Results
from cachezoo.zoo.streams.metrics import StreamsMetrics, StreamsModel, StreamsRow, StreamsTrace

if TYPE_CHECKING:
    from cachezoo.models.measured import Measured

Found = Mapping[str, StreamsMetrics]
AUTOMATIC, BEST = "automatic", "best"
KIND = "streams"
TITLE = "Does it pay to use streams here?"
SHORT = {
    YES: "Yes, by what was learned (flash writes saved on the test cycle)",
    PARTS: "Yes, but equal parts of the address space will do, and what was learned is not promoted",
    DEPENDS: "It depends on the drive's garbage collection: not under each victim that was tried",
    NO: "No",
    UNSURE: "Cannot be told",
}
ANSWERS = {DEPENDS: "it depends on the drive's victims", NO: "no", UNSURE: "cannot be told"}
RIVAL = "rival"
UNLEARNED = ("legacy", "baseline", "drive")  # kinds of placements
BARS = {
    LEGACY: ("without streams", LIGHT),
    EQUAL: ("equal parts", GREY),
    AUTOMATIC: ("FIOS's choice", VERMILION),
    CHOSEN: ("chosen on validation", BLUE),
    BEST: ("best dictionary, in hindsight", GREEN),
    LIFETIME: ("forest of lifetimes", AMBER),
    ORACLE: ("placed by true lifetimes", BLACK),
}


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
    unlearned = [row for row in trace.rows if row.kind in UNLEARNED and row.validation_waf is not None]
    found = {
        LEGACY: trace.row(LEGACY),
        RIVAL: min(unlearned, key=lambda row: (row.validation_waf, row.policy), default=None),
        EQUAL: trace.row(EQUAL),
        AUTOMATIC: trace.row(model.automatic),
        CHOSEN: trace.row(model.variant),
        BEST: trace.best("fios", "ours"),
        LIFETIME: trace.row(LIFETIME),
        ORACLE: trace.row(ORACLE),
    }
    return {name: row for name, row in found.items() if row is not None}


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
        Column("without streams", "WAF: flash pages written over the host's, and with other victims"),
        Column("equal parts", "of the address space, as validation chose"),
        Column("FIOS's choice", "of features, by the trace's characteristics"),
        Column("chosen", "what validation chose of all that is learned, with its 90 % interval"),
        Column("best dictionary", "in hindsight"),
        Column("forest", "that predicts when a write dies, shipped where it is the best on validation"),
        Column("bound", "placement by true lifetimes"),
    ]
    rows = [_summary_cells(one, model, trace) for one, model, _, trace in tests(metrics)]
    missing = [
        [name_cell(one.category), Cell(UNSURE, note=one.reason.partition(":")[0], tone="unsure"), *[Cell(NONE)] * 8]
        for one in metrics.values()
        if not one.traces
    ]
    title = "Write amplification of a drive with streams, on test cycles"
    return Table(f"{title}; the last six columns are shares of that without streams", columns, [*rows, *missing])


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
        Cell(number(rows[LEGACY].waf, 3), rows[LEGACY].waf, _by_victim(rows[LEGACY])),
        share(EQUAL, f"{rows[EQUAL].streams} streams" if EQUAL in rows else ""),
        share(AUTOMATIC, model.learned or "none"),
        share(CHOSEN, f"{chosen.policy} {span(chosen.of_legacy_interval, 1)}"),
        share(BEST, rows[BEST].policy if BEST in rows else ""),
        share(LIFETIME),
        share(ORACLE),
    ]


def _by_victim(row: StreamsRow) -> str:
    """WAF on drives of other victims, in words."""
    return ", ".join(f"{number(waf, 2)} {victim}" for victim, waf in row.victim_waf.items())


def placement_table(metrics: StreamsMetrics, key: str, trace: StreamsTrace) -> Table:
    """Every placement on a test cycle, least write amplification first."""
    shares = sorted({share for row in trace.rows for share in row.over_provisioning_waf}, key=float)
    victims = list(dict.fromkeys(victim for row in trace.rows for victim in row.victim_waf))
    columns = [
        Column("placement", numeric=False),
        Column("kind", numeric=False),
        Column("streams", "that are written to"),
        Column("WAF", f"at {percent(trace.over_provisioning, 0)} over-provisioning"),
        Column("of legacy", "90 % interval"),
        *(Column(f"WAF, {victim}", "with these victims") for victim in victims),
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
            *(number_cell(row.victim_waf.get(victim), 3) for victim in victims),
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


def _metrics(sources: "Measured") -> Found:
    """metrics/streams/<category>.json by category."""
    found = sources.by_category.get(KIND, {})
    return {name: one for name, one in found.items() if isinstance(one, StreamsMetrics)}


def _answer(sources: "Measured") -> str:
    """Whether streams pay, in each category."""
    metrics = _metrics(sources)
    if not metrics:
        return "Streams were not measured: leave the drive's streams alone."
    begin = (
        "A drive that knows which writes die together copies less. Its write amplification (WAF) is the flash pages "
        "it writes, copies included, over those that the host writes."
    )
    found: dict[str, list[str]] = {answer: [] for answer in SHORT}
    for one, model, _, trace in tests(metrics):
        rows = compared(model, trace)
        answer = pays(model, rows).text
        saved = 1 - rows[CHOSEN if answer == YES else EQUAL].of_legacy
        found[answer].append(f"{one.category} ({percent(saved)})" if answer in (YES, PARTS) else one.category)
    found[UNSURE] += [one.category for one in metrics.values() if not one.traces]
    return " ".join([begin, *(f"{SHORT[answer]}: {', '.join(names)}." for answer, names in found.items() if names)])


def _details(metrics: Found) -> list[str]:
    """A paragraph a category."""
    measured = [_paragraph(one, model, trace) for one, model, _, trace in tests(metrics)]
    return [
        *measured,
        *(f"{one.category}: cannot be told, {one.reason}." for one in metrics.values() if not one.traces),
    ]


def _paragraph(one: StreamsMetrics, model: StreamsModel, trace: StreamsTrace) -> str:
    rows = compared(model, trace)
    chosen, equal, answer = rows[CHOSEN], rows[EQUAL], pays(model, rows).text
    learned = f"{_saved(chosen)} with " + (
        "the forest of lifetimes" if chosen.kind == "forest" else f"the dictionary {chosen.policy}"
    )
    parts = f"{_saved(equal)} with {equal.streams} equal parts of the address space"
    without = f"than without streams, where the WAF is {number(rows[LEGACY].waf, 2)}"
    rival = _rival(rows)
    if answer == YES:
        return f"{one.category}: yes, {learned} {without}; {parts}{rival}."
    if answer == PARTS:
        return f"{one.category}: yes, {parts} {without}; {learned}, which is not promoted{rival}."
    return f"{one.category}: {ANSWERS[answer]}; {learned} {without}; {parts}{rival}."


def _rival(rows: Mapping[str, StreamsRow]) -> str:
    """What validation prefers of all that learns nothing, where that is none of those that are named anyway."""
    row = rows.get(RIVAL)
    if row is None or row.policy in (LEGACY, EQUAL):
        return ""
    who = "which a drive runs and no host" if row.kind == "drive" else "which is simulation only"
    return f"; of what learns nothing validation prefers {row.policy}, {who}: {_saved(row)}"


def _saved(row: StreamsRow) -> str:
    """How many fewer flash writes, or more, with the 90 % interval of that."""
    low, high = row.of_legacy_interval
    if row.of_legacy <= 1:
        return f"{percent(1 - row.of_legacy)} fewer flash writes {span((1 - high, 1 - low), 1)}"
    return f"{percent(row.of_legacy - 1)} more flash writes {span((low - 1, high - 1), 1)}"


def _section(sources: "Measured", figures: Mapping[str, Figure]) -> Section | None:
    metrics = _metrics(sources)
    if not metrics:
        return None
    shown = [figures[STREAMS]] if STREAMS in figures else []
    detail = [placement_table(one, key, trace) for one, _, key, trace in tests(metrics)]
    texts = [
        "One drive lives through the train, validation and test cycles; the last is counted. Dictionaries learned on "
        "the train cycle, and validation chose among them and the arguments of all others. Intervals are over blocks "
        "of time of the one test cycle, and say nothing of other days."
    ]
    return Section(KIND, TITLE, [*texts, *_details(metrics)], [summary_table(metrics), *detail], shown)


def _draw(sources: "Measured", folder: Path) -> list[Figure]:
    figure = waf_figure(_metrics(sources), folder)
    return [] if figure is None else [figure]


def waf_figure(metrics: Found, folder: Path) -> Figure | None:
    """WAF of each category's test cycle by placement, without streams 100 %."""
    found = tests(metrics)
    if not found:
        return None
    canvas, axes = panels(1, 1, 1.0 + 1.2 * len(found))
    axis, shares = axes[0][0], []
    height = 0.8 / len(BARS)
    for place, (name, (label, colour)) in enumerate(BARS.items()):
        pairs = [
            (at, rows[name])
            for at, (_, model, _, trace) in enumerate(found)
            if name in (rows := compared(model, trace))
        ]
        spots = [at + (place - (len(BARS) - 1) / 2) * height for at, _ in pairs]
        axis.barh(spots, [100 * row.of_legacy for _, row in pairs], height * 0.9, color=colour, label=label)
        for spot, (_, row) in zip(spots, pairs, strict=True):
            axis.text(100 * row.of_legacy + 0.8, spot, number(row.waf, 2), va="center", fontsize=8)
    for one, model, _, trace in found:
        chosen = trace.row(model.variant)
        shares.append(f"{one.category} {percent(chosen.of_legacy)}" if chosen is not None else "")
    axis.set_yticks(range(len(found)), [one.category for one, _, _, _ in found])
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.axvline(100, color=GREY, linewidth=0.8)
    axis.set(xlabel="WAF, % of the drive without streams (the WAF itself at each bar)")
    canvas.legend(loc="outside upper center", ncols=4)
    save(canvas, folder, STREAMS)
    alt = f"Write amplification with the chosen dictionary, of that without streams: {', '.join(shares)}."
    caption = "Write amplification on test cycles by placement; a drive without streams is 100 %. Shorter is better."
    return Figure(STREAMS, alt, caption)


RESULTS = Results(tables, values)
PART = ReportSection(KIND, TITLE, _answer, _section, _draw)
