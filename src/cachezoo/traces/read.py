"""Foreign traces read whole into memory: recognised, read in chunks, sorted only if unsorted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.console import Advance, err
from cachezoo.errors import TraceError
from cachezoo.traces import sampling
from cachezoo.traces.clock import Clock, has_clock
from cachezoo.traces.formats import options_of
from cachezoo.traces.formats.base import Format, Options
from cachezoo.traces.glance import Glance
from cachezoo.traces.memory import hold_pages, long_from
from cachezoo.traces.objects import OBJECT_NUMBERS, ObjectTrace, validate_objects
from cachezoo.traces.pages import accesses_of
from cachezoo.traces.plausible import warnings_of
from cachezoo.traces.reading import BAD_TIME, MOST_TIME_US, Chunk, Names, ObjectChunk, Reading, Requests
from cachezoo.traces.recognise import choose, unlike
from cachezoo.traces.remarks import SYNTHETIC
from cachezoo.traces.sampling import Part, Plan, SampledTrace, Sampler, Samplers, Tally
from cachezoo.traces.source import Source
from cachezoo.traces.store import NO_ADDRESSES, read_meta, stored_pages
from cachezoo.traces.table import (
    MAX_END_BYTES,
    NUMBER_COLUMNS,
    PAGE_BYTES,
    UNKNOWN_LATENCY,
    Discards,
    Trace,
    TraceMeta,
    validate,
)
from cachezoo.traces.values import SECOND_US


def _say(text: str) -> None:
    """A line on standard error."""
    err().print(text, soft_wrap=True, markup=False)


def silent(done: float, note: str = "") -> None:
    """Progress that nobody watches."""
    del done, note


@dataclass(frozen=True)
class TraceFiles:
    """What to read, and how."""

    paths: Sequence[Path]  # the trace's files, in their order; all of one format
    fmt: str = "auto"  # ``auto`` or a format's id
    category: str = "unknown"  # workload category to record; ``unknown`` leaves a canonical file's own
    trace_id: str | None = None  # name to record; None takes the file's
    options: dict[str, str] = field(default_factory=dict)  # the format's options, as text
    skip_bad_rows: int = 0  # how many rows may be skipped instead of refused


class OpenTrace:
    """The files of a trace with their format.

    Attributes:
        reading: what the present or last pass skipped, left out and found out.
        backwards: how many of its requests were earlier than the one before them.
        objects: whether the requests of the present or last pass are of objects.
    """

    def __init__(self, files: TraceFiles, advance: Advance) -> None:
        self.files, self.advance = files, advance
        self.sources = [Source(path) for path in files.paths]
        if not self.sources:
            raise TraceError("no file is given: name at least one")
        for source in self.sources:
            _ = source.compression  # a missing file is named before anything is read
        self.choice = choose(self.sources[0], files.fmt, files.options)
        self.format: Format = self.choice.format
        self.options: Options = options_of(self.format, self.choice.options)
        self.reading = Reading(self.sources, files.skip_bad_rows)
        self.backwards = 0
        self.objects = False
        self.glance = Glance()
        self.one_volume = False
        self.places: list[I64] = []  # of discards: requests before each, by chunk

    def discards(self) -> Discards | None:
        """After a pass, what the host gave up, but for ranges that cannot be; None where the files say nothing."""
        chunks = self.reading.discards[: len(self.places)]
        if not sum(map(len, chunks)):
            return None
        at, offset, size = (
            np.concatenate(columns).astype(np.int64)
            for columns in (self.places, [one.offset for one in chunks], [one.size for one in chunks])
        )
        names = Names()
        codes = [names.add(one.coded.get("volume") or Coded.constant("0", len(one))) for one in chunks]
        kept = (offset >= 0) & (size > 0) & (offset <= MAX_END_BYTES - np.maximum(size, 0))
        order = np.flatnonzero(kept)[np.argsort(at[kept], kind="stable")]
        return Discards(at[order], offset[order], size[order], Coded(np.concatenate(codes)[order], names.names))

    def chunks(self) -> Iterator[Requests]:
        """A pass over the files; what an earlier pass skipped is forgotten.

        Raises:
            TraceError: what the reader says, or there is no request.
        """
        self.reading, self.backwards = Reading(self.sources, self.files.skip_bad_rows), 0
        self.glance = Glance()
        total, last_us, rows, discards = sum(source.size for source in self.sources), BAD_TIME, 0, 0
        self.places = []
        for chunk in self._read():
            for own in self.reading.discards[discards:]:
                self.places.append(rows + np.searchsorted(chunk.row, own.row, side="right"))
            discards = len(self.reading.discards)
            if len(chunk):
                time_us = chunk.time_us
                self.backwards += int(np.count_nonzero(time_us[1:] < time_us[:-1])) + int(time_us[0] < last_us)
                last_us = int(time_us[-1])
                rows += len(chunk)
                self.objects = isinstance(chunk, ObjectChunk)
                if isinstance(chunk, ObjectChunk):
                    self.glance.add_objects(time_us, chunk.op, chunk.size)
                else:
                    self.glance.add(time_us, chunk.op, chunk.offset, chunk.size)
                self.one_volume = not self.objects and "volume" not in chunk.coded
                yield chunk
            done = sum(source.consumed for source in self.sources)
            self.advance(done / max(total, 1))
        if not rows:
            raise TraceError(f"{self.sources[0].path}: the trace is empty; give a file with at least one request")

    def _read(self) -> Iterator[Requests]:
        """What the reader gives.

        Raises:
            TraceError: what it says; where not a row of the beginning is of the format that was asked for, that.
        """
        found = False
        try:
            for chunk in self.format.read(self.reading, self.options):
                yield chunk
                found = True
        except TraceError as error:
            # With options of the format the reader's own message says more: one of them may be what is wrong.
            asked = self.files.fmt != "auto" and not self.files.options
            said = unlike(self.sources[0], self.format) if asked and not found else ""
            if said:
                raise TraceError(said) from error
            raise

    def counts_anew(self, cut: object = None) -> bool:
        """Whether times are counted from the first request: not where a canonical file already does, unless cut."""
        return self.format.has_clock or cut is not None

    def meta(self) -> TraceMeta:
        """Provenance after a pass; a canonical Parquet file's own is kept."""
        asked, extra = self.files, self._extra()
        if self.format.id == "parquet" and len(self.sources) == 1:
            own = read_meta(self.sources[0].stored)
            category = own.category if asked.category == "unknown" else asked.category
            return replace(
                own, trace_id=asked.trace_id or own.trace_id, category=category, extra={**own.extra, **extra}
            )
        digests = [source.sha256 for source in self.sources]
        digest = digests[0] if len(digests) == 1 else sha256("".join(digests).encode()).hexdigest()
        name = asked.trace_id or self.sources[0].stem
        return TraceMeta(name, asked.category, self.format.id, digest, extra=extra)

    def _extra(self) -> dict[str, str]:
        """What the pass found out, as metadata."""
        said = dict(self.reading.notes)
        if self.choice.inferred:
            said["inferred"] = self.choice.inferred
        if self.one_volume:
            said["one_volume"] = "the file names none"
        said |= {f"left_out.{kind}": str(count) for kind, count in sorted(self.reading.left_out.items()) if count}
        if self.reading.skipped:
            said["skipped_rows"] = str(len(self.reading.skipped))
        if self.backwards:
            said["out_of_order_rows"] = str(self.backwards)
        if jump := self.reading.first_jump:
            said["time_jumps"] = str(self.reading.jumps)
            file = f"file {self.sources.index(jump.source) + 1}, " if len(self.sources) > 1 else ""
            way = "back" if jump.step_us < 0 else "on"
            said["first_time_jump"] = f"{file}row {jump.row}: {jump.years:.1f} years {way}"
        return said

    def warnings(self) -> list[str]:
        """After a pass, what of the trace's sizes, addresses and times no disk can have done."""
        return warnings_of(self.glance, self.meta())

    def warn(self) -> None:
        """Say on standard error, after a pass, that the trace is synthetic, and what of it is doubtful."""
        if said := self.meta().extra.get(SYNTHETIC):
            _say(f"note: {self.sources[0].path}: synthetic, {said}")
        for warning in self.warnings():
            _say(f"warning: {self.sources[0].path}: {warning}")
        if jump := self.reading.first_jump:
            said = f"{jump.years:.1f} years {'before' if jump.step_us < 0 else 'after'} the last row's"
            more = f", and there are {self.reading.jumps} jumps of more than a year" if self.reading.jumps > 1 else ""
            text = (
                f"warning: {jump.source.path}: row {jump.row}: its time is {said}{more}; all times count from the "
                "earliest: fix or drop the row if it is wrong"
            )
            _say(text)


