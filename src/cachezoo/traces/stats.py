"""Figures that describe a trace."""

from typing import Any

import numpy as np

from cachezoo.traces.table import OP_READ, PAGE_BYTES, PageAccesses, Trace


def describe(trace: Trace, pages: PageAccesses) -> dict[str, Any]:
    """Counts, sums and rates of a trace, as JSON values, units in the keys; then what its source said of itself."""
    reads = trace.op == OP_READ
    span_us = int(trace.time_us[-1] - trace.time_us[0])
    known = trace.latency_us[trace.latency_us >= 0] if trace.latency_us is not None else np.empty(0)
    return {
        "trace_id": trace.meta.trace_id,
        "category": trace.meta.category,
        "source_format": trace.meta.source_format,
        "source_sha256": trace.meta.source_sha256,
        "licence": trace.meta.licence,
        "requests": len(trace),
        "reads": int(reads.sum()),
        "writes": int((~reads).sum()),
        "read_share": float(reads.mean()),
        "bytes_read": int(trace.size[reads].sum()),
        "bytes_written": int(trace.size[~reads].sum()),
        "mean_size_bytes": float(trace.size.mean()),
        "page_accesses": len(pages.page_ids),
        "distinct_pages": pages.n_pages,
        "working_set_bytes": pages.n_pages * PAGE_BYTES,
        "volumes": len(trace.volume.names),
        "span_s": span_us / 1e6,
        "requests_per_s": len(trace) / (span_us / 1e6) if span_us else None,
        "median_latency_us": float(np.median(known)) if len(known) else None,
        **trace.meta.extra,
    }
