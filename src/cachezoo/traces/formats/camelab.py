"""Camelab's block traces: `time op lba sectors latency` at blanks, no header.

Time and latency are seconds with fractions, ops r and w, lba and sectors count 512 bytes.
"""

from collections.abc import Iterator

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head, Options, is_int, is_number, most_fit
from cachezoo.traces.reading import READ_OR_WRITE, SECTOR_BYTES, Chunk, Reading, bytes_of, microseconds

LAYOUT = Layout(
    (
        Column("time", "float"),
        Column("op", "text", words=READ_OR_WRITE),
        Column("lba", "int"),
        Column("sectors", "int"),
        Column("latency", "float"),
    ),
    delimiter=" ",
)


def _row_fits(row: list[str]) -> bool:
    times = is_number(row[0]) and is_number(row[4]) and "." in row[0] + row[4]
    return times and row[1].lower() in READ_OR_WRITE and is_int(row[2]) and is_int(row[3])


def recognise(head: Head) -> Fit:
    """A time, r or w, two whole numbers, and a latency."""
    return Fit.LIKELY if most_fit(head.rows(None), len(LAYOUT.columns), _row_fits) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order."""
    del options
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("op")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.floats("time"), "s"),
            op=op,
            offset=bytes_of(rows.ints("lba"), SECTOR_BYTES),
            size=bytes_of(rows.ints("sectors"), SECTOR_BYTES),
            latency_us=microseconds(rows.floats("latency"), "s"),
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="camelab",
    title="Camelab text: time, op, lba, sectors, latency (seconds, 512-byte sectors)",
    recognise=recognise,
    read=read,
    layout=LAYOUT,
    needs="a time in seconds, r or w, two whole numbers, and a latency in seconds, at blanks",
    name="camelab",
    sectors=BOTH,
    keeps=("latency_us",),
)