VOLUME, KEY = "volume", "key"  # coded columns that are in every trace of addresses, and of objects with texts


class Stitcher:
    """Joins chunks into pieces of one trace: the same columns throughout, names numbered over all chunks."""

    def __init__(self, meta: TraceMeta) -> None:
        self._meta = meta
        self._names: dict[str, Names] | None = None
        self._numbers: list[str] = []

    def piece(self, chunks: Sequence[Requests], origin_us: int) -> Trace | ObjectTrace:
        """The chunks' requests, with times counted from `origin_us`.

        Raises:
            TraceError: the chunks differ in their columns.
        """
        for chunk in chunks:
            numbers, coded = _columns_of(chunk)
            if self._names is None:
                self._names, self._numbers = {name: Names() for name in coded}, numbers
            if set(self._names) != set(coded) or numbers != self._numbers:
                raise TraceError(f"{self._meta.trace_id}: its files differ in their columns; ingest them one by one")
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in self._numbers
        }
        columns |= {name: self._coded(chunks, name, names) for name, names in (self._names or {}).items()}
        columns["time_us"] -= origin_us
        if "latency_us" in columns:
            columns["latency_us"] = np.maximum(columns["latency_us"], UNKNOWN_LATENCY)
        if "offset" in columns:
            return Trace(meta=self._meta, **columns)
        if isinstance(keys := columns["key"], Coded):
            columns |= {"key": keys.codes.astype(np.int64), "key_names": keys.names}
        return ObjectTrace(meta=self._meta, **columns)

    def _coded(self, chunks: Sequence[Requests], name: str, names: Names) -> Coded:
        columns = [_key_texts(chunk) if name == KEY else chunk.coded.get(name) for chunk in chunks]
        codes = [
            names.add(column or Coded.constant("0", len(chunk))) for column, chunk in zip(columns, chunks, strict=True)
        ]
        return Coded(np.concatenate(codes), names.names)


