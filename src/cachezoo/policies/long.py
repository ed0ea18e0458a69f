"""A trace longer than memory, ready to be simulated: what a cache needs of it lies in files, mapped.

It is read once, a row group at a time. Memory grows with its distinct pages, not with its requests; what a cache did at
each access is counted span by span and forgotten. Figures are those of `cachezoo.policies.simulate` to the last hit.
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cachezoo.arrays import I64
from cachezoo.aside import aside
from cachezoo.console import Advance
from cachezoo.contest.counting import AUTO, HOW, Count
from cachezoo.errors import ConfigError, TraceError
from cachezoo.io import read_extent
from cachezoo.kernels.outcome import REQUEST, UNIT
from cachezoo.numerals import whole
from cachezoo.policies.accounting import Counting, Counts, Keep
from cachezoo.policies.engine import Run, check_capacity
from cachezoo.policies.prefetches import NONE
from cachezoo.policies.registry import Policy, policy
from cachezoo.policies.stream import AT_ONCE, LongStream, Unit, Writes, build_stream
from cachezoo.traces.memory import ACCESS_BYTES, hold
from cachezoo.traces.pages import PageAccesses, PageNumbers, accesses_of
from cachezoo.traces.read import OpenTrace, Stitcher, TraceFiles, silent
from cachezoo.traces.reading import Chunk
from cachezoo.traces.sampling import SAMPLED_ABOVE
from cachezoo.traces.spill import Spill
from cachezoo.traces.store import paged_pieces
from cachezoo.traces.table import PAGE_BYTES, Trace
from cachezoo.traces.tabular import stored_table

FROM = "CACHEZOO_LONG_FROM"
"""Environment variable: page accesses from which on a trace is long; `SAMPLED_ABOVE` where it is not set."""


def long_from() -> int:
    """Page accesses from which on a trace is long.

    Raises:
        ConfigError: CACHEZOO_LONG_FROM is no number.
    """
    given = os.environ.get(FROM, "")
    if given and (whole(given) or 0) < 1:
        raise ConfigError(f"{FROM}={given}: is no number of page accesses; give 1 or more")
    return int(given) if given else SAMPLED_ABOVE


@dataclass(frozen=True)
class LongTrace:
    """A trace of addresses that is not read yet, because it is long."""

    files: TraceFiles
    first: int | None = None  # requests that are taken, from its first on; None takes all


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


class LongSimulator:
    """A long trace ready to be simulated; see `cachezoo.policies.simulate.Simulator`, whose figures it has.

    Attributes:
        meta: of the trace.
        requests: how many there are.
        page_bytes: of a page.
        stream: the page accesses, in mapped files.
    """

    def __init__(
        self, trace: LongTrace, writes: Writes = "back", unit: Unit = "page", page_bytes: int = PAGE_BYTES,
        count: Count | None = None, advance: Advance | None = None, *, alone: bool = False,
    ) -> None:  # fmt: skip
        """Read a trace.

        Args:
            trace: which.
            writes: what a write does.
            unit: what one admission decision covers.
            page_bytes: of a page.
            count: a rule that is to be applied later; a time cannot be, but here.
            advance: told the share of it that is read.
            alone: whether each page access is a read of its own, as curves have it.

        Raises:
            ConfigError: writes go around the cache, whose ids are those of versions, or the trace ends before counting.
            TraceError: as of reading; its time runs backwards; or there is no room for what lies in files.
        """
        if writes == "around":
            raise ConfigError(f"{trace.files.paths[0]}: writes around the cache take the whole trace in memory; {FIX}")
        self.page_bytes, self._count = page_bytes, count or Count()
        self.requests, n_pages, accesses, read = 0, 0, 0, 0
        spill = Spill(str(trace.files.paths[0]))
        given = OpenTrace(trace.files, advance or silent)
        self._since: int | None = None
        self._began_us = self._ended_us = 0

        def add(piece: Trace, pages: PageAccesses) -> None:
            nonlocal n_pages, accesses
            rows, own = _taken(piece, pages, trace.first, self.requests)
            self._mark(rows, own, accesses)
            part = build_stream(rows, own, writes, unit)
            for name in COLUMNS:
                spill.append(name, getattr(part, name))
            if alone:
                spill.append(ALONE, np.full(len(part), REQUEST | UNIT, np.uint8))
            self.requests, accesses = self.requests + len(rows), accesses + len(part)
            n_pages = max(n_pages, int(part.page_ids.max(initial=-1)) + 1)

        with aside(add) as added:
            for piece, pages in _pieces(given, page_bytes, advance or silent):
                added(piece, pages)
                read += len(piece)
                if trace.first is not None and read >= trace.first:
                    break
        self.meta = given.meta()
        if not accesses:
            raise TraceError(f"{trace.files.paths[0]}: the trace is empty; give a file with at least one request")
        self.stream = _mapped(spill, n_pages, writes)
        spill.release()

    def __getstate__(self) -> dict[str, Any]:
        """What another process maps the same files by."""
        own = {name: value for name, value in vars(self).items() if name != "stream"}
        return own | {"mapped": (self.stream.spill, self.stream.n_pages, self.stream.writes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Map them."""
        self.stream = _mapped(*state.pop("mapped"))
        vars(self).update(state)

    @property
    def n_pages(self) -> int:
        """Distinct pages."""
        return self.stream.n_pages

    @property
    def accesses(self) -> int:
        """Page accesses."""
        return len(self.stream)

    def _mark(self, rows: Trace, pages: PageAccesses, before: int) -> None:
        """Find where a rule that counts from a time on begins to."""
        if (wanted := self._count.wait_us) is None or not len(rows):
            return
        self._began_us = int(rows.time_us[0]) if not before else self._began_us
        self._ended_us = int(rows.time_us[-1])
        place = int(np.searchsorted(rows.time_us, self._began_us + wanted))
        if self._since is None and place < len(rows):
            self._since = before + int(pages.request_start[place])

    def firsts(self, count: Count, capacities: Sequence[int]) -> I64:
        """As `cachezoo.contest.counting.first_accesses`."""
        return np.array([self._first(count, capacity) for capacity in capacities], np.int64)

    def _first(self, count: Count, capacity: int) -> int:
        if count.wait_us is not None:
            if self._began_us == self._ended_us:
                raise ConfigError(f"--count {count.text}: there is no clock; give a share such as 25%")
            if self._since is None:
                raise ConfigError(f"--count {count.text}: the trace ends before; {HOW}")
            return self._since
        filled = self._filled(capacity) if count.text == AUTO else 0
        first = count.place(self.accesses, filled)
        flags = self.stream.spill.column(FLAGS)
        while not flags[first] & REQUEST:
            first -= 1
        return first

    def _filled(self, capacity: int) -> int:
        """Accesses after which as many pages as the cache holds were there: ids are numbered by first appearance."""
        ids = self.stream.page_ids
        for low in range(0, len(ids), AT_ONCE):
            if (there := ids[low : low + AT_ONCE] >= capacity - 1).any():
                return low + int(there.argmax()) + 1
        return len(ids) + 1

    def run(self, asked: Policy | str, capacity: int, warmup: int, keep: Keep | None = None) -> Counts:
        """Run one policy.

        Args:
            asked: a policy, its id, or a composition.
            capacity: pages, at least 1.
            warmup: page accesses simulated before counting, as `firsts` says.
            keep: given the outcomes of each span, uint8, in their order.

        Raises:
            ConfigError: an unknown policy, one that needs the requests themselves, or capacity below 1.
            TraceError: a policy that needs the whole trace in memory, and there is too little.
        """
        entry = self.ready(asked, capacity)
        counting = Counting(self.stream, warmup, self.accesses, warmup)
        seconds, known = 0.0, True

        def count(low: int, high: int, run: Run) -> None:
            requests = int(np.count_nonzero(self.stream.flags[low:high] & REQUEST))
            counting.add(low, high, run, np.empty(requests, np.int64))
            if keep is not None:
                keep(run.outcome)
            self.stream.spill.release()

        with aside(count) as counted:
            begun = time.perf_counter()
            for low, high, run in self.spans(entry, capacity):
                seconds += time.perf_counter() - begun
                known = run.says_who_left
                counted(low, high, run)
                begun = time.perf_counter()
        return Counts(policy=entry.id, capacity=capacity, warmup=warmup, **counting.figures(known), kernel_s=seconds)

    def ready(self, asked: Policy | str, capacity: int) -> Policy:
        """A policy, compiled.

        Raises:
            ConfigError: an unknown policy, one that needs the requests themselves, or capacity below 1.
        """
        check_capacity(capacity)
        entry = policy(asked) if isinstance(asked, str) else asked
        if entry.bind is not None or (entry.spec is not None and entry.spec.prefetch.id != NONE.id):
            raise ConfigError(f"policy {entry.id}: it decides by the requests, which take memory; {FIX}")
        entry.compile()
        return entry

    def spans(self, entry: Policy, capacity: int) -> Iterator[tuple[int, int, Run]]:
        """What a policy that is `ready` does, span by span.

        Yields:
            The first and the end of some accesses, and the run over them, whose room is the next one's.

        Raises:
            TraceError: it needs the whole trace in memory, and there is too little.
        """
        if entry.spans is not None:
            yield from entry.spans(self.stream, capacity, AT_ONCE)
            return
        hold(self.accesses, self.accesses * ACCESS_BYTES, self.meta.trace_id)
        yield 0, self.accesses, entry.simulate(self.stream, capacity)


FLAGS, ALONE = "flags", "alone"
COLUMNS = ("page_ids", FLAGS, "page_bytes")
PARQUET = "parquet"
FIX = f"cut or sample it (--first, cachezoo trace cut, trace sample), or raise {FROM} where memory has the room"


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


def _mapped(spill: Spill, n_pages: int, writes: Writes) -> LongStream:
    columns = {name: spill.column(name) for name in COLUMNS}
    if spill.has(ALONE):
        columns[FLAGS] = spill.column(ALONE)
    return LongStream(**columns, n_pages=n_pages, writes=writes, spill=spill)


def _taken(piece: Trace, pages: PageAccesses, first: int | None, before: int) -> tuple[Trace, PageAccesses]:
    """What belongs to the trace's first requests; `before` of them came in earlier pieces."""
    if first is None or before + len(piece) <= first:
        return piece, pages
    stop = first - before
    start = pages.request_start[: stop + 1]
    return piece.rows(0, stop), replace(pages, request_start=start, page_ids=pages.page_ids[: start[-1]])
