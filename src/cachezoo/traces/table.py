"""The canonical request table: the one form every trace takes inside cachezoo.

A row is a request in the order of its issue. Schema, units and provenance travel in the Parquet file's own
metadata. `docs/data-dictionary.md` lists the columns.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cachezoo.errors import TraceError
from cachezoo.io import read_table, write_table

SCHEMA_VERSION = 1
PAGE_BYTES = 4096
OP_READ = 0
OP_WRITE = 1
OP_NAMES = ("read", "write")
UNKNOWN_LATENCY = -1
MAX_END_BYTES = 2**62
MAX_REQUEST_BYTES = 2**30
MAX_ACCESSES = 2**31 - 1
CODED_COLUMNS = ("volume", "namespace", "user", "host", "flags")
UNITS = {
    "time_us": "microseconds since trace start",
    "op": "0 read, 1 write",
    "offset": "bytes",
    "size": "bytes",
    "latency_us": "microseconds from issue to completion as traced; null unknown",
    "count": "accesses the row stands for",
    "page_ids": "dense ids of the 4 KiB pages touched, numbered by first appearance",
}
META_KEYS = ("trace_id", "category", "source_format", "source_sha256", "licence")
DELTA_COLUMNS = ("time_us", "offset", "latency_us")

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Coded:
    """A dictionary-coded text column: `names[codes[i]]` is row i's value."""

    codes: I32
    names: tuple[str, ...]

    @classmethod
    def constant(cls, name: str, rows: int) -> "Coded":
        """The same value in every row."""
        return cls(np.zeros(rows, np.int32), (name,))

    def part(self, start: int, stop: int) -> "Coded":
        """Rows [start, stop) with the names that occur in them and no other, so that no later row shows."""
        codes = self.codes[start:stop]
        used = np.unique(codes[codes >= 0])
        place = np.full(len(self.names) + 1, -1, np.int32)
        place[used] = np.arange(len(used))
        return Coded(np.where(codes >= 0, place[codes], codes), tuple(self.names[code] for code in used))


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
        count: int32 accesses a row stands for, or None (one each).
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
    count: I32 | None = None

    def __len__(self) -> int:
        return len(self.time_us)

    def rows(self, start: int, stop: int) -> "Trace":
        """Requests [start, stop), with times counted from the first of them."""
        part: dict[str, Any] = {}
        for name in ("time_us", "op", "offset", "size", "latency_us", "count"):
            values = getattr(self, name)
            part[name] = None if values is None else values[start:stop]
        for name in CODED_COLUMNS:
            coded = getattr(self, name)
            part[name] = None if coded is None else coded.part(start, stop)
        if stop > start:
            part["time_us"] = part["time_us"] - part["time_us"][0]
        return replace(self, **part)


@dataclass(frozen=True)
class PageAccesses:
    """The page accesses of a trace, in request order and by rising address within a request.

    Attributes:
        request_start: int64[n + 1]; request i touches page_ids[request_start[i]:request_start[i + 1]].
        page_ids: int32[m] dense ids in [0, n_pages), numbered by first appearance, so that an id never depends
            on a later row.
        n_pages: distinct pages (the working set).
    """

    request_start: I64
    page_ids: I32
    n_pages: int

    @property
    def n_requests(self) -> int:
        """Requests in the trace."""
        return len(self.request_start) - 1

    def request_of_access(self) -> I32:
        """int32[m]: the request each page access belongs to."""
        return np.repeat(np.arange(self.n_requests, dtype=np.int32), np.diff(self.request_start))


def validate(trace: Trace, where: str) -> Trace:
    """Check the rules of the table and return the trace.

    Args:
        trace: what a reader or a capture built.
        where: the file to name in an error.

    Raises:
        TraceError: empty; times that run backwards; negative or overflowing offset; size below 1; unknown op.
    """
    if len(trace) == 0:
        message = f"{where}: the trace is empty; give a file with at least one request"
        raise TraceError(message)
    rules: list[tuple[npt.NDArray[np.bool_], str, npt.NDArray[Any], str]] = [
        (trace.op > OP_WRITE, "op", trace.op, "use read or write (R or W)"),
        (trace.time_us < 0, "time_us", trace.time_us, "times count from the trace's start, at 0 or later"),
        (
            np.concatenate([[False], np.diff(trace.time_us) < 0]),
            "time_us",
            trace.time_us,
            "the time runs backwards: sort the rows by time",
        ),
        (
            trace.offset < 0,
            "offset",
            trace.offset,
            "offsets are bytes from the volume's start, at 0 or later",
        ),
        (trace.size <= 0, "size", trace.size, "a request has at least one byte: drop the row"),
        (
            trace.offset > MAX_END_BYTES - trace.size,
            "offset",
            trace.offset,
            "offset + size overflows: check the unit (bytes)",
        ),
        (
            trace.size > MAX_REQUEST_BYTES,
            "size",
            trace.size,
            f"a request has at most {MAX_REQUEST_BYTES} bytes (1 GiB): check the unit (bytes) or split the request",
        ),
    ]
    for bad, column, values, mend in rules:
        if bad.any():
            row = int(np.argmax(bad))
            message = f"{where}: row {row + 1}: {column} is {values[row]}; {mend}"
            raise TraceError(message)
    return trace