def _columns_of(chunk: Requests) -> tuple[list[str], list[str]]:
    """The columns of numbers that a chunk has, and those of names."""
    fixed = KEY if _key_texts(chunk) is not None else VOLUME
    columns = NUMBER_COLUMNS if isinstance(chunk, Chunk) else OBJECT_NUMBERS
    numbers = [name for name in columns if name != fixed and getattr(chunk, name) is not None]
    named = [fixed] if fixed == KEY or isinstance(chunk, Chunk) else []
    return numbers, list(dict.fromkeys([*named, *chunk.coded]))


def _key_texts(chunk: Requests) -> Coded | None:
    """The keys of requests of objects that have texts."""
    return chunk.key if isinstance(chunk, ObjectChunk) and isinstance(chunk.key, Coded) else None


def read_files(
    files: TraceFiles, advance: Advance = silent, *, quiet: bool = False, pages: bool = True, replay: bool = False
) -> Trace:  # fmt: skip
    """Read a trace of any known format whole into memory, for what needs addresses.

    Args:
        files: what to read.
        advance: told the share of the files read.
        quiet: whether to keep what is inferred or doubtful to oneself, where it has been said before.
        pages: whether its pages are to be numbered, all of them in memory.
        replay: whether a row that stands for several accesses becomes as many requests, as whoever simulates wants.

    Raises:
        TraceError: unknown format or option, what the reader says, its requests are of objects, which have no
            addresses, or its pages are more than there is memory for.
    """
    given = OpenTrace(files, advance)
    trace = _whole(given, quiet=quiet, objects=False)
    if isinstance(trace, ObjectTrace):
        raise TraceError(without_addresses(given))
    if replay:
        trace = replayed(trace)
    if pages:
        hold_pages(trace, str(given.sources[0].path))
    return trace


