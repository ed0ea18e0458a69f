"""Open CAS' traces (iotrace), as JSON: an event a line, of which those with `io` are requests.

`header.timestamp` counts nanoseconds, `io.lba` and `io.len` sectors of 512 bytes. A value of 0 is left out of the JSON,
as protocol buffers do, so an `io` without `lba` is at address 0, and one without `operation` a read. Whole numbers may
be in quotes. A request without `len` is a flush. Devices are named by `io.deviceId`, or, in traces that were parsed
before, by `device`, which also have `io.latency` in nanoseconds. Descriptions of devices and files, and completions,
are no requests. Source: the Open CAS Telemetry Framework's trace.proto and parsed trace messages.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cachezoo.coded import Coded
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head, Options
from cachezoo.traces.lines import lines_of
from cachezoo.traces.reading import SECTOR_BYTES, Chunk, Reading, bytes_of
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, OP_WRITE, UNKNOWN_LATENCY

DISCARD, FLUSH = 2, 3
OPS = {"read": OP_READ, "write": OP_WRITE, "discard": DISCARD, "0": OP_READ, "1": OP_WRITE, "2": DISCARD}
OTHER_EVENTS = (
    *("deviceDescription", "filesystemMeta", "filesystemFileName", "filesystemFileEvent", "fsMeta", "fsFileName"),
    *("fsFileEvent", "ioCompletion", "ioCmpl", "ioExtensions"),
)
MOST = 2**62
SURROGATES = re.compile("[\ud800-\udfff]")  # halves of characters, which JSON may have and text cannot


def recognise(head: Head) -> Fit:
    """At least half of the lines are such events, and some are requests."""
    rows = [line.strip() for line in head.lines if not line.startswith("#")]
    if not rows or not rows[0].startswith("{"):
        return Fit.NO
    events = [event for line in rows if (event := _event(line)) is not None]
    requests = any("io" in event for event in events)
    return Fit.SURE if 2 * len(events) >= len(rows) and requests else Fit.NO


def _event(line: str) -> dict[str, Any] | None:
    """An event of a line; None where it is none."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("header"), dict):
        return None
    return event if isinstance(event.get("io"), dict) or any(name in event for name in OTHER_EVENTS) else None


def _whole(given: dict[str, Any], name: str, default: int = 0) -> int:
    """A whole number of an event.

    Raises:
        ValueError: it is none.
    """
    value = given.get(name, default)
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not text.isascii() or not text.removeprefix("-").isdigit() or abs(number := int(text[:40])) > MOST:
        message = f"{name} is {str(value)[:40]!r}, not a whole number of 64 bits"
        raise ValueError(message)
    return number


@dataclass
class _Columns:
    """Requests of some lines, a list a column."""

    row: list[int] = field(default_factory=list)
    time_ns: list[int] = field(default_factory=list)
    op: list[int] = field(default_factory=list)
    lba: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    latency_ns: list[int] = field(default_factory=list)
    volume: list[str] = field(default_factory=list)

    def add(self, row: int, event: dict[str, Any]) -> None:
        """Append a request.

        Raises:
            ValueError: a value is none that a request can have.
        """
        io = event["io"]
        device = event.get("device")
        said = str(io.get("operation", "Read"))
        if said.lower() not in OPS:
            message = f"operation is {said[:40]!r}; it says neither read, write nor discard"
            raise ValueError(message)
        length = _whole(io, "len")
        values = (
            _whole(event["header"], "timestamp"),
            OPS[said.lower()] if length else FLUSH,
            _whole(io, "lba"),
            length,
            _whole(io, "latency", UNKNOWN_LATENCY),
        )
        named = device.get("name") or device.get("id") if isinstance(device, dict) else None
        volume = str(named or io.get("deviceId", "0"))
        if SURROGATES.search(volume):
            message = f"its device is {volume[:40]!r}, which is no text"
            raise ValueError(message)
        self.row.append(row)
        for column, value in zip((self.time_ns, self.op, self.lba, self.length, self.latency_ns), values, strict=True):
            column.append(value)
        self.volume.append(volume)

    def chunk(self, reading: Reading) -> Chunk:
        """The reads and writes; what moves no data is counted."""
        op = np.array(self.op, np.uint8)
        latency = np.array(self.latency_ns, np.int64)
        chunk = Chunk(
            row=np.array(self.row, np.int64),
            time_us=np.array(self.time_ns, np.int64) // 1000,
            op=op,
            offset=bytes_of(np.array(self.lba, np.int64), SECTOR_BYTES),
            size=bytes_of(np.array(self.length, np.int64), SECTOR_BYTES),
            latency_us=np.where(latency < 0, UNKNOWN_LATENCY, latency // 1000),
            coded={"volume": Coded.of(self.volume)},
        )
        for code, kind in ((DISCARD, "discard"), (FLUSH, "flush")):
            reading.left_out[kind] += int(np.count_nonzero(op == code))
        if (op == DISCARD).any():
            reading.discards.append(chunk.where(op == DISCARD))
        return chunk.where(op <= OP_WRITE)


def _requests(reading: Reading, source: Source, rows: list[int], texts: list[str]) -> _Columns:
    columns = _Columns()
    for row, text in zip(rows, texts, strict=True):
        event = _event(text)
        if event is None:
            reading.bad(source, row, f"is no event of iotrace ({text[:80]!r}); fix or drop the row")
        elif "io" not in event:
            reading.left_out["other_events"] += 1
        else:
            try:
                columns.add(row, event)
            except ValueError as error:
                reading.bad(source, row, f"{error}; fix or drop the row")
    return columns


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order; `volume` is the device."""
    del options
    for source in reading.sources:
        for lines in lines_of(source):
            columns = _requests(reading, source, lines.row.tolist(), lines.text.to_pylist())
            yield reading.checked(source, columns.chunk(reading))


FORMAT = Format(
    id="opencas",
    title="Open CAS iotrace, JSON lines (nanoseconds, 512-byte sectors)",
    recognise=recognise,
    read=read,
    needs="a line of JSON an event, with header.timestamp, io.lba, io.len and io.operation",
    name="iotrace|octf",
    sectors=BOTH,
    keeps=("latency_us",),
)
