"""What a cache sees of a trace: page accesses in order, with what is asked of it at each.

A stream is built once for a write policy, an admission unit and a prefetch; then every policy runs over the same one.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, cast, get_args

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64, U8
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.following import next_access, width_of
from cachezoo.kernels.outcome import AROUND, METADATA, PREFETCH, REQUEST, UNIT, WRITE
from cachezoo.kernels.requests import request_pages, version_ids
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.spill import Spill
from cachezoo.traces.table import OP_WRITE, PAGE_BYTES

Writes = Literal["back", "through", "around"]
Unit = Literal["page", "segment", "request"]
WRITES: tuple[Writes, ...] = get_args(Writes)
UNITS: tuple[Unit, ...] = get_args(Unit)
SEGMENT_BYTES = 131_072  # that one decision covers, in whole pages; a larger page is a segment of its own
META_FLAG = "M"
FOLLOWING = "following"
AT_ONCE = 1 << 22
"""Accesses of a long stream that are in memory at a time."""


class Requests(Protocol):
    """What a stream is built from: a trace, or a batch of requests; columns as there."""

    @property
    def op(self) -> U8:
        """uint8[n] 0 read, 1 write."""

    @property
    def offset(self) -> I64:
        """int64[n] bytes."""

    @property
    def size(self) -> I64:
        """int64[n] bytes."""

    @property
    def flags(self) -> Coded | None:
        """Of the requests, where they are known."""

    def __len__(self) -> int:
        """Requests."""


def dense_ids(page_ids: npt.ArrayLike, n_pages: int) -> I32:
    """int32[m]: page ids as the compiled loops take them, which look nothing up and check nothing.

    Args:
        page_ids: whole numbers of any width, one an access.
        n_pages: distinct pages.

    Raises:
        ConfigError: no row of whole numbers, or one outside [0, n_pages).
    """
    ids = np.asarray(page_ids)
    if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
        what = f"an array of {ids.dtype} with {ids.ndim} axes"
        raise ConfigError(f"page ids lie in [0, n_pages), a whole number an access; this is {what}")
    if len(ids) and not 0 <= (low := int(ids.min())) <= (high := int(ids.max())) < n_pages:
        wrong = low if low < 0 else high
        fix = "number the pages densely, as numpy.unique(ids, return_inverse=True) does"
        raise ConfigError(f"page ids lie in [0, n_pages), here [0, {n_pages}), and one is {wrong}; {fix}")
    return ids.astype(np.int32, copy=False)


@dataclass(frozen=True)
class Stream:
    """Accesses in order; a request's own pages by rising address, then what is prefetched with it."""

    page_ids: I32  # int32[m] in [0, n_pages)
    flags: U8  # uint8[m], bits of `cachezoo.kernels.outcome`
    page_bytes: I32  # int32[m] bytes of the page that the request asks for; 0 of a prefetch
    n_pages: int  # distinct pages
    # what a write does: `back` enters the cache and is dirty until it leaves; `through` enters and is written to the
    # disk at once; `around` goes to the disk alone, and what the cache held of the page is void
    writes: Writes = "back"
    # int32[m] `request_pages` of the stream that this is a part of; None where it has whole requests
    whole_pages: I32 | None = None

    def __post_init__(self) -> None:
        """Check what the compiled loops rely on.

        Raises:
            ConfigError: page ids outside [0, n_pages), or columns of different lengths.
        """
        object.__setattr__(self, "page_ids", dense_ids(self.page_ids, self.n_pages))
        if not len(self.page_ids) == len(self.flags) == len(self.page_bytes):
            lengths = f"{len(self.page_ids)} page ids, {len(self.flags)} flags and {len(self.page_bytes)} sizes"
            raise ConfigError(f"a stream has one of each an access; these are {lengths}")

    def __len__(self) -> int:
        return len(self.page_ids)

    @property
    def asked(self) -> npt.NDArray[np.bool_]:
        """bool[m]: the trace's own accesses; the others are prefetches."""
        asked: npt.NDArray[np.bool_] = self.flags & PREFETCH == 0
        return asked

    @property
    def request_pages(self) -> I32:
        """int32[m]: pages that the request of each access asks for."""
        return request_pages(self.flags) if self.whole_pages is None else self.whole_pages

    @property
    def request_of(self) -> I32:
        """int32[m]: the request of each access."""
        number: I32 = np.cumsum(self.flags & REQUEST != 0, dtype=np.int32) - np.int32(1)
        return number

    @classmethod
    def of_pages(cls, page_ids: npt.ArrayLike, n_pages: int) -> "Stream":
        """Reads of a whole page each, every one a request of its own.

        Args:
            page_ids: whole numbers in [0, n_pages), one an access.
            n_pages: distinct pages.

        Raises:
            ConfigError: as `dense_ids`.
        """
        page_ids = dense_ids(page_ids, n_pages)
        flags = np.full(len(page_ids), REQUEST | UNIT, np.uint8)
        return cls(page_ids, flags, np.full(len(page_ids), PAGE_BYTES, np.int32), n_pages)