def replayed(trace: Trace, ticks: bool | None = None) -> Trace:
    """A request for each access, in the order of time.

    The n accesses of a row are spread evenly over the second from its time on, first and last included, as Baleen's
    simulator does it; where a trace has no clock they follow each other. A discard stays before the first access of the
    row that it came before.

    Args:
        trace: with rows that may stand for several accesses.
        ticks: whether its times are a clock's, where that is known: a sample of times that only count rows looks as if
            they were.
    """
    if trace.count is None:
        return trace
    row, first, time_us = _accesses_each(trace, has_clock(trace) if ticks is None else ticks)
    order = np.argsort(time_us, kind="stable")
    found = replace(trace.take(row[order]), time_us=time_us[order], count=None)
    if (given := trace.discards) is None:
        return found
    place = np.empty(len(row) + 1, np.int64)
    place[order], place[-1] = np.arange(len(row)), len(row)
    return replace(found, discards=replace(given, at=place[np.append(first, len(row))[given.at]]))


def _accesses_each(trace: Trace, ticks: bool) -> tuple[I64, I64, I64]:
    """Of each access of the rows its row and time, int64[m], and the first access of each row, int64[n]."""
    assert trace.count is not None
    count = trace.count.astype(np.int64)
    row, first = np.repeat(np.arange(len(trace)), count), np.cumsum(count) - count
    time_us = trace.time_us[row]
    if ticks:
        time_us = time_us + (np.arange(len(row)) - first[row]) * SECOND_US // np.maximum(count - 1, 1)[row]
    return row, first, time_us


def read_either(
    files: TraceFiles, advance: Advance = silent, *, quiet: bool = False, pages: bool = True, replay: bool = False
) -> Trace | ObjectTrace:  # fmt: skip
    """Read a trace of any known format whole into memory, of addresses or of objects; see `read_files`."""
    given = OpenTrace(files, advance)
    trace = _whole(given, quiet=quiet, objects=True)
    if isinstance(trace, Trace):
        trace = replayed(trace) if replay else trace
        if pages:
            hold_pages(trace, str(given.sources[0].path))
    return trace


OF_OBJECTS = "of objects, trace info describes them, and simulate, compare, curve, bounds and recommend answer"


def without_addresses(given: OpenTrace) -> str:
    """That a trace's requests are of objects, where addresses are needed."""
    said = f"{given.sources[0].path}: {NO_ADDRESSES}; {OF_OBJECTS}"
    asked = "ids" in given.files.options
    return f"{said}; where its ids are addresses, read it with --option ids=address" if asked else said


def _whole(given: OpenTrace, *, quiet: bool, objects: bool) -> Trace | ObjectTrace:
    """All requests, in the order of time.

    Raises:
        TraceError: what the reader says; the requests are of objects, and may not be.
    """
    chunks: list[Requests] = []
    for chunk in given.chunks():
        if given.objects and not objects:
            raise TraceError(without_addresses(given))
        chunks.append(chunk)
    return _stitched(given, chunks, quiet)


def _remark(given: OpenTrace) -> None:
    """After a pass, what is doubtful of the trace, and what its format was inferred to be."""
    given.warn()
    if given.choice.inferred:
        _say(f"{given.files.paths[0]}: read as {given.choice.inferred}")


def _stitched(given: OpenTrace, chunks: Sequence[Requests], quiet: bool) -> Trace | ObjectTrace:
    """All requests of a pass, in the order of time."""
    if not quiet:
        _remark(given)
    origin_us = min(int(chunk.time_us.min()) for chunk in chunks) if given.counts_anew() else 0
    trace = Stitcher(given.meta()).piece(chunks, origin_us)
    where = str(given.sources[0].path)
    if isinstance(trace, ObjectTrace):
        order = np.argsort(trace.time_us, kind="stable") if given.backwards else None
        return validate_objects(trace if order is None else trace.take(order), where)
    trace = replace(trace, discards=given.discards())
    return validate(_by_time(trace) if given.backwards else trace, where)


def _by_time(trace: Trace) -> Trace:
    """The requests in the order of time; a discard stays behind the request that it came after."""
    order = np.argsort(trace.time_us, kind="stable")
    found, given = trace.take(order), trace.discards
    if given is None:
        return found
    place = np.empty(len(order) + 1, np.int64)
    place[0], place[order + 1] = 0, np.arange(1, len(order) + 1)
    at = place[given.at]
    again = np.argsort(at, kind="stable")
    moved = Discards(at[again], given.offset[again], given.size[again], given.volume.take(again))
    return replace(found, discards=moved)


