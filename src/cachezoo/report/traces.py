"""What the report says of a trace: figures, load over time, and hit ratio over cache size."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.curves.measure import curves
from cachezoo.policies.registry import OPTIMUM
from cachezoo.sizes import pages_of
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.stats import describe
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import OP_READ, Trace

if TYPE_CHECKING:
    from cachezoo.settings.data import TraceEntry

WINDOWS = 100
FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
SIMULATED = ("lru", OPTIMUM)
MOST_ACCESSES = 2_000_000  # simulated as they are; of longer traces a sample of the pages
PROGRAMS = "programs"


@dataclass(frozen=True)
class TraceFacts:
    """A trace as the report shows it.

    Attributes:
        key: the trace.
        category: its workload.
        role: train, validation or test.
        unseen: a test trace of a program that no train trace of the category was recorded from.
        programs: the programs it was recorded from, as its metadata name them; may be empty.
        figures: see `cachezoo.traces.stats.describe`; besides `iops_mean`, `iops_peak` (the busiest of 100 equal
            windows) and `reuse`, the share of page accesses that touch a page seen before.
        window_s: seconds of a window.
        reads, writes: float64[100] requests a second in each window.
        capacities: cache sizes as parts of the distinct pages.
        hit_ratios: of each policy simulated, float64 at each capacity, counted after the warm-up.
        sampled: one in so many pages was simulated for the hit ratios; 1 for all.
    """

    key: str
    category: str
    role: str
    unseen: bool
    programs: tuple[str, ...]
    figures: dict[str, Any]
    window_s: float
    reads: F64
    writes: F64
    capacities: tuple[float, ...]
    hit_ratios: dict[str, list[float]]
    sampled: int


def trace_facts(root: Path, key: str, entry: "TraceEntry", capacity_fraction: float) -> TraceFacts:
    """Read an ingested trace and describe it.

    Args:
        root: the project's.
        key: the trace.
        entry: its row of the matrix.
        capacity_fraction: a cache size to simulate besides the usual ones.

    Raises:
        CachezooError: it has not been ingested, or the file is damaged.
    """
    path = root / paths.requests(entry.category, key)
    trace, pages = read_trace(path), read_pages(path)
    window_s, reads, writes = load_over_time(trace)
    capacities = tuple(sorted({*FRACTIONS, capacity_fraction}))
    sampled, hit_ratios = hit_ratio_curves(pages, capacities)
    rates = reads + writes
    accesses = len(pages.page_ids)
    figures = {
        **describe(trace, pages),
        "iops_mean": float(rates.mean()),
        "iops_peak": float(rates.max()),
        "reuse": 1 - pages.n_pages / accesses,
    }
    programs = _programs(trace.meta.extra.get(PROGRAMS))
    return TraceFacts(
        key, entry.category, entry.role, entry.unseen, programs, figures, window_s, reads, writes, capacities,
        hit_ratios, sampled,
    )  # fmt: skip


def listed_facts(_root: Path, key: str, entry: "TraceEntry", _capacity_fraction: float) -> TraceFacts:
    """What the matrix alone says of a trace; nothing is read, and it need not have been ingested."""
    none = np.empty(0)
    return TraceFacts(key, entry.category, entry.role, entry.unseen, (), {}, 0.0, none, none, (), {}, 1)


def _programs(text: str | None) -> tuple[str, ...]:
    """Names in a capture's metadata; a foreign trace has none, or another meaning of the word."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return ()
    return tuple(sorted(map(str, value))) if isinstance(value, dict) else ()


def load_over_time(trace: Trace) -> tuple[float, F64, F64]:
    """Seconds of a window, and reads and writes a second in each of 100 equal windows of a trace's span."""
    span_us = max(int(trace.time_us[-1]) - int(trace.time_us[0]), 1)
    window_s = span_us / 1e6 / WINDOWS
    at = np.minimum((trace.time_us - trace.time_us[0]) * WINDOWS // span_us, WINDOWS - 1)
    reads = trace.op == OP_READ
    counts = [np.bincount(at[rows], minlength=WINDOWS).astype(np.float64) for rows in (reads, ~reads)]
    return window_s, counts[0] / window_s, counts[1] / window_s


def hit_ratio_curves(pages: PageAccesses, capacities: tuple[float, ...]) -> tuple[int, dict[str, list[float]]]:
    """Page hit ratio of LRU and of the optimum over cache size, each counted after its own warm-up.

    LRU's is exact; of a trace with more than `MOST_ACCESSES` page accesses, the optimum's is from a sample of the pages
    (`cachezoo.curves`).

    Args:
        pages: page accesses of the trace.
        capacities: parts of the distinct pages.

    Returns:
        The k of one page in k that the optimum was simulated on, 1 for all; and hit ratios by policy, one for each
        capacity.
    """
    sizes = [pages_of(100 * share, pages.n_pages) for share in capacities]
    found = curves(pages, SIMULATED, sizes, most_accesses=MOST_ACCESSES)
    places = np.searchsorted(found[0].capacities, sizes)
    ratios = {own.policy: own.hit_ratio[places].tolist() for own in found}
    return max(round(1 / own.rate) for own in found), ratios
