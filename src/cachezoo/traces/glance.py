"""What requests amount to at a glance, and what of it no disk can have done: how a misread unit is noticed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I64, U8
from cachezoo.coded import Coded
from cachezoo.traces.clock import Clock
from cachezoo.traces.rates import LAST_DAY_S, is_day
from cachezoo.traces.reading import SECTOR_BYTES, ObjectChunk, Requests
from cachezoo.traces.table import OP_READ, PAGE_BYTES

MIB, PIB = 1 << 20, 1 << 50
DAY_S, YEAR_S = 86_400.0, 365 * 86_400.0
MOST_MEAN_BYTES = MIB
FAR_MEAN_BYTES = 64 * MIB
MOST_END_BYTES = PIB
FAST_RATE, MOST_RATE = 1e6, 1e7
SLOW_RATE = 1e-3
MOST_SPAN_S = 10 * YEAR_S
FEW = 20  # requests from which a rule over all of them says something
NO_CLOCK = "no clock"
MOST_ON_SECTORS = 0.1  # numbers of sectors are multiples of 512 now and then
WIDE_BYTES = SECTOR_BYTES * SECTOR_BYTES


class Doubt(NamedTuple):
    """Something implausible."""

    weight: float  # how implausible: 1 unusual, 2 seldom true, 6 never
    said: str  # what, with the figure
    hint: str  # what may be the cause: ``bytes``, ``time`` or ``address``


class Glance:
    """Sums over requests: adding a million takes some milliseconds."""

    def __init__(self) -> None:
        self.requests = self.reads = self.bytes = self.end = self.on_sectors = 0
        self.first_us: int | None = None
        self.last_us = 0
        self.wide_sizes = self.wide_offsets = self.whole_sectors = self.sector_sizes = True
        self.offsets_move = False
        self.objects = False

    def add(self, time_us: I64, op: U8, offset: I64, size: I64) -> None:
        """Count some requests; they may stand in any order."""
        if not len(time_us):
            return
        first, last = int(time_us.min()), int(time_us.max())
        self.first_us = first if self.first_us is None else min(first, self.first_us)
        self.last_us = last if not self.requests else max(last, self.last_us)
        self.requests += len(time_us)
        self.reads += int(np.count_nonzero(op == OP_READ))
        self.bytes += int(size.sum())
        self.end = max(self.end, int((offset + size).max()))
        self.on_sectors += len(offset) - int(np.count_nonzero(offset & (SECTOR_BYTES - 1)))
        # All are multiples of a power of two where the bits that any of them has are.
        sizes, offsets = int(np.bitwise_or.reduce(size)), int(np.bitwise_or.reduce(offset))
        self.sector_sizes = self.sector_sizes and not sizes % SECTOR_BYTES
        self.wide_sizes = self.wide_sizes and not sizes % WIDE_BYTES
        self.wide_offsets = self.wide_offsets and not offsets % WIDE_BYTES
        self.whole_sectors = self.whole_sectors and not (sizes | offsets) % SECTOR_BYTES
        self.offsets_move = self.offsets_move or bool(offsets)

    def add_objects(self, time_us: I64, op: U8, size: I64) -> None:
        """Count some requests of objects: of these, times alone can be implausible."""
        self.objects = True
        self.add(time_us, op, np.zeros_like(size), size)

    @property
    def span_s(self) -> float:
        """Seconds from the first to the last request."""
        return (self.last_us - (self.first_us or 0)) / 1e6

    @property
    def rate(self) -> float | None:
        """Requests a second; None where no time passes."""
        return self.requests / self.span_s if self.span_s > 0 else None

    @property
    def mean_bytes(self) -> float:
        """Mean size of a request."""
        return self.bytes / max(self.requests, 1)

    def doubts(self, sectors: frozenset[str], clock: bool = True, large: bool = False) -> list[Doubt]:
        """What is implausible of the requests, the worst first.

        Args:
            sectors: which of ``offset`` and ``size`` were multiplied by 512 on the way in.
            clock: whether the format has times.
            large: whether requests of MiB, and addresses of more than a disk, are usual in the format.
        """
        spatial = [] if self.objects else [*self._sizes(sectors, large), *self._addresses(sectors, large)]
        found = [*spatial, *(self._times() if clock else [])]
        return sorted(found, key=lambda doubt: -doubt.weight)

    def askew(self) -> list[Doubt]:
        """Whether hardly any offset is a sector's although all sizes are: then it may be a sector's number.

        Apart from `doubts`, by which a reading is chosen: formats that leave the unit open have a rule of their own.
        """
        few = not self.objects and self.requests >= FEW and self.on_sectors < MOST_ON_SECTORS * self.requests
        if not (few and self.sector_sizes):
            return []
        return [Doubt(2.0, "hardly any offset is a multiple of 512 bytes, although every size is", "sectors")]

    def _sizes(self, sectors: frozenset[str], large: bool) -> list[Doubt]:
        found = []
        if self.mean_bytes > MOST_MEAN_BYTES and not large:
            weight = 6.0 if self.mean_bytes > FAR_MEAN_BYTES else 2.0
            found.append(Doubt(weight, f"the mean request is {self.mean_bytes / MIB:,.1f} MiB", "bytes"))
        if self.requests >= FEW and "size" in sectors and self.wide_sizes and self.wide_offsets:
            said = "every size and offset in the file is divisible by 512, as bytes are, but read as sectors"
            found.append(Doubt(2.0, said, "bytes"))
        elif self.requests >= FEW and "size" in sectors and self.wide_sizes:
            said = "every size in the file is divisible by 512, as bytes are, but read as sectors"
            found.append(Doubt(1.0, said, "bytes"))
        elif self.requests >= FEW and "offset" in sectors and self.wide_offsets and self.offsets_move:
            said = "every offset in the file is divisible by 512, as bytes are, but read as sectors"
            found.append(Doubt(3.0, said, "bytes"))
        return found

    def _addresses(self, sectors: frozenset[str], large: bool) -> list[Doubt]:
        if large or self.end <= MOST_END_BYTES:
            return []
        hint = "bytes" if "offset" in sectors else "address"
        return [Doubt(6.0, f"the last address is {self.end / PIB:,.1f} PiB, beyond any disk", hint)]

    def _times(self) -> list[Doubt]:
        found = []
        rate = self.rate
        if rate is not None and self.requests >= FEW:
            if rate > FAST_RATE:
                weight, what = (6.0, "no device serves") if rate > MOST_RATE else (1.5, "few devices serve")
                found.append(Doubt(weight, f"{rate:,.0f} requests a second, which {what}", "time"))
            if rate < SLOW_RATE:
                found.append(Doubt(2.0, f"a request every {1 / rate / 3600:,.1f} hours", "time"))
        first_s = (self.first_us or 0) / 1e6
        if not (first_s < LAST_DAY_S or is_day(first_s, since_1601=True)):
            year = 1970 + first_s / YEAR_S
            found.append(Doubt(4.0, f"the first request is of the year {year:.0f}, counted from 1970", "time"))
        if self.span_s > MOST_SPAN_S:
            found.append(Doubt(2.0, f"it spans {self.span_s / YEAR_S:,.1f} years", "time"))
        return found


def _pages(offset: I64, size: I64) -> int:
    """Distinct pages that requests touch on one volume, counted without being listed."""
    order = np.argsort(offset, kind="stable")
    first, last = offset[order] // PAGE_BYTES, (offset[order] + size[order] - 1) // PAGE_BYTES
    # What lies before the furthest end so far was counted already.
    before = np.concatenate([[-1], np.maximum.accumulate(last)[:-1]])
    return int(np.maximum(last - np.maximum(first, before + 1) + 1, 0).sum())


def _object_bytes(chunk: ObjectChunk) -> int:
    """Bytes of the distinct objects that requests are of, each as large as it is said to be at most."""
    key = chunk.key.codes if isinstance(chunk.key, Coded) else chunk.key
    distinct, place = np.unique(key, return_inverse=True)
    size = np.zeros(len(distinct), np.int64)
    np.maximum.at(size, place, chunk.size)
    return int(size.sum())


@dataclass(frozen=True)
class Means:
    """What a reading of a file's beginning would mean, for a table.

    Attributes:
        requests: how many were looked at.
        bad_rows: how many rows no trace can have.
        clock: whether times are times; where not, span and rate say nothing.
        span_s: seconds.
        rate: requests a second; None where no time passes.
        median_bytes, mean_bytes: of a request.
        footprint_bytes: distinct pages of 4 KiB; of objects their own bytes.
        end_bytes: the end of the last address; 0 of objects.
        read_share: of the requests.
    """

    requests: int
    bad_rows: int
    clock: bool
    span_s: float
    rate: float | None
    median_bytes: float
    mean_bytes: float
    footprint_bytes: int
    end_bytes: int
    read_share: float

    @property
    def rate_said(self) -> str:
        """The rate in words."""
        if not self.clock:
            return NO_CLOCK
        if self.rate is None:
            return "no time passes"
        return f"{self.rate:,.0f} requests/s" if self.rate >= 10 else f"{self.rate:,.2g} requests/s"


def means_of(chunk: Requests, glance: Glance, bad_rows: int, notes: Mapping[str, str]) -> Means:
    """What some requests mean; pages of very large requests are counted without being listed.

    Args:
        chunk: the requests.
        glance: sums over them.
        bad_rows: how many rows are none.
        notes: what the reader found out.
    """
    clock = Clock()
    clock.add(chunk.time_us)
    if isinstance(chunk, ObjectChunk):
        footprint = _object_bytes(chunk)
    else:
        volume = chunk.coded["volume"].codes
        pages = sum(_pages(chunk.offset[volume == code], chunk.size[volume == code]) for code in np.unique(volume))
        footprint = pages * PAGE_BYTES
    return Means(
        requests=len(chunk),
        bad_rows=bad_rows,
        clock=clock.ticks(notes),
        span_s=glance.span_s,
        rate=glance.rate,
        median_bytes=float(np.median(chunk.size)),
        mean_bytes=glance.mean_bytes,
        footprint_bytes=footprint,
        end_bytes=0 if glance.objects else glance.end,
        read_share=glance.reads / max(glance.requests, 1),
    )
