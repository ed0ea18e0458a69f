"""libCacheSim's oracleGeneral: records of 24 bytes, read and written.

A record is little-endian and packed: time in seconds (u32), id of an object (u64), its size in bytes (u32), and the
next access of the id (i64), which counts requests from 1 and is -1 or the largest i64 where there is none. The format
has no op. Source: libCacheSim's reader, and its data set's sample.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64
from cachezoo.errors import TraceError
from cachezoo.io import atomic_file
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.segments import IdTable, segment_keys
from cachezoo.traces.binary import records
from cachezoo.traces.formats.base import Fit, Format, Head, Options, lost_columns, lost_of_objects
from cachezoo.traces.formats.id_ways import id_ways
from cachezoo.traces.formats.identified import IdOptions
from cachezoo.traces.objects import OP_DELETE, Either, ObjectTrace
from cachezoo.traces.pages import PAGES
from cachezoo.traces.reading import SECTOR_BYTES, Chunk, ObjectChunk, Reading, Requests, microseconds
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, OP_WRITE, PAGE_BYTES, Trace

RECORD: np.dtype[Any] = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
NEVER = (-1, np.iinfo(np.int64).max)
SECTOR_BITS = 53
MOST_REQUESTS = 2**40
ROWS_PER_WRITE = 1 << 18


def recognise(head: Head) -> Fit:
    """Times that do not fall, sizes, and next accesses that point to later records; SURE where these have the id."""
    if head.text is not None:
        return Fit.NO
    rows = np.frombuffer(head.data, RECORD, len(head.data) // RECORD.itemsize)
    if not len(rows):
        return Fit.NO
    index, following = np.arange(len(rows)), rows["next"]
    later = (following > index + 1) & (following < MOST_REQUESTS)
    rising = np.diff(rows["time"].astype(np.int64), prepend=0) >= 0
    plausible = rising & (rows["size"] > 0) & (np.isin(following, NEVER) | later)
    if 2 * np.count_nonzero(plausible) < len(rows):
        return Fit.NO
    inside = np.flatnonzero(later & (following <= len(rows)))
    agreed = np.count_nonzero(rows["id"][following[inside] - 1] == rows["id"][inside])
    return Fit.SURE if agreed and 2 * agreed >= len(inside) else Fit.LIKELY


def read(reading: Reading, options: IdOptions) -> Iterator[Requests]:
    """Requests in the files' order, all of them reads."""
    reading.notes |= {"op": "all reads: the format has none", "ids": options.said()}
    for source in reading.sources:
        for row, part in records(reading, source, RECORD):
            yield reading.checked(source, _requests(reading, source, row, part, options))


def _requests(reading: Reading, source: Source, row: I64, part: npt.NDArray[Any], options: IdOptions) -> Requests:
    """The requests of some records; those of objects need not know a size."""
    ids = np.ascontiguousarray(part["id"])
    time_us, op = microseconds(part["time"].astype(np.int64), "s"), np.full(len(ids), OP_READ, np.uint8)
    size = part["size"].astype(np.int64)
    if options.objects:
        return ObjectChunk(row=row, time_us=time_us, op=op, key=ids.view(np.int64), size=size)
    offset, over = options.addresses(ids)
    chunk = Chunk(row=row, time_us=time_us, op=op, offset=offset, size=size)
    return reading.without(source, chunk, over, lambda index: options.overflow(int(ids[index])))


class WriteOptions(Options):
    """What a record stands for."""

    # ``page``: an access of a 4 KiB page, whose id is (volume << 50) + page; ``request``: a request, whose id is
    # (volume << 53) + sector of its offset. Volumes have the numbers of the trace's table
    unit: Literal["page", "request"] = "page"


def following_access(ids: I64) -> I64:
    """The next access of each id, counted from 1; -1 where there is none."""
    table = IdTable()
    dense = table.lookup(ids)
    following = next_access(dense, max(table.count, 1)).astype(np.int64) + 1
    return np.where(following > len(ids), -1, following)


