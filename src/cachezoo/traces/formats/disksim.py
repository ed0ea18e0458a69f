"""DiskSim's ASCII format and MQSim's, of the same shape: `time device lba size flags` between blanks, no header.

lba and size count 512-byte sectors. DiskSim's flags are hexadecimal, of which bit 0 says read; it has times in
milliseconds, with a fraction, but traces with other units are about; a sixth column (the batch) is passed over. MQSim's
last column is 1 for a read and 0 for a write, and its times are whole nanoseconds unless its configuration says
otherwise. Sources: DiskSim 4.0's reader, MQSim's README.

Nothing in a file says the unit, so it is inferred from the first file's beginning. A time with a fraction means
milliseconds, as in DiskSim's own traces; whole numbers are seldom seconds or milliseconds. A unit is as doubtful as
the powers of ten between its request rate and the usual ones, see
`cachezoo.traces.rates`. Rows that could be MQSim's speak for its nanoseconds, as do times that are all whole
thousands: a clock of microseconds, written in nanoseconds. Where two units are about as likely, nothing is inferred:
the user has to say. Some converters write bytes instead of sectors, which the sizes show.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cachezoo.coded import Coded
from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import (
    BOTH,
    Fit,
    Format,
    Head,
    Options,
    Way,
    is_int,
    is_number,
    is_whole,
    most_fit,
    unit_ways,
)
from cachezoo.traces.rates import unit_doubts
from cachezoo.traces.reading import BAD_OP, SECTOR_BYTES, Chunk, Reading, bytes_of, microseconds
from cachezoo.traces.table import OP_READ, OP_WRITE

READ_BIT = 1
MQSIM_OPS = {"0": OP_WRITE, "1": OP_READ}
# Of times with a fraction, by DiskSim's manual and what is about.
FRACTION_DOUBTS = {"ms": 0.0, "s": 2.0, "us": 2.5, "ns": 6.0}
WHOLE_DOUBTS = {"s": 0.25, "ms": 0.25, "us": 0.0, "ns": 0.0}
MQSIM_CREDIT = 0.5
THOUSANDS_CREDIT = 1.0
FEW_TIMES = 20


class DiskSimOptions(Options):
    """`time_unit`: of the first column; `auto` infers it. `unit_bytes`: bytes that lba and size count."""

    time_unit: Literal["auto", "s", "ms", "us", "ns"] = "auto"
    unit_bytes: int = Field(default=SECTOR_BYTES, ge=1, le=2**30)


class MQSimOptions(Options):
    """`time_unit`: of the first column; `auto` infers it. `unit_bytes`: bytes that lba and size count."""

    time_unit: Literal["auto", "s", "ms", "us", "ns"] = "ns"
    unit_bytes: int = Field(default=SECTOR_BYTES, ge=1, le=2**30)


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
    return is_number(row[0]) and all(is_whole(field) for field in row[1:4]) and _flags(row[4]) is not None


def _flags(text: str) -> int | None:
    """Flags from hexadecimal digits; None where they are none."""
    digits = text.lower().removeprefix("0x")
    return int(digits, 16) if digits.isascii() and digits.isalnum() and not digits.strip("0123456789abcdef") else None


def time_doubts(head: Head, mqsim: bool) -> dict[str, float]:
    """How doubtful each unit of time is, as the module says.

    Args:
        head: the file's beginning.
        mqsim: whether the rows are taken as MQSim's.
    """
    lines = (head.text or "").split("\n")
    rows = [line.split() for line in (lines if head.whole else lines[:-1]) if not line.startswith("#")]
    times = [row[0] for row in rows if len(row) in (5, 6) and _row_fits(row)]
    fractions = any("." in time for time in times)
    numbers = [float(time) if fractions else int(time) for time in times]
    doubts = unit_doubts(np.array(numbers, np.float64), FRACTION_DOUBTS if fractions else WHOLE_DOUBTS)
    if max(numbers, default=0) == min(numbers, default=0):
        return doubts
    if mqsim:
        thousands = len(numbers) >= FEW_TIMES and not any(number % 1000 for number in numbers)
        doubts["ns"] -= MQSIM_CREDIT + THOUSANDS_CREDIT * thousands
    return doubts


def _ways(head: Head, given: Mapping[str, str], mqsim: bool) -> list[Way]:
    """Units of time and of addresses."""
    asked = given.get("time_unit", "ns" if mqsim else "auto")
    doubts = time_doubts(head, mqsim)
    units = {asked: 0.0 if "time_unit" in given else doubts[asked]} if asked != "auto" else doubts
    said = "" if len(units) == 1 else "the unit of time by fractions, rate and round numbers"
    return [
        Way({"time_unit": unit, **way.options}, doubt + way.doubt, said)
        for unit, doubt in units.items()
        for way in unit_ways(head, given)
    ]


def disksim_ways(head: Head, given: Mapping[str, str]) -> list[Way]:
    """Any unit of time, sectors or bytes."""
    return _ways(head, given, mqsim=False)


def mqsim_ways(head: Head, given: Mapping[str, str]) -> list[Way]:
    """Nanoseconds, unless asked to infer the unit; sectors or bytes."""
    return _ways(head, given, mqsim=True)


def recognise_disksim(head: Head) -> Fit:
    """Five or six such numbers."""
    rows = [row[:5] if len(row) in (5, 6) else [] for row in head.rows(None)]
    return Fit.LIKELY if most_fit(rows, 5, _row_fits) else Fit.NO


def recognise_mqsim(head: Head) -> Fit:
    """Five whole numbers, the last 0 or 1."""

    def fits(row: list[str]) -> bool:
        return _row_fits(row) and is_int(row[0]) and row[4] in MQSIM_OPS

    return Fit.LIKELY if most_fit(head.rows(None), 5, fits) else Fit.NO


def _unit(reading: Reading, options: DiskSimOptions | MQSimOptions, usual: str) -> str:
    """The unit of time; what recognises the file has inferred an ``auto``, so that here it is the usual one."""
    unit = usual if options.time_unit == "auto" else options.time_unit
    reading.notes |= {"time_unit": unit, "unit_bytes": str(options.unit_bytes)}
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
    unit = _unit(reading, options, "ms")
    for rows in delimited(reading, DISKSIM):
        flags = rows.coded("flags")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.floats("time"), unit),
            op=_op(flags, None),
            offset=bytes_of(rows.ints("lba"), options.unit_bytes),
            size=bytes_of(rows.ints("size"), options.unit_bytes),
            coded={"volume": rows.coded("device"), "flags": flags},
            op_text=flags,
        )
        yield reading.checked(rows.source, chunk)


def read_mqsim(reading: Reading, options: MQSimOptions) -> Iterator[Chunk]:
    """Requests in the files' order; `volume` is the device."""
    unit = _unit(reading, options, "ns")
    for rows in delimited(reading, MQSIM):
        text = rows.coded("flags")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("time"), unit),
            op=_op(text, MQSIM_OPS),
            offset=bytes_of(rows.ints("lba"), options.unit_bytes),
            size=bytes_of(rows.ints("size"), options.unit_bytes),
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
    layout=DISKSIM,
    needs="five or six fields at blanks: a time, three whole numbers, hexadecimal flags",
    name="disksim",
    ways=disksim_ways,
    sectors=BOTH,
    keeps=("flags",),
)
MQSIM_FORMAT = Format(
    id="mqsim",
    title="MQSim ASCII (nanoseconds, 512-byte sectors)",
    recognise=recognise_mqsim,
    read=read_mqsim,
    options=MQSimOptions,
    layout=MQSIM,
    needs="five whole numbers at blanks, the last 0 or 1",
    name=r"mqsim|\.trace\b",
    ways=mqsim_ways,
    sectors=BOTH,
)
