"""The canonical request tables as Parquet files: schema, units and provenance in the file's own metadata.

Requests of addresses and requests of objects have a table each, told apart by the name of the schema's version.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cachezoo.arrays import Bool
from cachezoo.coded import Coded
from cachezoo.errors import CachezooError, TraceError
from cachezoo.io import (
    TableWriter,
    arrow_type,
    atomic_file,
    parsed_json,
    read_extent,
    read_metadata,
    read_table,
    table_batches,
)
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.numerals import whole
from cachezoo.traces.objects import NO_TTL, OBJECT_CODED, ObjectTrace, validate_objects
from cachezoo.traces.pages import PageAccesses, refuse_accesses
from cachezoo.traces.table import CODED_COLUMNS, UNKNOWN_LATENCY, Trace, TraceMeta, bad_rows, validate

SCHEMA_VERSION = 1
OBJECT_VERSION = 1
VERSION, VERSION_OF_OBJECTS = "cachezoo.schema_version", "cachezoo.object_schema_version"
UNITS = {
    "time_us": "microseconds since trace start",
    "op": "0 read, 1 write",
    "offset": "bytes",
    "size": "bytes",
    "latency_us": "microseconds from issue to completion as traced; null unknown",
    "count": "accesses the row stands for",
    "page_ids": "dense ids of the 4 KiB pages touched, numbered by first appearance",
}
COLUMNS = {
    "time_us": Column("int64", Means("issue time since the part's start, never decreasing", "µs")),
    "op": Column("uint8", Means("0 read, 1 write")),
    "offset": Column("int64", Means("start, from the volume's start", "bytes")),
    "size": Column("int64", Means("at least 1", "bytes")),
    "latency_us": Column("int64", Means("response time as traced; null unknown", "µs"), "sometimes"),
    "volume": Column("coded text", Means("device that the offset counts on")),
    "namespace": Column("coded text", Means("as in the trace's format"), "sometimes"),
    "user": Column("coded text", Means("program or tenant, as in the trace's format"), "sometimes"),
    "host": Column("coded text", Means("as in the trace's format"), "sometimes"),
    "flags": Column("coded text", Means("as in the trace's format"), "sometimes"),
    "source": Column("coded text", Means("trace that a request of a merged trace comes from"), "sometimes"),
    "count": Column("int32", Means("accesses the row stands for", "accesses"), "sometimes"),
    "page_ids": Column("list of int32", Means("dense ids of the pages touched, by first appearance", "4 KiB pages")),
}
METADATA = {
    "cachezoo.trace_id": Column("text", Means("the trace")),
    "cachezoo.category": Column("text", Means("workload category")),
    "cachezoo.licence": Column("text", Means("of the raw trace")),
    "cachezoo.n_pages": Column("text", Means("distinct pages", "4 KiB pages")),
    "cachezoo.schema_version": Column("text", Means("version of this table")),
    "cachezoo.source_format": Column("text", Means("format of the raw trace")),
    "cachezoo.source_sha256": Column("text", Means("of the raw trace")),
    "cachezoo.unit.<column>": Column("text", Means("unit of a column")),
    "cachezoo.extra.<name>": Column(
        "text", Means("what the raw trace says of itself (recipe, machine, time_scale …)"), "sometimes"
    ),
}
REQUESTS = Table(
    Each("one request, in issue order", "row number", text="canonical requests of a trace"), COLUMNS, METADATA
)
OBJECT_UNITS = {
    "time_us": UNITS["time_us"],
    "op": "0 read, 1 write, 2 delete",
    "key": "which object; identifies, and does not order",
    "key_name": "which object; identifies, and does not order",
    "size": "bytes of the object; 0 unknown",
    "ttl_s": "seconds; null never void",
    "latency_us": UNITS["latency_us"],
    "count": UNITS["count"],
}
OBJECT_COLUMNS = {
    "time_us": COLUMNS["time_us"],
    "op": Column("uint8", Means("0 read, 1 write, 2 delete")),
    "key": Column("int64", Means("the object, where its source has numbers; no address"), "sometimes"),
    "key_name": Column("coded text", Means("the object, where its source has texts"), "sometimes"),
    "size": Column("int64", Means("of the object as the request says; 0 unknown", "bytes")),
    "ttl_s": Column("int64", Means("time after which what is written is void; null never", "s"), "sometimes"),
    **{name: COLUMNS[name] for name in ("latency_us", *OBJECT_CODED, "count")},
}
OBJECTS = Table(
    Each("one row of a trace of objects, in issue order", "row number", text="canonical requests of objects"),
    OBJECT_COLUMNS,
    {
        VERSION_OF_OBJECTS if name == VERSION else name: column
        for name, column in METADATA.items()
        if name != "cachezoo.n_pages"
    },
)
EXTRA = "cachezoo.extra."


def _is_source(entry: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Whether this is the provenance of one of a mixture's traces."""
    return isinstance(entry, dict) and isinstance(entry.get("source"), str) and isinstance(entry.get("extra", {}), dict)


