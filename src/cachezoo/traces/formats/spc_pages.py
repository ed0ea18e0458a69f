"""UMass Financial1 aligned to pages of 8 KiB: eight columns between tabs, no header.

The tool that writes them is unknown; the columns were read off against the SPC trace that the rows come from, and are
assumed to mean the same elsewhere:

1. number of the request, from 0 (not read);
2. arrival, whole nanoseconds since the trace's start (SPC's 0.026214 s is 26214000);
3. 0 in every known row (not read);
4. device: the SPC trace's ASU;
5. `Read` or `Write`;
6. first sector of 512 bytes, rounded down to 16 sectors;
7. sectors, so that the end is rounded up to 16 sectors;
8. 1 in every known row (not read).

The offsets and sizes of the SPC trace cannot be had back. Files of this kind are called `.disksim`, but are not the
five columns of DiskSim's ASCII format.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head, Options, is_whole, most_fit, unit_ways
from cachezoo.traces.reading import READ_OR_WRITE, SECTOR_BYTES, Chunk, Reading, bytes_of, microseconds

LAYOUT = Layout(
    (
        Column("number", "skip"),
        Column("time", "int"),
        Column("third", "skip"),
        Column("device", "text"),
        Column("op", "text", words=READ_OR_WRITE),
        Column("sector", "int"),
        Column("sectors", "int"),
        Column("eighth", "skip"),
    ),
    delimiter="\t",
)


class SpcPagesOptions(Options):
    """`time_unit` of the second column; `unit_bytes`: bytes that the sixth and the seventh count."""

    time_unit: Literal["s", "ms", "us", "ns"] = "ns"
    unit_bytes: int = Field(default=SECTOR_BYTES, ge=1, le=2**30)


def _row_fits(row: list[str]) -> bool:
    return row[4].lower() in READ_OR_WRITE and all(is_whole(field) for field in row[:4] + row[5:])


def recognise(head: Head) -> Fit:
    """Eight fields between tabs, the fifth Read or Write, the others whole numbers."""
    return Fit.SURE if most_fit(head.rows("\t"), 8, _row_fits) else Fit.NO


def read(reading: Reading, options: SpcPagesOptions) -> Iterator[Chunk]:
    """Requests in the files' order; `volume` is the device."""
    unit = options.unit_bytes
    reading.notes |= {"time_unit": options.time_unit, "unit_bytes": str(unit)}
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("op")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("time"), options.time_unit),
            op=op,
            offset=bytes_of(rows.ints("sector"), unit),
            size=bytes_of(rows.ints("sectors"), unit),
            coded={"volume": rows.coded("device")},
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="spc_pages",
    title="UMass Financial1 aligned to 8-KiB pages, 8 columns between tabs (nanoseconds, 512-byte sectors)",
    recognise=recognise,
    read=read,
    options=SpcPagesOptions,
    layout=LAYOUT,
    needs="eight fields between tabs, the fifth Read or Write, the others whole numbers",
    name=r"fin\d|financial",
    ways=unit_ways,
    sectors=BOTH,
)
