"""What readers of formats give and get: chunks of requests, the files and options, and a place for what is left out."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64, U8
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.objects import bad_objects
from cachezoo.traces.source import Source
from cachezoo.traces.table import bad_rows
from cachezoo.traces.wording import many

BAD_OP = 255
SECTOR_BYTES = 512
READ_OR_WRITE = {"r": 0, "read": 0, "w": 1, "write": 1}
BAD_TIME = np.iinfo(np.int64).min
MOST_TIME_US = 2**62  # the difference of two times fits 64 bits
YEAR_US = 365 * 86_400_000_000
PER_UNIT_US = {"ns": 1e-3, "100ns": 0.1, "us": 1.0, "ms": 1e3, "s": 1e6}


def microseconds(values: npt.NDArray[Any], unit: str) -> I64:
    """Times in whole microseconds: integers round down, floats to the nearest.

    Args:
        values: int64 or float64.
        unit: a key of `PER_UNIT_US`.

    Returns:
        int64; `BAD_TIME` where a time is no number or too large.
    """
    factor = PER_UNIT_US[unit]
    if values.dtype.kind == "i":
        if factor < 1:
            return values // round(1 / factor)
        most = 2**62 // int(factor)
        fits = (-most < values) & (values < most)
        return np.where(fits, np.where(fits, values, 0) * int(factor), BAD_TIME)
    with np.errstate(over="ignore"):
        scaled = np.round(values * factor)
    fits = np.abs(scaled) < 2.0**62
    return np.where(fits, np.where(fits, scaled, 0).astype(np.int64), BAD_TIME)


def issued_us(ended_us: I64, latency_us: I64) -> I64:
    """When requests were issued that a file names by when they ended, in microseconds.

    Args:
        ended_us: int64, `BAD_TIME` where a time is none.
        latency_us: int64, below 0 unknown; such requests are taken to be issued when they ended.
    """
    good = (ended_us != BAD_TIME) & (latency_us != BAD_TIME)
    return np.where(good, ended_us - np.maximum(latency_us, 0), BAD_TIME)


def counts_of(values: I64) -> I32:
    """Accesses that rows stand for: 1 where none is said (the least int64); 0, a bad row, where out of range."""
    fits = (values >= 1) & (values < 2**31)
    return np.where(fits, values, np.where(values == BAD_TIME, 1, 0)).astype(np.int32)


def bytes_of(units: I64, width: int) -> I64:
    """Units of `width` bytes in bytes; what would overflow goes beyond what any offset or size may be."""
    most = 2**62 // width + 1
    return np.clip(units, -most, most) * width


@dataclass(frozen=True)
class Chunk:
    """Requests of a file, in the file's order; every array has one entry a request.

    Attributes:
        row: int64, the requests' numbers in the file, from 1, rising; a header is none.
        time_us: int64 microseconds of any origin; may run backwards.
        op: uint8, read, write, or `BAD_OP` where the file says neither.
        offset, size: int64 bytes.
        latency_us: int64, below 0 unknown; None where the format has none.
        count: int32 accesses that a row stands for, or None.
        coded: optional columns of `CODED_COLUMNS`, with names of this chunk's own.
        op_text: what the file says, to name a bad op.
    """

    row: I64
    time_us: I64
    op: U8
    offset: I64
    size: I64
    latency_us: I64 | None = None
    count: I32 | None = None
    coded: dict[str, Coded] = field(default_factory=dict)
    op_text: Coded | None = None

    def __len__(self) -> int:
        return len(self.time_us)

    def where(self, kept: npt.NDArray[Any]) -> "Chunk":
        """The requests that a mask or index array selects."""
        arrays = {
            name: values[kept]
            for name in ("row", "time_us", "op", "offset", "size", "latency_us", "count")
            if (values := getattr(self, name)) is not None
        }
        coded = {name: column.take(kept) for name, column in self.coded.items()}
        text = self.op_text and self.op_text.take(kept)
        return replace(self, coded=coded, op_text=text, **arrays)

    def bad_rows(self) -> list[tuple[int, str]]:
        """(index, what is wrong and the fix) of requests that no trace can have, rising."""
        found = dict(bad_rows(self.op, self.offset, self.size))
        return _with_common(self, found, "it says neither read nor write")


@dataclass(frozen=True)
class ObjectChunk:
    """Requests of objects of a file, in the file's order; every array has one entry a request.

    Attributes:
        row, time_us, latency_us, count, op_text: as of `Chunk`.
        op: uint8, read, write or delete, or `BAD_OP` where the file says none.
        key: int64 where the file's keys are numbers (an unsigned one by its bits), else texts.
        size: int64 bytes of the object; 0 unknown.
        ttl_s: int64 seconds that what is written lives; 0 for ever; None where the format has none.
        coded: optional columns of `OBJECT_CODED`, with names of this chunk's own.
    """

    row: I64
    time_us: I64
    op: U8
    key: I64 | Coded
    size: I64
    ttl_s: I64 | None = None
    latency_us: I64 | None = None
    count: I32 | None = None
    coded: dict[str, Coded] = field(default_factory=dict)
    op_text: Coded | None = None

    def __len__(self) -> int:
        return len(self.time_us)

    def where(self, kept: npt.NDArray[Any]) -> "ObjectChunk":
        """The requests that a mask or index array selects."""
        arrays = {
            name: values[kept]
            for name in ("row", "time_us", "op", "size", "ttl_s", "latency_us", "count")
            if (values := getattr(self, name)) is not None
        }
        key = self.key.take(kept) if isinstance(self.key, Coded) else self.key[kept]
        coded = {name: column.take(kept) for name, column in self.coded.items()}
        text = self.op_text and self.op_text.take(kept)
        return replace(self, key=key, coded=coded, op_text=text, **arrays)

    def bad_rows(self) -> list[tuple[int, str]]:
        """(index, what is wrong and the fix) of requests that no trace of objects can have, rising."""
        found = dict(bad_objects(self.op, self.size))
        if isinstance(self.key, Coded) and "" in self.key.names:
            empty = self.key.codes == self.key.names.index("")
            found |= dict.fromkeys(np.flatnonzero(empty).tolist(), "its key is empty; fill it in or drop the row")
        if self.ttl_s is not None and (self.ttl_s < 0).any():
            void = "its time to live is no number of seconds, at 0 or more: fix or drop the row"
            found |= dict.fromkeys(np.flatnonzero(self.ttl_s < 0).tolist(), void)
        return _with_common(self, found, "it says neither read, write nor delete")


def _with_common(chunk: "Chunk | ObjectChunk", found: dict[int, str], no_op: str) -> list[tuple[int, str]]:
    """What is wrong with rows, with that of columns which requests of both kinds have."""
    if chunk.op_text is not None and found:
        for index in np.flatnonzero(chunk.op == BAD_OP).tolist():
            name = chunk.op_text.names[chunk.op_text.codes[index]]
            found[index] = f"op is {name[:40]!r}; {no_op}: fix or drop the row"
    if chunk.count is not None and len(chunk) and chunk.count.min() < 1:
        for index in np.flatnonzero(chunk.count < 1).tolist():
            found[index] = "its count is no number of accesses from 1 to 2147483647: fix or drop the row"
    times = chunk.time_us
    if len(chunk) and not -MOST_TIME_US < times.min() <= times.max() < MOST_TIME_US:
        for index in np.flatnonzero((times <= -MOST_TIME_US) | (times >= MOST_TIME_US)).tolist():
            found[index] = "its time lies before the trace's start, or is no number of microseconds: check the unit"
    return sorted(found.items())


class RowClock:
    """Times of rows that have none: their numbers, which go on from one file to the next."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._before = self._last = 0

    def times(self, source: Source, row: I64) -> I64:
        """int64 numbers from 0 of a file's rows, whose own numbers from 1 are `row`; files come one after another."""
        if source is not self._source:
            self._source, self._before = source, self._before + self._last
        self._last = int(row[-1])
        return self._before + row - 1


