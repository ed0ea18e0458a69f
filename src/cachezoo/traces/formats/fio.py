"""fio's iolog, versions 2 and 3, read and written.

A row is `file action [offset length]`, in version 3 after a timestamp in microseconds of the run. Offset and length are
bytes. In version 2 time passes by rows `file wait T 0`: fio sleeps until T milliseconds after its start, although its
manual calls T microseconds since the wait before; the option `wait` says which a file means. Source: fio's manual, its
iolog.c, and its behaviour.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv
from pydantic import Field

from cachezoo.arrays import I64
from cachezoo.errors import TraceError
from cachezoo.io import atomic_file
from cachezoo.traces.delimited import Column, Layout, Rows, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, Way, is_int, lost_columns
from cachezoo.traces.formats.other_ops import by_name, data_only
from cachezoo.traces.rates import unit_doubts
from cachezoo.traces.reading import BAD_TIME, Chunk, Reading, microseconds
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_NAMES, Trace

HEADER = "fio version {} iolog"
VERSIONS = {HEADER.format(version): version for version in (2, 3)}
FILE_ACTIONS = ("add", "open", "close")
NO_DATA = by_name(*FILE_ACTIONS, "sync", "datasync", "trim")
ROW = (Column("file", "text"), Column("action", "text"), Column("offset", "int"), Column("length", "int"))
NANOSECONDS_DOUBT = 1.5
FEW_TIMES = 20
BLANKS = re.compile(r"[ \t]+")
ROWS_PER_WRITE = 1 << 18
MOST_RELATIVE_US = 2**40  # a sum of them over a block fits 64 bits


class FioOptions(Options):
    """How times are meant.

    Attributes:
        time_unit: of version 3's timestamps and version 2's waits; ``auto``: microseconds, but milliseconds for
            absolute waits.
        wait: ``absolute``: version 2's waits count from the run's start, as fio takes them; ``relative``: from the wait
            before, as its manual says.
    """

    time_unit: Literal["auto", "us", "ms", "ns", "s"] = "auto"
    wait: Literal["absolute", "relative"] = "absolute"

    def unit(self, version: int) -> str:
        """The unit of a version's times."""
        if self.time_unit != "auto":
            return self.time_unit
        return "ms" if version == 2 and self.wait == "absolute" else "us"


def recognise(head: Head) -> Fit:
    """The first line."""
    return Fit.SURE if head.lines and head.lines[0].strip(" \t") in VERSIONS else Fit.NO


def ways(head: Head, given: Mapping[str, str]) -> list[Way]:
    """Version 3's times in microseconds, or in the nanoseconds of converters that forgot to divide.

    That the log is slower than disks are speaks for the latter, and never so much that they are taken unasked.
    """
    lines = head.lines
    if "time_unit" in given or not lines or VERSIONS.get(lines[0].strip(" \t")) != 3:
        return [Way({})]
    rows = [line.split() for line in lines[1:]]
    times = [int(row[0]) for row in rows if len(row) == 5 and is_int(row[0]) and row[2] in OP_NAMES]
    if len(times) < FEW_TIMES:
        return [Way({})]
    doubts = unit_doubts(np.array(times, np.float64), {"us": 0.0, "ns": NANOSECONDS_DOUBT})
    slow = min(doubts["us"], NANOSECONDS_DOUBT)
    return [Way({}, slow), Way({"time_unit": "ns"}, doubts["ns"], "the unit of time by the rate")]


def _regular(block: bytes) -> bytes:
    """Rows of one width: what lacks offset and length gets zeros."""
    if not block.endswith(b"\n"):
        block += b"\n"
    for action in NO_DATA:
        short = f" {action}".encode()
        block = block.replace(short + b"\n", short + b" 0 0\n")
    return block


def _layout(*columns: Column) -> Layout:
    return Layout(columns, " ", header=lambda line: line in VERSIONS, edit=_regular)


def _version(source: Source) -> int:
    """A file's version, by its first line.

    Raises:
        TraceError: it is no iolog of a known version.
    """
    lines = source.first_lines()
    version = VERSIONS.get(BLANKS.sub(" ", lines[0].strip(" \t"))) if lines else None
    if version is None:
        said = lines[0][:60] if lines else ""
        raise TraceError(f"{source.path}: row 1 is {said!r}; a log begins with {' or '.join(map(repr, VERSIONS))}")
    return version


