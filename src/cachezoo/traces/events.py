"""Events of a block device's requests, and the requests they make.

A request is issued, perhaps requeued and issued again, and completed whole or in parts; an event log holds each step
by itself. In memory an event takes 37 bytes, and up to `EVENT_BYTES` while events are put in order and joined; a trace
of more than there is memory for is refused before it takes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64, U8
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.kernels.match import (
    COMPLETE,
    FAILED,
    ISSUE,
    NO_ROOM,
    QUEUE,
    REQUEUE,
    REQUEUED,
    SLOT_BYTES,
    UNMATCHED_COMPLETE,
    join,
)
from cachezoo.traces.memory import memory_left
from cachezoo.traces.reading import SECTOR_BYTES, Names, Reading, bytes_of
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, OP_WRITE, UNKNOWN_LATENCY, bad_rows

EVENT_BYTES = 160  # measured; without the table of what is under way, which may have what memory is left
NO_LIMIT = 2**62
FLUSH, DISCARD, OTHER = 2, 3, 4
LEFT_OUT = {FLUSH: "flush", DISCARD: "discard", OTHER: "other"}
# Which events end what each kind begins.
ENDS = {ISSUE: (COMPLETE, REQUEUE), QUEUE: (COMPLETE,), COMPLETE: ()}
LETTERS = {"R": OP_READ, "W": OP_WRITE, "D": DISCARD, "F": FLUSH}


@dataclass(frozen=True)
class Events:
    """Block events, one entry each."""

    time_ns: I64  # int64, of any origin
    kind: U8  # uint8, `ISSUE`, `COMPLETE`, `REQUEUE` or `QUEUE`
    device: I32  # int32 major << 20 | minor
    sector: I64  # int64, units of 512 bytes
    sectors: I32  # int32; 0 a flush, -1 a command that is no data request
    error: I32  # int32, 0 but for a failed completion
    rwbs: Coded  # the kernel's letters of operation and flags
    comm: Coded  # the process; empty where the event names none

    def __len__(self) -> int:
        return len(self.time_ns)

    def take(self, order: npt.NDArray[np.generic]) -> "Events":
        """The events that an index array or mask selects."""
        columns: dict[str, Any] = {}
        for entry in fields(self):
            column = getattr(self, entry.name)
            columns[entry.name] = column.take(order) if isinstance(column, Coded) else column[order]
        return Events(**columns)

    def in_order(self) -> "Events":
        """The events in the order of time; those of the same time keep theirs."""
        if (np.diff(self.time_ns) >= 0).all():
            return self
        return self.take(np.argsort(self.time_ns, kind="stable"))

    def operation(self) -> U8:
        """uint8: read, write, `FLUSH`, `DISCARD` or `OTHER`, of each event."""
        data = np.array([operation(name, 1) for name in self.rwbs.names], np.uint8)[self.rwbs.codes]
        if len(data) == 0 or self.sectors.min() > 0:
            return data
        empty = np.array([operation(name, 0) for name in self.rwbs.names], np.uint8)[self.rwbs.codes]
        return np.select([self.sectors > 0, self.sectors == 0], [data, empty], np.uint8(OTHER))


def operation(rwbs: str, sectors: int) -> int:
    """What an event asks for: `OP_READ`, `OP_WRITE`, `FLUSH`, `DISCARD` or `OTHER`.

    Args:
        rwbs: the kernel's letters; a leading F is a flush before the data.
        sectors: length; a read or write without data is a flush.
    """
    if sectors < 0:
        return OTHER
    letters = rwbs[1:] if rwbs.startswith("F") and len(rwbs) > 1 else rwbs
    if sectors == 0:
        return OTHER if letters == rwbs and rwbs.startswith("N") else FLUSH
    # WZ writes zeroes without data.
    return OTHER if letters.startswith("WZ") else LETTERS.get(letters[:1], OTHER)


def process_name(comm: str) -> str:
    """A process name without the parts that number a thread: ``kworker/u8:3`` is ``kworker``."""
    return comm.split("/", 1)[0] if comm.startswith(("kworker/", "jbd2/", "ksoftirqd/")) else comm


def device_name(device: int) -> str:
    """``major,minor``."""
    return f"{device >> 20},{device & 0xFFFFF}"


def device_number(name: str) -> int:
    """The number of ``major,minor``."""
    major, minor = name.split(",")
    return int(major) << 20 | int(minor)


def concatenated(parts: Sequence[Events], rwbs: tuple[str, ...], comm: tuple[str, ...]) -> Events:
    """Parts one after the other, whose codes all mean these names."""

    def column(name: str, dtype: npt.DTypeLike = np.int32) -> npt.NDArray[Any]:
        values = (getattr(part, name) for part in parts)
        arrays = [value.codes if isinstance(value, Coded) else value for value in values]
        return np.concatenate([np.empty(0, dtype), *arrays])

    return Events(
        time_ns=column("time_ns", np.int64),
        kind=column("kind", np.uint8),
        device=column("device"),
        sector=column("sector", np.int64),
        sectors=column("sectors"),
        error=column("error"),
        rwbs=Coded(column("rwbs"), rwbs),
        comm=Coded(column("comm"), comm),
    )


class Room:
    """Memory for the events of a trace, as much as is left when its reading begins.

    Args:
        source: the file to name where it does not suffice.
    """

    def __init__(self, source: Source) -> None:
        self._source, self._left = source, memory_left()

    def hold(self, events: int) -> None:
        """Refuse more events than can be joined.

        Raises:
            TraceError: they are too many.
        """
        if events * EVENT_BYTES > self._left:
            self.refuse("has more events")

    def slots(self, events: int) -> int:
        """How many slots the tables of what is under way may have beside so many events."""
        return max(self._left - events * EVENT_BYTES, 0) // SLOT_BYTES

    def refuse(self, what: str) -> NoReturn:
        """Say that memory does not suffice.

        Raises:
            TraceError: always.
        """
        message = (
            f"{self._source.path}: {what} than can be joined in the {self._left >> 20:,} MiB of memory left; cut the "
            "trace by time, or keep one device (option device=MAJOR,MINOR)"
        )
        raise TraceError(message)


class EventLog:
    """Collects the events of a trace's files.

    Args:
        device: keep this one's alone.
    """

    def __init__(self, device: int | None = None) -> None:
        self.events = 0
        self._device = device
        self._parts: list[Events] = []
        self._rwbs, self._comm = Names(), Names()

    def add(self, part: Events) -> None:
        """Append events, with names of their own."""
        if self._device is not None:
            part = part.take(part.device == self._device)
        self.events += len(part)
        comm = Coded(part.comm.codes, tuple(process_name(name) for name in part.comm.names))
        rwbs = Coded(self._rwbs.add(part.rwbs), ())
        self._parts.append(replace(part, rwbs=rwbs, comm=Coded(self._comm.add(comm), ())))

    def close(self) -> Events:
        """All events in the order of time; the log is empty afterwards."""
        events = concatenated(self._parts, self._rwbs.names, self._comm.names)
        self._parts.clear()
        return events.in_order()


def sound(reading: Reading, source: Source, row: I64, part: Events) -> Events:
    """The events whose reads and writes a trace can have; the others are bad rows.

    Raises:
        TraceError: more rows are bad than may be skipped.
    """
    what = part.operation()
    is_data = what <= OP_WRITE
    op = np.where(is_data, what, OP_READ).astype(np.uint8)
    size = np.where(is_data, part.sectors.astype(np.int64) * SECTOR_BYTES, 1)
    found = bad_rows(op, np.where(is_data, bytes_of(part.sector, SECTOR_BYTES), 0), size)
    if not found:
        return part
    kept = np.ones(len(part), bool)
    for index, said in found:
        reading.bad(source, int(row[index]), said)
        kept[index] = False
    return part.take(kept)


@dataclass(frozen=True)
class JoinedRequests:
    """Data requests in the order of their first issue, one entry each.

    Attributes:
        time_us: int64 first issue, of the events' origin.
        op: uint8, read or write.
        offset, size: int64 bytes.
        latency_us: int64 from first issue to the completion of the last part; -1 never seen completed.
        device: int32 major << 20 | minor.
        flags: the kernel's rwbs letters.
        comm: the issuing process.
        counts: events left out or not joined: flush, discard, other, requeued, failed, unmatched_issue,
            unmatched_complete.
        discards: the events that gave up a range, as many as `counts` says.
    """

    time_us: I64
    op: U8
    offset: I64
    size: I64
    latency_us: I64
    device: I32
    flags: Coded
    comm: Coded
    counts: dict[str, int]
    discards: Events

    def __len__(self) -> int:
        return len(self.time_us)


def match_requests(events: Events, maker: int = ISSUE, room: Room | None = None) -> JoinedRequests:
    """Join issues with completions, first in first out among requests of the same address of a device.

    A requeued request keeps its row and its first issue time. Flushes, discards and other operations without
    data are counted and left out.

    Args:
        events: in the order of time.
        maker: the kind of event that makes a request: `ISSUE`; `QUEUE`, which a completion of the same address ends;
            or `COMPLETE`, which gives no latencies.
        room: refuses what it has no memory for; default whatever there is.

    Raises:
        TraceError: more requests are under way at once than there is room for.
    """
    what = events.operation()
    made = events.kind == maker
    counts = {kind: int(np.count_nonzero(made & (what == code))) for code, kind in LEFT_OUT.items()}
    kept = (made | np.isin(events.kind, ENDS[maker])) & (what <= OP_WRITE)
    steps = events if kept.all() else events.take(kept)
    first, last, joined = _join(steps, maker, NO_LIMIT if room is None else room.slots(len(events)))
    if room is not None and joined[NO_ROOM]:
        room.refuse("has more requests under way at once")
    issued = steps.take(first)
    time_us = issued.time_ns // 1000
    ended = last >= 0
    latency = np.where(ended, steps.time_ns[np.where(ended, last, 0)] // 1000 - time_us, UNKNOWN_LATENCY)
    counts |= {
        "requeued": int(joined[REQUEUED]),
        "failed": int(joined[FAILED]),
        "unmatched_issue": int(np.count_nonzero(~ended)),
        "unmatched_complete": int(joined[UNMATCHED_COMPLETE]),
    }
    return JoinedRequests(
        time_us=time_us,
        op=issued.operation(),
        offset=issued.sector * SECTOR_BYTES,
        size=issued.sectors.astype(np.int64) * SECTOR_BYTES,
        latency_us=latency,
        device=issued.device,
        flags=issued.rwbs,
        comm=issued.comm,
        counts=counts,
        discards=events.take(made & (what == DISCARD)),
    )


def _join(steps: Events, maker: int, most_slots: int) -> tuple[I64, I64, I64]:
    """As the kernel, with events of the maker's kind for issues."""
    made = steps.kind == maker
    if made.all():
        # Nothing would ever be taken from the kernel's table, which grows with what is owed.
        return np.arange(len(steps)), np.full(len(steps), -1), np.zeros(4, np.int64)
    kind = np.where(made, np.uint8(ISSUE), steps.kind)
    return join(kind, steps.device, steps.sector, steps.sectors, steps.error, most_slots)
