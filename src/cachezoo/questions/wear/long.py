"""Traces longer than memory as what one drive gets: read once, a piece at a time, into mapped files.

Memory grows with the pages that are written. What a drive does with them is that of `cachezoo.flash_drive.writes` to
the last page.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, stretches
from cachezoo.console import Advance
from cachezoo.errors import TraceError
from cachezoo.flash_drive.names import FIOS
from cachezoo.flash_drive.writes import (
    DriveWrites,
    Trims,
    add_ends,
    check_written,
    pages_given_up,
    pages_written,
    starts_of,
)
from cachezoo.kernels.segments import MAX_VOLUMES, SEGMENT_BITS, IdTable
from cachezoo.questions.wear.options import WearOptions, check_cycles, cuts_of, cycles_of
from cachezoo.questions.wear.table import check_writes, writes_of
from cachezoo.traces.chunks import FLASH_PAGE_BYTES
from cachezoo.traces.long import accesses_in, requests_of
from cachezoo.traces.memory import FIX, long_from
from cachezoo.traces.read import OpenTrace, TraceFiles, read_files, replayed, silent
from cachezoo.traces.spill import Spill
from cachezoo.traces.table import Discards, Trace

PAGES, PARTS, TIMES, REQUESTS, GIVEN_UP, BEFORE = "pages", "parts", "time_us", "request", "trims", "at"


def are_long(traces: Sequence[TraceFiles]) -> bool:
    """Whether traces, which one drive gets, have so many page accesses that they are read a piece at a time."""
    return sum(accesses_in(files) for files in traces) >= long_from()


class Written(NamedTuple):
    """The writes of all cycles of a drive, and how they were read."""

    traces: list[str]  # their ids
    cycles: list[Trace]  # none of long traces
    writes: DriveWrites  # of the cycles
    options: WearOptions  # without what is left out
    notes: list[str]  # on that


def written_by(
    traces: Sequence[TraceFiles | Trace], options: WearOptions, cycles: int | None = None, advance: Advance = silent
) -> Written:
    """What the cycles of a drive are, and what they write.

    FIOS learns from a cycle that is whole in memory, so that no long trace has it.

    Args:
        traces: as `cycles_of` takes them; where one is in memory, all are.
        options: placements and drives.
        cycles: as of `cycles_of`.
        advance: called with the share of long traces that is read.

    Raises:
        ConfigError: as `cycles_of`.
        TraceError: as of reading and of `cachezoo.questions.wear.table.writes_of`.
    """
    files = [one for one in traces if isinstance(one, TraceFiles)]
    if len(files) < len(traces) or not are_long(files):
        whole = [read_files(one, replay=True) if isinstance(one, TraceFiles) else replayed(one) for one in traces]
        own = cycles_of(whole, cycles)
        return Written([one.meta.trace_id for one in whole], own, writes_of(own, options.drive), options, [])
    kept = tuple(name for name in options.by if name.partition(":")[0] != FIOS)
    note = f"fios: it learns from cycles that are whole in memory, and is left out of long traces: {FIX}"
    notes = [] if kept == options.by else [note]
    writes, names = long_writes(files, cycles, options.drive.page_bytes, advance)
    return Written(names, [], writes, replace(options, by=kept), notes)


class _Reader:
    """Keeps what traces write, one after the other."""

    def __init__(self, where: str, page_bytes: int) -> None:
        self.spill, self.page_bytes = Spill(where), page_bytes
        self.requests = self.written = 0
        self.ends: dict[str, int] = {}
        self._table, self._volumes = IdTable(), dict[str, int]()

    def add(self, piece: Trace) -> None:
        """The next requests.

        Raises:
            TraceError: too many volumes or pages, or there is no room.
        """
        add_ends(self.ends, piece)
        page, row, size = pages_written(piece, {}, self.page_bytes)
        known = [self._volumes.setdefault(name, len(self._volumes)) for name in self.ends]
        if len(known) > MAX_VOLUMES:
            raise TraceError(f"{piece.meta.trace_id}: more than {MAX_VOLUMES} volumes are written; split the trace")
        code = np.array([self._volumes.get(name, 0) for name in piece.volume.names], np.int64)
        ids = self._table.lookup((code[piece.volume.codes[row]] << SEGMENT_BITS) + page)
        columns: dict[str, I32 | I64] = {
            PAGES: ids,
            PARTS: size,
            TIMES: piece.time_us[row],
            REQUESTS: self.requests + row,
        }
        for name, values in columns.items():
            self.spill.append(name, values)
        self.requests += len(piece)
        self.written += len(page)

    def numbered(self, starts: dict[str, int]) -> I64:
        """Number the pages by rising address, and say them: int64[footprint], by number."""
        keys = self._table.keys()
        self._table = IdTable()
        first = np.array([starts[name] // self.page_bytes for name in self._volumes], np.int64)
        page = first[keys >> SEGMENT_BITS] + (keys & ((1 << SEGMENT_BITS) - 1))
        del keys
        order = np.argsort(page)
        rank: I32 = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        pages = self.spill.column(PAGES)
        for part in stretches(len(pages)):
            pages[part] = rank[pages[part]]
            self.spill.release()
        found: I64 = page[order]
        return found

    def trims(self, given: Sequence[Discards], starts: dict[str, int], distinct: I64) -> Trims:
        """What was given up; requests before each count from the first trace's first."""
        request, commands, total = self.spill.column(REQUESTS), 0, 0
        for own in given:
            for command, pages in pages_given_up(own, starts, distinct, self.page_bytes):
                self.spill.append(GIVEN_UP, pages)
                self.spill.append(BEFORE, np.searchsorted(request, own.at)[command])
                total += len(pages)
            commands += len(own)
        return Trims(self.spill.column(BEFORE)[:total], self.spill.column(GIVEN_UP)[:total], commands)