def read_sampled(
    files: TraceFiles, plan: Plan | Callable[[Chunk], Plan], above: int = 0, advance: Advance = silent, *,
    quiet: bool = False, replay: bool = False, tally: Tally | None = None, objects: bool = True,
) -> Trace | ObjectTrace | SampledTrace:  # fmt: skip
    """Read a sample of a trace of any known format in one pass, in memory of what is kept.

    Args:
        files: what to read.
        plan: how it is sampled, or what says so of the first requests.
        above: page accesses up to which the whole trace is read, as of `read_either`; one of objects always is.
        advance: told the share of the files read.
        quiet: as of `read_files`.
        replay: likewise; without it a row counts as one request.
        tally: counts the accesses to blocks too, whose number its memory grows with.
        objects: whether it may be of objects.

    Returns:
        The sample, or the whole trace. Requests that come late are sorted by time among those of the sample; the
        accesses of the whole trace before them are taken to be those before whoever had their place.

    Raises:
        TraceError: what the reader says; no block is chosen, the pages are more than there is memory for, or the
            requests are of objects, and may not be.
    """
    given, sampler = OpenTrace(files, advance), None
    drawing = _Drawing(given, plan, objects=objects)
    for seen in drawing.chunks():
        for piece in drawing.drawn() if seen > above else ():
            if sampler is None:
                sampler = Sampler(drawing.plan, drawing.n_pages)
            sampler.add(piece)
            if tally is not None:
                tally.add(piece)
    if sampler is None:
        return drawing.whole(quiet=quiet, replay=replay)
    if not quiet:
        _remark(given)
    return drawing.finished(sampler.found(given.meta()), replay=replay)


class _Drawing:
    """A trace that is read a chunk at a time: whole while its chunks are held, a sample where they are drawn from.

    Attributes:
        given: the trace.
        plan: how it is sampled, after the first requests that have addresses.
    """

    plan: Plan

    def __init__(self, given: OpenTrace, plan: Plan | Callable[[Chunk], Plan], *, objects: bool) -> None:
        """Begin; `plan` and `objects` as of `read_sampled`."""
        self.given, self._objects, self._held = given, objects, list[Requests]()
        self._planned, self._origin_us, self._seen = plan, MOST_TIME_US, 0
        self._stitcher = Stitcher(TraceMeta(given.sources[0].stem, "unknown", given.format.id, ""))

    def chunks(self) -> Iterator[int]:
        """Read; after each chunk how many page accesses there were, none of them to objects.

        Raises:
            TraceError: the requests are of objects, and may not be.
        """
        for chunk in self.given.chunks():
            self._held.append(chunk)
            if not isinstance(chunk, ObjectChunk):
                if not self._seen:
                    self.plan = self._planned if isinstance(self._planned, Plan) else self._planned(chunk)
                each = accesses_of(chunk, self.plan.page_bytes)
                self._seen += int(each.sum() if chunk.count is None else each @ chunk.count)
            elif not self._objects:
                raise TraceError(without_addresses(self.given))
            yield self._seen

    def drawn(self) -> Iterator[Trace]:
        """What is held, in pieces, and is held no more."""
        for own in self._held:
            piece = self._stitcher.piece([own], 0)
            assert isinstance(piece, Trace)
            self._origin_us = min(self._origin_us, int(piece.time_us.min()))
            yield piece
        self._held.clear()

    @property
    def meta(self) -> TraceMeta:
        """After the pass."""
        return self.given.meta()

    @cached_property
    def n_pages(self) -> int | None:
        """Its distinct pages, where its file says how many."""
        return _stored_pages(self.given) if self.plan.page_bytes == PAGE_BYTES else None

    def whole(self, *, quiet: bool, replay: bool) -> Trace | ObjectTrace:
        """All requests, where none was given away."""
        trace = _stitched(self.given, self._held, quiet)
        self._held.clear()
        if isinstance(trace, Trace):
            trace = replayed(trace) if replay else trace
            hold_pages(trace, str(self.given.sources[0].path), self.plan.page_bytes)
        return trace

    def finished(self, found: SampledTrace, *, replay: bool) -> SampledTrace:
        """A sample with its requests in the order of time, on the trace's clock."""
        trace, before, after, page_bytes = found.trace, found.before, found.after, self.plan.page_bytes
        origin_us = self._origin_us if self.given.counts_anew() else 0
        first_us, last_us = (own - origin_us for own in found.ends_us)
        trace = replace(trace, time_us=trace.time_us - origin_us)
        if self.given.backwards:
            after, trace = after[np.argsort(trace.time_us, kind="stable")], _by_time(trace)
        if replay and trace.count is not None:
            row, _, time_us = _accesses_each(trace, found.ticks)
            after = after[row[np.argsort(time_us, kind="stable")]]
            before, trace = _before_each(trace, before, page_bytes), replayed(trace, found.ticks)
        where = str(self.given.sources[0].path)
        hold_pages(trace, where, page_bytes)
        ends_us = first_us, max(last_us, int(trace.time_us[-1]))  # what a row stands for is spread over its second
        near = found.near if len(trace) == len(found.trace) and not self.given.backwards else None
        trace, before = validate(trace, where), np.sort(before)
        return replace(found, trace=trace, before=before, after=after, ends_us=ends_us, near=near)


