"""CloudPhysics vSCSI traces of VM disks: binary records of version 1 or 2, and the CSV made of them.

Version 1 is 32 bytes (serial number, length, scatter-gather elements, command, version, block, time), version 2 is 40
(command, version, serial number, length, elements, block, time, response time), little-endian. Lengths are bytes,
blocks are of 512 bytes, times microseconds of any origin. The CSV is `version,time,op,size,lbn`, its op hexadecimal.
Source: Waldspurger et al., "Efficient MRC Construction with SHARDS" (FAST '15), and libCacheSim's reader.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cachezoo.arrays import I64, U8
from cachezoo.errors import TraceError
from cachezoo.traces.binary import records, whole_number
from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import OFFSET, Fit, Format, Head, Options, is_whole, most_fit, unit_ways
from cachezoo.traces.reading import BAD_OP, SECTOR_BYTES, Chunk, Reading, bytes_of, microseconds
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, OP_WRITE, UNKNOWN_LATENCY

LAYOUTS: dict[int, np.dtype[Any]] = {
    2: np.dtype(
        {
            "names": ["cmd", "ver", "sn", "len", "sg", "lbn", "ts", "rt"],
            "formats": ["<u2", "<u2", "<u4", "<u4", "<u4", "<u8", "<u8", "<u8"],
        }
    ),
    1: np.dtype(
        [("sn", "<u4"), ("len", "<u4"), ("sg", "<u4"), ("cmd", "<u2"), ("ver", "<u2"), ("lbn", "<u8"), ("ts", "<u8")]
    ),
}


def _version(data: bytes) -> int:
    """Whose records most of the bytes hold; 0 for neither version's."""
    for version, layout in LAYOUTS.items():
        rows = np.frombuffer(data, layout, len(data) // layout.itemsize)
        if len(rows) and 2 * np.count_nonzero((rows["ver"] >> 8 == version) & (rows["cmd"] < 256)) >= len(rows):
            return version
    return 0


def recognise(head: Head) -> Fit:
    """The version in each record's place for it."""
    return Fit.LIKELY if _version(head.data) else Fit.NO


def _left_out(reading: Reading, commands: npt.NDArray[Any]) -> None:
    for command, count in zip(*np.unique(commands, return_counts=True), strict=True):
        reading.left_out[name_of(int(command))] += int(count)


def _requests(reading: Reading, source: Source, version: int, row: I64, part: npt.NDArray[Any]) -> Chunk:
    """Reads and writes of some records."""
    wrong = (part["ver"] >> 8 != version) | (part["cmd"] > 255)
    op: U8 = OPS[part["cmd"] & 255]
    other = (op == BAD_OP) & ~wrong
    if other.any():
        _left_out(reading, part["cmd"][other])
        kept = ~other
        row, part, op, wrong = row[kept], part[kept], op[kept], wrong[kept]
    response = whole_number(part["rt"]) if version == 2 else None
    chunk = Chunk(
        row=row,
        time_us=whole_number(part["ts"]),
        op=op,
        offset=bytes_of(whole_number(part["lbn"]), SECTOR_BYTES),
        size=whole_number(part["len"]),
        latency_us=None if response is None else np.where(response < 2**62, response, UNKNOWN_LATENCY),
    )
    return reading.without(
        source,
        chunk,
        wrong,
        lambda index: f"version is {int(part['ver'][index]) >> 8}, not {version}; fix or drop the record",
    )


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order; commands that move no data are counted.

    Raises:
        TraceError: a file has records of neither version.
    """
    del options
    for source in reading.sources:
        version = _version(source.head())
        if not version:
            raise TraceError(f"{source.path}: its records say neither version 1 nor 2; give a vSCSI trace")
        reading.notes["vscsi_version"] = str(version)
        for row, part in records(reading, source, LAYOUTS[version]):
            yield reading.checked(source, _requests(reading, source, version, row, part))


HEADER = "version,time,op,size,lbn"
CSV_LAYOUT = Layout(
    (
        Column("version", "text"),
        Column("time", "int"),
        Column("op", "text"),
        Column("size", "int"),
        Column("lbn", "int"),
    ),
    header=lambda line: line.replace(" ", "").lower().startswith(HEADER),
)


def _command(text: str) -> int:
    """The number of a hexadecimal operation code; -1 for anything else."""
    digits = text.lower().removeprefix("0x")
    return int(digits, 16) if 0 < len(digits) <= 2 and set(digits) <= set("0123456789abcdef") else -1


def _row_fits(row: list[str]) -> bool:
    return row[0] in ("1", "2") and all(is_whole(row[k]) for k in (1, 3, 4)) and _command(row[2]) in (0x28, 0x2A)


def recognise_csv(head: Head) -> Fit:
    """The header, or five such fields without one, most of them 10-byte reads and writes."""
    if head.lines and CSV_LAYOUT.header(head.lines[0]):
        return Fit.SURE
    return Fit.LIKELY if most_fit(head.rows(), 5, _row_fits) else Fit.NO


class VscsiCsvOptions(Options):
    """`time_unit` of the second column; `unit_bytes`: bytes of a block that lbn counts."""

    time_unit: Literal["s", "ms", "us", "ns"] = "us"
    unit_bytes: int = Field(default=SECTOR_BYTES, ge=1, le=2**30)


def read_csv(reading: Reading, options: VscsiCsvOptions) -> Iterator[Chunk]:
    """Requests in the files' order; commands that move no data are counted."""
    reading.notes |= {"time_unit": options.time_unit, "unit_bytes": str(options.unit_bytes)}
    for rows in delimited(reading, CSV_LAYOUT):
        text = rows.coded("op")
        commands = np.array([_command(name) for name in text.names], np.int64)[text.codes]
        op: U8 = np.where(commands < 0, BAD_OP, OPS[commands & 255]).astype(np.uint8)
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("time"), options.time_unit),
            op=op,
            offset=bytes_of(rows.ints("lbn"), options.unit_bytes),
            size=rows.ints("size"),
            op_text=text,
        )
        other = (op == BAD_OP) & (commands >= 0)
        if other.any():
            _left_out(reading, commands[other])
            chunk = chunk.where(~other)
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="vscsi",
    title="CloudPhysics vSCSI records of version 1 or 2 (microseconds, bytes, 512-byte blocks)",
    recognise=recognise,
    read=read,
    binary=True,
    needs="records of 32 or 40 bytes that say version 1 or 2",
    name=r"\.vscsi|cloudphysics",
    sectors=OFFSET,
    keeps=("latency_us",),
)
CSV = Format(
    id="vscsi_csv",
    title="CloudPhysics vSCSI as CSV (microseconds, bytes, 512-byte blocks)",
    recognise=recognise_csv,
    read=read_csv,
    options=VscsiCsvOptions,
    layout=CSV_LAYOUT,
    needs="the header version,time,op,size,lbn, or such columns with 28 or 2a for the op",
    name="cloudphysics|vscsi",
    ways=unit_ways,
    sectors=OFFSET,
)


