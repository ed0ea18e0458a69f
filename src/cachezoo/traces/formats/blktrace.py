"""blktrace's binary files, versions 7 (48 bytes a record) and 8 (64 bytes), of either byte order.

Records are followed by as many bytes as they say. Times are nanoseconds, sectors 512 bytes. The files of the
processors, `DEVICE.blktrace.N`, are given together and make one trace. Events read are D (issued), C (completed),
R (requeued) and Q (queued), and process names; the others are further steps of the same requests. All events are held
in memory, see `cachezoo.traces.events`. Source: the kernel's include/uapi/linux/blktrace_api.h.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.kernels import blktrace as kernel
from cachezoo.traces.delimited import merged
from cachezoo.traces.events import Events, Room, concatenated, process_name, sound
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head
from cachezoo.traces.formats.event_requests import EventOptions, request_chunks
from cachezoo.traces.reading import SECTOR_BYTES, Chunk, Names, Reading
from cachezoo.traces.source import READ_BYTES, Source

MAGIC = 0x65617400
VERSIONS = (7, 8)
MAGICS = {
    (MAGIC | version).to_bytes(4, "big" if big else "little"): (version, big)
    for version in VERSIONS
    for big in (False, True)
}
# Bits of the category.
WRITE, FLUSH, SYNC, PASS_THROUGH, AHEAD, META, DISCARD, FUA = (1 << bit for bit in (1, 2, 3, 9, 11, 12, 13, 15))
OTHER_OPERATIONS = 0x7F << 16  # version 8: operations on zones, and writes of zeroes
HAS_BYTES = 1  # in the place of the bit for reads
LETTERS = ((FUA, "F"), (AHEAD, "A"), (SYNC, "S"), (META, "M"))
TELLING = (HAS_BYTES, WRITE, FLUSH, SYNC, AHEAD, META, DISCARD, FUA)


def recognise(head: Head) -> Fit:
    """The magic number of a record."""
    return Fit.SURE if head.data[:4] in MAGICS else Fit.NO


def rwbs(bits: int) -> str:
    """The kernel's letters for bits of a category, with `HAS_BYTES`."""
    what = "D" if bits & DISCARD else "W" if bits & WRITE else "R" if bits & HAS_BYTES else "N"
    return ("F" if bits & FLUSH else "") + what + "".join(letter for bit, letter in LETTERS if bits & bit)


@cache
def _letters() -> Coded:
    """The letters of every category."""
    category = np.arange(1 << 16)
    codes = sum(((category & bit) > 0).astype(np.int32) << place for place, bit in enumerate(TELLING))
    names = (rwbs(sum(bit for place, bit in enumerate(TELLING) if code >> place & 1)) for code in range(256))
    return merged(Coded(np.asarray(codes, np.int32), tuple(names)))