@dataclass
class _Clock:
    """Time by the waits of a version 2 log."""

    reading: Reading
    options: FioOptions
    now: int = 0

    def times(self, rows: Rows, waits: npt.NDArray[np.bool_]) -> I64:
        """The time of each row; waits that are no times, or run backwards, are bad rows and pass no time."""
        given = np.where(waits, microseconds(rows.ints("offset"), self.options.unit(2)), 0)
        relative = self.options.wait == "relative"
        most = MOST_RELATIVE_US if relative else 2**62
        passed = np.where(given <= most, np.maximum(given, 0), 0)
        if relative:
            times, backwards = self.now + np.cumsum(passed), np.zeros(len(waits), bool)
        else:
            so_far = np.maximum.accumulate(np.concatenate([[self.now], passed]))
            times, backwards = so_far[1:], waits & (given < so_far[:-1])
        for index in np.flatnonzero((given < 0) | (given > most) | backwards).tolist():
            said = f"wait is {rows.ints('offset')[index]}"
            said += (
                f"; give a time from 0 to {most} microseconds"
                if not 0 <= given[index] <= most
                else ", before an earlier one; where each counts from the last, give the option wait=relative"
            )
            self.reading.bad(rows.source, int(rows.row[index]), said)
        self.now = int(times[-1])
        return times


def _chunk(reading: Reading, rows: Rows, time_us: I64, kinds: Mapping[str, str]) -> Chunk:
    """Reads and writes; actions of the other `kinds` are counted."""
    op, text = rows.op("action")
    chunk = Chunk(
        row=rows.row,
        time_us=time_us,
        op=op,
        offset=rows.ints("offset"),
        size=rows.ints("length"),
        coded={"volume": rows.coded("file")},
        op_text=text,
    )
    return data_only(reading, chunk, kinds)


def _read_2(reading: Reading, source: Source, options: FioOptions) -> Iterator[Chunk]:
    clock = _Clock(reading, options)
    reading.notes["wait"] = f"{options.wait}, {options.unit(2)}"
    for rows in delimited(reading, _layout(*ROW), [source]):
        text = rows.coded("action")
        waits = np.array([name == "wait" for name in text.names])[text.codes]
        yield _chunk(reading, rows, clock.times(rows, waits), {**NO_DATA, "wait": ""})


def _read_3(reading: Reading, source: Source, options: FioOptions) -> Iterator[Chunk]:
    for rows in delimited(reading, _layout(Column("time", "int"), *ROW), [source]):
        time_us = microseconds(rows.ints("time"), options.unit(3))
        yield _chunk(reading, rows, np.where(time_us < 0, BAD_TIME, time_us), by_name(*NO_DATA, "wait"))


def read(reading: Reading, options: FioOptions) -> Iterator[Chunk]:
    """Requests in the files' order; `volume` is the file that a row names.

    Raises:
        TraceError: a file has no first line of a known version.
    """
    for source in reading.sources:
        version = _version(source)
        reading.notes["fio_version"] = str(version)
        for chunk in (_read_2 if version == 2 else _read_3)(reading, source, options):
            yield reading.checked(source, chunk)


class WriteOptions(Options):
    """What to write.

    Attributes:
        version: 3 has a timestamp in each row (fio from 3.31), 2 has waits.
        wait: how version 2's waits count, as in `FioOptions`: milliseconds from the start, or microseconds from the
            wait before.
        file: the file's name in the log; empty: the volume's, or ``cachezoo`` where the trace has a single unnamed one.
    """

    version: Literal["2", "3"] = "3"
    wait: Literal["absolute", "relative"] = "absolute"
    file: str = Field(default="", pattern=r"^[^\s\"]*$")


