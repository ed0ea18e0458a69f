"""Tencent CBS: `Timestamp,Offset,Size,IOType,VolumeID`, no header.

Timestamps are whole Unix seconds, so the order within a second and every inter-arrival time are lost. Offset and size
count 512-byte sectors; copies with bytes exist (the libCacheSim collection's), hence `unit_bytes`. IOType 0 reads, 1
writes. Source: Zhang et al., "OSCA" (USENIX ATC '20), and the collection's README.
"""

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head, Options, is_whole, most_fit, unit_ways
from cachezoo.traces.reading import SECTOR_BYTES, Chunk, Reading, bytes_of, microseconds
from cachezoo.traces.values import whole_of

LAYOUT = Layout(
    (
        Column("Timestamp", "int"),
        Column("Offset", "int"),
        Column("Size", "int"),
        Column("IOType", "int"),
        Column("VolumeID", "text"),
    )
)


class TencentOptions(Options):
    """`unit_bytes`: bytes that offset and size count."""

    unit_bytes: int = Field(default=SECTOR_BYTES, ge=1, le=2**30)


def recognise(head: Head) -> Fit:
    """Five whole numbers, the first of ten digits, the fourth 0 or 1."""

    def fits(row: list[str]) -> bool:
        return all(is_whole(field) for field in row) and len(str(whole_of(row[0]))) == 10 and whole_of(row[3]) in (0, 1)

    return Fit.LIKELY if most_fit(head.rows(), 5, fits) else Fit.NO


def read(reading: Reading, options: TencentOptions) -> Iterator[Chunk]:
    """Requests in the files' order."""
    unit = options.unit_bytes
    reading.notes["unit_bytes"] = str(unit)
    for rows in delimited(reading, LAYOUT):
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("Timestamp"), "s"),
            op=np.clip(rows.ints("IOType"), -1, 254).astype(np.uint8),
            offset=bytes_of(rows.ints("Offset"), unit),
            size=bytes_of(rows.ints("Size"), unit),
            coded={"volume": rows.coded("VolumeID")},
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="tencent",
    title="Tencent CBS CSV (seconds, 512-byte sectors)",
    recognise=recognise,
    read=read,
    options=TencentOptions,
    layout=LAYOUT,
    needs="the first column is a time of 10 digits in seconds, the fourth 0 or 1",
    name=r"tencent|\bcbs|^2018-10-\d\d",
    ways=unit_ways,
    sectors=BOTH,
)