def records_of(trace: Trace, unit: str) -> tuple[npt.NDArray[Any], I64, I64]:
    """The request each record is of, ids and sizes.

    Raises:
        TraceError: more volumes than ids have room for.
    """
    if unit == "page":
        start, keys = segment_keys(trace.volume.codes, trace.offset, trace.size, PAGES)
        return np.repeat(np.arange(len(trace)), np.diff(start)), keys, np.full(1, PAGE_BYTES)
    volume = trace.volume.codes.astype(np.int64)
    if int(volume.max(initial=0)) >= 1 << (63 - SECTOR_BITS):
        message = f"{trace.meta.trace_id}: has more than {1 << (63 - SECTOR_BITS)} volumes; split the trace by volume"
        raise TraceError(message)
    return np.arange(len(trace)), (volume << SECTOR_BITS) + trace.offset // SECTOR_BYTES, trace.size


def _lost(trace: Trace, unit: str) -> dict[str, int]:
    found = {
        "op of writes": np.count_nonzero(trace.op == OP_WRITE),
        "time below a second": np.count_nonzero(trace.time_us % 1_000_000),
    }
    if unit == "page":
        part = (trace.offset % PAGE_BYTES != 0) | (trace.size % PAGE_BYTES != 0)
        found["part of a page"] = np.count_nonzero(part)
    else:
        found["offset below a sector"] = np.count_nonzero(trace.offset % SECTOR_BYTES)
    return lost_columns(trace) | {what: int(rows) for what, rows in found.items() if rows}


def write(trace: Trace, path: Path, options: WriteOptions) -> dict[str, int]:
    """Write a record a page access or a request; needs about 40 bytes of memory a record.

    Raises:
        TraceError: the trace lasts longer than 2**32 seconds, or has too many volumes.
    """
    _fits(trace)
    request, ids, size = records_of(trace, options.unit)
    following = following_access(ids)
    _write_records(path, trace.time_us[request] // 1_000_000, ids, size, following)
    return _lost(trace, options.unit)


def _write_records(path: Path, time_s: I64, ids: I64, size: I64, following: I64) -> None:
    """Write records; the size may be one for all."""
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        for first in range(0, len(ids), ROWS_PER_WRITE):
            part = slice(first, first + ROWS_PER_WRITE)
            rows = np.empty(len(ids[part]), RECORD)
            rows["time"] = time_s[part]
            rows["id"] = ids[part].view(np.uint64)
            rows["size"] = size[part] if len(size) == len(ids) else size
            rows["next"] = following[part]
            file.write(rows.tobytes())


def write_objects(trace: ObjectTrace, path: Path, options: WriteOptions) -> dict[str, int]:
    """Write a record an access, with the trace's own keys and sizes; keys that are texts are numbered.

    Rows that stand for several accesses are repeated. A delete has no record.

    Raises:
        TraceError: the trace lasts longer than 2**32 seconds, or an object is larger than 2**32 - 1 bytes.
    """
    del options
    _fits(trace)
    if (trace.size >= 2**32).any():
        row = int(np.argmax(trace.size >= 2**32)) + 1
        said = f"row {row}: an object of {trace.size[row - 1]} bytes, and the format holds sizes up to 2**32 - 1"
        raise TraceError(f"{trace.meta.trace_id}: {said}; write parquet or libcachesim_csv")
    accesses = trace.take(trace.op != OP_DELETE).replayed()
    following = following_access(accesses.key)
    _write_records(path, accesses.time_us // 1_000_000, accesses.key, accesses.size, following)
    found = {
        "deletes": int(np.count_nonzero(trace.op == OP_DELETE)),
        "op of writes": int(np.count_nonzero(trace.op == OP_WRITE)),
        "time below a second": int(np.count_nonzero(trace.time_us % 1_000_000)),
        "keys that are texts": len(trace) if trace.key_names is not None else 0,
    }
    return lost_of_objects(trace) | {what: rows for what, rows in found.items() if rows}


def _fits(trace: Either) -> None:
    """Refuse a trace whose times the format cannot hold.

    Raises:
        TraceError: it lasts longer than 2**32 seconds.
    """
    if len(trace) and int(trace.time_us[-1]) // 1_000_000 >= 2**32:
        message = f"{trace.meta.trace_id}: lasts longer than 2**32 seconds; check the unit of time or cut the trace"
        raise TraceError(message)


FORMAT = Format(
    id="oraclegeneral",
    title="libCacheSim oracleGeneral (seconds, bytes, ids)",
    recognise=recognise,
    read=read,
    binary=True,
    needs="records of 24 bytes: time, id, size, next access",
    name=r"oraclegeneral",
    options=IdOptions,
    ways=id_ways,
    objects=True,
    write=write,
    write_objects=write_objects,
    write_options=WriteOptions,
)