def _files(trace: Trace, wanted: str) -> list[str]:
    """A file's name for each volume, blanks and quotes as underscores.

    Raises:
        TraceError: volumes would share a name.
    """
    volumes = trace.volume.names
    if len(volumes) == 1 and (wanted or volumes[0] in ("", "0")):
        return [wanted or "cachezoo"]
    files = ["".join("_" if sign.isspace() or sign == '"' else sign for sign in name) or "cachezoo" for name in volumes]
    if wanted or len(set(files)) < len(files):
        message = f"{trace.meta.trace_id}: {len(files)} volumes would share a file's name in the log; split the trace"
        raise TraceError(message)
    return files


@dataclass(frozen=True)
class _Writer:
    """Rows of a log into an open file."""

    file: BinaryIO
    files: list[str]

    def file_rows(self, prefix: str, *actions: str) -> None:
        """Rows that add, open or close every file."""
        for name in self.files:
            self.file.write("".join(f"{prefix}{name} {action}\n" for action in actions).encode())

    def rows(self, volume: npt.NDArray[Any], action: npt.NDArray[Any], offset: I64, length: I64, *time: I64) -> None:
        """Rows of reads, writes and waits."""
        names = pa.DictionaryArray.from_arrays(pa.array(volume), pa.array(self.files)).cast(pa.string())
        actions = pa.DictionaryArray.from_arrays(pa.array(action), pa.array([*OP_NAMES, "wait"])).cast(pa.string())
        columns = [*map(pa.array, time), names, actions, pa.array(offset), pa.array(length)]
        table = pa.table(columns, [str(index) for index in range(len(columns))])
        style = pacsv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
        pacsv.write_csv(table, self.file, style)


def _write_2(writer: _Writer, trace: Trace, absolute: bool) -> None:
    writer.file_rows("", "add", "open")
    clock = trace.time_us // 1000 if absolute else trace.time_us
    for first in range(0, len(trace), ROWS_PER_WRITE):
        part = slice(first, first + ROWS_PER_WRITE)
        gap = np.diff(clock[part], prepend=clock[first - 1] if first else 0)
        request = np.repeat(np.arange(len(gap)), 1 + (gap > 0))
        # Of two rows of a request the first is its wait.
        wait = np.append(request[1:] == request[:-1], False)
        value = (clock[part] if absolute else gap)[request]
        writer.rows(
            trace.volume.codes[part][request],
            np.where(wait, len(OP_NAMES), trace.op[part][request]).astype(np.int32),
            np.where(wait, value, trace.offset[part][request]),
            np.where(wait, 0, trace.size[part][request]),
        )
    writer.file_rows("", "close")


def _write_3(writer: _Writer, trace: Trace) -> None:
    writer.file_rows("0 ", "add", "open")
    for first in range(0, len(trace), ROWS_PER_WRITE):
        part = slice(first, first + ROWS_PER_WRITE)
        op = trace.op[part].astype(np.int32)
        writer.rows(trace.volume.codes[part], op, trace.offset[part], trace.size[part], trace.time_us[part])
    writer.file_rows(f"{int(trace.time_us[-1]) if len(trace) else 0} ", "close")


def write(trace: Trace, path: Path, options: WriteOptions) -> dict[str, int]:
    """Write a log that fio replays.

    Raises:
        TraceError: volumes would share a file's name.
    """
    files = _files(trace, options.file)
    absolute = options.version == "2" and options.wait == "absolute"
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        file.write(f"{HEADER.format(options.version)}\n".encode())
        if options.version == "2":
            _write_2(_Writer(file, files), trace, absolute)
        else:
            _write_3(_Writer(file, files), trace)
    lost = lost_columns(trace)
    lost["time below a millisecond"] = int(np.count_nonzero(trace.time_us % 1000)) if absolute else 0
    renamed = np.array([name != file for name, file in zip(trace.volume.names, files, strict=True)], bool)
    lost["name of the volume"] = int(np.count_nonzero(renamed[trace.volume.codes])) if len(trace) else 0
    return {what: rows for what, rows in lost.items() if rows}


FORMAT = Format(
    id="fio",
    title="fio iolog, version 2 or 3 (bytes; version 3 in microseconds)",
    recognise=recognise,
    read=read,
    needs="a first line 'fio version 2 iolog' or 3",
    name="iolog|\\bfio",
    options=FioOptions,
    ways=ways,
    write=write,
    write_options=WriteOptions,
)
