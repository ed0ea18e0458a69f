"""A trace longer than memory, before it is read: which it is, and its pieces."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cachezoo.console import Advance
from cachezoo.errors import TraceError
from cachezoo.io import read_extent
from cachezoo.traces.memory import FIX, long_from
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.pages import PageAccesses, PageNumbers, accesses_of
from cachezoo.traces.read import OpenTrace, Stitcher, TraceFiles, read_part, silent
from cachezoo.traces.reading import Chunk
from cachezoo.traces.sampling import Part, SampledTrace
from cachezoo.traces.store import paged_pieces
from cachezoo.traces.table import PAGE_BYTES, Trace, TraceMeta
from cachezoo.traces.tabular import stored_table

PARQUET = "parquet"


@dataclass(frozen=True)
class LongTrace:
    """A trace of addresses that is not read yet, because it is long."""

    files: TraceFiles
    first: int | None = None  # requests that are taken, from its first on; None takes all

    @property
    def path(self) -> Path:
        """Of its file."""
        return self.files.paths[0]

    def read(
        self, page_bytes: int = PAGE_BYTES, advance: Advance | None = None
    ) -> tuple[Iterator[tuple[Trace, PageAccesses]], Callable[[], TraceMeta]]:
        """Its pieces with their pages, as ingest stored them or else numbered on the way, and its meta after the last.

        Raises:
            TraceError: as of reading; its time runs backwards, or its rows stand for several accesses.
        """
        given = OpenTrace(self.files, advance or silent)
        return _pieces(given, page_bytes, advance or silent), given.meta


def opened(
    files: TraceFiles, part: Part, page_bytes: int = PAGE_BYTES, first: int | None = None, *, quiet: bool = False,
    requests: bool = True, unread: bool = True,
) -> Trace | ObjectTrace | SampledTrace | LongTrace:  # fmt: skip
    """A trace as it is simulated: in memory, whole or a sample of it, or one that is too long and is not read yet.

    Args:
        files: of it.
        part: how much of it.
        page_bytes: of a page.
        first: requests that are taken of a long one; None takes all.
        quiet: as of `cachezoo.traces.read.read_part`, like the next.
        requests: how a sample is chosen.
        unread: whether it may be one that is not read yet.
    """
    if unread and part == "exact" and is_long(files, first):
        return LongTrace(files, first)
    return read_part(files, part, page_bytes, quiet=quiet, requests=requests)


def is_long(files: TraceFiles, first: int | None = None) -> bool:
    """Whether a trace of addresses has so many page accesses that it is read a row group at a time.

    Args:
        files: the trace.
        first: requests that are taken, from its first on; None takes all.
    """
    return accesses_in(files, first) >= long_from()


def accesses_in(files: TraceFiles, first: int | None = None) -> float:
    """The page accesses of a trace of addresses; 0 of what is no single file of one.

    How many a raw trace has is estimated from its beginning, and the part of the file that this takes.

    Args:
        files: the trace.
        first: requests that are taken, from its first on; None takes all.
    """
    if len(files.paths) != 1 or not files.paths[0].is_file():
        return 0.0
    given = OpenTrace(files, silent)
    if given.format.id == PARQUET:
        extent = read_extent(stored_table(given.sources[0]))
        accesses, requests = max(extent.get("page_ids", 0), extent.get("offset", 0)), extent.get("offset", 0)
    else:
        chunk = next(iter(given.chunks()))
        if not isinstance(chunk, Chunk):
            return 0.0
        share = given.sources[0].consumed / max(given.sources[0].size, 1)
        accesses, requests = int(accesses_of(chunk).sum() / max(share, 1e-9)), int(len(chunk) / max(share, 1e-9))
    part = 1.0 if first is None else min(1.0, first / max(requests, 1))
    return accesses * part


def _pieces(given: OpenTrace, page_bytes: int, advance: Advance) -> Iterator[tuple[Trace, PageAccesses]]:
    """The requests with their pages: as ingest stored them, or else numbered on the way.

    Raises:
        TraceError: its time runs backwards, or its rows stand for several accesses.
    """
    path = given.files.paths[0]
    extent = read_extent(path) if given.format.id == PARQUET else {}
    if "count" in extent:
        raise TraceError(f"{path}: its rows stand for several accesses each, which takes it whole in memory; {FIX}")
    if "page_ids" in extent and page_bytes == PAGE_BYTES:
        done = 0
        for trace, pages in paged_pieces(path):
            yield trace, pages
            done += len(trace)
            advance(done / extent["offset"])
        return
    numbers = PageNumbers(page_bytes)
    for piece in requests_of(given):
        yield piece, numbers.number(piece)


def requests_of(given: OpenTrace) -> Iterator[Trace]:
    """The requests of a long trace a piece at a time; what is doubtful of it is said at the end.

    Raises:
        TraceError: its time runs backwards, or its rows stand for several accesses.
    """
    path, stitcher = given.files.paths[0], Stitcher(given.meta())
    origin_us: int | None = None
    for chunk in given.chunks():
        if given.backwards:
            raise TraceError(f"{path}: its time runs backwards, and a long trace is not sorted here: ingest it first")
        origin_us = int(chunk.time_us[0]) if origin_us is None else origin_us
        piece = stitcher.piece([chunk], origin_us)
        if not isinstance(piece, Trace) or piece.count is not None:
            raise TraceError(f"{path}: its rows stand for several accesses each, which takes it whole in memory; {FIX}")
        yield piece
    given.warn()
