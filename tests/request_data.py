"""Traces as lists of requests and back: the form that naive oracles take."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.traces.table import CODED_COLUMNS, NUMBER_COLUMNS, Trace, TraceMeta

DTYPES = {"op": np.uint8, "count": np.int32}


def trace_of(requests: Sequence[dict[str, Any]], trace_id: str = "t", category: str = "web", **meta: Any) -> Trace:
    """A trace of requests whose coded columns are texts; all requests have the same columns."""
    columns: dict[str, Any] = {
        name: np.array([one[name] for one in requests], DTYPES.get(name, np.int64))
        for name in NUMBER_COLUMNS
        if name in requests[0]
    }
    for name in CODED_COLUMNS:
        if name in requests[0]:
            values = [one[name] for one in requests]
            names = list(dict.fromkeys(values))
            columns[name] = Coded(np.array([names.index(value) for value in values], np.int32), tuple(names))
    given = {"source_format": "csv", "source_sha256": trace_id.encode().hex().zfill(64), "licence": "CC0-1.0", **meta}
    return Trace(meta=TraceMeta(trace_id, category, **given), **columns)


def requests_of(trace: Trace) -> list[dict[str, Any]]:
    """Each request with the columns that the trace has; coded ones as text."""
    columns: dict[str, list[Any]] = {}
    for name in NUMBER_COLUMNS:
        if (values := getattr(trace, name)) is not None:
            columns[name] = values.tolist()
    for name in CODED_COLUMNS:
        if (coded := getattr(trace, name)) is not None:
            columns[name] = [coded.names[code] for code in coded.codes]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@st.composite
def traces(draw: st.DrawFn, trace_id: str = "t", max_size: int = 25, pages: int = 40) -> Trace:
    """Small traces with two volumes and a few optional columns, times rising from anywhere."""
    n = draw(st.integers(1, max_size))
    optional = draw(st.sets(st.sampled_from(["latency_us", "user", "count"])))
    span = pages * 4096

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    columns: dict[str, list[Any]] = {
        "time_us": np.cumsum(column(st.integers(0, 4))).tolist(),
        "op": column(st.integers(0, 1)),
        "offset": column(st.integers(0, span)),
        "size": column(st.integers(1, span)),
        "volume": column(st.sampled_from(["a", "b"])),
        "latency_us": column(st.integers(-1, 900)),
        "user": column(st.sampled_from(["", "x", "y"])),
        "count": column(st.integers(1, 9)),
    }
    left_out = {"latency_us", "user", "count"} - optional
    kept = {name: values for name, values in columns.items() if name not in left_out}
    return trace_of([dict(zip(kept, row, strict=True)) for row in zip(*kept.values(), strict=True)], trace_id)