# What the JSON in these must be.
DOCUMENTS: dict[str, Callable[[Any], bool]] = {
    "transforms": lambda value: isinstance(value, list),
    "sources": lambda value: isinstance(value, list) and all(map(_is_source, value)),
    "events": lambda value: isinstance(value, dict) and all(isinstance(count, int) for count in value.values()),
}
COUNTS = {"matched", "unmatched_issue", "requeued", "failed", "skipped_rows", "out_of_order_rows"}
COUNTED = "left_out."
NO_ADDRESSES = (
    "names objects by keys and has no addresses: this needs addresses, which a trace of a disk's requests has"
)
META_KEYS = ("trace_id", "category", "source_format", "source_sha256", "licence")
DELTA_COLUMNS = ("time_us", "offset", "latency_us", "page_ids")
OBJECT_DELTA = ("time_us", "latency_us")


def _coded_array(coded: Coded) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(coded.codes, pa.int32()), pa.array(coded.names, pa.string()))


def _columns(trace: Trace, pages: PageAccesses | None) -> pa.Table:
    """The columns that a trace has, as they are stored."""

    def typed(name: str, unknown: Bool | None = None) -> pa.Array:
        return pa.array(getattr(trace, name), arrow_type(COLUMNS, name), mask=unknown)

    columns: dict[str, pa.Array] = {name: typed(name) for name in ("time_us", "op", "offset", "size")}
    if trace.latency_us is not None:
        columns["latency_us"] = typed("latency_us", trace.latency_us < 0)
    for name in CODED_COLUMNS:
        coded = getattr(trace, name)
        if coded is not None:
            columns[name] = _coded_array(coded).cast(arrow_type(COLUMNS, name))
    if trace.count is not None:
        columns["count"] = typed("count")
    if pages is not None:
        lists = pa.LargeListArray.from_arrays(pages.request_start, pages.page_ids)
        columns["page_ids"] = lists.cast(arrow_type(COLUMNS, "page_ids"))
    return pa.table(columns)


def _object_columns(trace: ObjectTrace) -> pa.Table:
    """The columns that a trace of objects has, as they are stored; key names are those that occur."""

    def typed(name: str, values: Any, unknown: Bool | None = None) -> pa.Array:  # noqa: ANN401 - an array
        return pa.array(values, arrow_type(OBJECT_COLUMNS, name), mask=unknown)

    columns: dict[str, pa.Array] = {"time_us": typed("time_us", trace.time_us), "op": typed("op", trace.op)}
    if trace.key_names is None:
        columns["key"] = typed("key", trace.key)
    else:
        keys = Coded(trace.key.astype(np.int32), trace.key_names).part(0, len(trace))
        columns["key_name"] = _coded_array(keys).cast(arrow_type(OBJECT_COLUMNS, "key_name"))
    columns["size"] = typed("size", trace.size)
    if trace.ttl_s is not None:
        columns["ttl_s"] = typed("ttl_s", trace.ttl_s, trace.ttl_s == NO_TTL)
    if trace.latency_us is not None:
        columns["latency_us"] = typed("latency_us", trace.latency_us, trace.latency_us < 0)
    for name in OBJECT_CODED:
        coded = getattr(trace, name)
        if coded is not None:
            columns[name] = _coded_array(coded).cast(arrow_type(OBJECT_COLUMNS, name))
    if trace.count is not None:
        columns["count"] = typed("count", trace.count)
    return pa.table(columns)


