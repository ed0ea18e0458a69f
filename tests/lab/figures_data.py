"""Made-up figures of RC-RNN: small documents whose numbers can be reckoned by hand."""

from collections.abc import Mapping
from typing import Any

from cachezoo.show.formats import MINUS, NONE, UNIT_SPACE
from cachezoo.show.table import Table
from lab.rcrnn.caches import Bench, Models
from lab.rcrnn.files import OURS, PAPER, Network
from lab.rcrnn.sizes import CacheRun, TagRow
from lab.rcrnn.trained import MODEL, PAPER_MODEL, Added, Grid, GridRow, Told

MODEL_ID, PAPER_ID = "caching.web.lstm_small", "caching.web.paper"
KINDS = {MODEL_ID: OURS, PAPER_ID: PAPER, "belady_bypass": "bound"}
SHAPES = {OURS: Models((2, 64)), PAPER: Models((3, 256))}
HITS = {
    "lru": 0.1, "azor": 0.2, "larc": 0.05, "reca": 0.15, "sieve": 0.25, MODEL_ID: 0.4, PAPER_ID: 0.3,
    "belady_bypass": 0.5,
}  # fmt: skip


def plain(text: str) -> str:
    """A text without the signs that a keyboard lacks."""
    return text.replace(UNIT_SPACE, " ").replace(MINUS, "-").replace(NONE, "-")


def cells(found: Table) -> list[list[str]]:
    """A table as plain text, its heads first."""
    heads = [column.title for column in found.columns]
    return [[plain(text) for text in line] for line in (heads, *([cell.text for cell in row] for row in found.rows))]


def run(policy: str, fraction: float, hit_ratio: float, trace: str = "web_test", **more: Any) -> CacheRun:
    """A cache of a kind that its name says; it writes and replaces ten times its hit ratio."""
    kind = KINDS.get(policy, "classic")
    values = {
        "trace": trace, "capacity_fraction": fraction, "policy": policy, "kind": kind, "hit_ratio": hit_ratio,
        "ssd_writes": 100 * hit_ratio, "replacements": 10 * hit_ratio, "response_us": 4000 * (1 - hit_ratio),
        "decision_us": {OURS: 230.0, PAPER: 310.0}.get(kind, 0.0),
    }  # fmt: skip
    return CacheRun(**{**values, **more})


def runs(hits: Mapping[str, float] = HITS, fraction: float = 0.2, trace: str = "web_test") -> list[CacheRun]:
    """All caches on one trace at one size."""
    return [run(policy, fraction, ratio, trace) for policy, ratio in hits.items()]


def bench(*more: CacheRun, models: Mapping[Network, Models] | None = None) -> Bench:
    """One trace at 5, 10 and 20 %; hits grow by half of what is left."""
    every = [*runs(), *runs(_times(0.75), 0.1), *runs(_times(0.5), 0.05)]
    return Bench.of([*every, *more], 0.1, models or SHAPES, "a note")


def _times(factor: float) -> dict[str, float]:
    return {policy: factor * ratio for policy, ratio in HITS.items()}


def tag_row(
    trace: str, cached: float | None, queue: float | None = 0.8, network: Network = OURS, size: float = 0.2
) -> TagRow:
    """A test trace whose commonest tags are right in 60 and 50 %; of the requests asked about, half as many are."""
    return TagRow(
        trace=trace, capacity_fraction=size, network=network, model={OURS: MODEL_ID, PAPER: PAPER_ID}[network],
        asked=200, cached_accuracy=None if cached is None else cached / 2, cached_majority=0.6,
        cached_balanced_accuracy=0.85, cached_mcc=0.7, duration_accuracy=queue, duration_majority=0.5,
        all_cached_accuracy=cached, all_cached_majority=0.6, all_duration_accuracy=queue, all_duration_majority=0.5,
    )  # fmt: skip


def grid(accuracies: Mapping[tuple[int, int], list[float]], categories: int = 4) -> Grid:
    """Accuracies of each seed by units and window."""
    rows = [
        GridRow(network=network, units=units, window=window, train_windows=30, accuracies=own)
        for network in (OURS, PAPER)
        for (units, window), own in accuracies.items()
    ]
    return Grid(categories=[f"c{k}" for k in range(categories)], epochs=2, stride=50, rows=rows)


def added(ours: Mapping[int, float], twsd: Mapping[int, float], paper: float = 0.5) -> Added:
    """The LSTM, that of the paper's inputs and TWSD with so many of three categories, alike in every set."""
    sets = {2: [["a", "b"], ["a", "c"], ["b", "c"]], 3: [["a", "b", "c"]]}
    return Added(
        rows=[
            Told(categories=names, method=method, windows=10, accuracy=own[size])
            for size in ours
            for names in sets[size]
            for method, own in ((MODEL, ours), (PAPER_MODEL, dict.fromkeys(ours, paper)), ("twsd", twsd))
        ]
    )
