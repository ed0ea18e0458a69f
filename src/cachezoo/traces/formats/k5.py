"""K5 cloud block traces: `volume,time,op,offset,length`, no header.

Times are microseconds since 1970, ops R and W, offset and length bytes.
"""

from collections.abc import Iterator

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_int, most_fit
from cachezoo.traces.reading import READ_OR_WRITE, Chunk, Reading, microseconds

LAYOUT = Layout(
    (
        Column("volume", "text"),
        Column("time", "int"),
        Column("op", "text", words=READ_OR_WRITE),
        Column("offset", "int"),
        Column("length", "int"),
    )
)
EPOCH_DIGITS = 16


def _row_fits(row: list[str]) -> bool:
    numbers = all(is_int(row[place]) for place in (1, 3, 4))
    return numbers and len(row[1]) == EPOCH_DIGITS and row[2].lower() in READ_OR_WRITE


def recognise(head: Head) -> Fit:
    """A volume, a time of sixteen digits, R or W, and two whole numbers."""
    return Fit.SURE if most_fit(head.rows(), len(LAYOUT.columns), _row_fits) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order."""
    del options
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("op")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("time"), "us"),
            op=op,
            offset=rows.ints("offset"),
            size=rows.ints("length"),
            coded={"volume": rows.coded("volume")},
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="k5",
    title="K5 cloud CSV: volume, time, op, offset, length (microseconds, bytes)",
    recognise=recognise,
    read=read,
    layout=LAYOUT,
    needs="the second column is a time of 16 digits, the third R or W",
    name="k5",
)
