"""Statistics of a trace, and how far a synthetic one is from them."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.kernels.slots import LAGS
from cachezoo.kernels.stack_distance import lru_hits
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_READ, OP_WRITE, Trace

CAPACITIES = (1, 2, 5, 10, 20)
"""Per cent of a trace's distinct pages at which LRU's hit ratio is compared."""
TOP = (1, 10)
WINDOWS = 100


@dataclass(frozen=True)
class Statistics:
    """What is compared of a trace."""

    numbers: dict[str, float]  # by name; shares from 0 to 1
    sizes: dict[str, I64]  # by op, sorted int64 bytes of its requests
    rate: F64  # share of the requests in each of 100 windows of its time


@dataclass(frozen=True)
class Row:
    """A statistic of both."""

    name: str  # of it
    original: float | None  # of the trace; None of a distance between both
    synthetic: float | None  # of the synthetic trace; None of a distance
    error: float | None  # synthetic less original; of a `ratio` over the original; of a distance, the distance
    kind: str  # `ratio` for amounts, `points` for shares, `distance` for distributions


def sequential(trace: Trace) -> Bool:
    """bool[n]: the request begins where one of the 32 before it ended."""
    end, found = trace.offset + trace.size, np.zeros(len(trace), np.bool_)
    for back in range(1, min(LAGS, len(trace) - 1) + 1):
        same = trace.volume.codes[back:] == trace.volume.codes[:-back]
        found[back:] |= same & (trace.offset[back:] == end[:-back])
    return found


def statistics(trace: Trace, pages: PageAccesses) -> Statistics:
    """What is compared, from the first request on."""
    n, m = len(trace), len(pages.page_ids)
    read, write = trace.op == OP_READ, trace.op == OP_WRITE
    span = float(trace.time_us[-1] - trace.time_us[0]) / 1e6
    runs = sequential(trace)
    counts = np.sort(np.bincount(pages.page_ids, minlength=pages.n_pages))[::-1]
    capacities = [max(1, round(pages.n_pages * share / 100)) for share in CAPACITIES]
    hits = lru_hits(pages.page_ids, pages.n_pages, capacities, np.zeros(len(capacities), np.int64)) / m
    gaps = np.diff(trace.time_us)
    rate = _rate(trace.time_us)
    volumes = np.bincount(trace.volume.codes, minlength=1) / n
    numbers = {
        "requests": float(n),
        "seconds": span,
        "bytes": float(trace.size.sum()),
        "distinct pages": float(pages.n_pages),
        "page accesses": float(m),
        "mean read": float(trace.size[read].mean()) if read.any() else 0.0,
        "mean write": float(trace.size[write].mean()) if write.any() else 0.0,
        "reads": float(read.mean()),
        "sequential": float(runs.mean()),
        "run of requests": n / max(1, int(np.count_nonzero(~runs))),
        **{
            f"top {share} % of pages": float(counts[: max(1, round(pages.n_pages * share / 100))].sum() / m)
            for share in TOP
        },
        **{f"LRU hits at {share} %": float(hit) for share, hit in zip(CAPACITIES, hits, strict=True)},
        "busiest window over mean": float(rate.max() * len(rate)),
        "spread of gaps": float(gaps.std() / gaps.mean()) if len(gaps) and gaps.any() else 0.0,
        "busiest volume": float(volumes.max()),
    }
    return Statistics(numbers, {"reads": np.sort(trace.size[read]), "writes": np.sort(trace.size[write])}, rate)


def _rate(time_us: I64) -> F64:
    span = max(1, int(time_us[-1] - time_us[0]))
    window = np.minimum((time_us - time_us[0]) * WINDOWS // span, WINDOWS - 1)
    return np.bincount(window, minlength=WINDOWS) / len(time_us)


def distance(ours: I64, theirs: I64) -> float | None:
    """Kolmogorov and Smirnov's distance of two sorted samples; None where one is empty."""
    if not len(ours) or not len(theirs):
        return None
    values = np.union1d(ours, theirs)
    share = [np.searchsorted(own, values, side="right") / len(own) for own in (ours, theirs)]
    return float(np.abs(share[0] - share[1]).max())


RATIOS = {
    "requests", "seconds", "bytes", "distinct pages", "page accesses", "mean read", "mean write", "run of requests",
    "busiest window over mean", "spread of gaps",
}  # fmt: skip


def compare(original: Statistics, synthetic: Statistics) -> list[Row]:
    """Both side by side.

    Args:
        original: of the trace.
        synthetic: of the one drawn.
    """
    rows = []
    for name, value in original.numbers.items():
        other = synthetic.numbers[name]
        if name in RATIOS:
            rows.append(Row(name, value, other, (other - value) / value if value else None, "ratio"))
        else:
            rows.append(Row(name, value, other, other - value, "points"))
    for name, sizes in original.sizes.items():
        rows.append(Row(f"sizes of {name}", None, None, distance(sizes, synthetic.sizes[name]), "distance"))
    moved = float(np.abs(original.rate - synthetic.rate).sum() / 2)
    return [*rows, Row("requests over time", None, None, moved, "distance")]
