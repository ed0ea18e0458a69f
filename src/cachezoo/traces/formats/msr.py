"""MSR-Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.

Timestamps are Windows FILETIMEs and response times their ticks, of 100 ns; offset and size are bytes.
Source: Narayanan et al., "Write Off-Loading" (FAST '08), and the collection's README.
"""

from collections.abc import Iterator

from cachezoo.traces.delimited import Column, Layout, delimited, joined
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_whole, most_fit
from cachezoo.traces.formats.msr_written import write
from cachezoo.traces.reading import READ_OR_WRITE, Chunk, Reading, microseconds
from cachezoo.traces.values import whole_of

LAYOUT = Layout(
    (
        Column("Timestamp", "int"),
        Column("Hostname", "text"),
        Column("DiskNumber", "text"),
        Column("Type", "text", words=READ_OR_WRITE),
        Column("Offset", "int"),
        Column("Size", "int"),
        Column("ResponseTime", "int"),
    ),
    header=lambda line: line.lower().startswith("timestamp,hostname"),
)


FILETIME_DIGITS = 18


def recognise(head: Head) -> Fit:
    """Seven fields, the first a FILETIME of this century's first third or so, the fourth Read or Write."""
    rows = head.rows()
    if head.lines and LAYOUT.header(head.lines[0]):
        rows = rows[1:]

    def fits(row: list[str]) -> bool:
        numbers = all(is_whole(row[k]) for k in (0, 4, 5, 6))
        return numbers and len(str(whole_of(row[0]))) == FILETIME_DIGITS and row[3].lower() in READ_OR_WRITE

    return Fit.SURE if most_fit(rows, 7, fits) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order; `volume` is HOST.DISK."""
    del options
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("Type")
        host = rows.coded("Hostname")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("Timestamp"), "100ns"),
            op=op,
            offset=rows.ints("Offset"),
            size=rows.ints("Size"),
            latency_us=microseconds(rows.ints("ResponseTime"), "100ns"),
            coded={"volume": joined(host, rows.coded("DiskNumber"), "."), "host": host},
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="msr",
    title="MSR-Cambridge CSV (100-ns ticks, bytes)",
    recognise=recognise,
    read=read,
    layout=LAYOUT,
    needs="the first column is a FILETIME of 18 digits, the fourth Read or Write",
    name=r"(hm|mds|prn|proj|prxy|rsrch|src1|src2|stg|ts|usr|wdev|web)_\d\b|\bmsr",
    keeps=("latency_us", "host"),
    write=write,
)
