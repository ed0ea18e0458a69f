"""DiskSim's ASCII format and MQSim's, of the same shape: `time device lba size flags` between blanks, no header.

lba and size count 512-byte sectors. DiskSim's flags are hexadecimal, of which bit 0 says read; it has times in
milliseconds, with a fraction, but traces with other units are about; a sixth column (the batch) is passed over. MQSim's
last column is 1 for a read and 0 for a write, and its times are whole nanoseconds unless its configuration says
otherwise. Sources: DiskSim 4.0's reader, MQSim's README.

Nothing in a file says the unit, so `time_unit=auto` infers it from the first file's first `HEAD_BYTES`: a time with a
fraction means milliseconds; else the unit of s, ms, us, ns whose request rate there is the nearest to
`USUAL_RATE` a second, in logarithm; milliseconds where no time passes. Rates of a fast device's trace may mislead it by
a factor of a thousand: the metadata's `time_unit` says what was inferred.
"""

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from cachezoo.coded import Coded
from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_int, is_number, most_fit
from cachezoo.traces.reading import BAD_OP, PER_UNIT_US, SECTOR_BYTES, Chunk, Reading, bytes_of, microseconds
from cachezoo.traces.source import HEAD_BYTES, line_feeds
from cachezoo.traces.table import OP_READ, OP_WRITE

USUAL_RATE = 300.0
UNITS = ("s", "ms", "us", "ns")
READ_BIT = 1
MQSIM_OPS = {"0": OP_WRITE, "1": OP_READ}


class DiskSimOptions(Options):
    """`time_unit`: of the first column; `auto` infers it."""

    time_unit: Literal["auto", "s", "ms", "us", "ns"] = "auto"


class MQSimOptions(Options):
    """`time_unit`: of the first column; `auto` infers it."""

    time_unit: Literal["auto", "s", "ms", "us", "ns"] = "ns"


def _layout(time: str) -> Layout:
    return Layout(
        (
            Column("time", time),
            Column("device", "text"),
            Column("lba", "int"),
            Column("size", "int"),
            Column("flags", "text"),
        ),
        delimiter=" ",
        ragged=True,
    )


DISKSIM = _layout("float")
MQSIM = _layout("int")


def _row_fits(row: list[str]) -> bool:
    return is_number(row[0]) and all(is_int(field) for field in row[1:4]) and _flags(row[4]) is not None


def _flags(text: str) -> int | None:
    """Flags from hexadecimal digits; None where they are none."""
    digits = text.lower().removeprefix("0x")
    return int(digits, 16) if digits.isascii() and digits.isalnum() and not digits.strip("0123456789abcdef") else None


def inferred_unit(data: bytes, whole: bool) -> str:
    """The unit of time, as the module says.

    Args:
        data: the file's first bytes, with line feeds alone.
        whole: whether they are the whole file; else the last line is cut short and not looked at.
    """
    lines = data.decode("utf-8", "replace").split("\n")
    rows = [line.split() for line in (lines if whole else lines[:-1])]
    times = [row[0] for row in rows if len(row) in (5, 6) and _row_fits(row)]
    if any("." in time for time in times):
        return "ms"
    numbers = [int(time) for time in times]
    span = max(numbers, default=0) - min(numbers, default=0)
    if span == 0:
        return "ms"

    def strangeness(unit: str) -> float:
        rate = (len(numbers) - 1) / (span * PER_UNIT_US[unit] / 1e6)
        return abs(math.log(rate / USUAL_RATE))

    return min(UNITS, key=strangeness)


def _recognise(head: Head) -> str | None:
    """The inferred unit where rows have the shape of both formats."""
    rows = head.rows(None)
    if not most_fit([row[:5] if len(row) in (5, 6) else [] for row in rows], 5, _row_fits):
        return None
    return inferred_unit(head.plain, head.whole)


def recognise_disksim(head: Head) -> Fit:
    """Five or six such numbers; whole numbers that are nanoseconds by their rate are rather MQSim's."""
    unit = _recognise(head)
    return Fit.NO if unit is None else Fit.POSSIBLE if unit == "ns" else Fit.LIKELY


def recognise_mqsim(head: Head) -> Fit:
    """Five whole numbers, the last 0 or 1, that are nanoseconds by their rate."""
    unit = _recognise(head)
    if unit is None or not most_fit(head.rows(None), 5, lambda row: is_int(row[0]) and row[4] in MQSIM_OPS):
        return Fit.NO
    return Fit.LIKELY if unit == "ns" else Fit.POSSIBLE


def _unit(reading: Reading, asked: str) -> str:
    if asked == "auto":
        data = reading.sources[0].head()
        unit = inferred_unit(line_feeds(data), len(data) < HEAD_BYTES)
    else:
        unit = asked
    reading.notes["time_unit"] = unit
    return unit


def _op(flags: Coded, ops: dict[str, int] | None) -> npt.NDArray[np.uint8]:
    """Ops by the table, or by bit 0 of hexadecimal flags."""

    def op_of(name: str) -> int:
        if ops is not None:
            return ops.get(name, BAD_OP)
        bits = _flags(name)
        return BAD_OP if bits is None else OP_READ if bits & READ_BIT else OP_WRITE

    codes: npt.NDArray[np.uint8] = np.array([op_of(name) for name in flags.names], np.uint8)[flags.codes]
    return codes


def read_disksim(reading: Reading, options: DiskSimOptions) -> Iterator[Chunk]:
    """Requests in the files' order; `volume` is the device, `flags` as in the file."""
    unit = _unit(reading, options.time_unit)
    for rows in delimited(reading, DISKSIM):
        flags = rows.coded("flags")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.floats("time"), unit),
            op=_op(flags, None),
            offset=bytes_of(rows.ints("lba"), SECTOR_BYTES),
            size=bytes_of(rows.ints("size"), SECTOR_BYTES),
            coded={"volume": rows.coded("device"), "flags": flags},
            op_text=flags,
        )
        yield reading.checked(rows.source, chunk)


def read_mqsim(reading: Reading, options: MQSimOptions) -> Iterator[Chunk]:
    """Requests in the files' order; `volume` is the device."""
    unit = _unit(reading, options.time_unit)
    for rows in delimited(reading, MQSIM):
        text = rows.coded("flags")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("time"), unit),
            op=_op(text, MQSIM_OPS),
            offset=bytes_of(rows.ints("lba"), SECTOR_BYTES),
            size=bytes_of(rows.ints("size"), SECTOR_BYTES),
            coded={"volume": rows.coded("device")},
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


DISKSIM_FORMAT = Format(
    id="disksim",
    title="DiskSim ASCII (milliseconds or as inferred, 512-byte sectors)",
    recognise=recognise_disksim,
    read=read_disksim,
    options=DiskSimOptions,
    keeps=("flags",),
)
MQSIM_FORMAT = Format(
    id="mqsim",
    title="MQSim ASCII (nanoseconds, 512-byte sectors)",
    recognise=recognise_mqsim,
    read=read_mqsim,
    options=MQSimOptions,
)
