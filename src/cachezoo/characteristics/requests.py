"""The requests of a trace: how many and how large, who sends them, and how long they took."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.characteristics.values import CDF_SHARES, quantiles
from cachezoo.coded import Coded
from cachezoo.kernels.characteristics import footprints
from cachezoo.traces.clock import has_clock
from cachezoo.traces.glance import Glance
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.plausible import warnings_of
from cachezoo.traces.remarks import remarks_of
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace

COMMON = 6  # how many of the most common sizes are kept
COLUMNS = ("volume", "namespace", "user", "host", "source")
MOST = 10
UNKNOWN = "(unknown)"


@dataclass(frozen=True)
class Summary:
    """Counts of a whole trace.

    Attributes:
        trace_id, category, source_format, source_sha256, licence: provenance.
        notes: what the reader said of the source, or its capture of itself.
        remarks: what the reader left out, sorted, inferred or joined, a line each.
        warnings: what is implausible, as where a unit is wrong.
        requests, reads, writes: counts.
        read_share: reads of all requests.
        read_bytes, written_bytes: sums of sizes.
        page_accesses: accesses of 4 KiB pages.
        volumes: devices.
        clock: whether the times are times: not all the same, nor row numbers.
        span_s: from the first to the last request; None without a clock.
        requests_per_s, read_mib_per_s, written_mib_per_s: means over the span; None without a clock.
    """

    trace_id: str
    category: str
    source_format: str
    source_sha256: str
    licence: str
    notes: dict[str, str]
    remarks: tuple[str, ...]
    warnings: tuple[str, ...]
    requests: int
    reads: int
    writes: int
    read_share: float
    read_bytes: int
    written_bytes: int
    page_accesses: int
    volumes: int
    clock: bool
    span_s: float | None
    requests_per_s: float | None
    read_mib_per_s: float | None
    written_mib_per_s: float | None


def _warnings(trace: Trace) -> tuple[str, ...]:
    glance = Glance()
    glance.add(trace.time_us, trace.op, trace.offset, trace.size)
    return tuple(warnings_of(glance, trace.meta))


def summary(trace: Trace, pages: PageAccesses) -> Summary:
    """Count a trace."""
    read = trace.op == OP_READ
    read_bytes, written_bytes = int(trace.size[read].sum()), int(trace.size[~read].sum())
    clock = has_clock(trace)
    span_s = int(trace.time_us[-1] - trace.time_us[0]) / 1e6 if clock else None
    reads, meta = int(read.sum()), trace.meta
    return Summary(
        trace_id=meta.trace_id, category=meta.category, source_format=meta.source_format,
        source_sha256=meta.source_sha256, licence=meta.licence, notes=dict(meta.extra),
        remarks=tuple(remarks_of(meta.extra)), warnings=_warnings(trace), requests=len(trace),
        reads=reads, writes=len(trace) - reads,
        read_share=reads / len(trace), read_bytes=read_bytes, written_bytes=written_bytes,
        page_accesses=len(pages.page_ids), volumes=len(np.unique(trace.volume.codes)), clock=clock, span_s=span_s,
        requests_per_s=len(trace) / span_s if span_s else None,
        read_mib_per_s=read_bytes / 2**20 / span_s if span_s else None,
        written_mib_per_s=written_bytes / 2**20 / span_s if span_s else None,
    )  # fmt: skip


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


@dataclass(frozen=True)
class Sender:
    """One of those who send requests.

    Attributes:
        name: as the trace has it.
        requests, request_share: its own, and of all.
        bytes: read and written.
        read_share: reads of its requests.
        footprint_bytes: distinct pages that it touched.
    """

    name: str
    requests: int
    request_share: float
    bytes: int
    read_share: float
    footprint_bytes: int


@dataclass(frozen=True)
class Senders:
    """Those of one kind: how many there are, and the busiest ten by requests."""

    count: int
    top: tuple[Sender, ...]


def senders(trace: Trace, pages: PageAccesses, coded: Coded) -> Senders:
    """The busiest of one kind.

    Args:
        trace: requests.
        pages: their page accesses.
        coded: each request's sender; a code below 0 is unknown.
    """
    codes = np.where(coded.codes < 0, len(coded.names), coded.codes).astype(np.int64)
    names = (*coded.names, UNKNOWN)
    requests = np.bincount(codes, minlength=len(names))
    best = np.argsort(-requests, kind="stable")[:MOST]
    best = best[requests[best] > 0]
    place = np.full(len(names), -1, np.int32)
    place[best] = np.arange(len(best), dtype=np.int32)
    total = np.bincount(codes, trace.size, len(names))
    reads = np.bincount(codes[trace.op == OP_READ], minlength=len(names))
    touched = footprints(pages.page_ids, pages.request_start, place[codes], len(best), pages.n_pages)
    top = tuple(
        Sender(
            names[k], int(requests[k]), int(requests[k]) / len(trace), int(total[k]), int(reads[k]) / int(requests[k]),
            int(touched[rank]) * PAGE_BYTES,
        )
        for rank, k in enumerate(best.tolist())
    )  # fmt: skip
    return Senders(int((requests > 0).sum()), top)


def senders_by_column(trace: Trace, pages: PageAccesses) -> dict[str, Senders]:
    """Those who send requests, by every column that the trace has."""
    columns = {name: getattr(trace, name) for name in COLUMNS}
    return {name: senders(trace, pages, coded) for name, coded in columns.items() if coded is not None}


@dataclass(frozen=True)
class Latency:
    """Response times of some requests.

    Attributes:
        known: requests whose response time the trace has.
        mean_us, median_us, p90_us, p99_us, p999_us, max_us: of them.
        cdf_share, cdf_us: float64[k]; such a share of them took at most so long.
    """

    known: int
    mean_us: float
    median_us: float
    p90_us: float
    p99_us: float
    p999_us: float
    max_us: float
    cdf_share: F64
    cdf_us: F64


def _latency(values: I64) -> Latency | None:
    if len(values) == 0:
        return None
    median, p90, p99, p999 = quantiles(values, [0.5, 0.9, 0.99, 0.999]).tolist()
    return Latency(
        known=len(values), mean_us=float(values.mean()), median_us=median, p90_us=p90, p99_us=p99, p999_us=p999,
        max_us=float(values.max()), cdf_share=CDF_SHARES, cdf_us=quantiles(values),
    )  # fmt: skip


def latency(trace: Trace) -> dict[str, Latency | None] | None:
    """Response times of `all` requests, of `reads` and of `writes`; None where the trace has none at all."""
    if trace.latency_us is None or not (trace.latency_us >= 0).any():
        return None
    known, read = trace.latency_us >= 0, trace.op == OP_READ
    rows = {"all": known, "reads": known & read, "writes": known & ~read}
    return {name: _latency(trace.latency_us[chosen]) for name, chosen in rows.items()}