READS = (0x08, 0x28, 0xA8, 0x88)
WRITES = (0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E)
# The length of a write same or a compare and write is that of a pattern or of two buffers, not of the range.
OTHERS = {
    0x00: "test unit ready",
    0x03: "request sense",
    0x12: "inquiry",
    0x15: "mode select",
    0x16: "reserve",
    0x17: "release",
    0x1A: "mode sense",
    0x1B: "start stop unit",
    0x25: "read capacity",
    0x2B: "seek",
    0x2F: "verify",
    0x35: "synchronize cache",
    0x41: "write same",
    0x42: "unmap",
    0x4D: "log sense",
    0x55: "mode select",
    0x5A: "mode sense",
    0x5E: "persistent reserve in",
    0x5F: "persistent reserve out",
    0x7F: "variable-length command",
    0x83: "extended copy",
    0x84: "receive copy results",
    0x89: "compare and write",
    0x8F: "verify",
    0x91: "synchronize cache",
    0x93: "write same",
    0x9E: "service action in",
    0xA0: "report luns",
    0xA3: "maintenance in",
    0xA4: "maintenance out",
    0xAF: "verify",
}


def _ops() -> U8:
    table = np.full(256, BAD_OP, np.uint8)
    table[list(READS)] = OP_READ
    table[list(WRITES)] = OP_WRITE
    return table


OPS = _ops()


def name_of(command: int) -> str:
    """What a command that moves no data of a known range is called in counts."""
    return OTHERS.get(command, f"command {command:02x}")
