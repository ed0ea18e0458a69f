"""Traces written as libCacheSim's CSV, whose header begins `time,obj_id,obj_size,op`."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from cachezoo.traces.formats.base import Options, lost_columns, lost_of_objects
from cachezoo.traces.formats.oraclegeneral import WriteOptions, records_of
from cachezoo.traces.formats.text_table import seconds_of, slices, texts_of, write_rows
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.reading import SECTOR_BYTES
from cachezoo.traces.table import OP_NAMES, PAGE_BYTES, Trace

HEADER = "time,obj_id,obj_size,op"
OBJECT_OPS = ("get", "set", "delete")
SECONDS = pa.decimal128(19, 6)  # numbers, which are written without quotes


def write(trace: Trace, path: Path, options: WriteOptions) -> dict[str, int]:
    """Write a row a page access or a request, with ids as in oracleGeneral; times are seconds with fractions.

    Raises:
        TraceError: more volumes than ids have room for.
    """
    request, ids, size = records_of(trace, options.unit)

    def parts() -> Iterator[list[pa.Array]]:
        for part in slices(len(ids)):
            of = request[part]
            yield [
                seconds_of(trace.time_us[of], 6),
                pa.array(ids[part]),
                pa.array(size[part] if len(size) == len(ids) else np.full(len(of), size[0], np.int64)),
                texts_of(trace.op[of], OP_NAMES),
            ]

    write_rows(path, parts(), ",", HEADER)
    lost = lost_columns(trace)
    if options.unit == "page":
        outside = (trace.offset % PAGE_BYTES != 0) | (trace.size % PAGE_BYTES != 0)
        lost["part of a page"] = int(np.count_nonzero(outside))
    else:
        lost["offset below a sector"] = int(np.count_nonzero(trace.offset % SECTOR_BYTES))
    # An id holds its volume, which libCacheSim does not tell apart, and which is not read back.
    lost["volume"] = int(np.count_nonzero(trace.volume.codes))
    return {what: rows for what, rows in lost.items() if rows}


def write_objects(trace: ObjectTrace, path: Path, options: Options) -> dict[str, int]:
    """Write a row an access, with the trace's own keys and sizes; times are seconds with fractions.

    Rows that stand for several accesses are repeated.
    """
    del options
    rows = trace.replayed()
    more = {"ttl": rows.ttl_s, "tenant": rows.namespace}
    header = ",".join((HEADER, *(name for name, column in more.items() if column is not None)))

    def parts() -> Iterator[list[pa.Array]]:
        for part in slices(len(rows)):
            key = rows.key[part]
            columns = [
                seconds_of(rows.time_us[part], 6).cast(SECONDS),
                pa.array(key) if rows.key_names is None else texts_of(key, rows.key_names),
                pa.array(rows.size[part]),
                texts_of(rows.op[part], OBJECT_OPS),
            ]
            if rows.ttl_s is not None:
                columns.append(pa.array(rows.ttl_s[part]))
            if rows.namespace is not None:
                columns.append(texts_of(rows.namespace.codes[part], rows.namespace.names))
            yield columns

    write_rows(path, parts(), ",", header, quoted=True)
    lost = lost_of_objects(trace)
    return {what: count for what, count in lost.items() if what not in ("ttl_s", "namespace")}