Requests = Chunk | ObjectChunk
AnyChunk = TypeVar("AnyChunk", Chunk, ObjectChunk, Chunk | ObjectChunk)
DISCARDS = ("trim", "discard", "unmap", "d")


@dataclass(frozen=True)
class Jump:
    """A step of more than a year from the row before."""

    source: Source  # the file
    row: int  # the row's number
    step_us: float  # microseconds, below 0 backwards

    @property
    def years(self) -> float:
        """Its length, whatever its direction."""
        return abs(self.step_us) / YEAR_US


@dataclass
class Reading:
    """One pass over a trace's files.

    Attributes:
        sources: the files, in the order given.
        skip_bad_rows: how many rows may be skipped instead of refused.
        discards: ranges that were given up, as requests whose op means nothing; those of a chunk, by whose rows it is
            known where they came, are added before it is given.
        skipped: the bad rows skipped so far, `FILE: row N: …` each.
        left_out: records that are no reads or writes of data (flushes, discards …), counted by kind.
        notes: what the reader found out, such as an inferred unit of time; goes into the trace's metadata.
        first_jump: the first jump of years in time, of `jumps`; a single wild time shifts all others, which count from
            the earliest.
    """

    sources: Sequence[Source]
    skip_bad_rows: int = 0
    discards: list["Chunk"] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)
    first_jump: Jump | None = field(default=None, init=False)
    jumps: int = field(default=0, init=False)
    _last_us: int | None = field(default=None, init=False)

    def bad(self, source: Source, row: int, said: str) -> None:
        """Count a row that cannot be used.

        Args:
            source: its file.
            row: its number.
            said: what is wrong and the fix.

        Raises:
            TraceError: more rows are bad than may be skipped.
        """
        message = f"{source.path}: row {row:d}: {said}"
        if len(self.skipped) < self.skip_bad_rows:
            self.skipped.append(message)
            return
        if self.skip_bad_rows:
            were = "was" if self.skip_bad_rows == 1 else "were"
            message += f"; {many(self.skip_bad_rows, 'bad row')} {were} skipped before it, as many as asked"
        raise TraceError(message)

    def without(
        self, source: Source, chunk: AnyChunk, wrong: npt.NDArray[np.bool_], said: Callable[[int], str]
    ) -> AnyChunk:
        """A chunk without the requests that a mask calls bad rows; `said` gives what is wrong with one, and the fix.

        Raises:
            TraceError: more rows are bad than may be skipped.
        """
        if not wrong.any():
            return chunk
        for index in np.flatnonzero(wrong).tolist():
            self.bad(source, int(chunk.row[index]), said(index))
        return chunk.where(~wrong)

    def checked(self, source: Source, chunk: AnyChunk) -> AnyChunk:
        """The requests of a chunk that keep the table's rules; the others are bad rows.

        Raises:
            TraceError: more rows are bad than may be skipped.
        """
        found = chunk.bad_rows()
        if found:
            kept = np.ones(len(chunk), bool)
            for index, said in found:
                self.bad(source, int(chunk.row[index]), said)
                kept[index] = False
            chunk = chunk.where(kept)
        if len(chunk):
            self._watch(source, chunk)
        return chunk

    def _watch(self, source: Source, chunk: Chunk | ObjectChunk) -> None:
        """Note jumps of years between a chunk's rows, and from the last chunk to it."""
        time_us = chunk.time_us
        before = int(time_us[0]) if self._last_us is None else self._last_us
        self._last_us = int(time_us[-1])
        if max(before, int(time_us.max())) - min(before, int(time_us.min())) <= YEAR_US:
            return
        steps = np.diff(time_us, prepend=before)
        jumps = np.flatnonzero(np.abs(steps) > YEAR_US)
        if self.first_jump is None and len(jumps):
            self.first_jump = Jump(source, int(chunk.row[jumps[0]]), float(steps[jumps[0]]))
        self.jumps += len(jumps)


class Names:
    """The names of a coded column over all chunks, in the order in which the chunks bring them."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def add(self, column: Coded) -> I32:
        """The chunk's codes in the common numbering; -1 stays -1."""
        place = np.full(len(column.names) + 1, -1, np.int32)
        used = np.zeros(len(place), bool)
        used[column.codes] = True
        for index in np.flatnonzero(used[:-1]).tolist():
            place[index] = self._codes.setdefault(column.names[index], len(self._codes))
        codes: I32 = place[column.codes]
        return codes

    @property
    def names(self) -> tuple[str, ...]:
        """Names by code."""
        return tuple(self._codes)
