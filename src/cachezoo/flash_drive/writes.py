"""The flash pages that a trace's cycles write, as one drive gets them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cachezoo.arrays import I32, I64, MOST_NUMBERED, Bool
from cachezoo.errors import TraceError
from cachezoo.traces.chunks import CHUNK_BYTES
from cachezoo.traces.table import OP_WRITE, Trace

NEVER = -1


@dataclass(frozen=True)
class Trims:
    """Pages that the host gave up, k in all: whole ones, of those that are ever written."""

    at: I64  # [k] page writes before each, rising
    pages: I32  # [k] as in `DriveWrites`
    commands: int  # discards of the traces, whatever pages they are of


@dataclass(frozen=True)
class DriveWrites:
    """The n page writes of c cycles, in the order in which the drive gets them.

    Addresses count over all volumes, which lie one after another.
    """

    pages: I32  # [n] dense flash page ids in [0, footprint), by rising address
    address: I64  # [footprint] first byte of each id
    time_us: I64  # [n] µs since the start of the page write's cycle
    request: I64  # [n] row of its request in its cycle's trace
    starts: I64  # [c + 1]; cycle i wrote the entries [starts[i], starts[i + 1])
    page_bytes: int  # of a flash page
    parts: I32 | None = None  # [n] bytes of each page that the host wrote; None: all of each
    trims: "Trims | None" = None  # what the host gave up in between; None where the traces say nothing of it

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

    @cached_property
    def begins(self) -> Bool:
        """bool[n]: whether a page write is the first one of its request."""
        new = np.ones(len(self), np.bool_)
        new[1:] = np.diff(self.request) != 0
        first = self.starts[:-1]
        new[first[first < len(new)]] = True
        return new

    @property
    def first_chunks(self) -> I64:
        """int64[n]: the chunk that the request of each page write begins in."""
        first: I64 = self.chunks[np.flatnonzero(self.begins)[np.cumsum(self.begins) - 1]]
        return first

    def cycle(self, number: int) -> slice:
        """The entries of a cycle; -1 is the last."""
        first = number if number >= 0 else self.cycles + number
        return slice(int(self.starts[first]), int(self.starts[first + 1]))

    @cached_property
    def lifetimes(self) -> I64:
        """int64[n]: page writes of the host from each one to the next of the same page; NEVER where none follows.

        The drive lives through its cycles, so a page may die in a later one.
        """
        order = np.argsort(self.pages, kind="stable")
        again = self.pages[order[1:]] == self.pages[order[:-1]]
        life = np.full(len(self), NEVER, np.int64)
        life[order[:-1][again]] = (order[1:] - order[:-1])[again]
        return life


def volume_starts(traces: Sequence[Trace]) -> dict[str, int]:
    """Where each volume begins in the addresses of the drive: as they are first written, each behind the last.

    Each begins at a chunk's boundary. Their names decide nothing. Only volumes that are written count; of a single one
    the addresses are its offsets.
    """
    ends: dict[str, int] = {}
    for trace in traces:
        write = trace.op == OP_WRITE
        end = trace.offset[write] + trace.size[write]
        codes = trace.volume.codes[write]
        distinct, first = np.unique(codes, return_index=True)
        for code in distinct[np.argsort(first)].tolist():
            name = trace.volume.names[code]
            ends[name] = max(ends.get(name, 0), int(end[codes == code].max()))
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


def _cycle(trace: Trace, starts: Mapping[str, int], page_bytes: int) -> tuple[I64, I64, I32]:
    """Of each page write: the page by address, the row of its request, and the bytes of the page that it writes."""
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
        given = trace.discards
        if given is not None:
            commands += len(given)
            # Where nothing of a volume is written, nothing of it can be given up.
            begins = np.array([starts.get(name, NEVER) for name in given.volume.names], np.int64)[given.volume.codes]
            begin = np.where(begins == NEVER, 0, begins + given.offset)
            end = np.where(begins == NEVER, 0, begins + given.offset + given.size)
            first = np.searchsorted(distinct, -(-begin // page_bytes))
            count = np.maximum(np.searchsorted(distinct, end // page_bytes) - first, 0)
            inside = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
            pages.append((np.repeat(first, count) + inside).astype(np.int32))
            at.append(np.repeat(written + np.searchsorted(row, given.at), count))
        written += len(row)
    return Trims(np.concatenate(at), np.concatenate(pages), commands) if at else None


def drive_writes(
    traces: Sequence[Trace], page_bytes: int = 8192, starts: Mapping[str, int] | None = None
) -> DriveWrites:
    """The page writes of a drive that lives through the cycles, in their order.

    A page that a write touches only in part is written whole, as a drive without a buffer reads and writes it; a
    request writes each of its pages once. A row that
    stands for several accesses (`count`) is one write.

    Args:
        traces: the cycles of one drive.
        page_bytes: size of a flash page.
        starts: first byte of each volume that is written, where the drive lives through other cycles too and a volume
            may be larger in those (`volume_starts` of them all); None where these are all its cycles.

    Raises:
        TraceError: nothing is written, or more than `MOST_NUMBERED` pages.
    """
    own = volume_starts(traces)
    names = ", ".join(dict.fromkeys(trace.meta.trace_id for trace in traces))
    if not own:
        raise TraceError(f"{names}: no request writes, so that no flash wears; give a trace with writes")
    parts = [_cycle(trace, starts or own, page_bytes) for trace in traces]
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
        trims=_trims(traces, starts or own, distinct, page_bytes, [row for _, row, _ in parts]),
    )
