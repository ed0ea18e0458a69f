"""The page: a card for each workload, and everything behind the cards in folds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.io import atomic_dir
from cachezoo.report.cards import card_section
from cachezoo.report.copied import PLACE
from cachezoo.report.dvc_files import write_plots, write_summary
from cachezoo.report.gather import Category, Sources, gather
from cachezoo.report.glossary import COMMANDS, TERMS
from cachezoo.report.plots import draw
from cachezoo.report.sections import report_sections
from cachezoo.report.sizes_plot import size_drawing
from cachezoo.report.tables import flash_table, model_table, policy_tables, times_from, trace_table
from cachezoo.report.verdict import Answers, answers
from cachezoo.report.workloads import in_short, summary_table, workload_section
from cachezoo.show import plots as names
from cachezoo.show.formats import percent
from cachezoo.show.page import Page
from cachezoo.show.page import render as render_page
from cachezoo.show.section import Figure, Section
from cachezoo.show.table import Cell, Column, Table, name_cell
from cachezoo.zoo.base import ReportSection

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

TITLE = "Which cache policy should each workload run?"
HOW = (
    "Models and policies were chosen on validation traces alone; the verdicts are read off test traces, which chose "
    "nothing. The page cache holds {capacity} of a trace's distinct pages."
)
Figures = Mapping[str, Figure]


def write_report(root: Path, params: "Params") -> None:
    """Stage report: `report/` with index.html and its plots, whole or not at all, and `models/summary.json`.

    Args:
        root: the project's.
        params: traces, categories and `evaluate` are read.

    Raises:
        CachezooError: a stage output is damaged, or a trace of the matrix has not been ingested.
    """
    sources = gather(root, params)
    with atomic_dir(root / paths.REPORT) as folder:
        figures = draw(sources, folder)
        (folder / names.PAGE).write_text(render(sources, figures), encoding="utf-8")
        write_plots(sources, folder)
    write_summary(root, sources)


def render(sources: Sources, figures: Figures) -> str:
    """The page's HTML; it refers to nothing but the plots beside it."""
    told = {category.name: answers(sources, category) for category in sources.categories}
    page = Page(
        TITLE,
        [in_short(told), HOW.format(capacity=percent(sources.capacity_fraction, 0))],
        facts_of(sources),
        _sections(sources, told, figures),
        TERMS,
        sources.digest,
    )
    return render_page(page)


def facts_of(sources: Sources) -> list[tuple[str, str]]:
    """What the figures are of: size, traces, trainings, seeds, devices, inputs."""
    tests = [facts for facts in sources.traces if facts.role == "test"]
    unseen = sum(facts.unseen for facts in tests)
    trainings = max((len(model.trained.seeds) for model in sources.models), default=0)
    times = times_from(sources.categories)
    found = [
        ("page cache", f"{percent(sources.capacity_fraction, 0)} of a trace's pages"),
        ("test traces", f"{len(tests)}, {unseen} of unseen programs"),
        ("trainings", f"up to {trainings} of a model, seeds of their own"),
        ("seed", str(sources.seed)),
        ("response times", times),
        ("made from", f"inputs {sources.digest[:12]}"),
        ("commit, machine", PLACE),
    ]
    return [(name, value) for name, value in found if value]


def _pick(figures: Figures, files: Sequence[str]) -> list[Figure]:
    return [figures[file] for file in files if file in figures]


def _sections(sources: Sources, told: Mapping[str, Answers], figures: Figures) -> list[Section]:
    sections = [Section("answers", "Answers", tables=[summary_table(told)])]
    for category in sources.categories:
        answered = told[category.name]
        drawing = size_drawing(sources, category, [*answered.page.home, *answered.page.away])
        sections.append(workload_section(sources, category, answered, [drawing] if drawing is not None else []))
    sections += [_own_section(part, sources, figures) for part in report_sections()]
    sections += [
        _page_section(sources, figures),
        _flash_section(sources, figures),
        _trace_section(sources, figures),
        Section(
            "models", "Models: training and thresholds", tables=[model_table(sources.models)] if sources.models else [],
            texts=[] if sources.models else ["No model was trained."],
            figures=_pick(figures, [names.model_plot(model.id) for model in sources.models]), folded=True,
        ),
    ]  # fmt: skip
    cards = [card_section(model) for model in sources.models]
    texts = ["What each bundle is, when not to use it, and how to load it, as it says itself."]
    sections.append(Section("cards", "Model cards", texts, parts=cards, folded=True))
    return [*sections, Section("commands", "Commands", tables=[command_table()], folded=True)]


def _own_section(part: ReportSection, sources: Sources, figures: Figures) -> Section:
    """A system's own section: its answer, and its tables and figures folded away."""
    found, said = part.section(sources, figures), part.answer(sources)
    if found is None:
        return Section(part.id, part.title, [said])
    shown = replace(found, id=f"{found.id}-figures", title="Tables and figures", folded=True)
    return Section(found.id, found.title, [said], parts=[shown])


def command_table() -> Table:
    """Which command computes what."""
    columns = [Column("command", numeric=False), Column("what it computes", numeric=False)]
    return Table("Commands behind the figures", columns, [[name_cell(name), Cell(what)] for name, what in COMMANDS])


def _trace_section(sources: Sources, figures: Figures) -> Section:
    parts = []
    for facts in sources.traces:
        plots = _pick(figures, [names.trace_plot(facts.key)])
        parts.append(Section(f"trace-{facts.key}", facts.key, figures=plots, folded=facts.role != "test"))
    texts = ["Of each workload the test traces come first; its models saw none of them. The others are folded."]
    return Section("traces", "Traces", texts, [trace_table(sources.traces)], parts=parts, folded=True)


def _without(categories: Sequence[Category], part: str) -> list[str]:
    missing = [category.name for category in categories if getattr(category, part) is None]
    cache = f"{part} cache"
    return [f"{name}: nothing was measured in a {cache}." for name in missing]


def _page_section(sources: Sources, figures: Figures) -> Section:
    texts = [
        f"Cache of {percent(sources.capacity_fraction, 0)} of a trace's distinct pages. Models of other workloads than "
        "the trace's are not run.",
        *_without(sources.categories, "page"),
    ]
    files = [names.policies_plot(category.name) for category in sources.categories]
    tables = policy_tables(sources.categories)
    return Section("page-cache", "All policies in the page cache", texts, tables, _pick(figures, files), folded=True)


def _flash_section(sources: Sources, figures: Figures) -> Section:
    texts = [
        "Disks kept busy: seconds of disk-head time for reads, a second. baleen is the model as shipped; the others "
        "may write what it writes, but accept_all, which has no budget.",
        *_without(sources.categories, "flash"),
    ]
    texts += [
        f"{category.name}: {category.flash.transfer_note}."
        for category in sources.categories
        if category.flash is not None and category.flash.transfer_note
    ]
    tables = [table for category in sources.categories if (table := flash_table(category)) is not None]
    files = [names.flash_plot(category.name) for category in sources.categories]
    return Section("flash-cache", "All policies in the flash cache", texts, tables, _pick(figures, files), folded=True)
