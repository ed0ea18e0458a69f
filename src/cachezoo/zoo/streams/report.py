"""Streams on the report's page: does it pay to use them here?"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.show.formats import number, percent, span
from cachezoo.show.plots import STREAMS
from cachezoo.show.section import Figure, Section
from cachezoo.show.style import AMBER, BLUE, GREEN, GREY, LIGHT, SKY, VERMILION, panels, save
from cachezoo.wear.names import EQUAL, LEGACY, LIFETIME, ORACLE
from cachezoo.zoo.base import ReportSection
from cachezoo.zoo.streams.metrics import StreamsMetrics, StreamsModel, StreamsRow, StreamsTrace
from cachezoo.zoo.streams.results import (
    AUTOMATIC,
    BEST,
    CHOSEN,
    NO,
    PARTS,
    UNSURE,
    YES,
    Found,
    compared,
    pays,
    placement_table,
    summary_table,
    tests,
)

if TYPE_CHECKING:
    from cachezoo.models.measured import Measured

KIND = "streams"
TITLE = "Does it pay to use streams here?"
SHORT = {
    YES: "Yes, by what was learned (flash writes saved on the test cycle)",
    PARTS: "Yes, but equal parts of the address space will do, and the learned dictionary is not promoted",
    NO: "No",
    UNSURE: "Cannot be told",
}
ANSWERS = {NO: "no", UNSURE: "cannot be told"}
BARS = {
    LEGACY: ("without streams", LIGHT),
    EQUAL: ("equal parts", GREY),
    AUTOMATIC: ("FIOS's choice", SKY),
    CHOSEN: ("chosen on validation", BLUE),
    BEST: ("best dictionary, in hindsight", GREEN),
    LIFETIME: ("forest of lifetimes", AMBER),
    ORACLE: ("placed by true lifetimes", VERMILION),
}


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
        "A drive that is told which writes die together copies less. Its write amplification (WAF) is the flash pages "
        "it writes, copies included, over those that the host writes."
    )
    found: dict[str, list[str]] = {answer: [] for answer in SHORT}
    for one, model, _, trace in tests(metrics):
        rows = compared(model, trace)
        answer = pays(model, rows).text
        saved = 1 - rows[CHOSEN if answer == YES else EQUAL].of_legacy
        found[answer].append(f"{one.category} ({percent(saved)})" if answer in (YES, PARTS) else one.category)
    found[UNSURE] += [one.category for one in metrics.values() if not one.traces]
    told = [f"{SHORT[answer]}: {', '.join(names)}." for answer, names in found.items() if names]
    return " ".join([begin, *told])


def _details(metrics: Found) -> list[str]:
    """A paragraph a category."""
    told = [_told(one, model, trace) for one, model, _, trace in tests(metrics)]
    return [*told, *(f"{one.category}: cannot be told, {one.reason}." for one in metrics.values() if not one.traces)]


def _told(one: StreamsMetrics, model: StreamsModel, trace: StreamsTrace) -> str:
    rows = compared(model, trace)
    chosen, equal, answer = rows[CHOSEN], rows[EQUAL], pays(model, rows).text
    learned = f"{_saved(chosen)} with the dictionary {chosen.policy}"
    parts = f"{_saved(equal)} with {equal.streams} equal parts of the address space"
    without = f"than without streams, where the WAF is {number(rows[LEGACY].waf, 2)}"
    if answer == YES:
        return f"{one.category}: yes, {learned} {without}; {parts}."
    if answer == PARTS:
        return (
            f"{one.category}: yes, but nothing learned is needed: {parts} {without}; {learned}, which is not promoted."
        )
    return f"{one.category}: {ANSWERS[answer]}; {learned} {without}; {parts}."


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
    canvas, axes = panels(1, 1, 1.0 + 0.95 * len(found))
    axis, said = axes[0][0], []
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
            axis.text(100 * row.of_legacy + 0.8, spot, number(row.waf, 2), va="center", fontsize=7)
    for one, model, _, trace in found:
        chosen = trace.row(model.variant)
        said.append(f"{one.category} {percent(chosen.of_legacy)}" if chosen is not None else "")
    axis.set_yticks(range(len(found)), [one.category for one, _, _, _ in found])
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.axvline(100, color=GREY, linewidth=0.8)
    axis.set(xlabel="WAF, % of the drive without streams (the WAF itself beside each bar)")
    canvas.legend(loc="outside upper center", ncols=4, fontsize=8)
    save(canvas, folder, STREAMS)
    alt = f"Write amplification with the chosen dictionary, of that without streams: {', '.join(said)}."
    caption = "Write amplification on test cycles by placement; a drive without streams is 100 %. Shorter is better."
    return Figure(STREAMS, alt, caption)


PART = ReportSection(KIND, TITLE, _answer, _section, _draw)
