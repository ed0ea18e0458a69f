"""The pages that requests touch, 4 KiB each where no other size is given, as dense ids."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.errors import TraceError
from cachezoo.kernels.segments import Geometry, IdTable, segment_keys
from cachezoo.traces.table import PAGE_BYTES, Trace

MAX_ACCESSES = 2**31 - 1


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
    """Numbers pages over consecutive parts of a trace; needs 24 to 72 bytes of memory a distinct page."""

    def __init__(self, page_bytes: int = PAGE_BYTES) -> None:
        self._pages = geometry_of(page_bytes)
        self._table = IdTable()
        self._accesses = 0

    def number(self, trace: Trace) -> PageAccesses:
        """Page accesses of the trace's next requests; `n_pages` counts the pages of all parts so far.

        Raises:
            TraceError: more than 2**31 - 1 page accesses in all, or more than 8,192 volumes.
        """
        page_bytes = self._pages.segment_bytes
        count = (trace.offset + trace.size - 1) // page_bytes - trace.offset // page_bytes + 1
        total = self._accesses + int(count.sum())
        if total > MAX_ACCESSES:
            message = (
                f"{trace.meta.trace_id}: {total} page accesses, at most {MAX_ACCESSES} can be numbered (a request has "
                f"up to {trace.size.max()} bytes): check the unit (bytes), or cut or sample the trace"
            )
            raise TraceError(message)
        self._accesses = total
        start, keys = segment_keys(trace.volume.codes, trace.offset, trace.size, self._pages)
        ids = self._table.lookup(keys)
        return PageAccesses(start, ids, self._table.count, page_bytes)


def expand_pages(trace: Trace, page_bytes: int = PAGE_BYTES) -> PageAccesses:
    """Split requests into pages and number the pages by first appearance.

    Args:
        trace: requests.
        page_bytes: of a page.

    Raises:
        TraceError: as `PageNumbers.number`.
    """
    return PageNumbers(page_bytes).number(trace)
