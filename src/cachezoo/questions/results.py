"""The figures that a run of the pipeline ends with: policies by test traces, models; as rows, JSON and CSV."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.bundles.measured import FLASH_MODEL
from cachezoo.bundles.protocol import MANIFEST
from cachezoo.documents import Figures, Interval
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.metrics.base import Overall
from cachezoo.metrics.files import read_category, read_flash
from cachezoo.metrics.flash import FlashMetrics, FlashRow
from cachezoo.metrics.page import CategoryMetrics, PolicyRow
from cachezoo.questions.share import table as share_tables
from cachezoo.questions.share.columns import ShareMetrics, read_share, share_metrics
from cachezoo.questions.tiers import table as tiers_tables
from cachezoo.questions.tiers.columns import FOLDER as TIERS
from cachezoo.questions.tiers.columns import TiersMetrics, read_tiers
from cachezoo.show import output
from cachezoo.show.table import Table
from cachezoo.zoo.base import Results as SystemResults
from cachezoo.zoo.registry import SYSTEMS

Row = dict[str, Any]
PLAIN, OPTIMUM = "rejectx_no_prefetch", "belady_bypass"


@dataclass(frozen=True)
class PageResult:
    """A policy or model in the page cache on a test trace; `promoted` is None of what is no model."""

    category: str
    trace: str
    promoted: bool | None
    row: PolicyRow

    def values(self) -> Row:
        """As JSON values."""
        return {"trace": self.trace, "promoted": self.promoted, **self.row.model_dump(mode="json")}


@dataclass(frozen=True)
class FlashResult:
    """A policy in the flash cache on a test trace."""

    category: str
    trace: str
    policy: str
    row: FlashRow

    def values(self, name: str = "policy") -> Row:
        """As JSON values; the policy's key is given."""
        return {"trace": self.trace, name: self.policy, **self.row.model_dump(mode="json")}