class _InMemory:
    """The same of a trace that is in memory, with a request for each access."""

    n_pages = None  # it is not known

    def __init__(self, trace: Trace) -> None:
        self._trace, self._held, self.meta = trace, True, trace.meta

    def chunks(self) -> Iterator[int]:
        """Its page accesses."""
        yield int(accesses_of(self._trace, PAGE_BYTES).sum())

    def drawn(self) -> Iterator[Trace]:
        """It, once."""
        if self._held:
            self._held = False
            yield self._trace

    def whole(self, *, quiet: bool, replay: bool) -> Trace:
        """It as it is."""
        del quiet, replay
        return self._trace

    def finished(self, found: SampledTrace, *, replay: bool) -> SampledTrace:
        """A sample as it is."""
        del replay
        return found


@dataclass(frozen=True)
class Drawn:
    """A trace of which samples were drawn, of all its requests or of each application's in it."""

    meta: TraceMeta
    ticks: bool  # whether it has a clock, see `cachezoo.traces.clock.has_clock`
    # the name of each, its sample, and whether its own times, where it has any, are times
    parts: tuple[tuple[str, SampledTrace, bool], ...]


class _Apart:
    """Gives the requests of a trace to samplers, those of each value of a column to one of its own."""

    def __init__(self, drawing: _Drawing | _InMemory, samplers: Samplers, place: int, column: str | None) -> None:
        self.drawing, self._samplers, self._place, self._column = drawing, samplers, place, column
        self.clock, self.codes, self.names = Clock(), set[int](), tuple[str, ...]()

    def draw(self) -> None:
        """From the requests that are held.

        Raises:
            TraceError: some have no such value.
        """
        for piece in self.drawing.drawn():
            self.clock.add(piece.time_us)
            self._draw(piece)

    def _draw(self, piece: Trace) -> None:
        if self._column is None:
            self._add(0, piece, self.drawing.n_pages)
            return
        coded: Coded | None = getattr(piece, self._column)
        if coded is None:
            raise TraceError(f"{piece.meta.trace_id}: no mixture of several traces; name more, or --apart volume")
        if int(coded.codes.min(initial=0)) < 0:
            unknown = int((coded.codes < 0).sum())
            raise TraceError(
                f"{piece.meta.trace_id}: {unknown} of its requests have no {self._column}; leave those out"
            )
        self.names = coded.names
        order = np.argsort(coded.codes, kind="stable")
        codes, first = np.unique(coded.codes[order], return_index=True)
        for code, rows in zip(codes.tolist(), np.split(order, first[1:]), strict=True):
            self._add(code, piece.take(rows))

    def _add(self, code: int, own: Trace, n_pages: int | None = None) -> None:
        self.codes.add(code)
        self._samplers.add((self._place, code), own, n_pages)

    def found(self) -> Drawn:
        """After the pass."""
        meta, parts = self.drawing.meta, []
        for code in sorted(self.codes):
            name = self.names[code] if self._column else meta.trace_id
            sampled = self._samplers.found[self._place, code].found(replace(meta, trace_id=name))
            own = self.drawing.finished(sampled, replay=True)
            timed = self._column == "source" and own.ends_us[0] < own.ends_us[1]  # it had times of its own
            parts.append((name, own, own.ticks if timed else True))
        return Drawn(meta, self.clock.ticks(meta.extra), tuple(parts))


