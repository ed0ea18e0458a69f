"""A part of a trace as the oracles take it: in memory, as one span, or, where that is too small, in mapped files.

An access takes 5 bytes there and a request 8. What the oracles find (`cachezoo.labels.benefit`) is kept likewise:
9 bytes an access, 17 from 2**31 accesses on, and 4 a request with one more for each oracle and size. The oracle that
saves response time takes 8 more of both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.devices.responses import ResponseReader
from cachezoo.errors import TraceError
from cachezoo.io import read_extent
from cachezoo.kernels.benefit import check_times
from cachezoo.kernels.bounds.following import next_access, width_of
from cachezoo.kernels.outcome import REQUEST, WRITE
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.spill import Spill
from cachezoo.traces.store import paged_pieces

AT_ONCE = 1 << 22
"""Page accesses of a span of a part in files, and what its last request has more."""
PAGE_IDS, FLAGS, RATIO, SHARE, FOLLOWING = "page_ids", "flags", "ratio", "share", "following"


@dataclass(frozen=True)
class Span:
    """Some of a part's requests, one after the other."""

    rows: slice  # of the requests
    places: slice  # of their page accesses
    start: I64  # int64[k + 1] bounds of each request's page accesses


@dataclass(frozen=True)
class Part:
    """n requests and their m page accesses, with what the devices take for them.

    Attributes:
        page_ids: int32[m] in [0, n_pages).
        flags: uint8[m], bits `REQUEST` and `WRITE`.
        ratio: float64[n], of each request T_HDD / T_SSD / its pages.
        share: float64[n], µs by which the SSD is faster, at least 0, for each of its pages; None if not wanted.
        n_pages: distinct pages.
        ends: int64[s + 1, 2]: the request and the page access at which each of s spans begins, and the numbers of both.
        request_start: int64[n + 1] bounds of each request's page accesses, of a part in memory.
        spill: the files that the columns lie in; None in memory.
    """

    page_ids: I32
    flags: U8
    ratio: F64
    share: F64 | None
    n_pages: int
    ends: I64
    request_start: I64 | None = None
    spill: Spill | None = None

    @classmethod
    def of(cls, op: U8, pages: PageAccesses, t_hdd_us: F64, t_ssd_us: F64) -> "Part":
        """A part in memory.

        Args:
            op: uint8[n], 0 read, 1 write.
            pages: page accesses of the requests.
            t_hdd_us: float64[n] service times of the hard disk.
            t_ssd_us: float64[n] of the SSD.

        Raises:
            ConfigError: a service time that is not above 0.
        """
        check_times(t_hdd_us, t_ssd_us)
        ends = np.array([(0, 0), (len(op), len(pages.page_ids))], np.int64)
        columns = _columns(op, pages, t_hdd_us, t_ssd_us)
        return cls(pages.page_ids, *columns, pages.n_pages, ends, pages.request_start)

    @classmethod
    def read(cls, requests: Path, responses: Path, *, shares: bool) -> "Part":
        """A part in files.

        Args:
            requests: its canonical trace, with page ids.
            responses: its replayed service times.
            shares: whether `share` is wanted.

        Raises:
            TraceError: a file cannot be read, they are of different traces, or there is no room.
        """
        spill, ends, pages = Spill(str(requests)), [(0, 0)], None
        times = ResponseReader(responses, read_extent(requests)["offset"])
        for trace, pages in paged_pieces(requests):
            flags, ratio, share = _columns(trace.op, pages, *times.take(len(trace)))
            for name, values in ((PAGE_IDS, pages.page_ids), (FLAGS, flags), (RATIO, ratio), (SHARE, share)):
                if shares or name != SHARE:
                    spill.append(name, values)
            first, start = ends[-1], pages.request_start
            stops = np.searchsorted(start, np.arange(AT_ONCE, int(start[-1]) + AT_ONCE, AT_ONCE)).clip(0, len(trace))
            ends += [(first[0] + int(stop), first[1] + int(start[stop])) for stop in np.unique(stops[stops > 0])]
        if pages is None:
            raise TraceError(f"{requests}: the trace is empty; give a file with at least one request")
        columns = spill.column(PAGE_IDS), spill.column(FLAGS), spill.column(RATIO)
        return cls(
            *columns, spill.column(SHARE) if shares else None, pages.n_pages, np.array(ends, np.int64), spill=spill
        )

    def __len__(self) -> int:
        return len(self.page_ids)

    @property
    def requests(self) -> int:
        """How many there are."""
        return int(self.ends[-1, 0])

    def spans(self, *, backwards: bool = False) -> Iterator[Span]:
        """The part's spans in order, or the last first; what lies in files leaves memory after each."""
        bounds = list(pairwise(self.ends.tolist()))
        for (row, low), (stop, high) in reversed(bounds) if backwards else bounds:
            start = self.request_start
            if start is None:
                start = np.append(low + np.flatnonzero(self.flags[low:high] & REQUEST), high)
            yield Span(slice(row, stop), slice(low, high), start)
            self.release()

    def room(self, name: str, dtype: npt.DTypeLike, length: int) -> npt.NDArray[Any]:
        """A column to be written, where the others lie; in files the one of that name, where there is one."""
        if self.spill is None:
            return np.empty(length, dtype)
        return self.spill.column(name)[:length] if self.spill.has(name) else self.spill.room(name, dtype, length)

    def following(self) -> I32 | I64:
        """Position of the next access of each access's page, as `next_access`."""
        known = self.spill is not None and self.spill.has(FOLLOWING)
        column = self.room(FOLLOWING, width_of(len(self)), len(self))
        every = None if self.spill is None else AT_ONCE
        return column if known else next_access(self.page_ids, self.n_pages, column, every, lambda _: self.release())

    def release(self) -> None:
        """Let the memory of what lies in files go."""
        if self.spill is not None:
            self.spill.release()


def _columns(op: U8, pages: PageAccesses, t_hdd_us: F64, t_ssd_us: F64) -> tuple[U8, F64, F64]:
    """`flags`, `ratio` and `share` of some requests."""
    counts = np.diff(pages.request_start)
    flags = np.repeat(np.where(op == 0, 0, WRITE).astype(np.uint8), counts)
    flags[pages.request_start[:-1]] |= REQUEST
    return flags, t_hdd_us / t_ssd_us / counts, np.maximum(t_hdd_us - t_ssd_us, 0.0) / counts
