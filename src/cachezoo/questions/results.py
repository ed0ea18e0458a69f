"""What a run ends with: policies by test traces, the bundles, and what to do with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cachezoo import paths
from cachezoo.bundles.measured import FLASH_MODEL
from cachezoo.bundles.protocol import MANIFEST
from cachezoo.documents import Figures, Interval
from cachezoo.metrics.base import Overall
from cachezoo.metrics.files import read_category, read_flash
from cachezoo.metrics.flash import FlashMetrics, FlashRow
from cachezoo.metrics.page import CategoryMetrics, PolicyRow
from cachezoo.questions.share import table as share_tables
from cachezoo.questions.share.columns import ShareMetrics, read_share, share_metrics
from cachezoo.questions.tiers import table as tiers_tables
from cachezoo.questions.tiers.columns import FOLDER as TIERS
from cachezoo.questions.tiers.columns import TiersMetrics, read_tiers
from cachezoo.show.formats import NONE, number, percent, span
from cachezoo.show.table import Cell
from cachezoo.show.table import Table as View
from cachezoo.zoo.base import Results as SystemResults
from cachezoo.zoo.registry import SYSTEMS

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


Row = TypeVar("Row", "PageResult", "FlashResult")
NAME_CHARS, TRACE_CHARS = 41, 17  # of a column of policies and of one of a trace, with what stands between
HINT_CHARS = 16  # of a column that has room for its hint
PLAIN = "rejectx_no_prefetch"
SAVED = {"best": "saved against the best without a model", "plain": f"saved against {PLAIN}"}


@dataclass(frozen=True)
class PageResult:
    """A policy or model in the page cache on a test trace; `promoted` is None of what is no model."""

    trace: str
    promoted: bool | None
    row: PolicyRow


@dataclass(frozen=True)
class FlashResult:
    """A policy in the flash cache on a test trace."""

    trace: str
    policy: str
    row: FlashRow


@dataclass(frozen=True)
class FlashSaved:
    """What the models as shipped save on a test trace against a rival.

    Attributes:
        trace: the trace.
        rival: `best`, the best policy without a model on validation, or `plain`, RejectX without prefetch.
        policy: which that is.
        mean: share of its mean read disk-head time.
        interval: 90 %, of that share.
        peak: share of its peak.
    """

    trace: str
    rival: str
    policy: str
    mean: float
    interval: Interval
    peak: float


@dataclass(frozen=True)
class BundleResult:
    """An evaluated model: its id, bundle (None where it got none), verdict and the verdict's reason.

    `headline` has the figures over the test traces of a model of all categories.
    """

    model: str
    bundle: str | None
    promoted: bool
    reason: str
    headline: Figures


@dataclass(frozen=True)
class Results:
    """Metrics of the matrix's categories, and of the systems whose one model is of all categories.

    Attributes:
        pages: of the page caches.
        flashes: of the flash caches.
        systems: of systems of all categories, by id.
        by_category: of systems that have figures of their own in each category, by id and category; none left empty.
        tiers: of the hierarchies of RAM and SSD, by category.
        share: of caches that several applications share; None where there are none.
    """

    pages: Sequence[CategoryMetrics]
    flashes: Sequence[FlashMetrics]
    systems: Mapping[str, Overall]
    by_category: Mapping[str, Mapping[str, Overall]] = field(default_factory=dict)
    tiers: Mapping[str, TiersMetrics] = field(default_factory=dict)
    share: ShareMetrics | None = None

    def __bool__(self) -> bool:
        """Whether anything was evaluated."""
        return bool(self.pages or self.flashes or self.systems or self.by_category or self.tiers or self.share)

    def _overall(self) -> list[Overall]:
        """The metrics of systems that have their own."""
        return [*self.systems.values(), *(one for own in self.by_category.values() for one in own.values())]

    def page_rows(self) -> list[PageResult]:
        """Rows of every test trace in the page cache."""
        rows = []
        for metrics in self.pages:
            promoted = {name: model.promoted for name, model in metrics.models.items()}
            for key, trace in metrics.tests().items():
                rows += [PageResult(key, promoted.get(row.policy), row) for row in trace.rows]
        return rows

    def flash_rows(self) -> list[FlashResult]:
        """Rows of every test trace in the flash cache.

        All policies but accept_all, which has no budget, write what the deployed model writes.
        """
        return [
            FlashResult(key, policy, row)
            for metrics in self.flashes
            for key, trace in metrics.traces.items()
            for policy, row in {**trace.deployed.rows, "accept_all": trace.accept_all}.items()
        ]

    def flash_saved(self) -> list[FlashSaved]:
        """What the models save on every test trace in the flash cache, against the two rivals."""
        found = []
        for metrics in self.flashes:
            for key, trace in metrics.traces.items():
                own = trace.deployed
                for rival, policy, gap in (("best", own.best_policy, own.best), ("plain", PLAIN, own.plain)):
                    saved = gap.mean_dt_saved, gap.mean_dt_saved_interval, gap.peak_dt_saved
                    found.append(FlashSaved(key, rival, policy, *saved))
        return found

    def beside_rows(self) -> list[FlashResult]:
        """The admission models at the write budget of every test trace, each in its prefetch mode: the full one first.

        The full one's mode is that of the models as shipped.
        """
        return [
            FlashResult(key, name, row)
            for metrics in self.flashes
            for key, trace in metrics.traces.items()
            if metrics.beside
            for name, row in {
                metrics.model_id: trace.at_budget.rows[FLASH_MODEL],
                **{name: one.traces[key].at_budget for name, one in metrics.beside.items()},
            }.items()
        ]

    def bundles(self) -> list[BundleResult]:
        """Every evaluated model."""
        found: dict[str, tuple[bool, str]] = {}
        for metrics in (*self.pages, *self._overall()):
            found |= {name: (model.promoted, model.reason) for name, model in metrics.models.items()}
        for flash in self.flashes:
            parts = (flash, *flash.beside.values(), flash.prefetch)
            found |= {part.model_id: (part.promoted, part.reason) for part in parts}
        headlines = {name: own.headline(name) for own in self._overall() for name in own.models}
        return [BundleResult(name, _bundle_of(name), *found[name], headlines.get(name, {})) for name in found]

    def summaries(self) -> list[str]:
        """A sentence or two of each system with metrics of its own, of hierarchies of RAM and SSD, of shared caches."""
        texts = [*(metrics.summary() for metrics in self._overall()), tiers_tables.goal(self.tiers)]
        texts += share_tables.sentences(self.share)
        return [text for text in texts if text]

    def own_tables(self) -> list[View]:
        """The tables that systems have of their own, those of what to buy, and those of shared caches."""
        found = [table for part, metrics in self._parts().values() for table in part.tables(metrics)]
        return [*found, *tiers_tables.tables(self.tiers), *share_tables.tables(self.share)]

    def _parts(self) -> dict[str, tuple[SystemResults, Overall | Mapping[str, Overall]]]:
        found: dict[str, Overall | Mapping[str, Overall]] = {**self.systems, **self.by_category}
        lazy = {name: SYSTEMS[name].results for name in found}
        return {name: (part.load(), found[name]) for name, part in lazy.items() if part is not None}

    def as_json(self) -> dict[str, Any]:
        """JSON values of all of them."""
        pages = [
            {"trace": found.trace, "promoted": found.promoted, **found.row.model_dump(mode="json")}
            for found in self.page_rows()
        ]
        flashes = [
            {"trace": found.trace, "policy": found.policy, **found.row.model_dump(mode="json")}
            for found in self.flash_rows()
        ]
        return {
            "rows": pages,
            "flash": flashes,
            "flash_saved": [vars(found) for found in self.flash_saved()],
            "flash_beside": [
                {"trace": found.trace, "model": found.policy, **found.row.model_dump(mode="json")}
                for found in self.beside_rows()
            ],
            "bundles": [vars(found) for found in self.bundles()],
            "systems": {name: part.values(metrics) for name, (part, metrics) in self._parts().items()},
            "tiers": tiers_tables.values(self.tiers),
            "share": share_tables.values(self.share),
        }


def _bundle_of(model_id: str) -> str | None:
    folder = paths.bundle(model_id)
    return str(folder) if (folder / MANIFEST).exists() else None


def read_results(categories: Sequence[str] | None) -> Results:
    """Read metrics/ of these categories and of all systems; with None all, of categories that the matrix lost too.

    Raises:
        CachezooError: a file holds something else.
    """
    general = {system.id: system.metrics for system in SYSTEMS.values() if system.metrics is not None}
    known = None if categories is None else {*categories, *general}

    def files(pattern: str) -> list[Path]:
        return [file for file in sorted(paths.METRICS.glob(pattern)) if known is None or file.stem in known]

    own, flash = files("page/*.json"), files("flash/*.json")
    by_category = {
        name: {file.stem: reader.load()(file) for file in files(f"{name}/*.json")} for name, reader in general.items()
    }
    return Results(
        [read_category(file) for file in own],
        [read_flash(file) for file in flash],
        {file.stem: general[file.stem].load()(file) for file in files("*.json") if file.stem in general},
        {name: found for name, found in by_category.items() if found},
        {file.stem: read_tiers(file) for file in files(f"{TIERS}/*.json")},
        read_share(share_metrics()) if share_metrics().exists() else None,
    )


def printed(view: View, width: int = 160) -> "Table":
    """A system's table for the terminal: notes beside their cells, hints below the titles of columns.

    Args:
        view: the table.
        width: of the console; where columns are narrow, hints stand below the table.
    """
    from rich.table import Table

    room = width >= HINT_CHARS * len(view.columns)
    hints = [f"{column.title}: {column.hint}" for column in view.columns if column.hint]
    table = Table(title=view.caption, caption=None if room else "; ".join(hints) or None)
    for column in view.columns:
        title = f"{column.title}\n({column.hint})" if column.hint and room else column.title
        table.add_column(title, justify="right" if column.numeric else "left", overflow="fold")
    for row in view.rows:
        table.add_row(*map(_text, row))
    return table


def _text(cell: Cell) -> "Text":
    from rich.text import Text

    return Text(f"{cell.text} ({cell.note})" if cell.note else cell.text)


def narrow(rows: "Sequence[Row]", width: int) -> "list[Sequence[Row]]":
    """The rows of as many test traces at a time as a table with a column for each has room for.

    Args:
        rows: of all of them.
        width: of the console, in characters.
    """
    traces = list(dict.fromkeys(found.trace for found in rows))
    most = max(1, (width - NAME_CHARS) // TRACE_CHARS)
    return [[row for row in rows if row.trace in traces[low : low + most]] for low in range(0, len(traces), most)]


def flash_table(rows: Sequence[FlashResult], saved: Sequence[FlashSaved]) -> "Table":
    """Peak and mean read disk-head time of each policy (rows) on each test trace (columns), and what baleen saves."""
    from rich.table import Table

    traces = list(dict.fromkeys(found.trace for found in rows))
    by_place = {(found.policy, found.trace): found.row for found in rows}
    table = Table(
        title="flash cache: peak (mean) read disk-head time, disk-head seconds per second",
        caption="baleen: admission and prefetch as shipped; the others write no more, accept_all without a budget; "
        "prefetch modes as chosen on validation; saved: of the mean, with its 90 % interval",
    )
    table.add_column("policy", no_wrap=True)
    for trace in traces:
        table.add_column(trace, justify="right", overflow="fold", min_width=len(trace))
    for policy in dict.fromkeys(found.policy for found in rows):
        table.add_row(policy, *(_load_cell(by_place.get((policy, trace))) for trace in traces))
    table.add_section()
    shares = {(found.rival, found.trace): found for found in saved}
    for rival, title in SAVED.items():
        table.add_row(title, *(_saved_cell(shares.get((rival, trace)), rival) for trace in traces))
    return table


def beside_table(rows: Sequence[FlashResult]) -> "Table":
    """Peak and mean read disk-head time of each admission model at the write budget; a line a test trace."""
    from rich.table import Table

    table = Table(
        title="admission models at the write budget: peak (mean) read disk-head time",
        caption="block: without names; small: without names, few trees; prefetch modes as chosen on validation",
    )
    archs = list(dict.fromkeys(_arch(found.policy) for found in rows))
    table.add_column("test trace", no_wrap=True)
    for arch in archs:
        table.add_column(arch, justify="right")
    by_place = {(found.trace, _arch(found.policy)): found.row for found in rows}
    for trace in dict.fromkeys(found.trace for found in rows):
        table.add_row(trace, *(_load_cell(by_place.get((trace, arch))) for arch in archs))
    return table


def _arch(model_id: str) -> str:
    return model_id.rsplit(".", 1)[-1]


def _saved_cell(found: FlashSaved | None, rival: str) -> str:
    if found is None:
        return NONE
    name = f" {found.policy}" if rival == "best" else ""
    return f"{percent(found.mean, 0)} {span(found.interval)}{name}"


def _load_cell(row: FlashRow | None) -> str:
    if row is None:
        return NONE
    mode = "" if row.prefetch == "none" else f" {row.prefetch}"
    return f"{number(row.read_dt.peak, 2)} ({number(row.read_dt.mean, 2)}){mode}"


def results_table(rows: Sequence[PageResult]) -> "Table":
    """Page hit ratio of each policy (rows) on each test trace (columns), `gap_closed` beside the models'."""
    from rich.table import Table

    traces = list(dict.fromkeys(found.trace for found in rows))
    by_place = {(_name(found.row), found.trace): found for found in rows}
    ratios = {name: [one.row.hit_ratio for (own, _), one in by_place.items() if own == name] for name, _ in by_place}
    names = sorted(ratios, key=lambda name: (-sum(ratios[name]) / len(ratios[name]), name))
    table = Table(
        title="page hit ratio on the test traces",
        caption="models: share of the gap from the best classic to the optimum; "
        "* promoted: better than the best classic on validation",
    )
    table.add_column("policy", no_wrap=True)
    for trace in traces:
        table.add_column(trace, justify="right", overflow="fold", min_width=len(trace))
    for name in names:
        table.add_row(name, *(_cell(by_place.get((name, trace))) for trace in traces))
    return table


