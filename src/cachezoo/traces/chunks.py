"""The chunks of 32 KiB that a trace writes (FIOS's sector_chunks of 64 sectors), and windows of its time."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.errors import TraceError
from cachezoo.kernels.chunks import PAGES_PER_CHUNK, WriteRows, number_chunks
from cachezoo.kernels.chunks import follows as kernel_follows
from cachezoo.traces.clock import has_clock
from cachezoo.traces.table import OP_WRITE, Trace

CHUNK_BYTES = 32768
FLASH_PAGE_BYTES = CHUNK_BYTES // PAGES_PER_CHUNK
VOLUME_SHIFT = 48  # of a chunk's key: no request ends beyond 2**62 bytes, so neighbours in keys are of one volume
PIECE = 1 << 22
PARTS = 100
# Windows in which writes count as made together, microseconds; None is a hundredth of the trace.
WINDOWS = {"1s": 1_000_000, "60s": 60_000_000, "5min": 300_000_000, "100th": None}


@dataclass(frozen=True)
class ChunkWrites:
    """A trace's write requests by chunk; m chunks are written, numbered by volume's name and address."""

    trace_id: str  # the trace
    volumes: tuple[str, ...]  # names of the volumes, sorted
    volume: I32  # int32[m] each chunk's volume, a place in `volumes`
    chunk: I64  # int64[m] byte offset in the volume // `CHUNK_BYTES`
    joined: Bool  # bool[m] whether it is the next chunk of the volume after the one numbered before
    rows: WriteRows  # the n write requests
    size: I32  # int32[n] bytes
    follows: Bool  # bool[n] which begin where their volume's last request ended, a read or a write
    when: I64  # int64[n] µs since the trace's first request; without a clock the request's row
    requests: int  # requests of the trace, reads too
    span: int  # `when` of the trace's last request, and one
    clock: bool  # whether the trace's times are times

    def window_length(self, name: str) -> int:
        """Length of a window in the unit of `when`; every window is a hundredth of the requests without a clock."""
        length = WINDOWS[name] if self.clock else None
        return -(-self.span // PARTS) if length is None else length


def continues(trace: Trace) -> Bool:
    """Which requests begin where the last one of their volume ended: bool[n]."""
    return kernel_follows(trace.volume.codes, trace.offset, trace.size, len(trace.volume.names))


def chunk_writes(trace: Trace) -> ChunkWrites:
    """Find the chunks that a trace writes. Memory beside the trace: about 30 bytes a write, and 15 a chunk.

    Raises:
        TraceError: nothing is written; more than `cachezoo.arrays.MOST_NUMBERED` chunks are.
    """
    names = tuple(sorted(trace.volume.names))
    place = {name: i for i, name in enumerate(names)}
    rank = np.array([place[name] for name in trace.volume.names], np.int64)
    n = int(np.count_nonzero(trace.op == OP_WRITE))
    if not n:
        message = f"{trace.meta.trace_id}: nothing is written, so there is no chunk to place; give a trace with writes"
        raise TraceError(message)
    clock, following = has_clock(trace), continues(trace)
    first, count, page = np.empty(n, np.int64), np.empty(n, np.uint16), np.empty(n, np.uint8)
    pages, size, follows, when = (
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.bool_),
        np.empty(n, np.int64),
    )
    done = 0
    for low in range(0, len(trace), PIECE):
        rows = low + np.flatnonzero(trace.op[low : low + PIECE] == OP_WRITE)
        part, offset, sizes = slice(done, done + len(rows)), trace.offset[rows], trace.size[rows]
        last = offset + sizes - 1
        first[part] = (rank[trace.volume.codes[rows]] << VOLUME_SHIFT) + offset // CHUNK_BYTES
        count[part] = last // CHUNK_BYTES - offset // CHUNK_BYTES + 1
        page[part] = offset // FLASH_PAGE_BYTES % PAGES_PER_CHUNK
        pages[part] = last // FLASH_PAGE_BYTES - offset // FLASH_PAGE_BYTES + 1
        size[part], follows[part] = sizes, following[rows]
        when[part] = trace.time_us[rows] - trace.time_us[0] if clock else rows
        done += len(rows)
    try:
        keys, ids = number_chunks(first, count)
    except OverflowError as error:
        raise TraceError(f"{trace.meta.trace_id}: {error}; cut or sample the trace") from error
    return ChunkWrites(
        trace.meta.trace_id, names, (keys >> VOLUME_SHIFT).astype(np.int32), keys & ((1 << VOLUME_SHIFT) - 1),
        np.append(False, np.diff(keys) == 1), WriteRows(ids, count, page, pages), size, follows, when,
        len(trace), int(trace.time_us[-1] - trace.time_us[0]) + 1 if clock else len(trace), clock,
    )  # fmt: skip