def long_writes(
    traces: Sequence[TraceFiles], cycles: int | None = None, page_bytes: int = FLASH_PAGE_BYTES,
    advance: Advance = silent,
) -> tuple[DriveWrites, list[str]]:  # fmt: skip
    """The page writes of a drive that lives through traces, see `drive_writes`, and the traces' ids.

    Args:
        traces: as `cachezoo.questions.wear.options.cycles_of` takes them.
        cycles: likewise.
        page_bytes: of a flash page; it divides a chunk.
        advance: called with the share of them that is read.

    Raises:
        ConfigError: as `cycles_of`.
        TraceError: as of reading; nothing is written, or as `check_writes`; there is no room.
    """
    check_cycles(len(traces), cycles)
    reader = _Reader(str(traces[0].paths[0]), page_bytes)
    names, given_up, begins = list[str](), list[Discards](), [0]
    for number, files in enumerate(traces):

        def on(done: float, note: str = "", before: int = number) -> None:
            advance((before + done) / len(traces), note)

        given = OpenTrace(files, on)
        for piece in requests_of(given):
            reader.add(piece)
        names.append(given.meta().trace_id)
        if (own := given.discards()) is not None:
            given_up.append(replace(own, at=begins[-1] + own.at))
        begins.append(reader.requests)
    cuts = cuts_of(reader.requests, cycles, names[0]) if len(traces) == 1 else begins
    starts = starts_of(reader.ends)
    check_written(starts, ", ".join(dict.fromkeys(names)))
    distinct = reader.numbered(starts)
    spill = reader.spill
    trims = reader.trims(given_up, starts, distinct) if given_up else None
    writes = DriveWrites(
        pages=spill.column(PAGES),
        address=distinct * page_bytes,
        time_us=spill.column(TIMES),
        request=spill.column(REQUESTS),
        starts=np.searchsorted(spill.column(REQUESTS), cuts),
        page_bytes=page_bytes,
        parts=spill.column(PARTS),
        trims=trims,
        volumes=starts,
        spill=spill,
    )
    check_writes(writes, names[0], names[-1])
    return writes, names
