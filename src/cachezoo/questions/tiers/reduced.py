"""The reduced traces of a hierarchy: what its disk and its SSD are asked, each as a trace of its own."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64, Bool
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.kernels.tier_reduce import ABSENT, FULL, reduce_tiers
from cachezoo.kernels.tiers import DISK, SSD, WRITTEN
from cachezoo.questions.tiers.run import TierRun
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.traces.table import OP_READ, OP_WRITE, PAGE_BYTES, Trace


@dataclass(frozen=True)
class TierIos:
    """The k I/Os of one tier, in order."""

    trace: Trace  # times are those of the requests that they belong to
    request: I64  # [k] row of that request in the trace that the hierarchy was run on
    pages: I64  # [k] that are wanted of each

    def __len__(self) -> int:
        return len(self.request)

    @property
    def read(self) -> Bool:
        """bool[k]: reads, which requests wait for."""
        marks: Bool = self.trace.op == OP_READ
        return marks

    def between(self, first: int, last: int) -> "TierIos":
        """The I/Os of the requests [first, last)."""
        low, high = np.searchsorted(self.request, (first, last)).tolist()
        if (low, high) == (0, len(self)):
            return self
        return TierIos(self.trace.rows(low, high), self.request[low:high], self.pages[low:high])


@dataclass(frozen=True)
class Reduced:
    """A run as its devices see it, from one request on."""

    disk: TierIos  # at most one a request: of a read from its first missed page to its last; of a write its bytes
    ssd: TierIos  # reads that hit, by slot, and what is written to it
    first_request: int
    reads: I64  # [r] page reads of each request from there on; 0 of a write
    slots: I32  # [w] slots that the SSD was written at over the whole run, in order
    slot_at: I32  # [w] the access that wrote each


def volume_trace(ts: TierStream) -> Trace:
    """The trace with its volumes laid one after another, as the one disk behind a hierarchy has them."""
    first = ts.address[ts.pages.page_ids[ts.pages.request_start[:-1]]]
    offset = first * PAGE_BYTES + ts.trace.offset % PAGE_BYTES
    return replace(ts.trace, offset=offset, volume=Coded.constant("disk", len(ts.trace)))


def reduce(ts: TierStream, run: TierRun, first: int = 0) -> Reduced:
    """Split a run into reduced traces.

    An SSD's reads of a request come before what the same request has flushed to it, as a flush waits for no one.

    Args:
        ts: what the hierarchy was run on.
        run: what it did.
        first: page access from which on I/Os are kept; it is moved back to the beginning of its request.

    Raises:
        TraceError: the run's events contradict its hits, or hold more pages than the SSD.
    """
    first_request = int(ts.request_of[first]) if first else 0
    first = int(ts.pages.request_start[first_request])
    kept = run.tier[first:]
    reads = ~ts.write[first:]
    sizes = (
        int((~reads).sum() + (reads & (kept == DISK)).sum()),
        int((reads & (kept == SSD)).sum()),
        int((run.event == WRITTEN).sum()),
    )
    disk, ssd_reads, ssd_writes = (
        np.empty((size, columns), np.int64) for size, columns in zip(sizes, (4, 3, 3), strict=True)
    )
    slots = np.empty(sizes[2], np.int32)
    counts = reduce_tiers(
        ts.pages.page_ids, ts.request_of, ts.write, run.tier, ts.address,
        run.event_at, run.event_page, run.event, run.hierarchy.kind == "l2arc", run.ssd_pages, first,
        disk, ssd_reads, ssd_writes, slots,
    )  # fmt: skip
    _check(counts, ts, run)
    disk, ssd_reads, ssd_writes = (
        own[:count] for own, count in zip((disk, ssd_reads, ssd_writes), counts, strict=True)
    )
    ssd_writes[:, 0] = ts.request_of[ssd_writes[:, 0]]
    return Reduced(
        disk=_disk(ts, disk),
        ssd=_ssd(ts, ssd_reads, ssd_writes),
        first_request=first_request,
        reads=ts.reads_from(first_request),
        slots=slots,
        slot_at=run.event_at[run.event == WRITTEN],
    )


def _check(counts: tuple[int, int, int], ts: TierStream, run: TierRun) -> None:
    where = f"{ts.trace.meta.trace_id}: {run.hierarchy}: at page access {counts[1]}"
    if counts[0] == FULL:
        message = (
            f"{where} the SSD is written more than its {run.ssd_pages} pages; the run is not one of this hierarchy"
        )
        raise TraceError(message)
    if counts[0] == ABSENT:
        raise TraceError(f"{where} the SSD is read where it holds no such page; the run is not one of this stream")


def _disk(ts: TierStream, ios: I64) -> TierIos:
    """Whole pages of misses; of writes their own bytes."""
    request, place, span, pages = (np.ascontiguousarray(ios[:, column]) for column in range(4))
    op = ts.trace.op[request]
    write = op == OP_WRITE
    within = ts.trace.offset[request] % PAGE_BYTES
    offset = place * PAGE_BYTES + np.where(write, within, 0)
    size = np.where(write, ts.trace.size[request], span * PAGE_BYTES)
    return TierIos(_trace(ts, request, op, offset, size, "disk"), request, pages)


def _ssd(ts: TierStream, reads: I64, writes: I64) -> TierIos:
    both = np.concatenate([reads, writes])
    op = np.repeat(np.array([OP_READ, OP_WRITE], np.uint8), [len(reads), len(writes)])
    order = np.argsort(2 * both[:, 0] + op, kind="stable")
    request, place, pages = (np.ascontiguousarray(both[order, column]) for column in range(3))
    return TierIos(_trace(ts, request, op[order], place * PAGE_BYTES, pages * PAGE_BYTES, "ssd"), request, pages)


def _trace(ts: TierStream, request: I64, op: npt.NDArray[np.uint8], offset: I64, size: I64, tier: str) -> Trace:
    meta = replace(ts.trace.meta, trace_id=f"{ts.trace.meta.trace_id}.{tier}")
    return Trace(
        time_us=ts.trace.time_us[request],
        op=op,
        offset=offset,
        size=size,
        volume=Coded.constant(tier, len(request)),
        meta=meta,
    )