def read_together(
    traces: Sequence[OpenTrace | Trace], part: Part, column: str | None = None, *, quiet: bool = False
) -> list[Trace] | list[Drawn]:
    """Read traces whose pages are to weigh the same: all of them whole, or samples of all at one rate.

    Args:
        traces: opened, or in memory with a request for each access.
        part: how much of them; `auto` reads all of them whole below `cachezoo.traces.memory.long_from` page accesses
            of all together.
        column: `volume` or `source`: draw from the requests of each of its values apart; None: from a trace's together.
        quiet: as of `read_files`.

    Raises:
        TraceError: as of `read_sampled`, a trace is of objects, or some of its requests have no value of the column.
    """
    if part == "exact":
        return [one if isinstance(one, Trace) else read_files(one.files, quiet=quiet, replay=True) for one in traces]
    plan = sampling.plan_of(part)
    above = long_from() - 1 if plan.most else 0
    samplers, aparts, before = Samplers(plan), list[_Apart](), 0
    for place, given in enumerate(traces):
        drawing = _InMemory(given) if isinstance(given, Trace) else _Drawing(given, plan, objects=False)
        aparts.append(_Apart(drawing, samplers, place, column))
        seen = 0
        for seen in drawing.chunks():
            if before + seen > above:
                for one in aparts:
                    one.draw()
        before += seen
        if not quiet and isinstance(given, OpenTrace):
            _remark(given)
    if before > above:
        return [one.found() for one in aparts]
    found = [one.drawing.whole(quiet=True, replay=True) for one in aparts]
    return [one for one in found if isinstance(one, Trace)]


def read_part(
    files: TraceFiles, part: Part, page_bytes: int = PAGE_BYTES, *, quiet: bool = False, requests: bool = True,
    objects: bool = True, near: bool = False,
) -> Trace | ObjectTrace | SampledTrace:  # fmt: skip
    """A trace in memory as it is simulated: whole, or a sample of it.

    Args:
        files: what to read.
        part: how much of it.
        page_bytes: of a page.
        quiet: as of `read_files`.
        requests: choose by blocks that leave most requests whole, for figures of requests; else by pages, for less
            error, and of a long trace alone, as a part of a shorter one is taken in memory.
        objects: whether it may be of objects.
        near: whether a sample knows the requests around its own; of those that come late it does not.
    """
    if part == "exact":
        return (read_either if objects else read_files)(files, quiet=quiet, replay=True)
    plan = sampling.plan_of(part, page_bytes, requests=requests, near=near)
    above = long_from() - 1 if plan.most or not requests else 0
    return read_sampled(files, plan, above, quiet=quiet, replay=True, objects=objects)


def _before_each(trace: Trace, before: I64, page_bytes: int) -> I64:
    """Of requests that `replayed` makes of rows, the accesses before each, those of a row one behind the other."""
    assert trace.count is not None
    count, pages = trace.count.astype(np.int64), accesses_of(trace, page_bytes)
    row, first = np.repeat(np.arange(len(trace)), count), np.cumsum(count) - count
    return before[row] + ((np.arange(len(row)) - first[row]) * pages[row]).astype(np.int64)


def _stored_pages(given: OpenTrace) -> int | None:
    """Distinct pages of a trace, where its file says how many; None elsewhere."""
    return stored_pages(given.sources[0].stored) if given.format.id == "parquet" and len(given.sources) == 1 else None


def read_any(
    path: Path,
    fmt: str = "auto",
    category: str = "unknown",
    options: Mapping[str, str] | None = None,
    *,
    quiet: bool = False,
    pages: bool = True,
    replay: bool = False,
) -> Trace:
    """Read one file whole into memory, see `read_files`; what is doubtful of it is said on standard error."""
    files = TraceFiles([path], fmt, category, options=dict(options or {}))
    return read_files(files, quiet=quiet, pages=pages, replay=replay)