def expand_pages(trace: Trace) -> PageAccesses:
    """Split requests into 4 KiB pages and number the pages by first appearance.

    Raises:
        TraceError: more than 2**31 - 1 page accesses.
    """
    import pandas as pd

    first = trace.offset // PAGE_BYTES
    count = (trace.offset + trace.size - 1) // PAGE_BYTES - first + 1
    start = np.zeros(len(trace) + 1, np.int64)
    np.cumsum(count, out=start[1:])
    if start[-1] > MAX_ACCESSES:
        row = int(np.argmax(count))
        message = (
            f"{trace.meta.trace_id}: {start[-1]} page accesses, at most {MAX_ACCESSES} can be numbered (the longest "
            f"request is row {row + 1}, {trace.size[row]} bytes): check the unit (bytes), or cut or sample the trace"
        )
        raise TraceError(message)
    page = np.arange(start[-1], dtype=np.int64) - np.repeat(start[:-1] - first, count)
    volumes = len(trace.volume.names)
    if volumes > 1:
        page = page * volumes + np.repeat(trace.volume.codes.astype(np.int64), count)
    ids, distinct = pd.factorize(page)
    return PageAccesses(start, ids.astype(np.int32), len(distinct))


def _coded_array(coded: Coded) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.array(coded.codes, pa.int32()), pa.array(coded.names, pa.string())
    )


def write_trace(trace: Trace, path: Path, pages: PageAccesses | None = None) -> None:
    """Write the canonical Parquet file, with `page_ids` (list<int32>) when `pages` is given.

    Raises:
        TraceError: the rows break the table's rules.
    """
    validate(trace, str(path))
    columns: dict[str, pa.Array] = {
        "time_us": pa.array(trace.time_us, pa.int64()),
        "op": pa.array(trace.op, pa.uint8()),
        "offset": pa.array(trace.offset, pa.int64()),
        "size": pa.array(trace.size, pa.int64()),
    }
    if trace.latency_us is not None:
        columns["latency_us"] = pa.array(trace.latency_us, pa.int64(), mask=trace.latency_us < 0)
    for name in CODED_COLUMNS:
        coded = getattr(trace, name)
        if coded is not None:
            columns[name] = _coded_array(coded)
    if trace.count is not None:
        columns["count"] = pa.array(trace.count, pa.int32())
    if pages is not None:
        columns["page_ids"] = pa.LargeListArray.from_arrays(pages.request_start, pages.page_ids).cast(
            pa.list_(pa.int32())
        )
    meta = trace.meta
    metadata = {
        **{f"cachezoo.extra.{key}": value for key, value in meta.extra.items()},
        **{f"cachezoo.unit.{name}": unit for name, unit in UNITS.items() if name in columns},
        "cachezoo.schema_version": str(SCHEMA_VERSION),
        "cachezoo.trace_id": meta.trace_id,
        "cachezoo.category": meta.category,
        "cachezoo.source_format": meta.source_format,
        "cachezoo.source_sha256": meta.source_sha256,
        "cachezoo.licence": meta.licence,
    }
    if pages is not None:
        metadata["cachezoo.n_pages"] = str(pages.n_pages)
    delta = tuple(name for name in DELTA_COLUMNS if name in columns)
    write_table(path, pa.table(columns), metadata, delta)


def _is_canonical(path: Path, metadata: dict[str, str]) -> None:
    version = metadata.get("cachezoo.schema_version")
    if version is None:
        message = f"{path}: not a cachezoo trace (no schema version in its metadata); run `cachezoo trace ingest` first"
        raise TraceError(message)
    if version != str(SCHEMA_VERSION):
        message = f"{path}: schema version {version}, this release reads {SCHEMA_VERSION}; ingest the trace again"
        raise TraceError(message)


