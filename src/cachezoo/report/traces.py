"""What the report says of a trace: figures, load over time, and hit ratio over cache size."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.policies.registry import OPTIMUM
from cachezoo.policies.simulate import parse_capacity, simulate
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.stats import describe
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.traces.warmup import auto_warmup

if TYPE_CHECKING:
    from cachezoo.settings.data import TraceEntry

F64 = npt.NDArray[np.float64]
WINDOWS = 100
FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
REPLAYED = ("lru", OPTIMUM)
MOST_ACCESSES = 2_000_000  # replayed as they are; of longer traces a sample of the pages
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
        hit_ratios: of each policy replayed, float64 at each capacity, counted after the warm-up.
        sampled: one in so many pages was replayed for the hit ratios; 1 for all.
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
        capacity_fraction: a cache size to replay besides the usual ones.

    Raises:
        CachezooError: it has not been ingested, or the file is damaged.
    """
    path = root / paths.requests(entry.category, key)
    trace, pages = read_trace(path), read_pages(path)
    window_s, reads, writes = load_over_time(trace)
    capacities = tuple(sorted({*FRACTIONS, capacity_fraction}))
    sampled, hit_ratios = hit_ratio_curves(trace, pages, capacities)
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


def hit_ratio_curves(
    trace: Trace, pages: PageAccesses, capacities: tuple[float, ...]
) -> tuple[int, dict[str, list[float]]]:
    """Page hit ratio of LRU and of the optimum over cache size, each counted after its own warm-up.

    Of a trace with more than `MOST_ACCESSES` page accesses, one in k pages is replayed in a k-th of the cache: pages
    are drawn by a hash of their ids, so that a page's accesses all stay or all go (SHARDS, Waldspurger et al., FAST
    2015).

    Args:
        trace: the requests.
        pages: their page accesses.
        capacities: parts of the distinct pages.

    Returns:
        k, and hit ratios by policy, one for each capacity.
    """
    rate = -(-len(pages.page_ids) // MOST_ACCESSES)
    if rate > 1:
        trace, pages = _sampled(trace, pages, rate)
    curves: dict[str, list[float]] = {policy: [] for policy in REPLAYED}
    for share in capacities:
        capacity = parse_capacity(f"{100 * share}%", pages.n_pages)
        warmup = auto_warmup(pages, capacity)
        for policy in REPLAYED:
            curves[policy].append(simulate(trace, pages, policy, capacity, warmup).hit_ratio)
    return rate, curves


def _sampled(trace: Trace, pages: PageAccesses, rate: int) -> tuple[Trace, PageAccesses]:
    """One access a request of the pages whose hash falls into the sample, numbered anew by first appearance."""
    mixed = pages.page_ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    kept = np.flatnonzero((mixed >> np.uint64(40)) % np.uint64(rate) == 0)
    _, first, inverse = np.unique(pages.page_ids[kept], return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    rows = pages.request_of_access()[kept]
    starts = np.arange(len(kept) + 1, dtype=np.int64)
    return trace.take(rows), PageAccesses(starts, rank[inverse], len(first))