def _name(row: PolicyRow) -> str:
    """A policy in the table; the models of a kind, one for each category, share a row."""
    return row.shown if row.kind == "classic" else f"{row.shown} ({row.kind})"


def _cell(found: PageResult | None) -> str:
    if found is None:
        return NONE
    row = found.row
    text = number(row.hit_ratio, 4)
    if row.kind != "model":
        return text
    closed = "gap below 0.02" if row.gap_closed is None else percent(row.gap_closed, 0, signed=True)
    return f"{text} ({closed}){' *' if found.promoted and _caches(row) else ''}"


def _caches(row: PolicyRow) -> bool:
    """Whether the row's model was judged by page hits; an admission model was by disk-head time."""
    return row.policy.split(".")[0] != "admission"


def bundles_table(bundles: Sequence[BundleResult]) -> "Table":
    """One row a model."""
    from rich.table import Table

    table = Table(title="models")
    for column in ("bundle", "promoted", "why", "on the test traces"):
        table.add_column(column, overflow="fold")
    for row in bundles:
        figures = "\n".join(
            f"{name} {number(value, 3)}" for name, value in row.headline.items() if value is not None
        )  # fmt: skip
        table.add_row(row.bundle or f"none of {row.model}", "yes" if row.promoted else "no", row.reason, figures)
    return table


