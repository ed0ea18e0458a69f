"""A foreign trace to a canonical Parquet file, streamed: memory does not grow with the trace but for its page table.

While row groups are read, the one before is numbered and the one before that is written, each in a thread of its own.

A trace that turns out unsorted is spilled to disk column by column and written in the order of a stable sort by time.
"""

import mmap
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.arrays import I64
from cachezoo.aside import aside
from cachezoo.coded import Coded
from cachezoo.console import Advance, progress
from cachezoo.errors import ConfigError, TraceError
from cachezoo.io import ROW_GROUP_ROWS, atomic_dir, beside, held
from cachezoo.traces.memory import hold, hold_pages, pieces
from cachezoo.traces.object_stats import ObjectStatistics
from cachezoo.traces.objects import OBJECT_CODED, OBJECT_NUMBERS, ObjectTrace
from cachezoo.traces.pages import PageAccesses, PageNumbers, accesses_of, expand_pages
from cachezoo.traces.read import OpenTrace, Stitcher, TraceFiles, replayed, silent
from cachezoo.traces.reading import Names, Requests
from cachezoo.traces.remarks import remarks_of
from cachezoo.traces.stats import Statistics
from cachezoo.traces.store import TraceWriter, read_trace, trace_writer, write_trace
from cachezoo.traces.table import CODED_COLUMNS, NUMBER_COLUMNS, Trace, TraceMeta

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


WHOLE = (0.0, 1.0)


class _Unsorted(Exception):
    """A stream's time ran backwards."""


def ingest(
    files: TraceFiles,
    output: Path,
    part: tuple[float, float] = WHOLE,
    advance: Advance = silent,
    *,
    replay: bool = False,
) -> dict[str, Any]:
    """Write a trace, with its page accesses where it has addresses, as canonical Parquet.

    Args:
        files: what to read.
        output: the file to write.
        part: first and last request of the trace to keep, as fractions of its requests in order of time.
        advance: told the share of the files read.
        replay: whether a row that stands for several accesses becomes as many requests, which are then held in memory.

    Returns:
        What `cachezoo.traces.stats` or `cachezoo.traces.object_stats` says of it, `remarks` on what
        its reader left out, sorted, inferred or joined, and `warnings` on what is implausible, which standard error
        has too.

    Raises:
        TraceError: as `cachezoo.traces.read.read_files`, or an unsorted trace cannot be spilled beside the output.
    """
    given, where = OpenTrace(files, advance), str(files.paths[0])
    bounds = None if part == WHOLE else _bounds(sum(len(chunk) for chunk in given.chunks()), part)
    try:
        with trace_writer(output) as writer:
            figures = _streamed(given, _Sink(where, writer), bounds)
    except _Unsorted:
        folder_beside = beside(output)
        with (
            trace_writer(output) as writer,
            tempfile.TemporaryDirectory(dir=folder_beside, prefix=f".{output.name}.", suffix=".spill") as folder,
            held(Path(folder)),
        ):
            figures = _sorted(given, _Sink(where, writer), part, _Spill(Path(folder)))
    given.warn()
    if replay and not given.objects and (trace := read_trace(output)).count is not None:
        trace = replayed(trace)
        hold_pages(trace, where)
        write_trace(trace, output, expand_pages(trace))
    return _with_lines(figures, given)


def describe_files(files: TraceFiles, advance: Advance = silent) -> dict[str, Any]:
    """What `cachezoo.traces.stats` or `cachezoo.traces.object_stats` says of a trace, streamed.

    Its order does not matter.

    Raises:
        TraceError: as `cachezoo.traces.read.read_files`.
    """
    given, sink = OpenTrace(files, advance), _Sink(str(files.paths[0]))
    stitcher = Stitcher(given.meta())
    with _taking(sink, lambda group: stitcher.piece(group, 0)) as take:
        for group in _groups(given.chunks()):
            take(group)
    given.warn()
    return _with_lines(sink.close(given.meta()), given)


def _with_lines(figures: dict[str, Any], given: OpenTrace) -> dict[str, Any]:
    """The figures, with lines on what the reader left out, sorted, inferred or joined, and on what is implausible."""
    return {**figures, "remarks": remarks_of(given.meta().extra), "warnings": given.warnings()}


def _bounds(rows: int, part: tuple[float, float]) -> tuple[int, int]:
    return int(part[0] * rows), int(part[1] * rows)