@dataclass(frozen=True)
class LongStream(Stream):
    """A stream whose columns are longer than memory and lie in files, with what is found out of them.

    Its accesses are all asked for: it has no prefetches.
    """

    spill: Spill = field(kw_only=True)

    def following(self) -> I32 | I64:
        """Position of the next access of each access's page, as `next_access`; computed backwards into a file, once."""
        if not self.spill.has(FOLLOWING):
            room = self.spill.room(FOLLOWING, width_of(len(self)), len(self))
            next_access(self.page_ids, self.n_pages, room, AT_ONCE, lambda _: self.spill.release())
        return self.spill.column(FOLLOWING)[: len(self)]


def _known(value: str, what: str, among: tuple[str, ...]) -> str:
    if value not in among:
        raise ConfigError(f"{what} {value}: use one of {', '.join(among)}")
    return value


def known_writes(text: str) -> Writes:
    """The write policy of that name.

    Raises:
        ConfigError: there is none.
    """
    return cast(Writes, _known(text, "write policy", WRITES))


def known_unit(text: str) -> Unit:
    """The admission unit of that name.

    Raises:
        ConfigError: there is none.
    """
    return cast(Unit, _known(text, "admission unit", UNITS))


def _page_bytes(trace: Requests, pages: PageAccesses) -> I32:
    """int32[m]: bytes that each request takes of each of its pages."""
    page_bytes = pages.page_bytes
    sizes = np.full(len(pages.page_ids), page_bytes, np.int64)
    first, last = pages.request_start[:-1], pages.request_start[1:] - 1
    end = trace.offset + trace.size
    sizes[first] -= trace.offset % page_bytes
    sizes[last] -= -end % page_bytes
    return sizes.astype(np.int32)


def _metadata(trace: Requests) -> npt.NDArray[np.bool_]:
    """bool[n]: requests flagged as a file system's metadata; all False where the trace has no flags."""
    if trace.flags is None:
        return np.zeros(len(trace), np.bool_)
    meta = np.array([META_FLAG in str(name) for name in trace.flags.names], np.bool_)
    return np.append(meta, False)[trace.flags.codes]


def _unit_flags(trace: Requests, pages: PageAccesses, unit: Unit) -> U8:
    """uint8[m]: `REQUEST` at each request's first access, `UNIT` where an admission unit begins."""
    flags = np.zeros(len(pages.page_ids), np.uint8)
    if unit == "page":
        flags[:] = UNIT
    elif unit == "segment":
        index = np.arange(len(flags)) - np.repeat(pages.request_start[:-1], np.diff(pages.request_start))
        index += np.repeat(trace.offset // pages.page_bytes, np.diff(pages.request_start))
        flags[index % max(1, SEGMENT_BYTES // pages.page_bytes) == 0] = UNIT
    flags[pages.request_start[:-1]] |= REQUEST | UNIT
    return flags


def around(stream: Stream) -> Stream:
    """The stream of write-around: writes pass by and void what is held of their pages.

    A page's id is its current version's, a prefetched page's too: so prefetches come first.
    """
    write = stream.flags & WRITE != 0
    page_ids, n_pages = version_ids(stream.page_ids, write, stream.n_pages)
    flags = np.where(write, stream.flags | np.uint8(AROUND), stream.flags)
    return replace(stream, page_ids=page_ids, flags=flags, n_pages=n_pages, writes="around")


def build_stream(trace: Requests, pages: PageAccesses, writes: Writes = "back", unit: Unit = "page") -> Stream:
    """The stream of a trace.

    Args:
        trace: requests.
        pages: their page accesses.
        writes: the write policy.
        unit: what one admission decision covers: a page, the pages of a 128 KiB segment within a request, or a request.

    Raises:
        ConfigError: an unknown write policy or unit.
    """
    known_writes(writes), known_unit(unit)
    counts = np.diff(pages.request_start)
    flags = _unit_flags(trace, pages, unit)
    write = np.repeat(trace.op == OP_WRITE, counts)
    flags[write] |= WRITE
    flags[np.repeat(_metadata(trace), counts)] |= METADATA
    stream = Stream(pages.page_ids, flags, _page_bytes(trace, pages), pages.n_pages, writes)
    return around(stream) if writes == "around" else stream