class TraceWriter:
    """Writes a canonical Parquet file piece by piece; `trace_writer` opens one."""

    def __init__(self, path: Path, temporary: Path) -> None:
        self._path, self._temporary = path, temporary
        self._table: TableWriter | None = None
        self._names: list[str] = []
        self._last_us = 0
        self._objects = False

    def add(self, trace: Trace | ObjectTrace, pages: PageAccesses | None = None) -> None:
        """Write the next requests, with `page_ids` (list<int32>) when `pages` is given.

        Every piece has the first one's columns; times go on from the piece before.

        Raises:
            TraceError: the rows break the table's rules.
        """
        self._objects = isinstance(trace, ObjectTrace)
        if isinstance(trace, ObjectTrace):
            validate_objects(trace, str(self._path))
        else:
            validate(trace, str(self._path))
        if trace.time_us[0] < self._last_us:
            raise TraceError(f"{self._path}: the time runs backwards between two pieces: sort the rows by time")
        self._last_us = int(trace.time_us[-1])
        table = _object_columns(trace) if isinstance(trace, ObjectTrace) else _columns(trace, pages)
        if self._table is None:
            columns = OBJECT_DELTA if self._objects else DELTA_COLUMNS
            delta = tuple(name for name in columns if name in table.column_names)
            self._table = TableWriter(self._temporary, table.schema, delta)
            self._names = table.column_names
        self._table.add(table)

    def close(self, meta: TraceMeta, n_pages: int | None = None) -> None:
        """Finish the file.

        Args:
            meta: provenance.
            n_pages: distinct pages, where the pieces had pages.

        Raises:
            TraceError: there was no piece.
        """
        if self._table is None:
            raise TraceError(f"{self._path}: the trace is empty; give a file with at least one request")
        units = OBJECT_UNITS if self._objects else UNITS
        metadata = {
            **{f"cachezoo.extra.{key}": value for key, value in meta.extra.items()},
            **{f"cachezoo.unit.{name}": unit for name, unit in units.items() if name in self._names},
            **({VERSION_OF_OBJECTS: str(OBJECT_VERSION)} if self._objects else {VERSION: str(SCHEMA_VERSION)}),
            **{f"cachezoo.{name}": getattr(meta, name) for name in META_KEYS},
        }
        if n_pages is not None:
            metadata["cachezoo.n_pages"] = str(n_pages)
        self._table.close(metadata)


@contextmanager
def trace_writer(path: Path) -> Iterator[TraceWriter]:
    """Yield a writer, to be closed with the provenance; after an error nothing is left, and `path` as it was."""
    with atomic_file(path) as temporary:
        yield TraceWriter(path, temporary)


def write_trace(trace: Trace | ObjectTrace, path: Path, pages: PageAccesses | None = None) -> None:
    """Write the canonical Parquet file, with `page_ids` (list<int32>) when `pages` is given.

    Raises:
        TraceError: the rows break the table's rules.
    """
    with trace_writer(path) as writer:
        writer.add(trace, pages)
        writer.close(trace.meta, pages.n_pages if pages is not None else None)


