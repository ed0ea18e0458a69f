"""The canonical request table: the one form every trace takes inside cachezoo.

A row is a request in the order of its issue; `docs/data-dictionary.md` lists the columns. `cachezoo.traces.store` reads
and writes the table.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64, U8
from cachezoo.coded import Coded
from cachezoo.errors import TraceError

PAGE_BYTES = 4096
OP_READ = 0
OP_WRITE = 1
OP_NAMES = ("read", "write")
UNKNOWN_LATENCY = -1
MAX_END_BYTES = 2**62
MAX_REQUEST_BYTES = 2**30
NUMBER_COLUMNS = ("time_us", "op", "offset", "size", "latency_us", "count")
CODED_COLUMNS = ("volume", "namespace", "user", "host", "flags", "source")


@dataclass(frozen=True)
class TraceMeta:
    """Where a trace comes from. `extra` holds further text, e.g. a capture's recipe."""

    trace_id: str
    category: str
    source_format: str
    source_sha256: str
    licence: str = "unstated"
    extra: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Discards:
    """Address ranges that the host gave up, as a file system's discards do, in the order in which they came.

    They move no data, so that no cache sees them: a simulated drive of flash alone heeds them.

    Attributes:
        at: int64, the request before which each came; rising, up to the number of requests.
        offset, size: int64 bytes.
        volume: which device the offset counts on.
    """

    at: I64
    offset: I64
    size: I64
    volume: Coded

    def __len__(self) -> int:
        return len(self.at)

    def rows(self, start: int, stop: int, last: bool) -> "Discards":
        """Those before the requests [start, stop), counted from `start`; where these are the last, also those after."""
        first, end = np.searchsorted(self.at, [start, stop])
        part = slice(int(first), len(self) if last else int(end))
        return Discards(
            self.at[part] - start, self.offset[part], self.size[part], self.volume.part(part.start, part.stop)
        )


@dataclass(frozen=True)
class Trace:
    """Requests in issue order; every array has one entry a request.

    Attributes:
        time_us: int64, microseconds since trace start, never decreasing.
        op: uint8, `OP_READ` or `OP_WRITE`.
        offset: int64, bytes from the volume's start.
        size: int64, bytes, at least 1.
        volume: which device the offset counts on.
        meta: provenance.
        latency_us: int64 traced response time, -1 where unknown, as is every latency below 0 in a source; None where
            the source has none.
        namespace, user, host, flags: optional coded columns of the source.
        source: where traces were merged, the trace each request comes from.
        count: int32 accesses a row stands for, or None (one each).
        discards: what the host gave up in between; None where the source has none, and of a selection of requests, as
            well as of a canonical Parquet file, which does not keep them.
    """

    time_us: I64
    op: U8
    offset: I64
    size: I64
    volume: Coded
    meta: TraceMeta
    latency_us: I64 | None = None
    namespace: Coded | None = None
    user: Coded | None = None
    host: Coded | None = None
    flags: Coded | None = None
    source: Coded | None = None
    count: I32 | None = None
    discards: Discards | None = None

    def __len__(self) -> int:
        return len(self.time_us)

    def take(self, order: npt.NDArray[Any]) -> "Trace":
        """The requests that an index array or mask selects, in its order, at their times."""
        part: dict[str, Any] = {}
        for name in NUMBER_COLUMNS:
            values = getattr(self, name)
            part[name] = None if values is None else values[order]
        for name in CODED_COLUMNS:
            coded = getattr(self, name)
            part[name] = None if coded is None else coded.take(order)
        return replace(self, **part, discards=None)

    def rows(self, start: int, stop: int) -> "Trace":
        """Requests [start, stop), with times counted from the first of them."""
        part: dict[str, Any] = {}
        for name in NUMBER_COLUMNS:
            values = getattr(self, name)
            part[name] = None if values is None else values[start:stop]
        for name in CODED_COLUMNS:
            coded = getattr(self, name)
            part[name] = None if coded is None else coded.part(start, stop)
        if stop > start:
            part["time_us"] = part["time_us"] - part["time_us"][0]
        if self.discards is not None:
            part["discards"] = self.discards.rows(start, stop, stop == len(self))
        return replace(self, **part)


def bad_rows(op: U8, offset: I64, size: I64) -> list[tuple[int, str]]:
    """Rows that no trace can have, by their columns as in `Trace`.

    Returns:
        (index, what is wrong and the fix) of each, rising.
    """
    if len(op) == 0:
        return []
    # One look at the extremes spares sound rows the rules.
    if op.max() <= OP_WRITE and 0 <= offset.min() <= offset.max() <= MAX_END_BYTES - MAX_REQUEST_BYTES:
        if 0 < size.min() <= size.max() <= MAX_REQUEST_BYTES:
            return []
    rules: list[tuple[npt.NDArray[np.bool_], str, npt.NDArray[Any], str]] = [
        (op > OP_WRITE, "op", op, "use read or write (R or W)"),
        (offset < 0, "offset", offset, "offsets are bytes from the volume's start, at 0 or later"),
        (size <= 0, "size", size, "a request has at least one byte: drop the row"),
        (
            offset > MAX_END_BYTES - np.maximum(size, 0),
            "offset",
            offset,
            "offset + size overflows: check the unit (bytes)",
        ),
        (
            size > MAX_REQUEST_BYTES,
            "size",
            size,
            f"a request has at most {MAX_REQUEST_BYTES} bytes (1 GiB): check the unit (bytes) or split the request",
        ),
    ]
    found: dict[int, str] = {}
    for bad, column, values, fix in rules:
        for index in np.flatnonzero(bad).tolist():
            found.setdefault(index, f"{column} is {values[index]}; {fix}")
    return sorted(found.items())


def validate(trace: Trace, where: str) -> Trace:
    """Check the rules of the table and return the trace.

    Args:
        trace: what a reader or a capture built.
        where: the file to name in an error.

    Raises:
        TraceError: empty; times that run backwards; negative or overflowing offset; size below 1; unknown op.
    """
    if len(trace) == 0:
        raise TraceError(f"{where}: the trace is empty; give a file with at least one request")
    rows = bad_rows(trace.op, trace.offset, trace.size)[:1]
    for bad, fix in (
        (trace.time_us < 0, "times count from the trace's start, at 0 or later"),
        (np.diff(trace.time_us, prepend=trace.time_us[0]) < 0, "the time runs backwards: sort the rows by time"),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            rows.append((row, f"time_us is {trace.time_us[row]}; {fix}"))
    if rows:
        row, said = min(rows)
        raise TraceError(f"{where}: row {row + 1}: {said}")
    return trace
