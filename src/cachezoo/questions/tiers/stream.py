"""A trace as a hierarchy of caches sees it: page accesses with their times and addresses."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.contest.counting import first_access
from cachezoo.kernels.outcome import WRITE
from cachezoo.kernels.tier_buffer import BLOCK_PAGES, Places, places
from cachezoo.policies.stream import Stream, build_stream
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.table import OP_WRITE, PAGE_BYTES, Trace


@dataclass(frozen=True, eq=False)
class TierStream:
    """The m page accesses of a trace; two are equal if they are one."""

    trace: Trace
    pages: PageAccesses
    stream: Stream  # what RAM is asked, write-through
    address: I64  # [n_pages] page number on the volume; volumes lie one after another, each from an erase block on
    time_us: I64  # [m] of each access, since the trace's start
    write: Bool  # [m]
    request_of: I32  # [m]

    def __len__(self) -> int:
        return len(self.request_of)

    @cached_property
    def order(self) -> Places:
        """The pages by rising address."""
        return places(self.address)

    @property
    def second_half(self) -> int:
        """The page access that the second half counts from: the first of the request that it begins in."""
        return first_access(self.pages)

    def reads_from(self, request: int) -> I64:
        """int64[r]: page reads of each request from one on; 0 of a write."""
        reads: I64 = np.where(self.trace.op[request:] == OP_WRITE, 0, np.diff(self.pages.request_start[request:]))
        return reads

    def head(self, requests: int) -> "TierStream":
        """The accesses of so many first requests."""
        end = int(self.pages.request_start[requests])
        n_pages = int(self.pages.page_ids[:end].max()) + 1  # ids are numbered by first appearance
        parts = {name: getattr(self.stream, name)[:end] for name in ("page_ids", "flags", "page_bytes")}
        return replace(
            self,
            trace=self.trace.take(np.arange(requests)),
            pages=PageAccesses(self.pages.request_start[: requests + 1], self.pages.page_ids[:end], n_pages),
            stream=replace(self.stream, n_pages=n_pages, **parts),
            address=self.address[:n_pages],
            time_us=self.time_us[:end],
            write=self.write[:end],
            request_of=self.request_of[:end],
        )

    @property
    def span_pages(self) -> int:
        """Pages that the disk has at least: up to the highest address."""
        return int(self.address.max()) + 1


def _addresses(trace: Trace, pages: PageAccesses, request_of: I32) -> I64:
    """int64[n_pages]: `TierStream.address`."""
    first = trace.offset // PAGE_BYTES
    volumes = int(trace.volume.codes.max()) + 1
    ends = np.zeros(volumes, np.int64)
    np.maximum.at(ends, trace.volume.codes, (trace.offset + trace.size - 1) // PAGE_BYTES + 1)
    lengths = -(-ends // BLOCK_PAGES) * BLOCK_PAGES
    begins = np.cumsum(lengths) - lengths
    place = np.arange(len(request_of), dtype=np.int64) - pages.request_start[request_of]
    place += (first + begins[trace.volume.codes])[request_of]
    address = np.empty(pages.n_pages, np.int64)
    address[pages.page_ids] = place
    return address


def tier_stream(trace: Trace, pages: PageAccesses | None = None) -> TierStream:
    """A trace ready for hierarchies; it is built once for all of them.

    Args:
        trace: at least one request.
        pages: their page accesses, where they are known.

    Raises:
        TraceError: as `expand_pages`.
    """
    own = expand_pages(trace) if pages is None else pages
    stream = build_stream(trace, own, "through")
    request_of = own.request_of_access()
    write: Bool = stream.flags & WRITE != 0
    return TierStream(
        trace, own, stream, _addresses(trace, own, request_of), trace.time_us[request_of], write, request_of
    )