def _is_canonical(path: Path, metadata: dict[str, str], *, objects: bool | None = False) -> None:
    """Refuse a file that is no canonical trace of this release: of objects or of addresses, None for either.

    Raises:
        TraceError: it is none.
    """
    version, of_objects = metadata.get(VERSION), metadata.get(VERSION_OF_OBJECTS)
    if version is None and of_objects is None:
        message = f"{path}: not a cachezoo trace (no schema version in its metadata); run `cachezoo trace ingest` first"
        raise TraceError(message)
    known = str(SCHEMA_VERSION if of_objects is None else OBJECT_VERSION)
    if (of_objects or version) != known:
        message = f"{path}: schema version {of_objects or version}, this release reads {known}; ingest the trace again"
        raise TraceError(message)
    if objects is False and of_objects is not None:
        raise TraceError(f"{path}: {NO_ADDRESSES}")


def _value_of(metadata: dict[str, str], key: str, where: str) -> str:
    """A key that ingest always writes.

    Raises:
        TraceError: the file lacks it.
    """
    if key not in metadata:
        raise TraceError(f"{where}: its metadata lacks {key}; ingest the raw trace again")
    return metadata[key]


def _refuse_null(column: pa.ChunkedArray, name: str, where: str, first_row: int) -> None:
    if column.null_count:
        row = first_row + pc.index(pc.is_null(column), True).as_py()
        raise TraceError(f"{where}: row {row}: {name} is empty; fill it in or drop the row")


def _coded_from(column: pa.ChunkedArray, name: str, where: str, first_row: int) -> Coded:
    _refuse_null(column, name, where, first_row)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    try:
        names = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    except UnicodeDecodeError as error:
        message = f"{where}: column {name} has {error.object[:40]!r}, which is no text in UTF-8; write it as such"
        raise TraceError(message) from error
    if not all(isinstance(value, str) for value in names):
        message = f"{where}: column {name} is {column.type.value_type}, not text without nulls; write it as strings"
        raise TraceError(message)
    codes = [np.asarray(chunk.indices).astype(np.int32) for chunk in column.chunks]
    return Coded(np.concatenate([np.empty(0, np.int32), *codes]), tuple(names))


def _numbers_of(
    column: pa.ChunkedArray, name: str, dtype: pa.DataType, where: str, first_row: int, null: int | None
) -> Any:  # noqa: ANN401 - an array of the dtype asked for
    """A column of whole numbers; what `null` says in empty places, which are refused where it says none.

    Raises:
        TraceError: the column is null or of another type.
    """
    if null is None:
        _refuse_null(column, name, where, first_row)
    try:
        column = column.cast(dtype)
    except pa.ArrowException as error:
        message = f"{where}: column {name} is {column.type}, not {dtype} ({str(error).splitlines()[0]})"
        raise TraceError(message) from error
    return np.array(pc.fill_null(column, null) if column.null_count else column)


def _objects_of(table: pa.Table, meta: TraceMeta, where: str, first_row: int) -> ObjectTrace:
    """The columns of a table of objects whose first row has this number; its rows may still break the rules.

    Raises:
        TraceError: a column is missing, null or of another type.
    """
    names = set(table.column_names)
    missing = [name for name in ("time_us", "op", "size") if name not in names]
    missing += [] if names & {"key", "key_name"} else ["key"]
    if missing:
        message = f"{where}: columns {', '.join(missing)} are missing; the file has {', '.join(table.column_names)}"
        raise TraceError(message)

    def ints(name: str, null: int | None = None) -> Any:  # noqa: ANN401 - an array of the column's dtype
        dtype = arrow_type(OBJECT_COLUMNS, name)
        return _numbers_of(table.column(name), name, dtype, where, first_row, null) if name in names else None

    coded: dict[str, Any] = {
        name: _coded_from(table.column(name), name, where, first_row) for name in OBJECT_CODED if name in names
    }
    keys = _coded_from(table.column("key_name"), "key_name", where, first_row) if "key_name" in names else None
    latency = ints("latency_us", UNKNOWN_LATENCY)
    return ObjectTrace(
        time_us=ints("time_us"),
        op=ints("op"),
        key=ints("key") if keys is None else keys.codes.astype(np.int64),
        size=ints("size"),
        meta=meta,
        key_names=None if keys is None else keys.names,
        ttl_s=ints("ttl_s", NO_TTL),
        count=ints("count"),
        latency_us=None if latency is None else np.maximum(latency, UNKNOWN_LATENCY),
        **coded,
    )


