"""What a cache did, access by access: what it did not have, as a trace of its own, and what became of each access."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from cachezoo.arrays import U8
from cachezoo.errors import TraceError
from cachezoo.io import TableWriter, atomic_file
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.accounting import Keep
from cachezoo.questions.page.bench import Bench
from cachezoo.traces.pieces import pieces, trimmed
from cachezoo.traces.provenance import recorded
from cachezoo.traces.table import Trace

OUTCOMES = {"cachezoo.unit.outcome": "of a page access: 0 bypassed, 1 admitted, 2 hit"}


@contextmanager
def outcome_writer(path: Path) -> Iterator[Keep]:
    """Write what became of page accesses, uint8 each, in the column `outcome` of a Parquet file.

    Yields:
        What takes the outcomes of the next accesses.
    """
    with atomic_file(path) as temporary:
        writer = TableWriter(temporary, pa.schema([("outcome", pa.uint8())]))
        yield lambda outcome: writer.add(pa.table({"outcome": outcome}))
        writer.close(OUTCOMES)


def misses_of(bench: Bench, policy: str, capacity: int, outcome: U8) -> Trace:
    """The parts of requests that a cache missed, reads and writes, over the whole trace.

    Neighbouring pages of a request that missed are one request, at its time and of its kind, with the bytes that it
    asked for; those that hit are left out. What is prefetched, and what the cache writes back, is not in it.

    Args:
        bench: the trace.
        policy: of the cache, for the metadata.
        capacity: pages of the cache, likewise.
        outcome: uint8[m] of each page access.

    Raises:
        TraceError: nothing missed.
    """
    trace, pages = bench.trace, bench.pages
    missed = np.flatnonzero(outcome != HIT)
    if not len(missed):
        raise TraceError(f"{trace.meta.trace_id}: {policy} missed nothing, so that there is no trace of its misses")
    row = pages.request_of_access()[missed].astype(np.int64)
    page = trace.offset[row] // pages.page_bytes + missed - pages.request_start[row]
    apart = (np.diff(row) != 0) | (np.diff(page) != 1)
    heads = np.flatnonzero(np.concatenate([[True], apart]))
    tails = np.append(heads[1:], len(missed)) - 1
    rows = row[heads]
    start = np.maximum(page[heads] * pages.page_bytes, trace.offset[rows])
    stop = np.minimum((page[tails] + 1) * pages.page_bytes, trace.offset[rows] + trace.size[rows])
    said = {"policy": policy, "pages": capacity, "page_bytes": pages.page_bytes, "requests": len(trace)}
    return trimmed(pieces(trace, rows, start, stop, recorded(trace.meta, "misses", said)))