AT_ONCE = 1 << 22  # page accesses that are numbered at a time where nothing is written
WRITTEN_AT_ONCE = 1 << 26  # of a row group; 64 pages a request in one of full length
NUMBERED_BYTES = 24  # of a page access while it is numbered
GROWN_BYTES = 39  # of a page of the table, while a table of twice the size is made


@dataclass
class _Sink:
    """Where pieces go: pages or objects are numbered, statistics kept, rows written if there is a writer."""

    where: str
    writer: TraceWriter | None = None
    pages: PageNumbers = field(default_factory=PageNumbers)
    statistics: Statistics = field(default_factory=Statistics)
    objects: ObjectStatistics | None = None
    n_pages: int = 0

    def numbered(self, piece: Trace | ObjectTrace) -> Iterator[tuple[Trace | ObjectTrace, PageAccesses | None]]:
        """Take the next requests into the figures; what `write` is to write of them, a row group each.

        Raises:
            TraceError: their pages are more than can be numbered, or than there is memory for.
        """
        if isinstance(piece, ObjectTrace):
            self.objects = self.objects or ObjectStatistics()
            self.objects.add(piece)
            yield piece, None
            return
        for part in pieces(piece, AT_ONCE if self.writer is None else WRITTEN_AT_ONCE):
            self._hold(part)
            accesses = self.pages.number(part)
            self.n_pages = accesses.n_pages
            self.statistics.add(part, accesses)
            yield part, accesses

    def write(self, piece: Trace | ObjectTrace, accesses: PageAccesses | None) -> None:
        """Write a row group.

        Raises:
            TraceError: its rows break the table's rules.
        """
        if self.writer is not None:
            self.writer.add(piece, accesses)

    def _hold(self, piece: Trace) -> None:
        accesses = int(accesses_of(piece).sum())
        grown = self.pages.room if self.n_pages + accesses > self.pages.room else 0
        hold(accesses, accesses * NUMBERED_BYTES + grown * GROWN_BYTES, self.where)

    def close(self, meta: TraceMeta) -> dict[str, Any]:
        if self.writer is not None:
            self.writer.close(meta, self.n_pages if self.objects is None else None)
        return self.statistics.result(meta) if self.objects is None else self.objects.result(meta)


@contextmanager
def _taking(sink: _Sink, piece_of: Callable[..., Trace | ObjectTrace]) -> Iterator[Callable[..., None]]:
    """Take what the caller reads into a sink: made a piece of and numbered in one thread, written in another.

    Yields:
        What takes the arguments of `piece_of`; three row groups at most are in memory.
    """
    with aside(sink.write) as write:

        def number(*given: Any) -> None:  # noqa: ANN401 - as `piece_of`
            for rows, accesses in sink.numbered(piece_of(*given)):
                write(rows, accesses)

        with aside(number) as take:
            yield take


def _between(chunks: Iterator[Requests], bounds: tuple[int, int]) -> Iterator[Requests]:
    """Requests [first, last) of the chunks."""
    at = 0
    for chunk in chunks:
        first, last = (min(max(bound - at, 0), len(chunk)) for bound in bounds)
        at += len(chunk)
        if first < last:
            yield chunk.where(np.arange(first, last)) if last - first < len(chunk) else chunk


def _groups(chunks: Iterator[Requests]) -> Iterator[list[Requests]]:
    """The chunks in groups of exactly `ROW_GROUP_ROWS` requests; the last has what is left."""
    group: list[Requests] = []
    rows = 0
    for chunk in chunks:
        rest = chunk
        while rows + len(rest) >= ROW_GROUP_ROWS:
            cut = ROW_GROUP_ROWS - rows
            yield [*group, rest.where(np.arange(cut))]
            group, rows, rest = [], 0, rest.where(np.arange(cut, len(rest)))
        if len(rest):
            group.append(rest)
            rows += len(rest)
    if group:
        yield group


def _streamed(given: OpenTrace, sink: _Sink, bounds: tuple[int, int] | None) -> dict[str, Any]:
    stitcher: Stitcher | None = None
    origin_us = 0

    def piece_of(group: list[Requests]) -> Trace | ObjectTrace:
        return cast(Stitcher, stitcher).piece(group, origin_us)

    with _taking(sink, piece_of) as take:
        for group in _groups(_between(given.chunks(), bounds) if bounds else given.chunks()):
            if given.backwards:
                raise _Unsorted
            if stitcher is None:
                stitcher = Stitcher(given.meta())
                origin_us = int(group[0].time_us[0]) if given.counts_anew(bounds) else 0
            take(group)
        if given.backwards:
            raise _Unsorted
    return sink.close(given.meta())