def trace_from_table(table: pa.Table, meta: TraceMeta, where: str) -> Trace:
    """Build and validate a trace from a table with canonical column names.

    Args:
        table: at least time_us, op (0/1), offset, size; optional columns as in `Trace`.
        meta: provenance.
        where: the file to name in an error.

    Raises:
        TraceError: a column is missing, null or of another type, or the rows break the table's rules.
    """
    return validate(_trace_of(table, meta, where, 1), where)


def _trace_of(table: pa.Table, meta: TraceMeta, where: str, first_row: int) -> Trace:
    """The columns of a table whose first row has this number; its rows may still break the rules."""
    missing = [name for name in ("time_us", "op", "offset", "size") if name not in table.column_names]
    if missing:
        message = f"{where}: columns {', '.join(missing)} are missing; the file has {', '.join(table.column_names)}"
        raise TraceError(message)

    def ints(name: str, dtype: pa.DataType) -> Any:  # noqa: ANN401 - an array of the dtype asked for
        null = {"latency_us": UNKNOWN_LATENCY}.get(name)
        return _numbers_of(table.column(name), name, dtype, where, first_row, null)

    names = set(table.column_names)
    coded: dict[str, Any] = {
        name: _coded_from(table.column(name), name, where, first_row) for name in CODED_COLUMNS if name in names
    }
    coded.setdefault("volume", Coded.constant("0", len(table)))
    return Trace(
        time_us=ints("time_us", pa.int64()),
        op=ints("op", pa.uint8()),
        offset=ints("offset", pa.int64()),
        size=ints("size", pa.int64()),
        latency_us=np.maximum(ints("latency_us", pa.int64()), UNKNOWN_LATENCY) if "latency_us" in names else None,
        count=ints("count", pa.int32()) if "count" in names else None,
        meta=meta,
        **coded,
    )


def _meta_of(path: Path, metadata: dict[str, str], *, objects: bool | None = False) -> TraceMeta:
    _is_canonical(path, metadata, objects=objects)
    extra = {key[len(EXTRA) :]: value for key, value in metadata.items() if key.startswith(EXTRA)}
    _check_extra(path, extra)
    return TraceMeta(**{name: _value_of(metadata, f"cachezoo.{name}", str(path)) for name in META_KEYS}, extra=extra)


def _check_extra(path: Path, extra: Mapping[str, str]) -> None:
    """Refuse what a transform, a reader or a capture left in the metadata, where it is not what they leave."""
    for name, fits in DOCUMENTS.items():
        where = f"{path}: {EXTRA}{name} of its metadata"
        try:
            fitting = name not in extra or fits(parsed_json(extra[name], where))
        except CachezooError as error:
            raise TraceError(f"{error}; ingest the raw trace again") from error
        if not fitting:
            raise TraceError(f"{where}: is not what cachezoo writes there; ingest the raw trace again")
    for name, text in extra.items():
        if (name in COUNTS or name.startswith(COUNTED)) and whole(text) is None:
            message = f"{path}: {EXTRA}{name} of its metadata is {text[:40]!r}, no count; ingest the raw trace again"
            raise TraceError(message)


def read_meta(path: Path) -> TraceMeta:
    """Provenance of a canonical Parquet file, of addresses or of objects.

    Raises:
        TraceError: not readable, not canonical, or another schema version.
    """
    return _meta_of(path, read_metadata(path), objects=None)


def stored_pages(path: Path) -> int | None:
    """Distinct pages of 4 KiB that a canonical Parquet file says it has; None where it does not."""
    text = read_metadata(path).get("cachezoo.n_pages", "")
    return int(text) if text.isdecimal() else None


