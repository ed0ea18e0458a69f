"""The page: sections from the sources, and the HTML that a template makes of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo import plots as names
from cachezoo.io import atomic_dir
from cachezoo.report.cards import card_section
from cachezoo.report.gather import Category, Sources, gather
from cachezoo.report.glossary import COMMANDS, TERMS
from cachezoo.report.plots import draw
from cachezoo.report.sections import report_sections
from cachezoo.report.tables import (
    flash_table,
    model_table,
    policy_tables,
    summary_table,
    trace_table,
)
from cachezoo.report.verdict import answers
from cachezoo.view import Figure, Section, percent

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

TEMPLATE = "page.html.j2"
Figures = Mapping[str, Figure]


def write_report(root: Path, params: "Params") -> None:
    """Stage report: `report/` with index.html and its plots, whole or not at all.

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


def render(sources: Sources, figures: Figures) -> str:
    """The page's HTML; it refers to nothing but the plots beside it."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cachezoo.report", "."), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    told = {category.name: answers(sources, category) for category in sources.categories}
    return environment.get_template(TEMPLATE).render(
        summary=summary_table(told),
        answers=told,
        more_answers=[part.answer(sources) for part in report_sections()],
        sections=_sections(sources, figures),
        terms=TERMS,
        commands=COMMANDS,
        capacity=percent(sources.capacity_fraction, 0),
        inputs=names.INPUTS,
        digest=sources.digest,
    )


def _pick(figures: Figures, files: Sequence[str]) -> list[Figure]:
    return [figures[file] for file in files if file in figures]


def _sections(sources: Sources, figures: Figures) -> list[Section]:
    sections = [
        _trace_section(sources, figures),
        _page_section(sources, figures),
        _flash_section(sources, figures),
        Section(
            "models", "Models: training and thresholds", tables=[model_table(sources.models)] if sources.models else [],
            texts=[] if sources.models else ["No model was trained."],
            figures=_pick(figures, [names.model_plot(model.id) for model in sources.models]),
        ),
    ]  # fmt: skip
    own = [part.section(sources, figures) for part in report_sections()]
    sections += [section for section in own if section is not None]
    cards = [card_section(model) for model in sources.models]
    return [*sections, Section("cards", "Model cards", ["What each bundle is, as it says itself."], parts=cards)]


def _trace_section(sources: Sources, figures: Figures) -> Section:
    parts = []
    for facts in sources.traces:
        plots = _pick(figures, [names.trace_plot(facts.key)])
        parts.append(Section(f"trace-{facts.key}", facts.key, figures=plots, folded=facts.role != "test"))
    texts = ["Of each workload the test traces come first; its models saw none of them. The others are folded."]
    return Section("traces", "Traces", texts, [trace_table(sources.traces)], parts=parts)


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
    return Section("page-cache", "Page cache", texts, policy_tables(sources.categories), _pick(figures, files))


def _flash_section(sources: Sources, figures: Figures) -> Section:
    texts = [
        "Seconds that the disk behind the cache is busy with reads, per second. baleen is the model as shipped; the "
        "others may write what it writes. accept_all has no budget.",
        *_without(sources.categories, "flash"),
    ]
    texts += [
        f"{category.name}: {category.flash.transfer_note}."
        for category in sources.categories
        if category.flash is not None and category.flash.transfer_note
    ]
    tables = [table for category in sources.categories if (table := flash_table(category)) is not None]
    files = [names.flash_plot(category.name) for category in sources.categories]
    return Section("flash-cache", "Flash cache", texts, tables, _pick(figures, files))
