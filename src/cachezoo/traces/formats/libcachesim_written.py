"""Traces written as libCacheSim's CSV, with the header `time,obj_id,obj_size,op`."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from cachezoo.traces.formats.base import lost_columns
from cachezoo.traces.formats.oraclegeneral import WriteOptions, records_of
from cachezoo.traces.formats.text_table import seconds_of, slices, texts_of, write_rows
from cachezoo.traces.reading import SECTOR_BYTES
from cachezoo.traces.table import OP_NAMES, PAGE_BYTES, Trace

HEADER = "time,obj_id,obj_size,op"


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
