"""The labels of one trace's chunks, from that trace alone."""

from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.features.chunks import chunk_features
from cachezoo.features.fios import chosen, theta_of
from cachezoo.labels.streams import COLUMNS, StreamFigures, StreamLabels, label_streams, write_stream_labels
from cachezoo.traces.chunks import WINDOWS, chunk_writes
from cachezoo.traces.clock import has_clock
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import OP_WRITE, Trace


def label_trace(requests: Path, path: Path) -> None:
    """Write the labels of a trace's chunks; of a trace that writes nothing a table without rows.

    Args:
        requests: canonical requests of the trace.
        path: the file to write.

    Raises:
        TraceError: the requests cannot be read, or are too many.
    """
    trace = read_trace(requests)
    write_stream_labels(labels_of(trace, read_pages(requests)), trace.meta.trace_id, path)


def labels_of(trace: Trace, pages: PageAccesses) -> StreamLabels:
    """The labels of a trace's chunks; of a trace that writes nothing no rows.

    Args:
        trace: requests.
        pages: their page accesses.

    Raises:
        TraceError: the writes are too many.
    """
    theta = theta_of(trace, pages)
    if theta is None:
        return no_labels(trace)
    writes = chunk_writes(trace)
    return label_streams(writes, chunk_features(writes), theta, chosen(theta))


def no_labels(trace: Trace) -> StreamLabels:
    """The labels of a trace that writes nothing: no row of any column."""
    empty = {}
    for name, column in COLUMNS.items():
        for one in [name.replace("<window>", window) for window in WINDOWS] if "<window>" in name else [name]:
            if one not in ("volume", "chunk"):
                empty[one] = np.zeros(0, column.type)
    bits, features = chosen(None)
    figures = StreamFigures(
        requests=len(trace), writes=int((trace.op == OP_WRITE).sum()), page_writes=0, chunks=0, clock=has_clock(trace),
        windows={}, theta={}, high=bits, features=features,
    )  # fmt: skip
    return StreamLabels(Coded(np.zeros(0, np.int32), ()), np.zeros(0, np.int64), empty, figures)
