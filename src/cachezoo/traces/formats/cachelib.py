"""Traces of Meta's caches, as released with CacheLib: key-value caches (2022 and later), and CDN caches (2023).

Both are CSV whose first line names the columns. Of key-value caches a row stands for the accesses of a second
(`op_count`), and the files of 2022 have no times. Source: CacheLib's cachebench, whose replay generators name and read
these columns.
"""

from collections.abc import Iterator
from functools import partial

from pydantic import Field as Setting

from cachezoo.traces.delimited import delimited
from cachezoo.traces.formats.base import Fit, Format, Head
from cachezoo.traces.formats.headed import Field, is_headed, layout_of
from cachezoo.traces.formats.id_ways import headed_time_ways
from cachezoo.traces.formats.keyed import NO_DATA, STORE_OPS, TimedKeyOptions, keys_of, lasting, meanings
from cachezoo.traces.formats.other_ops import data_only
from cachezoo.traces.reading import ObjectChunk, Reading, RowClock, counts_of, microseconds

STORE_FIELDS = (
    Field("time", ("op_time", "timestamp", "time"), "float", needed=False),
    Field("key", ("key",), "key"),
    Field("op", ("op",), "text"),
    Field("size", ("size",), "int"),
    Field("count", ("op_count",), "int"),
    Field("ttl", ("ttl",), "int", needed=False),
    Field("namespace", ("usecase",), "text", needed=False),
    Field("user", ("sub_usecase",), "text", needed=False),
)
CDN_FIELDS = (
    Field("time", ("timestamp",), "float"),
    Field("key", ("cachekey",), "key"),
    Field("op", ("optype",), "text"),
    Field("size", ("objectsize",), "int"),
    Field("ttl", ("ttl",), "int", needed=False),
    Field("namespace", ("vip_type",), "text", needed=False),
    Field("flags", ("cdn_content_type_id",), "text", needed=False),
)
CODED = ("namespace", "user", "flags")


class CdnOptions(TimedKeyOptions):
    """What ops mean: values of a read, a slash, values of a write, and after another slash those of a delete."""

    ops: str = Setting(default="1|get/2|set/3|delete", max_length=200)


def recognise_store(head: Head) -> Fit:
    """A first line with key, op, size and op_count."""
    return Fit.SURE if is_headed(head, STORE_FIELDS) else Fit.NO


def recognise_cdn(head: Head) -> Fit:
    """A first line with timestamp, cacheKey, OpType and objectSize."""
    return Fit.SURE if is_headed(head, CDN_FIELDS) else Fit.NO


def read_store(reading: Reading, options: TimedKeyOptions) -> Iterator[ObjectChunk]:
    """Requests in the files' order; those of a file without times are numbered."""
    clock = RowClock()
    for source in reading.sources:
        layout = layout_of(source, STORE_FIELDS, keys=options.keys)
        if not any(column.name == "time" for column in layout.columns):
            reading.notes["time"] = "row numbers in microseconds: no column has times"
        for rows in delimited(reading, layout, [source]):
            op, text = rows.op("op", STORE_OPS)
            time = rows.floats("time") if rows.has("time") else None
            chunk = ObjectChunk(
                row=rows.row,
                time_us=clock.times(source, rows.row) if time is None else microseconds(time, options.time_unit),
                op=op,
                key=keys_of(rows, "key"),
                size=rows.ints("size"),
                ttl_s=lasting(rows, "ttl"),
                count=counts_of(rows.ints("count")),
                coded={name: rows.coded(name) for name in CODED if rows.has(name)} | {"flags": text},
                op_text=text,
            )
            yield reading.checked(source, data_only(reading, chunk, NO_DATA))


def read_cdn(reading: Reading, options: CdnOptions) -> Iterator[ObjectChunk]:
    """Requests in the files' order, of whole objects: ranges are passed over."""
    ops = meanings(options.ops)
    reading.notes["size"] = "of whole objects: which part of one is requested is passed over"
    for source in reading.sources:
        for rows in delimited(reading, layout_of(source, CDN_FIELDS, keys=options.keys), [source]):
            op, text = rows.op("op", ops)
            chunk = ObjectChunk(
                row=rows.row,
                time_us=microseconds(rows.floats("time"), options.time_unit),
                op=op,
                key=keys_of(rows, "key"),
                size=rows.ints("size"),
                ttl_s=lasting(rows, "ttl"),
                coded={name: rows.coded(name) for name in CODED if rows.has(name)},
                op_text=text,
            )
            yield reading.checked(source, chunk)


KV = Format(
    id="cachelib_kv",
    title="CacheLib's key-value caches: CSV with key, op, size, op_count (objects; seconds, or no clock)",
    recognise=recognise_store,
    read=read_store,
    needs="a header with key,op,size,op_count",
    name="kvcache",
    options=TimedKeyOptions,
    ways=partial(headed_time_ways, names=STORE_FIELDS[0].names),
    objects=True,
    keeps=("count", "namespace", "user", "flags"),
)
CDN = Format(
    id="cachelib_cdn",
    title="CacheLib's CDN caches: CSV with timestamp, cacheKey, OpType, objectSize (objects; seconds)",
    recognise=recognise_cdn,
    read=read_cdn,
    needs="a header with timestamp,cacheKey,OpType,objectSize",
    name="metacdn",
    options=CdnOptions,
    ways=partial(headed_time_ways, names=CDN_FIELDS[0].names),
    objects=True,
    keeps=("namespace", "flags"),
)
