"""The page: sections from the sources, and the HTML that a template makes of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.evaluation.report import names
from cachezoo.evaluation.report.cards import card_section
from cachezoo.evaluation.report.gather import Category, Sources, gather
from cachezoo.evaluation.report.glossary import COMMANDS, TERMS
from cachezoo.evaluation.report.plots import draw
from cachezoo.evaluation.report.tables import (
    flash_table,
    model_table,
    policy_tables,
    summary_table,
    trace_table,
    workload_tables,
)
from cachezoo.evaluation.report.verdict import answers
from cachezoo.evaluation.report.view import Figure, Section, percent
from cachezoo.io import atomic_dir

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
        loader=jinja2.PackageLoader("cachezoo.evaluation.report", "."), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    told = {category.name: answers(sources, category) for category in sources.categories}
    return environment.get_template(TEMPLATE).render(
        summary=summary_table(told),
        answers=told,
        workload_answer=_workload_answer(sources),
        sections=_sections(sources, figures),
        terms=TERMS,
        commands=COMMANDS,
        capacity=percent(sources.capacity_fraction, 0),
        inputs=names.INPUTS,
        digest=sources.digest,
    )


def _workload_answer(sources: Sources) -> str:
    """Whether a cache that does not know its workload can ask the classifier."""
    model = next((model for model in sources.models if model.trained.kind == "workload"), None)
    if model is None:
        return "No workload classifier was trained: choose the workload's model yourself."
    entry = (sources.workload or {}).get("models", {}).get(model.id, {})
    figures = entry.get("test") or {}
    if figures.get("balanced_accuracy") is None:
        return f"{model.id} has no figures on test traces: choose the workload's model yourself. {model.reason}."
    verdict = "may choose for you" if model.promoted else "is no better than its baseline: choose yourself"
    ours, theirs = percent(figures["balanced_accuracy"]), percent(figures["tree_balanced_accuracy"])
    return (
        f"If you do not know which workload runs, {model.id} {verdict}: it names {ours} of the windows of 100 requests "
        f"right on the test traces, each workload counted alike; a decision tree names {theirs}. Of a program it does "
        "not know it says something all the same."
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
    if sources.workload is not None:
        tables = workload_tables(sources.workload)
        missing = [] if tables else ["The classifier was not trained, so there is nothing to show."]
        sections.append(
            Section("workload", "Which workload runs", missing, tables, _pick(figures, [names.CONFUSION]))
        )
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
        f"{category.name}: {category.flash['transfer_note']}."
        for category in sources.categories
        if category.flash is not None and category.flash.get("transfer_note")
    ]
    tables = [table for category in sources.categories if (table := flash_table(category)) is not None]
    files = [names.flash_plot(category.name) for category in sources.categories]
    return Section("flash-cache", "Flash cache", texts, tables, _pick(figures, files))
