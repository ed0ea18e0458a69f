"""Figures that describe a trace."""

from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.traces.clock import Clock
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace, TraceMeta

MAX_LATENCY_US = 2**32 - 1


class Statistics:
    """Counts, sums and rates over consecutive pieces of a trace; needs 4 bytes of memory a known latency."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(("requests", "reads", "bytes_read", "bytes_written", "page_accesses"), 0)
        self._clock = Clock()
        self._first_us: int | None = None
        self._last_us = 0
        self._distinct = 0
        self._volumes = 0
        self._latencies: list[npt.NDArray[np.uint32]] = []

    def add(self, piece: Trace, pages: PageAccesses) -> None:
        """Count the next requests; `pages.n_pages` counts all pages so far."""
        reads = piece.op == OP_READ
        counts = self._counts
        counts["requests"] += len(piece)
        counts["reads"] += int(reads.sum())
        bytes_read = int((piece.size * reads).sum())
        counts["bytes_read"] += bytes_read
        counts["bytes_written"] += int(piece.size.sum()) - bytes_read
        counts["page_accesses"] += len(pages.page_ids)
        self._clock.add(piece.time_us)
        first_us, last_us = int(piece.time_us.min()), int(piece.time_us.max())
        self._first_us = first_us if self._first_us is None else min(first_us, self._first_us)
        self._last_us = max(last_us, self._last_us)
        self._distinct = pages.n_pages
        self._volumes = len(piece.volume.names)
        if piece.latency_us is not None:
            known = piece.latency_us if piece.latency_us.min() >= 0 else piece.latency_us[piece.latency_us >= 0]
            self._latencies.append(np.minimum(known, MAX_LATENCY_US).astype(np.uint32))

    def result(self, meta: TraceMeta) -> dict[str, Any]:
        """The figures as JSON values, units in the keys; then what the trace's source said of itself.

        `span_s` and `requests_per_s` are None where the trace has no clock.
        """
        counts = self._counts
        ticks = self._clock.ticks(meta.extra)
        span_us = self._last_us - (self._first_us or 0)
        known = np.concatenate([np.empty(0, np.uint32), *self._latencies])
        return {
            "trace_id": meta.trace_id,
            "category": meta.category,
            "source_format": meta.source_format,
            "source_sha256": meta.source_sha256,
            "licence": meta.licence,
            "requests": counts["requests"],
            "reads": counts["reads"],
            "writes": counts["requests"] - counts["reads"],
            "read_share": counts["reads"] / counts["requests"],
            "bytes_read": counts["bytes_read"],
            "bytes_written": counts["bytes_written"],
            "mean_size_bytes": (counts["bytes_read"] + counts["bytes_written"]) / counts["requests"],
            "page_accesses": counts["page_accesses"],
            "distinct_pages": self._distinct,
            "working_set_bytes": self._distinct * PAGE_BYTES,
            "volumes": self._volumes,
            "span_s": span_us / 1e6 if ticks else None,
            "requests_per_s": counts["requests"] / (span_us / 1e6) if ticks else None,
            "median_latency_us": float(np.median(known)) if len(known) else None,
            **meta.extra,
        }


def describe(trace: Trace, pages: PageAccesses) -> dict[str, Any]:
    """The figures of a whole trace, see `Statistics.result`."""
    statistics = Statistics()
    statistics.add(trace, pages)
    return statistics.result(trace.meta)
