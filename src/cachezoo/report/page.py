"""The page: a card for each workload, and everything behind the cards in folds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.flash_cache.cost import MOST_BUSY
from cachezoo.io import atomic_dir
from cachezoo.models.measured import Model
from cachezoo.report.copied import PLACE
from cachezoo.report.dvc_files import write_plots, write_summary
from cachezoo.report.gather import Category, Sources, gather
from cachezoo.report.plots import draw, size_drawing
from cachezoo.report.sections import report_sections
from cachezoo.report.tables import (
    card_anchor,
    flash_leads,
    flash_table,
    model_table,
    policy_tables,
    times_from,
    trace_table,
)
from cachezoo.report.verdict import Answers, answers
from cachezoo.report.workloads import in_short, summary_table, workload_section
from cachezoo.settings.prices import BUILT_IN
from cachezoo.show import plots as names
from cachezoo.show.formats import percent
from cachezoo.show.page import Page
from cachezoo.show.page import render as render_page
from cachezoo.show.section import Figure, Section
from cachezoo.show.table import Cell, Column, Table, name_cell
from cachezoo.zoo.base import ReportSection

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

TERMS = {
    "page access": "The cache's unit of 4 KiB; a request touches one or more, and each touch is an access.",
    "hit ratio": (
        "Page accesses found in the cache, of those in the second half of the trace; the first warms the cache up. All "
        "policies run at the same cache size. In points: hundredths."
    ),
    "classic": (
        "A policy that a cache could run and that learns nothing beforehand: FIFO, LRU, ARC … The best classic is "
        "the one with the most hits on the very trace, which nobody knows beforehand; the one that validation would "
        "have chosen, with its defaults or with values of its own, is what one could have deployed."
    ),
    "online": "A policy that learns while it runs, from the trace that it serves, and is not counted as a classic.",
    "bound, optimum": (
        "Sees the future: no cache can run it. The optimum is Belady's MIN with bypass; it bounds page hits, not "
        "response times or writes."
    ),
    "gap closed": (
        "The hit ratio's lead over the best classic, as a share of the optimum's lead over it. Negative: fewer hits "
        "than the best classic. None where the optimum leads by less than 2 points."
    ),
    "90 % interval": (
        "Over blocks of the trace's time, heeding that neighbours correlate. It says how far chance moves the figure "
        "on such a trace, not how another workload would do."
    ),
    "response time": (
        "The SSD's time where all pages of a request were in the cache, else the disk's, on the modelled devices, "
        "and a model's decision cost on every request."
    ),
    "decision cost": (
        "What conf/evaluate sets for a decision of each kind of model; measured times are in docs/benchmarks.md."
    ),
    "SSD writes": "Pages let into the cache, and pages written while they are in it.",
    "disks kept busy": (
        "Seconds of disk-head time for reads, a second: of the disk behind a flash cache, a seek and then the "
        "transfer. 2.1 means that two disks are not enough. Busiest window: what the disks must be bought for; one "
        "window decides it, so it has no interval."
    ),
    "RejectX, CoinFlip, OPT": (
        "RejectX admits on the second miss, CoinFlip by chance. OPT admits the best episodes, knowing the future. "
        "One controller holds all but OPT to the same rate of flash writes. The best policy without a model is RejectX "
        "or CoinFlip with the prefetch and the eviction that validation chose."
    ),
    "HCA, L2ARC, CacheLib-like": (
        "Ways to put an SSD below RAM. HCA: what leaves RAM waits in a buffer and goes to the SSD in batches; a page "
        "is in one of them. ZFS's L2ARC: pages at RAM's tail are copied to the SSD now and then. CacheLib-like: what "
        "leaves RAM is copied to the SSD, and what is found there is copied up. Inclusive: what RAM misses goes to "
        "the SSD at once. Any policies: each order with policies of this project in RAM and on the SSD."
    ),
    "promoted, champion": (
        "Promoted is a model that beat its baseline on validation with the interval of the difference above 0. Test "
        "traces decide nothing. Such a model may be champion: the one that runs, as zoo.json says."
    ),
    "home, set-up": (
        "What of a test trace the cache for every workload was trained on: home is later days of the very recipes; "
        "another set-up of a program trained on, or a program never trained on, is away."
    ),
    "next use, expert, follower": (
        "A forest guesses in how many page accesses a page is used again, and a cache keeps what is worth most for "
        "its time. It is one expert beside classics; the follower holds what the expert that hits most of late "
        "holds."
    ),
    "floor": (
        "A hit ratio: that of the rival, the way to run a classic that is best on the part of the trace that chooses, "
        "less 0.01 and one reload of the cache."
    ),
    "unseen program": (
        "A test trace of the same kind of workload, recorded from a program that no train trace came from."
    ),
    "twsd, frequency, iosize": (
        "What the workload classifier is compared with: shares of kinds of requests in a window (by pattern, by how "
        "often they were accessed before, by size), named by a linear layer."
    ),
    "unknown": (
        "The workload classifier's answer where a window, or ten of them, is unlike every trace that it learned from."
    ),
    "share, split": (
        "Applications that run at the same time share one cache, or each has a part of its own; a partitioner decides "
        "how large. UCP and G-VPA change the parts as time goes by."
    ),
    "AcceptAll": (
        "A flash cache that lets everything in. It has no write budget, so it is no rival: it may write tens of "
        "times as much."
    ),
    "drive writes a day": (
        "How often the whole cache would be overwritten in a day of this load; SSDs are commonly rated for 0.3 to 3."
    ),
    "verdict": (
        "Deploy: surely more hits than the best classic and requests no slower, or surely fewer disks kept busy, in "
        "the busiest window too. Only if SSD writes matter: fewer SSD writes, but the hits may be chance or "
        "requests are slower. Don't: the rest. A workload's verdict is the worst of its home traces."
    ),
    "validation's classic": (
        "The classic that hits most on the validation traces, with its defaults or values of its own: what one "
        "would run without a model."
    ),
}

COMMANDS = (
    ("make repro", "everything on this page, from the traces on"),
    (".venv/bin/dvc repro report", "this page, and whatever it needs that is out of date"),
    (".venv/bin/dvc repro evaluate", "policies in the page cache: metrics/page/CATEGORY.json"),
    (".venv/bin/dvc repro evaluate_flash", "policies in the flash cache: metrics/flash/CATEGORY.json"),
    (
        ".venv/bin/dvc repro evaluate_tiers",
        "RAM and SSD for the same money: metrics/tiers/CATEGORY.json",
    ),
    (".venv/bin/dvc repro evaluate_share", "one cache for several applications: metrics/share/mixes.json"),
    (".venv/bin/dvc repro evaluate_workload", "the workload classifier: metrics/workload.json"),
    (".venv/bin/dvc repro evaluate_reuse", "one cache for every workload: metrics/reuse.json"),
    (".venv/bin/cachezoo models results", "the table of policies and traces in the terminal; --json for all digits"),
    (".venv/bin/cachezoo trace info FILE", "a trace's statistics"),
    (".venv/bin/cachezoo compare FILE --bundle DIR", "policies and a bundle on any trace"),
    (".venv/bin/cachezoo recommend --only tiers FILE --ram SIZE --ssd SIZE", "hierarchies of RAM and SSD on any trace"),
    (".venv/bin/cachezoo models bundle inspect DIR", "a bundle's figures and files"),
    ("make ui", "the same models as runs in MLflow, with learning curves"),
)


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


def _own_section(part: ReportSection[Sources], sources: Sources, figures: Figures) -> Section:
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
        "Disks kept busy: seconds of disk-head time for reads, a second. baleen is the model as shipped; the same "
        "controller keeps all to the write budget, but accept_all, which has none, and opt, which writes what baleen "
        f"does. A year: the disks that the busiest window takes, at most {percent(MOST_BUSY, 0)} of their time, and "
        f"flash by its age or wear, at the trace's pace; prices: {BUILT_IN.name}.",
        *_without(sources.categories, "flash"),
    ]
    texts += [
        f"{category.name}: {category.flash.transfer_note}."
        for category in sources.categories
        if category.flash is not None and category.flash.transfer_note
    ]
    tables = [table for table in (flash_leads(sources.categories), *map(flash_table, sources.categories)) if table]
    files = [names.flash_plot(category.name) for category in sources.categories]
    return Section("flash-cache", "All policies in the flash cache", texts, tables, _pick(figures, files), folded=True)


DEEPER = 3  # a card's `#` is the page's fourth level


def card_html(markdown: str) -> str:
    """HTML of a card: headings, paragraphs, lists, tables and code; HTML, links and images in it are shown as text."""
    from markdown_it import MarkdownIt

    off = ["image", "link", "autolink", "reference", "html_block", "html_inline"]
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(off)
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + DEEPER)}"
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")


def card_section(model: Model) -> Section:
    """A model's card, or why it has none."""
    anchor, state = card_anchor(model.id), "may be champion" if model.promoted else "no champion"
    if model.card is not None:
        return Section(anchor, f"{model.id}: {state}", html=card_html(model.card), folded=True)
    why = model.refused or model.reason
    said = f"No bundle: {why}." if model.refused else f"It has not been exported. {why}."
    return Section(anchor, f"{model.id}: {'refused' if model.refused else 'no bundle'}", [said], folded=True)
