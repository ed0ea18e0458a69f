"""Requests of the formats of events: which events make requests, and what is left out."""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from pydantic import Field

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.kernels.match import COMPLETE, ISSUE, QUEUE
from cachezoo.traces.event_text import Line, scan, with_following
from cachezoo.traces.events import (
    LEFT_OUT,
    EventLog,
    Events,
    JoinedRequests,
    Room,
    device_name,
    device_number,
    match_requests,
    sound,
)
from cachezoo.traces.formats.base import Options
from cachezoo.traces.reading import SECTOR_BYTES, Chunk, Reading
from cachezoo.traces.source import Source

MAKERS = {"issue": ISSUE, "queue": QUEUE, "complete": COMPLETE}
CHUNK_ROWS = 1 << 18
Judge = Callable[[Line, int], None]


class EventOptions(Options):
    """Options of the formats of events.

    Attributes:
        event: which events make requests; auto takes issues (D), if there are any, else those queued (Q), else
            completions (C).
        device: ``major,minor`` of the one device to keep; default all.
    """

    event: Literal["auto", "issue", "queue", "complete"] = "auto"
    device: str | None = Field(None, pattern=r"^[0-9]{1,6},[0-9]{1,6}$")

    @property
    def number(self) -> int | None:
        """The device's number."""
        return None if self.device is None else device_number(self.device)


def _maker(reading: Reading, events: Events, asked: str) -> str:
    """Which events make requests."""
    present = [name for name, kind in MAKERS.items() if (events.kind == kind).any()]
    if asked == "auto" and present:
        return present[0]
    if asked not in present:
        named = f"{asked} events; it has {' and '.join(present)}: use event={present[0]}" if present else ""
        raise TraceError(f"{reading.sources[0].path}: has no {named or 'issue, queue or complete events: trace those'}")
    return asked


def request_chunks(reading: Reading, events: Events, options: EventOptions, room: Room) -> Iterator[Chunk]:
    """The requests of a trace's events; what makes none is counted.

    Raises:
        TraceError: there are no events of the kind that is to make requests, or no room to join them.
    """
    maker = _maker(reading, events, options.event)
    reading.notes["event"] = maker
    requests = match_requests(events, MAKERS[maker], room)
    for kind, count in requests.counts.items():
        if kind in (*LEFT_OUT.values(), "unmatched_complete"):
            reading.left_out[kind] += count
        elif count:
            reading.notes[kind] = str(count)
    if matched := int(np.count_nonzero(requests.latency_us >= 0)):
        reading.notes["matched"] = str(matched)
    numbers, codes = np.unique(requests.device, return_inverse=True)
    volume = Coded(codes.astype(np.int32), tuple(device_name(number) for number in numbers.tolist()))
    for start in range(0, len(requests), CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, len(requests))
        reading.discards.append(_discards(requests, start, stop))
        chunk = Chunk(
            row=np.arange(start + 1, stop + 1),
            time_us=requests.time_us[start:stop],
            op=requests.op[start:stop],
            offset=requests.offset[start:stop],
            size=requests.size[start:stop],
            latency_us=requests.latency_us[start:stop],
            coded={
                "volume": volume.part(start, stop),
                "user": requests.comm.part(start, stop),
                "flags": requests.flags.part(start, stop),
            },
        )
        yield reading.checked(reading.sources[0], chunk)


def _discards(requests: JoinedRequests, start: int, stop: int) -> Chunk:
    """The discards after request `start` and up to request `stop`, and those before the first."""
    given = requests.discards
    time_us = given.time_ns // 1000
    row = np.searchsorted(requests.time_us, time_us, side="right")
    part = np.flatnonzero((row > (start or -1)) & (row <= stop))
    device, codes = np.unique(given.device[part], return_inverse=True)
    volume = Coded(codes.astype(np.int32), tuple(device_name(number) for number in device.tolist()))
    return Chunk(
        row=row[part],
        time_us=time_us[part],
        op=np.zeros(len(part), np.uint8),
        offset=given.sector[part] * SECTOR_BYTES,
        size=given.sectors[part].astype(np.int64) * SECTOR_BYTES,
        coded={"volume": volume},
    )


def read_text(
    reading: Reading, options: EventOptions, blkparse: bool, judge: Callable[[Reading, Source], Judge]
) -> Iterator[Chunk]:
    """Requests of a trace in text.

    Args:
        reading: the files, together one trace.
        options: which events, of which device.
        blkparse: the text is of blkparse; else of the kernel.
        judge: makes, for each file, what is called with each line that is no event, and the row of the last event
            before it, 0 where there is none.

    Raises:
        TraceError: more rows are bad than may be skipped, no event makes requests, or they are too many for memory.
    """
    log, room = EventLog(options.number), Room(reading.sources[0])
    for source in reading.sources:
        row, last_event = 1, 0
        judged = judge(reading, source)
        for block in with_following(source.lines()):
            events, rows, odd, row = scan(block, blkparse, row)
            for line in odd:
                at = int(np.searchsorted(rows, line.row))
                judged(line, int(rows[at - 1]) if at else last_event)
            last_event = int(rows[-1]) if len(rows) else last_event
            log.add(sound(reading, source, rows, events))
            room.hold(log.events)
    yield from request_chunks(reading, log.close(), options, room)