def _events(found: I64) -> Events:
    """Events of a scan's rows; in place of names, `comm` has processes' numbers as codes."""
    category = found[:, kernel.CATEGORY]
    size = found[:, kernel.BYTES]
    command = (category & (PASS_THROUGH | OTHER_OPERATIONS)) > 0
    sectors = np.where(command, -1, size // SECTOR_BYTES)
    letters = _letters()
    return Events(
        time_ns=found[:, kernel.TIME_NS].copy(),
        kind=found[:, kernel.KIND].astype(np.uint8),
        device=found[:, kernel.DEVICE].astype(np.int32),
        sector=np.where(sectors > 0, found[:, kernel.SECTOR], 0),
        sectors=sectors.astype(np.int32),
        error=found[:, kernel.ERROR].astype(np.int32),
        rwbs=letters.take((category & 0xFFFE) | (size > 0)),
        comm=Coded(found[:, kernel.PID].astype(np.int32), ()),
    )


class _Log:
    """Collects records; processes are named at the end, as their names may come from another file."""

    def __init__(self, options: EventOptions, room: Room) -> None:
        self.device, self.room = options.number, room
        self.events = 0
        self.parts: list[Events] = []
        self.names: dict[int, list[tuple[int, str]]] = {}

    def add(self, reading: Reading, source: Source, data: bytes, found: I64) -> None:
        """Keep a scan's events and names.

        Raises:
            TraceError: more rows are bad than may be skipped, or events are too many for memory.
        """
        is_name = found[:, kernel.KIND] == kernel.NAME
        for row in found[is_name].tolist():
            name = data[row[kernel.PDU] : row[kernel.PDU] + row[kernel.PDU_BYTES]].split(b"\0")[0]
            entry = (row[kernel.TIME_NS], process_name(name.decode("utf-8", "replace")))
            self.names.setdefault(row[kernel.PID], []).append(entry)
        is_event = ~is_name
        if self.device is not None:
            is_event &= found[:, kernel.DEVICE] == self.device
        kept = found if is_event.all() else found[is_event]
        self.parts.append(sound(reading, source, kept[:, kernel.RECORD], _events(kept)))
        self.events += len(self.parts[-1])
        self.room.hold(self.events)

    def close(self) -> Events:
        """All events in the order of time, with the names of their processes."""
        events = concatenated(self.parts, _letters().names, ())
        self.parts.clear()
        events = events.in_order()
        return replace(events, comm=self._named(events))

    def _named(self, events: Events) -> Coded:
        """Each event's process by the last name given to its number before it, else the first one after it."""
        import pyarrow as pa

        encoded = pa.array(events.comm.codes).dictionary_encode()
        process = np.asarray(encoded.indices)
        numbers = encoded.dictionary.to_pylist()
        given = [sorted(self.names.get(number, [(0, "")])) for number in numbers]
        names = Names()
        codes = names.add(Coded(np.arange(len(given), dtype=np.int32), tuple(entry[0][1] for entry in given)))[process]
        for index, entries in enumerate(given):
            if len({name for _, name in entries}) > 1:
                rows = np.flatnonzero(process == index)
                times = np.array([time_ns for time_ns, _ in entries])
                latest = np.searchsorted(times, events.time_ns[rows], "right") - 1
                own = Coded(np.arange(len(entries), dtype=np.int32), tuple(name for _, name in entries))
                codes[rows] = names.add(own)[np.maximum(latest, 0)]
        return Coded(codes, names.names)


def _read_file(reading: Reading, source: Source, log: _Log) -> None:
    """Scan a file's records block by block."""
    version, big = MAGICS.get(source.head(4), (0, False))
    if not version:
        reading.bad(source, 1, "does not start with blktrace's magic number, version 7 or 8; name blktrace's files")
        return
    magic = (MAGIC | version).to_bytes(4, "big" if big else "little")
    data = b""
    record = 1
    seeking = False
    for block in source.blocks(READ_BYTES):
        data += block
        at = 0
        while True:
            if seeking:
                at = data.find(magic, at)
                seeking = at < 0
                if seeking:
                    at = max(len(data) - len(magic) + 1, 0)
                    break
            found, at, record, ended = kernel.scan(np.frombuffer(data, np.uint8), at, record, version, big)
            log.add(reading, source, data, found)
            if ended == kernel.ENOUGH:
                break
            has = data[at : at + 4].hex()
            reading.bad(source, record, f"has no magic number ({has}); the file is damaged: record it again")
            record, at, seeking = record + 1, at + 1, True
        data = data[at:]
    if data and not seeking:
        reading.bad(source, record, f"is cut short: {len(data)} bytes are left; record again or drop the end")


def read(reading: Reading, options: EventOptions) -> Iterator[Chunk]:
    """Requests of all files together, in the order of their first issue; `volume` is MAJOR,MINOR."""
    room = Room(reading.sources[0])
    log = _Log(options, room)
    for source in reading.sources:
        _read_file(reading, source, log)
    yield from request_chunks(reading, log.close(), options, room)


FORMAT = Format(
    id="blktrace",
    title="blktrace binary, versions 7 and 8 (ns, 512-byte sectors)",
    recognise=recognise,
    read=read,
    binary=True,
    needs="blktrace's binary records, of versions 7 or 8",
    name=r"\.blktrace\.\d+",
    sectors=BOTH,
    options=EventOptions,
    keeps=("latency_us", "user", "flags"),
)