def _value_of(metadata: dict[str, str], key: str, where: str) -> str:
    """A key that ingest always writes.

    Raises:
        TraceError: the file lacks it.
    """
    if key not in metadata:
        message = f"{where}: its metadata lacks {key}; ingest the raw trace again"
        raise TraceError(message)
    return metadata[key]


def _refuse_null(column: pa.ChunkedArray, name: str, where: str) -> None:
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        message = f"{where}: row {row + 1}: {name} is empty; fill it in or drop the row"
        raise TraceError(message)


def _coded_from(column: pa.ChunkedArray, name: str, where: str) -> Coded:
    _refuse_null(column, name, where)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    names = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    if not all(isinstance(value, str) for value in names):
        message = f"{where}: column {name} is {column.type.value_type}, not text without nulls; write it as strings"
        raise TraceError(message)
    codes = [np.asarray(chunk.indices).astype(np.int32) for chunk in column.chunks]
    return Coded(np.concatenate([np.empty(0, np.int32), *codes]), tuple(names))


def trace_from_table(table: pa.Table, meta: TraceMeta, where: str) -> Trace:
    """Build and validate a trace from a table with canonical column names.

    Args:
        table: at least time_us, op (0/1), offset, size; optional columns as in `Trace`.
        meta: provenance.
        where: the file to name in an error.

    Raises:
        TraceError: a column is missing, null or of another type, or the rows break the table's rules.
    """
    missing = [name for name in ("time_us", "op", "offset", "size") if name not in table.column_names]
    if missing:
        message = (
            f"{where}: columns {', '.join(missing)} are missing; the file has {', '.join(table.column_names)}"
        )
        raise TraceError(message)

    def ints(name: str, dtype: pa.DataType) -> Any:  # noqa: ANN401 - an array of the dtype asked for
        column = table.column(name)
        if name != "latency_us":
            _refuse_null(column, name, where)
        try:
            column = column.cast(dtype)
        except pa.ArrowInvalid as error:
            message = f"{where}: column {name} is {column.type}, not {dtype} ({str(error).splitlines()[0]})"
            raise TraceError(message) from error
        return np.array(pc.fill_null(column, UNKNOWN_LATENCY) if column.null_count else column)

    names = set(table.column_names)
    coded = {name: _coded_from(table.column(name), name, where) for name in CODED_COLUMNS if name in names}
    coded.setdefault("volume", Coded.constant("0", len(table)))
    trace = Trace(
        time_us=ints("time_us", pa.int64()),
        op=ints("op", pa.uint8()),
        offset=ints("offset", pa.int64()),
        size=ints("size", pa.int64()),
        latency_us=np.maximum(ints("latency_us", pa.int64()), UNKNOWN_LATENCY) if "latency_us" in names else None,
        count=ints("count", pa.int32()) if "count" in names else None,
        meta=meta,
        **coded,
    )
    return validate(trace, where)


def read_trace(path: Path) -> Trace:
    """Read a canonical Parquet file.

    Raises:
        TraceError: not readable, not canonical, another schema version, or rows that break the rules.
    """
    table, metadata = read_table(path)
    _is_canonical(path, metadata)
    prefix = "cachezoo.extra."
    meta = TraceMeta(
        **{name: _value_of(metadata, f"cachezoo.{name}", str(path)) for name in META_KEYS},
        extra={key[len(prefix) :]: value for key, value in metadata.items() if key.startswith(prefix)},
    )
    return trace_from_table(table, meta, str(path))


def read_pages(path: Path) -> PageAccesses:
    """Read the page accesses that ingest stored beside the requests.

    Raises:
        TraceError: the file holds no `page_ids`, or not as lists, or does not say how many pages it has.
    """
    table, metadata = read_table(path, columns=["page_ids"])
    _is_canonical(path, metadata)
    n_pages = _value_of(metadata, "cachezoo.n_pages", str(path))
    column = table.column("page_ids")
    if column.type != pa.list_(pa.int32()) or not n_pages.isdecimal():
        message = f"{path}: page_ids is {column.type} of {n_pages} pages, not list<int32>; ingest the raw trace again"
        raise TraceError(message)
    start = np.zeros(len(column) + 1, np.int64)
    np.cumsum(np.concatenate([start[:0], *(np.diff(chunk.offsets) for chunk in column.chunks)]), out=start[1:])
    ids = np.concatenate([np.empty(0, np.int32), *(np.asarray(chunk.flatten()) for chunk in column.chunks)])
    return PageAccesses(start, ids, int(n_pages))
