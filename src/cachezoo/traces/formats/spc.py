"""SPC ASCII, as of the UMass repository (Financial1/2, WebSearch1-3): `ASU,LBA,Size,Opcode,Timestamp[,…]`, no header.

LBA counts blocks of 512 bytes inside the application-specific unit (ASU), one address space each; Size is bytes and
need not fill its blocks; the opcode is a letter of either case; timestamps are seconds from the trace's start. What
follows them is free and passed over. Source: "SPC Trace File Format Specification", revision 1.0.1 (2002); it leaves
the block to the trace, and in Financial1 `0,303567,3584,…` is followed by `0,303574,…`, which makes it 512 bytes.
"""

from collections.abc import Iterator

from pydantic import Field

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import OFFSET, Fit, Format, Head, Options, is_number, is_whole, most_fit, unit_ways
from cachezoo.traces.reading import READ_OR_WRITE, SECTOR_BYTES, Chunk, Reading, bytes_of, microseconds

LAYOUT = Layout(
    (
        Column("ASU", "text"),
        Column("LBA", "int"),
        Column("Size", "int"),
        Column("Opcode", "text", words=READ_OR_WRITE),
        Column("Timestamp", "float"),
    ),
    ragged=True,
)


class SpcOptions(Options):
    """`unit_bytes`: bytes of a block that LBA counts, which the specification leaves to the trace."""

    unit_bytes: int = Field(default=SECTOR_BYTES, ge=1, le=2**30)


def _row_fits(row: list[str]) -> bool:
    return all(is_whole(field) for field in row[:3]) and row[3].lower() in ("r", "w") and is_number(row[4])


def recognise(head: Head) -> Fit:
    """Three whole numbers, the letter R or W, a number."""
    return Fit.LIKELY if most_fit([row[:5] for row in head.rows()], 5, _row_fits) else Fit.NO


def read(reading: Reading, options: SpcOptions) -> Iterator[Chunk]:
    """Requests in the files' order; `volume` is the ASU."""
    reading.notes["unit_bytes"] = str(options.unit_bytes)
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("Opcode")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.floats("Timestamp"), "s"),
            op=op,
            offset=bytes_of(rows.ints("LBA"), options.unit_bytes),
            size=rows.ints("Size"),
            coded={"volume": rows.coded("ASU")},
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="spc",
    title="SPC ASCII, UMass Financial and WebSearch (seconds, 512-byte blocks, sizes in bytes)",
    recognise=recognise,
    read=read,
    options=SpcOptions,
    layout=LAYOUT,
    needs="three whole numbers, R or W, and seconds",
    name=r"\.spc\b|financial\d|websearch\d",
    ways=unit_ways,
    sectors=OFFSET,
)
