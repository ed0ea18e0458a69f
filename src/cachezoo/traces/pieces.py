"""Some of a trace's requests, or parts of them, on its clock."""

from dataclasses import replace

import numpy as np

from cachezoo.arrays import I64
from cachezoo.traces.objects import AnyTrace, ObjectTrace
from cachezoo.traces.table import CODED_COLUMNS, UNKNOWN_LATENCY, Trace, TraceMeta


def picked(trace: AnyTrace, rows: I64) -> AnyTrace:
    """The rows at their times, with the names that occur in them."""
    return trimmed(trace.take(rows))


def trimmed(trace: AnyTrace) -> AnyTrace:
    """The same with the names that occur in it and no other."""
    if isinstance(trace, ObjectTrace):
        return trace.trimmed()
    columns = {name: getattr(trace, name) for name in CODED_COLUMNS}
    return replace(trace, **{name: own.part(0, len(trace)) for name, own in columns.items() if own is not None})


def pieces(trace: Trace, row: I64, start: I64, stop: I64, meta: TraceMeta) -> Trace:
    """Parts of requests, on the trace's clock; the latency of a part that is not a whole request is unknown.

    Args:
        trace: any.
        row: int64[k] the request of each part, never falling.
        start: int64[k] its first byte.
        stop: int64[k] past its last.
        meta: of the result.

    Returns:
        The parts, with all names of the trace; see `trimmed`.
    """
    part = trace.take(row)
    if part.latency_us is not None:
        whole = trace.size[row] == stop - start
        part = replace(part, latency_us=np.where(whole, part.latency_us, UNKNOWN_LATENCY))
    return replace(part, offset=start, size=stop - start, meta=meta)
