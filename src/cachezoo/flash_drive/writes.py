"""The flash pages that a trace's cycles write, as one drive gets them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64, MOST_NUMBERED, U8, Bool
from cachezoo.errors import TraceError
from cachezoo.kernels.bounds.following import next_access, width_of
from cachezoo.kernels.page_writes import mark_begins, mark_chunks, merge
from cachezoo.traces.chunks import CHUNK_BYTES, FLASH_PAGE_BYTES
from cachezoo.traces.spill import Spill
from cachezoo.traces.table import OP_WRITE, Discards, Trace

NEVER = -1
AT_ONCE = 1 << 22
"""Page writes of which anything is in memory at a time, where they lie in files."""


@dataclass(frozen=True)
class Trims:
    """Pages that the host gave up, k in all: whole ones, of those that are ever written."""

    at: I64  # [k] page writes before each, rising
    pages: I32  # [k] as in `DriveWrites`
    commands: int  # discards of the traces, whatever pages they are of


@dataclass(frozen=True)
class DriveWrites:
    """The n page writes of c cycles, in the order in which the drive gets them.

    Addresses count over all volumes, which lie one after another. Columns of n are in memory, or in mapped files: then
    what is found out of them goes to files, too, and memory grows with the pages that are written alone.
    """

    pages: I32  # [n] dense flash page ids in [0, footprint), by rising address
    address: I64  # [footprint] first byte of each id
    # [n] µs since the start of the page write's cycle, or of the trace that this is cut out of; [0] where not needed
    time_us: I64
    # [n] row of its request in its cycle's trace, or in that one; of long traces, counted from the first one's first
    request: I64
    starts: I64  # [c + 1]; cycle i wrote the entries [starts[i], starts[i + 1])
    page_bytes: int  # of a flash page
    parts: I32 | None = None  # [n] bytes of each page that the host wrote; None: all of each
    trims: "Trims | None" = None  # what the host gave up in between; None where the traces say nothing of it
    volumes: Mapping[str, int] = field(default_factory=dict)  # first byte of each that is written, as `volume_starts`
    spill: Spill | None = None  # the files; None where all is in memory

    def __len__(self) -> int:
        return len(self.pages)

    @property
    def cycles(self) -> int:
        """Cycles, written or not."""
        return len(self.starts) - 1

    @property
    def footprint(self) -> int:
        """Distinct flash pages that are written."""
        return len(self.address)

    def host_bytes(self, begin: int, end: int) -> int:
        """What the host wrote with the entries [begin, end), in bytes: of a page that is written in part that part."""
        if self.parts is None:
            return (end - begin) * self.page_bytes
        return int(self.parts[begin:end].sum(dtype=np.int64))

    @cached_property
    def page_chunks(self) -> I64:
        """int64[footprint]: the chunk of 32 KiB in which each page begins."""
        return self.address // CHUNK_BYTES

    @property
    def chunks(self) -> I64:
        """int64[n]: the chunk of each page write."""
        return self.page_chunks[self.pages]

    def room(self, dtype: npt.DTypeLike, length: int) -> npt.NDArray[Any]:
        """A column of so many zeros, for what is found out of the writes."""
        return np.zeros(length, dtype) if self.spill is None else self.spill.loose(dtype, length)

    def passed(self) -> None:
        """Let the memory of mapped files go."""
        if self.spill is not None:
            self.spill.release()

    def spans(self, first: int = 0, end: int | None = None) -> Iterator[slice]:
        """The entries from one on in spans of at most `AT_ONCE`."""
        stop = len(self) if end is None else end
        for low in range(first, stop, AT_ONCE):
            yield slice(low, min(low + AT_ONCE, stop))
            self.passed()

    @cached_property
    def begins(self) -> Bool:
        """bool[n]: whether a page write is the first one of its request."""
        found = self.room(np.bool_, len(self))
        mark_begins(self.request, self.starts, found)
        self.passed()
        return found

    def by_chunk(self, part: slice, look_up: Callable[[I64], U8], found: U8) -> None:
        """Give page writes what the chunks have that their requests begin in.

        Args:
            part: which; it begins with a request.
            look_up: what chunks have, int64[m].
            found: uint8[n], written there.
        """
        chunk = 0
        for own in self.spans(part.start, part.stop):
            chunks = np.empty(own.stop - own.start, np.int64)
            chunk = mark_chunks(self.pages[own], self.begins[own], self.page_chunks, chunk, chunks)
            found[own] = look_up(chunks)

    @cached_property
    def digest(self) -> str:
        """Of what a placement may see of them."""
        digest = sha256(self.address.data)
        for part in self.spans():
            for column in (self.pages, self.request, self.time_us):
                digest.update(column[part].data)
        return digest.hexdigest()

    def cycle(self, number: int) -> slice:
        """The entries of a cycle; -1 is the last."""
        first = number if number >= 0 else self.cycles + number
        return slice(int(self.starts[first]), int(self.starts[first + 1]))

    @cached_property
    def lifetimes(self) -> I64:
        """int64[n]: page writes of the host from each one to the next of the same page; NEVER where none follows.

        The drive lives through its cycles, so a page may die in a later one.
        """
        n, life = len(self), self.room(np.int64, len(self))
        following = self.room(width_of(n), n)
        next_access(self.pages, self.footprint, following, AT_ONCE, lambda _: self.passed())
        for part in self.spans():
            upcoming = following[part].astype(np.int64)
            life[part] = np.where(upcoming == n, NEVER, upcoming - np.arange(part.start, part.stop))
        return life

    @cached_property
    def _with_trims(self) -> tuple[I32, Bool]:
        """The pages of writes and trims in their order, and which are trims."""
        assert self.trims is not None, "of traces that have any"
        k = len(self.trims.at)
        pages, trim = self.room(np.int32, len(self) + k), self.room(np.bool_, len(self) + k)
        merge(self.pages, self.trims.at, self.trims.pages, pages)
        for low in range(0, k, AT_ONCE):
            at = self.trims.at[low : low + AT_ONCE]
            trim[at + np.arange(low, low + len(at))] = True
        self.passed()
        return pages, trim

    def heeded(self, streams: U8 | None) -> tuple[I32, Bool, U8 | None]:
        """What a drive that heeds trims gets: pages, which are trims, and the streams of the writes.

        Args:
            streams: uint8[n], or None.
        """
        pages, trim = self._with_trims
        placed = None
        if streams is not None and self.trims is not None:
            placed = self.room(np.uint8, len(pages))
            merge(streams, self.trims.at, np.zeros(0, np.uint8), placed)
            self.passed()
        return pages, trim, placed

    def until(self, cycle: int) -> "DriveWrites":
        """The writes of the cycles before one, as if there were no others; without what was given up."""
        stop = int(self.starts[cycle])
        written = np.zeros(self.footprint, np.bool_)
        for part in self.spans(0, stop):
            written[self.pages[part]] = True
        number, pages = np.cumsum(written, dtype=np.int32) - np.int32(1), self.room(np.int32, stop)
        for part in self.spans(0, stop):
            pages[part] = number[self.pages[part]]
        return replace(
            self, pages=pages, address=self.address[written], time_us=self.time_us[:stop], request=self.request[:stop],
            starts=self.starts[: cycle + 1], parts=None if self.parts is None else self.parts[:stop], trims=None,
        )  # fmt: skip


def volume_starts(traces: Sequence[Trace]) -> dict[str, int]:
    """Where each volume begins in the addresses of the drive: as they are first written, each behind the last.

    Each begins at a chunk's boundary. Their names decide nothing. Only volumes that are written count; of a single one
    the addresses are its offsets.
    """
    ends: dict[str, int] = {}
    for trace in traces:
        add_ends(ends, trace)
    return starts_of(ends)


def add_ends(ends: dict[str, int], trace: Trace) -> None:
    """Where the volumes that are written end, as they are first written, with those of further requests."""
    write = trace.op == OP_WRITE
    end = trace.offset[write] + trace.size[write]
    codes = trace.volume.codes[write]
    distinct, first = np.unique(codes, return_index=True)
    for code in distinct[np.argsort(first)].tolist():
        name = trace.volume.names[code]
        ends[name] = max(ends.get(name, 0), int(end[codes == code].max()))


def starts_of(ends: Mapping[str, int]) -> dict[str, int]:
    """Where volumes begin that end there."""
    starts, at = {}, 0
    for name in ends:
        starts[name] = at
        at += -(-ends[name] // CHUNK_BYTES) * CHUNK_BYTES
    return starts


def several_volumes(volumes: Collection[str], what: str) -> str:
    """Why traces are no cycles of one drive, where what is learned of one volume is to serve it; empty where they are.

    What is learned of a volume says nothing of another, and a second one moves the addresses of the first.

    Args:
        volumes: names of those that are written, as `volume_starts` has them.
        what: the traces are, for the line.
    """
    if len(volumes) < 2:
        return ""
    return f"the {what} traces write to {len(volumes)} volumes ({', '.join(list(volumes)[:3])} …), a drive has one"


def check_written(volumes: Collection[str], names: str) -> None:
    """Refuse traces that write to no volume.

    Raises:
        TraceError: they do not.
    """
    if not volumes:
        raise TraceError(f"{names}: no request writes, so that no flash wears; give a trace with writes")


def pages_written(trace: Trace, starts: Mapping[str, int], page_bytes: int) -> tuple[I64, I64, I32]:
    """Of each page write: the page by address, the row of its request, and the bytes of the page that it writes.

    Volumes of which it is not said where they start begin at 0.

    Raises:
        TraceError: they are more than can be in memory.
    """
    rows = np.flatnonzero(trace.op == OP_WRITE)
    start_of = np.array([starts.get(name, 0) for name in trace.volume.names], np.int64)
    begin = start_of[trace.volume.codes[rows]] + trace.offset[rows]
    first, last = begin // page_bytes, (begin + trace.size[rows] - 1) // page_bytes
    count = last - first + 1
    total = int(count.sum())
    if total > MOST_NUMBERED:
        message = (
            f"{trace.meta.trace_id}: it writes {total} pages of {page_bytes} bytes, at most {MOST_NUMBERED} can be "
            "simulated: check the unit (bytes), or cut the trace"
        )
        raise TraceError(message)
    inside = np.arange(total, dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)
    page = np.repeat(first, count) + inside
    end = np.repeat(begin + trace.size[rows], count)
    bytes_ = np.minimum(end, (page + 1) * page_bytes) - np.maximum(np.repeat(begin, count), page * page_bytes)
    return page, np.repeat(rows, count), bytes_.astype(np.int32)


def _trims(
    traces: Sequence[Trace], starts: Mapping[str, int], distinct: I64, page_bytes: int, rows: Sequence[I64]
) -> Trims | None:
    """The trims of cycles.

    Args:
        traces: the cycles.
        starts: first byte of each volume.
        distinct: pages that are written, rising.
        page_bytes: of a page.
        rows: of each cycle, the row of each page write's request.
    """
    at, pages, commands, written = [], [], 0, 0
    for trace, row in zip(traces, rows, strict=True):
        if trace.discards is not None:
            commands += len(trace.discards)
            for command, page in pages_given_up(trace.discards, starts, distinct, page_bytes):
                pages.append(page)
                at.append(written + np.searchsorted(row, trace.discards.at)[command])
        written += len(row)
    return Trims(np.concatenate(at), np.concatenate(pages), commands) if at else None


def pages_given_up(
    given: Discards, starts: Mapping[str, int], distinct: I64, page_bytes: int
) -> Iterator[tuple[I64, I32]]:
    """The pages that discards give up, of those that are written: at least one portion.

    Args:
        given: the discards.
        starts: first byte of each volume.
        distinct: pages that are written, rising.
        page_bytes: of a page.

    Yields:
        About `AT_ONCE` pages at a time: the number of each one's discard, and its id.
    """
    # Where nothing of a volume is written, nothing of it can be given up.
    begins = np.array([starts.get(name, NEVER) for name in given.volume.names], np.int64)[given.volume.codes]
    begin = np.where(begins == NEVER, 0, begins + given.offset)
    end = np.where(begins == NEVER, 0, begins + given.offset + given.size)
    first = np.searchsorted(distinct, -(-begin // page_bytes))
    count = np.maximum(np.searchsorted(distinct, end // page_bytes) - first, 0)
    before, low = np.append(0, np.cumsum(count)), 0
    while low < len(given) or low == 0:
        high = max(int(np.searchsorted(before, before[low] + AT_ONCE, "right")) - 1, low + 1)
        own = count[low:high]
        inside = np.arange(int(own.sum())) - np.repeat(np.cumsum(own) - own, own)
        pages = (np.repeat(first[low:high], own) + inside).astype(np.int32)
        yield np.repeat(np.arange(low, low + len(own)), own), pages
        low = high


def drive_writes(traces: Sequence[Trace], page_bytes: int = FLASH_PAGE_BYTES) -> DriveWrites:
    """The page writes of a drive that lives through the cycles, in their order.

    A page that a write touches only in part is written whole, as a drive without a buffer reads and writes it; a
    request writes each of its pages once. A row that
    stands for several accesses (`count`) is one write.

    Args:
        traces: the cycles of one drive.
        page_bytes: size of a flash page.

    Raises:
        TraceError: nothing is written, or more than `MOST_NUMBERED` pages.
    """
    starts = volume_starts(traces)
    names = ", ".join(dict.fromkeys(trace.meta.trace_id for trace in traces))
    check_written(starts, names)
    parts = [pages_written(trace, starts, page_bytes) for trace in traces]
    cuts = np.cumsum([0, *(len(page) for page, *_ in parts)], dtype=np.int64)
    if cuts[-1] > MOST_NUMBERED:
        message = f"{names}: {cuts[-1]} page writes in all, at most {MOST_NUMBERED} can be simulated: cut the traces"
        raise TraceError(message)
    distinct, ids = np.unique(np.concatenate([page for page, *_ in parts]), return_inverse=True)
    return DriveWrites(
        pages=ids.astype(np.int32),
        address=distinct * page_bytes,
        time_us=np.concatenate([trace.time_us[row] for trace, (_, row, _) in zip(traces, parts, strict=True)]),
        request=np.concatenate([row for _, row, _ in parts]),
        starts=cuts,
        page_bytes=page_bytes,
        parts=np.concatenate([part for *_, part in parts]),
        trims=_trims(traces, starts, distinct, page_bytes, [row for _, row, _ in parts]),
        volumes=starts,
    )