@dataclass(frozen=True)
class FlashSaved:
    """What the models as shipped save on a test trace against a rival."""

    trace: str
    rival: str  # `best`, the best policy without a model on validation, or `plain`, RejectX without prefetch
    policy: str  # which that is
    mean: float  # share of its mean read disk-head time
    interval: Interval  # 90 %, of that share
    peak: float  # share of its peak
    promoted: bool  # whether validation promoted the models


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
    """Metrics of the matrix's categories, and of the systems whose one model is of all categories."""

    pages: Sequence[CategoryMetrics]  # of the page caches
    flashes: Sequence[FlashMetrics]  # of the flash caches
    systems: Mapping[str, Overall]  # of systems of all categories, by id
    # of systems that have figures of their own in each category, by id and category; none left empty
    by_category: Mapping[str, Mapping[str, Overall]] = field(default_factory=dict)
    tiers: Mapping[str, TiersMetrics] = field(default_factory=dict)  # of the hierarchies of RAM and SSD, by category
    share: ShareMetrics | None = None  # of caches that several applications share; None where there are none

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
                rows += [PageResult(metrics.category, key, promoted.get(row.policy), row) for row in trace.rows]
        return rows

    def flash_rows(self) -> list[FlashResult]:
        """Rows of every test trace in the flash cache.

        One controller keeps the write rate for all but accept_all, which has none, and opt, which knows the future.
        """
        return [
            FlashResult(metrics.category, key, policy, row)
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
                    found.append(FlashSaved(key, rival, policy, *saved, metrics.promoted))
        return found

    def admission_rows(self) -> list[FlashResult]:
        """The admission models at the write budget of every test trace, each in its prefetch mode: the full one first.

        The full one's mode is that of the models as shipped.
        """
        return [
            FlashResult(metrics.category, key, name, row)
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
            parts = (flash, *flash.beside.values())
            found |= {part.model_id: (part.promoted, part.reason) for part in parts}
        headlines = {name: own.headline(name) for own in self._overall() for name in own.models}
        folders = {name: paths.bundle(name) for name in found}
        return [
            BundleResult(
                name, str(folders[name]) if (folders[name] / MANIFEST).exists() else None, *own, headlines.get(name, {})
            )
            for name, own in found.items()
        ]

    def summaries(self) -> list[str]:
        """A sentence or two of each system with metrics of its own, of hierarchies of RAM and SSD, of shared caches."""
        texts = [*(metrics.summary() for metrics in self._overall()), tiers_tables.goal(self.tiers)]
        texts += share_tables.sentences(self.share)
        return [text for text in texts if text]

    def own_tables(self) -> list[Table]:
        """The tables that systems have of their own, those of what to buy, and those of shared caches."""
        found = [table for part, metrics in self._parts().values() for table in part.tables(metrics)]
        return [*found, *tiers_tables.tables(self.tiers), *share_tables.tables(self.share)]

    def _parts(self) -> dict[str, tuple[SystemResults, Overall | Mapping[str, Overall]]]:
        found: dict[str, Overall | Mapping[str, Overall]] = {**self.systems, **self.by_category}
        lazy = {name: SYSTEMS[name].results for name in found}
        return {name: (part.load(), found[name]) for name, part in lazy.items() if part is not None}

    def as_json(self) -> Row:
        """JSON values of all of them."""
        return {
            "rows": [found.values() for found in self.page_rows()],
            "flash": [found.values() for found in self.flash_rows()],
            "flash_saved": [vars(found) for found in self.flash_saved()],
            "flash_beside": [found.values("model") for found in self.admission_rows()],
            "bundles": [vars(found) for found in self.bundles()],
            "systems": {name: part.values(metrics) for name, (part, metrics) in self._parts().items()},
            "tiers": tiers_tables.values(self.tiers),
            "share": share_tables.values(self.share),
        }


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


@dataclass(frozen=True)
class Line:
    """A test trace."""

    trace: str  # its key
    # the best classic's page hit ratio; None where the trace has no page cache, as of what follows
    classic: float | None
    model: str | None  # the promoted caching model with the most hits, as it is shown; None where none is promoted
    hit_ratio: float | None  # that model's
    gap_closed: float | None  # by it; None where there is no model, or the gap is too small to divide by
    optimum: float | None  # page hit ratio of the best cache possible
    # what admission models save of the flash cache's mean read disk-head time, with its interval
    saved: FlashSaved | None


def lines(run: Results) -> list[Line]:
    """A line for each test trace.

    Args:
        run: what the pipeline found.
    """
    pages: dict[str, list[PageResult]] = {}
    for found in run.page_rows():
        pages.setdefault(found.trace, []).append(found)
    saved = {one.trace: one for one in run.flash_saved() if one.rival == "best"}
    return [_line(trace, pages.get(trace, []), saved.get(trace)) for trace in sorted({*pages, *saved})]


def _line(trace: str, rows: Sequence[PageResult], saved: FlashSaved | None) -> Line:
    classics = [one.row.hit_ratio for one in rows if one.row.kind == "classic"]
    bounds = [one.row.hit_ratio for one in rows if one.row.policy == OPTIMUM]
    # An admission model was judged by disk-head time, and stands in the last column.
    models = [one.row for one in rows if one.promoted and not one.row.policy.startswith("admission.")]
    best = max(models, key=lambda row: row.hit_ratio, default=None)
    return Line(
        trace,
        max(classics, default=None),
        best.shown if best else None,
        best.hit_ratio if best else None,
        best.gap_closed if best else None,
        max(bounds, default=None),
        saved,
    )


def of_categories(run: Results, names: Sequence[str]) -> Results:
    """The results of some categories, without those of systems whose one model is of all categories.

    Raises:
        ConfigError: a category that has no results; those that have are named.
    """
    found = [*(own.category for own in run.pages), *(own.category for own in run.flashes)]
    known = list(dict.fromkeys([*found, *(name for own in run.by_category.values() for name in own), *run.tiers]))
    for name in names:
        if name not in known:
            raise ConfigError(f"--category {name}: has no results; these have: {', '.join(known) or 'none yet'}")
    pages = [metrics for metrics in run.pages if metrics.category in names]
    flashes = [metrics for metrics in run.flashes if metrics.category in names]
    own = {
        system: {name: one for name, one in metrics.items() if name in names}
        for system, metrics in run.by_category.items()
    }
    tiers = {name: one for name, one in run.tiers.items() if name in names}
    return Results(pages, flashes, {}, {system: metrics for system, metrics in own.items() if metrics}, tiers)


def rows_of(run: Results) -> list[Row]:
    """A row for each policy and model on each test trace, page caches first.

    Returns:
        `category`, `trace`, `cache` (``page``, ``flash``, ``tiers`` of RAM and SSD, or ``shared``, whose trace is a
        mix), `policy`, of models in page caches `promoted`, then the figures by their names in metrics/
        (docs/data-dictionary.csv has their units); what is nested there is joined by `_`, and an interval is two
        figures that end in `_low` and `_high`.
    """
    rows: list[Row] = [
        {"category": one.category, "trace": one.trace, "cache": "page", "policy": one.row.policy, **one.values()}
        for one in run.page_rows()
    ]
    rows += [
        {"category": one.category, "trace": one.trace, "cache": "flash", **one.values()} for one in run.flash_rows()
    ]
    rows += [
        {"category": own.category, "trace": key, "cache": "tiers", "policy": row.hierarchy,
         **row.model_dump(mode="json", exclude={"hierarchy"})}
        for own in run.tiers.values()
        for key, trace in own.traces.items()
        for row in trace.rows
    ]  # fmt: skip
    rows += [
        {"trace": name, "cache": "shared", "policy": row.partitioner,
         **row.model_dump(mode="json", exclude={"partitioner"})}
        for name, mix in (run.share.mixes if run.share is not None else {}).items()
        for row in mix.rows
    ]  # fmt: skip
    return [dict(figure for name, value in row.items() for figure in _figures(name, value)) for row in rows]


def _figures(name: str, value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any value of JSON
    if isinstance(value, Mapping):
        for key, own in value.items():
            yield from _figures(f"{name}_{key}", own)
    elif isinstance(value, list):
        yield from zip((f"{name}_low", f"{name}_high"), value, strict=True)
    else:
        yield name, value


def write_csv(run: Results, path: Path) -> None:
    """Write the rows as CSV, see `rows_of`; a figure that no row has gets no column.

    Raises:
        CachezooError: there is no row, or the file cannot be written.
    """
    rows = rows_of(run)
    if not rows:
        raise CachezooError(f"{path}: not written, as there are no results of test traces yet; run `make repro`")
    known = {name for row in rows for name, value in row.items() if value is not None}
    output.write_csv(path, rows, without={name for row in rows for name in row} - known)