def read_trace(path: Path) -> Trace:
    """Read a canonical Parquet file.

    Raises:
        TraceError: not readable, not canonical, another schema version, or rows that break the rules.
    """
    table, metadata = read_table(path)
    return trace_from_table(table, _meta_of(path, metadata), str(path))


def trace_pieces(path: Path) -> Iterator[tuple[int, Trace | ObjectTrace]]:
    """The requests of a canonical Parquet file a row group at a time, each with its first row's number.

    Their rows are not validated.

    Raises:
        TraceError: as `read_trace`.
    """
    metadata = read_metadata(path)
    meta, row = _meta_of(path, metadata, objects=None), 1
    of_objects = VERSION_OF_OBJECTS in metadata
    asked = [name for name in read_extent(path) if name != "page_ids"]  # most of the file, and not looked at
    for batch in table_batches(path, asked):
        table = pa.Table.from_batches([batch])
        yield row, _objects_of(table, meta, str(path), row) if of_objects else _trace_of(table, meta, str(path), row)
        row += len(table)


SORT = "sort the rows by time, which counts from the trace's start"
PAGED = ("time_us", "op", "offset", "size", "volume", "flags", "count", "page_ids")
"""The columns that a cache of pages needs."""


def paged_pieces(path: Path) -> Iterator[tuple[Trace, PageAccesses]]:
    """The requests of a canonical Parquet file that ingest wrote, with their pages, a row group at a time.

    Of the columns of names there are only volume and flags; `n_pages` are the pages of the whole file.

    Raises:
        TraceError: as `read_trace` and `read_pages`.
    """
    metadata, row, last_us = read_metadata(path), 1, 0
    meta, n_pages = _meta_of(path, metadata), pages_in(path)
    names = [name for name in PAGED if name in read_extent(path)]
    for batch in table_batches(path, names):
        table, where = pa.Table.from_batches([batch]), str(path)
        trace = _trace_of(table, meta, where, row)
        if bad := bad_rows(trace.op, trace.offset, trace.size)[:1]:
            raise TraceError(f"{where}: row {row + bad[0][0]}: {bad[0][1]}")
        if (backwards := np.diff(trace.time_us, prepend=last_us) < 0).any():
            raise TraceError(f"{where}: row {row + int(backwards.argmax())}: the time runs backwards: {SORT}")
        last_us = int(trace.time_us[-1]) if len(trace) else last_us
        yield trace, _accesses_of(table, n_pages, where)
        row += len(table)


def pages_in(path: Path) -> int:
    """The same, of one that ingest wrote.

    Raises:
        TraceError: it does not say.
    """
    found = stored_pages(path)
    if found is None:
        raise TraceError(f"{path}: its metadata lacks cachezoo.n_pages; ingest the raw trace again")
    return found


def _accesses_of(table: pa.Table, n_pages: int, where: str) -> PageAccesses:
    column = table.column("page_ids")
    if column.type != pa.list_(pa.int32()):
        raise TraceError(f"{where}: page_ids is {column.type}, not list<int32>; ingest the raw trace again")
    start = np.zeros(len(column) + 1, np.int64)
    np.cumsum(np.concatenate([start[:0], *(np.diff(chunk.offsets) for chunk in column.chunks)]), out=start[1:])
    ids = np.concatenate([np.empty(0, np.int32), *(np.asarray(chunk.flatten()) for chunk in column.chunks)])
    return PageAccesses(start, ids, n_pages)


def read_pages(path: Path) -> PageAccesses:
    """Read the page accesses that ingest stored beside the requests.

    Raises:
        TraceError: the file holds no `page_ids`, or not as lists, or does not say how many pages it has; or they are
            more than can be held in memory whole.
    """
    table, metadata = read_table(path, columns=["page_ids"])
    _is_canonical(path, metadata)
    pages = _accesses_of(table, pages_in(path), str(path))
    refuse_accesses(len(pages.page_ids), str(path))
    return pages
