"""SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`, one file an hour and LUN.

Timestamps are Unix seconds of the issue, responses seconds, offset and size bytes. Rows stand in the order of
completion, so they are seldom sorted by time. Source: Lee et al., "Understanding storage traffic characteristics on
enterprise virtual desktop infrastructure" (SYSTOR '17).
"""

from collections.abc import Iterator

import numpy as np

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_number, is_whole, most_fit
from cachezoo.traces.reading import BAD_TIME, READ_OR_WRITE, Chunk, Reading, microseconds
from cachezoo.traces.table import UNKNOWN_LATENCY

HEADER = "timestamp,response,iotype,lun,offset,size"
LAYOUT = Layout(
    (
        Column("Timestamp", "float"),
        Column("Response", "float", optional=True),
        Column("IOType", "text", words=READ_OR_WRITE),
        Column("LUN", "text"),
        Column("Offset", "int"),
        Column("Size", "int"),
    ),
    header=lambda line: line.replace(" ", "").lower().startswith(HEADER),
)


def _row_fits(row: list[str]) -> bool:
    numbers = is_number(row[0]) and is_number(row[1]) and is_whole(row[4]) and is_whole(row[5])
    return numbers and "." in row[0] and row[2].lower() in READ_OR_WRITE


def recognise(head: Head) -> Fit:
    """The header, or six such fields without one."""
    if head.lines and LAYOUT.header(head.lines[0]):
        return Fit.SURE
    return Fit.LIKELY if most_fit(head.rows(), 6, _row_fits) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order; an empty response is unknown."""
    del options
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("IOType")
        response = microseconds(rows.floats("Response"), "s")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.floats("Timestamp"), "s"),
            op=op,
            offset=rows.ints("Offset"),
            size=rows.ints("Size"),
            latency_us=np.where(response == BAD_TIME, UNKNOWN_LATENCY, response),
            coded={"volume": rows.coded("LUN")},
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="systor",
    title="SYSTOR '17 CSV (seconds, bytes)",
    recognise=recognise,
    read=read,
    layout=LAYOUT,
    needs="the header Timestamp,Response,IOType,LUN,Offset,Size, or such columns with seconds as fractions",
    name=r"lun\d|systor",
    keeps=("latency_us",),
)