class _Spill:
    """Columns of a whole trace in raw files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._types: dict[str, np.dtype[Any]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._maps: dict[str, mmap.mmap] = {}

    def add(self, piece: Trace | ObjectTrace) -> None:
        """Append a piece's columns.

        Raises:
            TraceError: a file cannot be written, as where the disk is full.
        """
        objects = isinstance(piece, ObjectTrace)
        columns = {name: getattr(piece, name) for name in (OBJECT_NUMBERS if objects else NUMBER_COLUMNS)}
        for name in OBJECT_CODED if objects else CODED_COLUMNS:
            coded: Coded | None = getattr(piece, name)
            columns[name] = coded and coded.codes
            if coded is not None:
                self._names[name] = coded.names
        if isinstance(piece, ObjectTrace) and piece.key_names is not None:
            columns["key"], self._names["key"] = piece.key.astype(np.int32), piece.key_names
        for name, values in columns.items():
            if values is not None:
                self._types[name] = values.dtype
                try:
                    with (self._folder / name).open("ab") as file:
                        file.write(values)
                except OSError as error:
                    message = (
                        f"{self._folder / name}: cannot be written ({error.strerror}); an unsorted trace is sorted in "
                        f"files beside the output: make room in {self._folder.parent}, or name an output elsewhere"
                    )
                    raise TraceError(message) from error

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column, mapped."""
        if name not in self._maps:
            with (self._folder / name).open("rb") as file:
                self._maps[name] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(self._maps[name], self._types[name])

    def release(self) -> None:
        """Let the columns' pages go from memory; they come back from disk where they are read again."""
        for mapped in self._maps.values():
            mapped.madvise(mmap.MADV_DONTNEED)

    def pieces(self, order: I64, piece_of: Callable[..., Trace | ObjectTrace]) -> Iterator[Trace | ObjectTrace]:
        """The requests in an order, `ROW_GROUP_ROWS` at a time, with the names that have occurred so far."""
        columns = {name: self.column(name) for name in self._types}
        seen = {name: Names() for name in self._names}
        for first in range(0, len(order), ROW_GROUP_ROWS):
            rows = order[first : first + ROW_GROUP_ROWS]
            values: dict[str, Any] = {name: column[rows] for name, column in columns.items()}
            for name, names in seen.items():
                codes = names.add(Coded(values[name], self._names[name]))
                values[name] = Coded(codes, names.names)
            self.release()
            yield piece_of(**values)


def _sorted(given: OpenTrace, sink: _Sink, part: tuple[float, float], spill: _Spill) -> dict[str, Any]:
    stitcher = Stitcher(given.meta())
    with aside(lambda group: spill.add(stitcher.piece(group, 0))) as take:
        for group in _groups(given.chunks()):
            take(group)
    time_us = spill.column("time_us")
    order = np.argsort(time_us, kind="stable")
    spill.release()
    bounds = _bounds(len(order), part)
    order = order[bounds[0] : bounds[1]]
    origin_us = int(time_us[order[0]]) if len(order) and given.counts_anew(None if part == WHOLE else bounds) else 0
    meta = given.meta()

    def piece_of(time_us: I64, **columns: Any) -> Trace | ObjectTrace:  # noqa: ANN401 - the columns of a trace
        if "offset" in columns:
            return Trace(time_us=time_us - origin_us, meta=meta, **columns)
        if isinstance(keys := columns["key"], Coded):
            columns |= {"key": keys.codes.astype(np.int64), "key_names": keys.names}
        return ObjectTrace(time_us=time_us - origin_us, meta=meta, **columns)

    with _taking(sink, lambda piece: piece) as take:
        for piece in spill.pieces(order, piece_of):
            take(piece)
    return sink.close(meta)


def ingest_corpus(params: "Params", category: str) -> None:
    """Write the canonical requests of a category's corpus, a file each, in the order of the keys.

    Args:
        params: params.yaml.
        category: of workload.

    Raises:
        ConfigError: the corpus has no such category.
        TraceError: a trace cannot be read.
    """
    rows = params.data.corpus.get(category)
    if not rows:
        raise ConfigError(f"params.yaml: holds no data.corpus.{category}; run `dvc repro compose`")
    with progress(f"corpus of {category}", len(rows)) as advance, atomic_dir(paths.corpus(category)) as folder:
        for done, (key, row) in enumerate(sorted(rows.items())):
            advance(done, key)
            ingest(TraceFiles([Path(row.path)], row.format, category, key), folder / f"{key}.parquet", replay=True)
        advance(len(rows))
