"""A trace longer than memory, ready to be simulated: what a cache needs of it lies in files, mapped.

It is read once, a row group at a time. Memory grows with its distinct pages, not with its requests; what a cache did at
each access is counted span by span and forgotten. Figures are those of `cachezoo.policies.simulate` to the last hit.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo.arrays import I64
from cachezoo.aside import aside
from cachezoo.console import Advance
from cachezoo.contest.counting import AUTO, HOW, Count
from cachezoo.errors import ConfigError, TraceError
from cachezoo.kernels.outcome import REQUEST, UNIT
from cachezoo.policies.accounting import Counting, Counts, Keep
from cachezoo.policies.engine import Run, check_capacity
from cachezoo.policies.prefetches import NONE
from cachezoo.policies.registry import Policy, policy
from cachezoo.policies.stream import AT_ONCE, LongStream, Unit, Writes, build_stream
from cachezoo.traces.memory import ACCESS_BYTES, FIX, hold
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.spill import Spill
from cachezoo.traces.table import PAGE_BYTES, Trace

if TYPE_CHECKING:
    from cachezoo.traces.long import LongTrace


class LongSimulator:
    """A long trace ready to be simulated; see `cachezoo.policies.simulate.Simulator`, whose figures it has.

    Attributes:
        meta: of the trace.
        requests: how many there are.
        page_bytes: of a page.
        stream: the page accesses, in mapped files.
    """

    def __init__(
        self, trace: "LongTrace", writes: Writes = "back", unit: Unit = "page", page_bytes: int = PAGE_BYTES,
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
            raise ConfigError(f"{trace.path}: writes around the cache take the whole trace in memory; {FIX}")
        self.page_bytes, self._count = page_bytes, count or Count()
        self.requests, n_pages, accesses, read = 0, 0, 0, 0
        spill = Spill(str(trace.path))
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

        pieces, meta = trace.read(page_bytes, advance)
        with aside(add) as added:
            for piece, pages in pieces:
                added(piece, pages)
                read += len(piece)
                if trace.first is not None and read >= trace.first:
                    break
        self.meta = meta()
        if not accesses:
            raise TraceError(f"{trace.path}: the trace is empty; give a file with at least one request")
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
