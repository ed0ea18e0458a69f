"""How large requests are."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.characteristics.values import CDF_SHARES, quantiles
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace

COMMON = 6  # how many of the most common sizes are kept


@dataclass(frozen=True)
class CommonSize:
    """A size that many requests have, and their share of the requests."""

    size_bytes: int
    share: float


@dataclass(frozen=True)
class Sizes:
    """Sizes of some requests.

    Attributes:
        requests: how many.
        mean_bytes, median_bytes, p90_bytes, p99_bytes, max_bytes: of their sizes.
        cdf_share, cdf_bytes: float64[k]; such a share of them is at most so large.
        histogram_from_bytes, histogram_requests: int64[b]; so many are at least so large and below twice that.
        common: the most common sizes, most common first.
        aligned_share: those that begin and end on a page's edge.
    """

    requests: int
    mean_bytes: float
    median_bytes: float
    p90_bytes: float
    p99_bytes: float
    max_bytes: int
    cdf_share: F64
    cdf_bytes: F64
    histogram_from_bytes: I64
    histogram_requests: I64
    common: tuple[CommonSize, ...]
    aligned_share: float


def _sizes(offset: I64, size: I64) -> Sizes | None:
    if len(size) == 0:
        return None
    median, p90, p99 = quantiles(size, [0.5, 0.9, 0.99]).tolist()
    octave = np.frexp(size.astype(np.float64))[1] - 1
    counts = np.bincount(octave)
    first = int(octave.min())
    values, often = np.unique(size, return_counts=True)
    best = np.lexsort((values, -often))[:COMMON]
    return Sizes(
        requests=len(size), mean_bytes=float(size.mean()), median_bytes=median, p90_bytes=p90, p99_bytes=p99,
        max_bytes=int(size.max()), cdf_share=CDF_SHARES, cdf_bytes=quantiles(size),
        histogram_from_bytes=2 ** np.arange(first, len(counts), dtype=np.int64),
        histogram_requests=counts[first:].astype(np.int64),
        common=tuple(CommonSize(int(values[k]), int(often[k]) / len(size)) for k in best),
        aligned_share=float(((offset | size) % PAGE_BYTES == 0).mean()),
    )  # fmt: skip


def sizes(trace: Trace) -> dict[str, Sizes | None]:
    """Sizes of `all` requests, of the `reads` and of the `writes`; None where there are none."""
    read = trace.op == OP_READ
    rows = {"all": np.ones(len(trace), np.bool_), "reads": read, "writes": ~read}
    return {name: _sizes(trace.offset[chosen], trace.size[chosen]) for name, chosen in rows.items()}
