"""fio's logs of latencies with offsets: `time, latency, direction, size, offset[, priority …]`, no header.

What `write_lat_log` with `log_offset=1` writes: milliseconds since the job's start at the *completion*, nanoseconds, 0
read, 1 write, 2 trim or 3 sync, and bytes. A request was issued at time - latency. A log of bandwidths or rates (`_bw`,
`_iops` in its name) has these columns with another value in the second place, so its latency is unknown. Source:
fio's manual and its iolog.c.
"""

import re
from collections.abc import Iterator

import numpy as np

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_int
from cachezoo.traces.formats.other_ops import data_only
from cachezoo.traces.reading import Chunk, Reading, issued_us, microseconds
from cachezoo.traces.table import OP_READ, OP_WRITE

OPS = {"0": OP_READ, "1": OP_WRITE}
KINDS = {"2": "trim", "3": "sync", "4": "datasync"}
LAYOUT = Layout(
    (
        Column("time", "int"),
        Column("value", "int"),
        Column("direction", "text", words={*OPS, *KINDS}),
        Column("size", "int"),
        Column("offset", "int"),
    ),
    ragged=True,  # a priority, such as 0x2001, and in newer logs the time follow
)
FEWEST, MOST = 5, 7
PRIORITY = re.compile(r"0x[0-9a-fA-F]{1,8}|[0-9]{1,5}")
OTHER_LOG = re.compile(r"_(bw|iops)(\.\d+)*\.log")


def _row_fits(row: list[str]) -> bool:
    if not FEWEST <= len(row) <= MOST or not all(map(is_int, row[:5])) or row[2] not in {*OPS, *KINDS}:
        return False
    return all(PRIORITY.fullmatch(text) for text in row[5:6])


def recognise(head: Head) -> Fit:
    """Five whole numbers after commas and blanks, the third a direction; SURE with a priority in hexadecimal."""
    rows = head.rows()
    good = [row for row in rows if _row_fits(row)]
    parted = sum(", " in line for line in head.lines)
    if not rows or 2 * len(good) < len(rows) or 2 * parted < len(rows):
        return Fit.NO
    if len({len(row) for row in good}) == 1 and len(good[0]) == FEWEST and all(int(row[4]) < 2 for row in good):
        return Fit.NO  # a log without offsets ends in whether a request had priority
    return Fit.SURE if any(row[5:6] and row[5].startswith("0x") for row in good) else Fit.LIKELY


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the order of completion."""
    del options
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("direction", OPS)
        ended_us = microseconds(rows.ints("time"), "ms")
        latency_us = microseconds(rows.ints("value"), "ns")
        if OTHER_LOG.search(rows.source.path.name):
            latency_us = np.full(len(ended_us), -1, np.int64)
        chunk = Chunk(
            row=rows.row,
            time_us=issued_us(ended_us, latency_us),
            op=op,
            offset=rows.ints("offset"),
            size=rows.ints("size"),
            latency_us=latency_us,
            op_text=text,
        )
        yield reading.checked(rows.source, data_only(reading, chunk, KINDS))


FORMAT = Format(
    id="fio_log",
    title="fio log of latencies with offsets (milliseconds at the completion, bytes)",
    recognise=recognise,
    read=read,
    layout=LAYOUT,
    needs="time, latency, 0 or 1, size and offset after commas and blanks (write_lat_log with log_offset=1)",
    name=r"_(lat|clat|slat|bw|iops)(\.\d+)*\.log",
    keeps=("latency_us",),
)
