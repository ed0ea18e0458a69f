"""Alibaba block traces of 2020: `device_id,opcode,offset,length,timestamp`, with or without that header.

Opcode R or W, offset and length bytes, timestamps microseconds since the Unix epoch. Source: Li et al., "An In-Depth
Analysis of Cloud Block Storage Workloads" (IISWC '20), and the collection's README.
"""

from collections.abc import Iterator

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_whole, most_fit
from cachezoo.traces.reading import READ_OR_WRITE, Chunk, Reading, microseconds
from cachezoo.traces.values import whole_of

LAYOUT = Layout(
    (
        Column("device_id", "text"),
        Column("opcode", "text", words=READ_OR_WRITE),
        Column("offset", "int"),
        Column("length", "int"),
        Column("timestamp", "int"),
    ),
    header=lambda line: line.replace(" ", "").lower().startswith("device_id,opcode,"),
)


def recognise(head: Head) -> Fit:
    """The header, or a device, R or W, and three whole numbers of which the last has sixteen digits."""
    if head.lines and LAYOUT.header(head.lines[0]):
        return Fit.SURE

    def fits(row: list[str]) -> bool:
        numbers = all(is_whole(row[k]) for k in (0, 2, 3, 4))
        return numbers and row[1].lower() in READ_OR_WRITE and len(str(whole_of(row[4]))) == 16

    return Fit.SURE if most_fit(head.rows(), 5, fits) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order."""
    del options
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("opcode")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("timestamp"), "us"),
            op=op,
            offset=rows.ints("offset"),
            size=rows.ints("length"),
            coded={"volume": rows.coded("device_id")},
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="alibaba",
    title="Alibaba block traces CSV (microseconds, bytes)",
    recognise=recognise,
    read=read,
    layout=LAYOUT,
    needs="the second column is R or W, the last a time of 16 digits",
    name="alibaba|io_traces",
)
