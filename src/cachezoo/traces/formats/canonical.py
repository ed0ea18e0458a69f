"""The project's own table, as CSV with a header and as Parquet; read and written."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.io import atomic_file
from cachezoo.traces.delimited import Column, Layout, Rows, delimited, split_line
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.objects import OBJECT_CODED, ObjectTrace
from cachezoo.traces.reading import BAD_TIME, Chunk, ObjectChunk, Reading, Requests, counts_of
from cachezoo.traces.source import Source
from cachezoo.traces.store import trace_pieces, write_trace
from cachezoo.traces.table import CODED_COLUMNS, OP_NAMES, Trace
from cachezoo.traces.tabular import PARQUET as MAGIC
from cachezoo.traces.tabular import is_own, stored_table

LINE_END = re.compile("[\r\n]")
REQUIRED = ("time_us", "op", "offset", "size")
KINDS = {
    **dict.fromkeys(("time_us", "offset", "size"), "int"),
    **dict.fromkeys(("latency_us", "count"), "int"),
    **dict.fromkeys(("op", *CODED_COLUMNS), "text"),
}


def recognise_csv(head: Head) -> Fit:
    """A header that names time_us."""
    rows = head.rows()
    return Fit.SURE if rows and "time_us" in [name.strip('"') for name in rows[0]] else Fit.NO


def _layout(source: Source) -> Layout:
    """Columns as the file's header orders them.

    Raises:
        TraceError: the header lacks a required column, or names an unknown one or one twice.
    """
    header = next((line.strip(" \t") for line in source.first_lines() if not line.startswith("#")), "")
    names, _ = split_line(header, ",")
    if not set(REQUIRED) <= set(names) <= set(KINDS) or len(set(names)) < len(names):
        optional = ",".join(name for name in KINDS if name not in REQUIRED)
        message = (
            f"{source.path}: header is {header[:120]!r}; name the columns {','.join(REQUIRED)}[,{optional}], each once"
        )
        raise TraceError(message)
    columns = tuple(Column(name, KINDS[name], optional=name == "latency_us") for name in names)
    return Layout(columns, quoted=True, header=lambda _: True)


def _times(time_us: I64) -> I64:
    """Times since the trace's start; one before it is a bad row."""
    return np.where(time_us < 0, BAD_TIME, time_us) if time_us.min(initial=0) < 0 else time_us


def _chunk(rows: Rows) -> Chunk:
    op, text = rows.op("op")
    return Chunk(
        row=rows.row,
        time_us=_times(rows.ints("time_us")),
        op=op,
        offset=rows.ints("offset"),
        size=rows.ints("size"),
        latency_us=rows.ints("latency_us") if rows.has("latency_us") else None,
        count=counts_of(rows.ints("count")) if rows.has("count") else None,
        coded={name: rows.coded(name) for name in CODED_COLUMNS if rows.has(name)},
        op_text=text,
    )


def read_csv(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests of CSV files with a header; an empty latency, or one below 0, is unknown."""
    del options
    for source in reading.sources:
        for rows in delimited(reading, _layout(source), [source]):
            yield reading.checked(source, _chunk(rows))


def write_csv(trace: Trace, path: Path, options: Options) -> dict[str, int]:
    """Write every column that the trace has; an unknown latency is empty, and line ends in names are blanks."""
    del options
    lost: dict[str, int] = {}
    columns: dict[str, pa.Array] = {
        "time_us": pa.array(trace.time_us),
        "op": pa.DictionaryArray.from_arrays(pa.array(trace.op.astype(np.int32)), pa.array(OP_NAMES)).cast(pa.string()),
        "offset": pa.array(trace.offset),
        "size": pa.array(trace.size),
    }
    if trace.latency_us is not None:
        columns["latency_us"] = pa.array(trace.latency_us, mask=trace.latency_us < 0)
    if trace.count is not None:
        columns["count"] = pa.array(trace.count)
    for name in CODED_COLUMNS:
        coded = getattr(trace, name)
        if coded is not None:
            codes = pa.array(coded.codes, mask=coded.codes < 0)
            names = [LINE_END.sub(" ", text) for text in coded.names]
            broken = [code for code, text in enumerate(names) if text != coded.names[code]]
            if broken:
                lost[f"line ends in {name}"] = int(np.isin(coded.codes, broken).sum())
            columns[name] = pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string())).cast(pa.string())
    with atomic_file(path) as temporary:
        pacsv.write_csv(pa.table(columns), temporary, pacsv.WriteOptions(quoting_style="needed"))
    return {what: rows for what, rows in lost.items() if rows}


def recognise_parquet(head: Head) -> Fit:
    """Parquet's magic, and metadata of the project; what cannot be read at all is for its reader to say."""
    if not head.data.startswith(MAGIC):
        return Fit.NO
    return Fit.SURE if head.stored is None or is_own(head.stored) else Fit.NO


def read_parquet(reading: Reading, options: Options) -> Iterator[Requests]:
    """Requests of canonical Parquet files, of addresses or of objects."""
    del options
    for source in reading.sources:
        for first, trace in trace_pieces(stored_table(source)):
            yield reading.checked(source, _requests(first, trace))


def _requests(first: int, trace: Trace | ObjectTrace) -> Requests:
    """A row group's requests, the first of which has this number."""
    common: dict[str, Any] = {
        "row": np.arange(first, first + len(trace)),
        "time_us": _times(trace.time_us),
        "op": trace.op,
        "size": trace.size,
        "latency_us": trace.latency_us,
        "count": trace.count,
    }
    names = CODED_COLUMNS if isinstance(trace, Trace) else OBJECT_CODED
    common["coded"] = {name: column for name in names if (column := getattr(trace, name)) is not None}
    if isinstance(trace, Trace):
        return Chunk(offset=trace.offset, **common)
    keys = trace.key if trace.key_names is None else Coded(trace.key.astype(np.int32), trace.key_names)
    return ObjectChunk(key=keys, ttl_s=trace.ttl_s, **common)


def write_parquet(trace: Trace, path: Path, options: Options) -> dict[str, int]:
    """Write the canonical Parquet file, without page ids."""
    del options
    write_trace(trace, path)
    return {}


def write_parquet_objects(trace: ObjectTrace, path: Path, options: Options) -> dict[str, int]:
    """Write the canonical Parquet file of objects."""
    del options
    write_trace(trace, path)
    return {}


KEEPS = ("latency_us", "count", *CODED_COLUMNS[1:])
CSV = Format(
    id="csv",
    title="CSV with a header time_us,op,offset,size[,…] (microseconds, bytes)",
    recognise=recognise_csv,
    read=read_csv,
    needs="a header with time_us,op,offset,size",
    keeps=KEEPS,
    has_clock=False,
    write=write_csv,
)
PARQUET = Format(
    id="parquet",
    title="canonical Parquet",
    recognise=recognise_parquet,
    read=read_parquet,
    binary=True,
    needs="a Parquet file of cachezoo's own table",
    name=r"\.parquet\b",
    keeps=KEEPS,
    has_clock=False,
    objects=True,
    write=write_parquet,
    write_objects=write_parquet_objects,
)
