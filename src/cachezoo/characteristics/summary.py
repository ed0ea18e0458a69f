"""How much there is: requests, bytes, span, and the footprint."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I32
from cachezoo.kernels.characteristics import page_uses
from cachezoo.traces.clock import has_clock
from cachezoo.traces.glance import Glance
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.plausible import warnings_of
from cachezoo.traces.remarks import remarks_of
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace


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


@dataclass(frozen=True)
class Footprint:
    """Distinct pages of 4 KiB, in bytes.

    Attributes:
        bytes: touched at all.
        read_bytes, written_bytes: read at least once; written at least once.
        both_bytes: read and written.
        read_only_bytes, written_only_bytes: never written; never read.
        address_span_bytes: from each volume's lowest to its highest address touched, summed over the volumes.
    """

    bytes: int
    read_bytes: int
    written_bytes: int
    both_bytes: int
    read_only_bytes: int
    written_only_bytes: int
    address_span_bytes: int


@dataclass(frozen=True)
class Uses:
    """How often each page was used.

    Attributes:
        reads, writes: int32[n_pages].
    """

    reads: I32
    writes: I32


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


def uses(trace: Trace, pages: PageAccesses) -> Uses:
    """Count every page's reads and writes."""
    return Uses(*page_uses(pages.page_ids, pages.request_start, trace.op, pages.n_pages))


def footprint(trace: Trace, used: Uses) -> Footprint:
    """Measure the pages that were touched, and the room between the ends of each volume."""
    read, written = used.reads > 0, used.writes > 0
    count = {
        "bytes": len(read), "read_bytes": read.sum(), "written_bytes": written.sum(),
        "both_bytes": (read & written).sum(), "read_only_bytes": (read & ~written).sum(),
        "written_only_bytes": (written & ~read).sum(),
    }  # fmt: skip
    low = np.full(len(trace.volume.names), np.iinfo(np.int64).max)
    high = np.zeros(len(trace.volume.names), np.int64)
    np.minimum.at(low, trace.volume.codes, trace.offset)
    np.maximum.at(high, trace.volume.codes, trace.offset + trace.size)
    span = sum((high - low)[high > 0].tolist())  # Python's integers: many volumes may have ends near 2**62
    return Footprint(**{name: int(pages) * PAGE_BYTES for name, pages in count.items()}, address_span_bytes=span)