def next_steps(bundles: Sequence[BundleResult], chosen: str | None = None) -> str:
    """Commands that a reader of the tables may want.

    Args:
        bundles: every model.
        chosen: id of the bundle that the report runs in page caches; without one a promoted bundle is shown.
    """
    found = [row for row in bundles if row.bundle]
    found.sort(key=lambda row: (row.model != chosen, not row.promoted, not _is_page_cache(row.model)))
    steps = ["Next:"]
    if found:
        first, bundle = found[0].model, found[0].bundle
        steps += [f"  .venv/bin/cachezoo bundle verify {bundle}    check a bundle; its card.md says what it is for"]
        if _is_page_cache(first):
            steps += [f"  .venv/bin/cachezoo compare TRACE --bundle {bundle}    try it on a trace of yours"]
        elif first.startswith("admission."):
            steps += [f"  .venv/bin/cachezoo flash TRACE --bundle {bundle}    try it on a trace of yours"]
    steps += ["  .venv/bin/cachezoo report    which model to deploy, and is it worth it, on a page"]
    steps += ["  make ui    the same in MLflow", "  conf/matrix.yaml    add your traces, then make repro"]
    return "\n".join(steps)


def _is_page_cache(model_id: str) -> bool:
    """Whether `compare` runs the model."""
    return model_id.split(".")[0] in ("caching", "reuse")
