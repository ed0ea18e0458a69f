"""The pages that requests touch, 4 KiB each where no other size is given, as dense ids."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cachezoo.arrays import I32, I64, MOST_NUMBERED
from cachezoo.errors import TraceError
from cachezoo.kernels.segments import Geometry, IdTable, segment_keys
from cachezoo.traces.table import PAGE_BYTES, Trace


def geometry_of(page_bytes: int) -> Geometry:
    """Pages of so many bytes, each a block of its own."""
    return Geometry(block_bytes=page_bytes, segment_bytes=page_bytes)


PAGES = geometry_of(PAGE_BYTES)


@dataclass(frozen=True)
class PageAccesses:
    """The page accesses of a trace, in request order and by rising address within a request."""

    request_start: I64  # int64[n + 1]; request i touches page_ids[request_start[i]:request_start[i + 1]]
    # int32[m] dense ids in [0, n_pages), numbered by first appearance, so that an id never depends on a later row
    page_ids: I32
    n_pages: int  # distinct pages (the working set)
    page_bytes: int = PAGE_BYTES  # of a page: the unit that a cache holds, such as a line of 64 KiB

    @property
    def n_requests(self) -> int:
        """Requests in the trace."""
        return len(self.request_start) - 1

    def request_of_access(self) -> I32:
        """int32[m]: the request each page access belongs to."""
        return np.repeat(np.arange(self.n_requests, dtype=np.int32), np.diff(self.request_start))


def capacity_pages(fraction: float, n_pages: int) -> int:
    """A cache's size in pages, at least 1, from its share of the working set."""
    return max(1, round(fraction * n_pages))


def percent(fraction: float) -> int:
    """A capacity as the whole percents that columns are named by."""
    return round(100 * fraction)


class PageNumbers:
    """Numbers pages over consecutive parts of a trace; needs 19 to 58 bytes of memory a distinct page."""

    def __init__(self, page_bytes: int = PAGE_BYTES) -> None:
        self._pages = geometry_of(page_bytes)
        self._table = IdTable()

    @property
    def room(self) -> int:
        """How many distinct pages there is room for until the table of pages grows to twice its size."""
        return self._table.room

    def number(self, trace: Trace) -> PageAccesses:
        """Page accesses of the trace's next requests; `n_pages` counts the pages of all parts so far.

        Raises:
            TraceError: more than `MOST_NUMBERED` distinct pages in all, or more than 8,192 volumes.
        """
        start, keys = segment_keys(trace.volume.codes, trace.offset, trace.size, self._pages)
        try:
            ids = self._table.lookup(keys)
        except TraceError as error:
            raise TraceError(f"{trace.meta.trace_id}: {error}") from error
        return PageAccesses(start, ids, self._table.count, self._pages.segment_bytes)


def refuse_accesses(total: int, where: str, most_bytes: int | None = None) -> None:
    """Refuse a trace that is held in memory whole, where an access is known by a number of 32 bits.

    Args:
        total: its page accesses.
        where: the trace.
        most_bytes: of its largest request, where that is known.

    Raises:
        TraceError: more than `MOST_NUMBERED`.
    """
    if total > MOST_NUMBERED:
        largest = f" (a request has up to {most_bytes} bytes)" if most_bytes is not None else ""
        message = (
            f"{where}: {total} page accesses, at most {MOST_NUMBERED} can be numbered{largest}: "
            "check the unit (bytes), or cut or sample the trace"
        )
        raise TraceError(message)


class Ranges(Protocol):
    """Requests of addresses: a trace, or a chunk of one."""

    @property
    def offset(self) -> I64:
        """int64[n] bytes."""

    @property
    def size(self) -> I64:
        """int64[n] bytes."""


def accesses_of(requests: Ranges, page_bytes: int = PAGE_BYTES) -> I64:
    """int64[n]: the pages that each request touches."""
    last = requests.offset + requests.size - 1
    touched: I64 = last // page_bytes - requests.offset // page_bytes + 1
    return touched


def expand_pages(trace: Trace, page_bytes: int = PAGE_BYTES) -> PageAccesses:
    """Split requests into pages and number the pages by first appearance.

    Args:
        trace: requests.
        page_bytes: of a page.

    Raises:
        TraceError: as `PageNumbers.number`, or more than `MOST_NUMBERED` page accesses.
    """
    refuse_accesses(int(accesses_of(trace, page_bytes).sum()), trace.meta.trace_id, int(trace.size.max(initial=0)))
    return PageNumbers(page_bytes).number(trace)
