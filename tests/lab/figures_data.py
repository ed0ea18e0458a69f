"""Made-up figures of RC-RNN: small documents whose numbers can be reckoned by hand."""

from collections.abc import Mapping
from typing import Any

from cachezoo.metrics.page import CategoryMetrics
from cachezoo.show.formats import MINUS, NONE, UNIT_SPACE
from cachezoo.show.table import Table
from lab.rcrnn.caches import Bench
from lab.rcrnn.sizes import CacheRun
from lab.rcrnn.tags import TagRow
from lab.rcrnn.trained import MODEL, Added, Grid, GridRow, Told
from tests.metrics_data import page_metrics, page_model, page_trace, row

MODEL_ID = "caching.web.lstm_small"
FIGURES = {
    "cached_rows": 200.0, "cached_accuracy": 0.9, "cached_majority": 0.6, "cached_balanced_accuracy": 0.85,
    "cached_mcc": 0.7, "duration_accuracy": 0.8, "duration_majority": 0.5,
}  # fmt: skip
HITS = {"lru": 0.1, "azor": 0.2, "larc": 0.05, "reca": 0.15, "sieve": 0.25, MODEL_ID: 0.4, "belady_bypass": 0.5}


def plain(text: str) -> str:
    """A text without the signs that a keyboard lacks."""
    return text.replace(UNIT_SPACE, " ").replace(MINUS, "-").replace(NONE, "-")


def cells(found: Table) -> list[list[str]]:
    """A table as plain text, its heads first."""
    heads = [column.title for column in found.columns]
    return [[plain(text) for text in line] for line in (heads, *([cell.text for cell in row] for row in found.rows))]


def category(**figures: float | None) -> CategoryMetrics:
    """metrics/page/web.json with a caching model on one test trace; the figures that its system adds."""
    own = row(MODEL_ID, "model", 0.4, decision_us=230.0)
    classics = [row(name, "classic", HITS[name]) for name in ("azor", "larc", "reca", "sieve")]
    traces = {"web_test": page_trace("test", own, *classics), "web_validation": page_trace("validation")}
    models = {MODEL_ID: page_model({"web_test": own}, promoted=False, figures=figures or FIGURES)}
    return page_metrics(traces, models=models)


def run(policy: str, fraction: float, hit_ratio: float, trace: str = "web_test", **more: Any) -> CacheRun:
    """A cache of a kind that its name says; it writes and replaces ten times its hit ratio."""
    kind = "model" if policy == MODEL_ID else "bound" if policy == "belady_bypass" else "classic"
    values = {
        "trace": trace, "capacity_fraction": fraction, "policy": policy, "kind": kind, "hit_ratio": hit_ratio,
        "ssd_writes": 100 * hit_ratio, "replacements": 10 * hit_ratio, "response_us": 4000 * (1 - hit_ratio),
        "decision_us": 230.0 if kind == "model" else 0.0,
    }  # fmt: skip
    return CacheRun(**{**values, **more})


def runs(hits: Mapping[str, float] = HITS, fraction: float = 0.2, trace: str = "web_test") -> list[CacheRun]:
    """All caches on one trace at one size."""
    return [run(policy, fraction, ratio, trace) for policy, ratio in hits.items()]


def bench(*more: CacheRun, apart: str = "", network: tuple[int, int] = (2, 64)) -> Bench:
    """One trace at 5, 10 and 20 %; hits grow by half of what is left, and at 10 % nobody counted replacements."""
    every = runs()
    every += [one.model_copy(update={"replacements": None}) for one in runs(_times(0.75), 0.1)]
    every += runs(_times(0.5), 0.05)
    return Bench.of([*every, *more], 0.1, network, apart, "a note")


def _times(factor: float) -> dict[str, float]:
    return {policy: factor * ratio for policy, ratio in HITS.items()}


def tag_row(trace: str, cached: float | None, queue: float | None = 0.8) -> TagRow:
    """A test trace whose commonest tags are right in 60 and 50 %."""
    improvement = None if cached is None or queue is None else cached * queue / 0.3 - 1
    return TagRow(
        trace=trace, model=MODEL_ID, asked=200, cached_accuracy=cached, cached_majority=0.6,
        cached_balanced_accuracy=0.85, cached_mcc=0.7, duration_accuracy=queue, duration_majority=0.5,
        improvement=improvement,
    )  # fmt: skip


def grid(accuracies: Mapping[tuple[int, int], list[float]], categories: int = 4) -> Grid:
    """Accuracies of each seed by units and window."""
    rows = [
        GridRow(units=units, window=window, train_windows=30, accuracies=own)
        for (units, window), own in accuracies.items()
    ]
    return Grid(categories=[f"c{k}" for k in range(categories)], epochs=2, stride=50, rows=rows)


def added(ours: Mapping[int, float], twsd: Mapping[int, float]) -> Added:
    """The LSTM and TWSD with so many of three categories, alike in every set."""
    sets = {2: [["a", "b"], ["a", "c"], ["b", "c"]], 3: [["a", "b", "c"]]}
    return Added(
        rows=[
            Told(categories=names, method=method, windows=10, accuracy=own[size])
            for size in ours
            for names in sets[size]
            for method, own in ((MODEL, ours), ("twsd", twsd))
        ]
    )
