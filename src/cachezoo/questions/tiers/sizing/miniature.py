"""Hierarchies in miniature: on some of a trace's pages, with as small a part of every tier.

As in `cachezoo.curves.sampling`, misses are scaled up and RAM has what is left; the rate of an L2ARC's feed and the
transient buffer shrink with the tiers. Source: Waldspurger et al., "Cache Modeling and Optimization using Miniature
Simulations", USENIX ATC 2017, Sec. 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cachezoo.arrays import F64, I64, U8
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.policies.sampling import sample
from cachezoo.questions.tiers.reduced import volume_trace
from cachezoo.questions.tiers.run import DISK, SSD
from cachezoo.questions.tiers.sizing.points import Point
from cachezoo.questions.tiers.sizing.shared import Shared, hierarchy_of, shrunk, shrunk_sizes
from cachezoo.questions.tiers.sizing.stack import Stack, is_stack
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.settings.device import Hdd
from cachezoo.traces.pages import PageAccesses

LEAST_DRAWN = 1000
"""Distinct pages that a sample has at least; of fewer, all are taken."""


@dataclass(frozen=True)
class Shares:
    """Where the page reads that count were served.

    Attributes:
        rhr: of the page reads, by RAM or the transient buffer.
        shr: by the SSD.
        dhr: by the disk.
        disk_us: mean time that the requests of those reads take on the disk without a cache, one at a time, µs.
    """

    rhr: float
    shr: float
    dhr: float
    disk_us: float


@dataclass(frozen=True)
class Miniature:
    """Some pages of a trace.

    Attributes:
        stream: accesses to them.
        rate: part of the trace's pages; 1: all.
        reads: page reads of the whole trace that count.
        rows: int64[k] those of the sample.
        time_us: float64[k] what the request of each takes on the disk without a cache.
    """

    stream: TierStream
    rate: float
    reads: int
    rows: I64
    time_us: F64

    @classmethod
    def of(cls, stream: TierStream, first: int, hdd: Hdd, most: int, seed: int = 0) -> "Miniature":
        """Draw pages by a hash, so many that about `most` accesses are to them.

        Args:
            stream: all pages.
            first: page access from which on reads count.
            hdd: the disk, one request at a time.
            most: page accesses; of a trace with fewer, or with few pages, all are taken.
            seed: another seed, other pages.
        """
        time_us = t_hdd_us(volume_trace(stream), hdd)
        counted = first + np.flatnonzero(~stream.write[first:])
        rate = most / max(1, len(stream))
        if rate >= 1 or rate * stream.pages.n_pages < LEAST_DRAWN:
            return cls(stream, 1.0, len(counted), counted, time_us[stream.request_of[counted]])
        part = sample(stream.stream, rate, seed)
        rows, drawn = part.rows, part.stream
        own = replace(
            stream,
            pages=PageAccesses(np.arange(len(rows) + 1, dtype=np.int64), drawn.page_ids, drawn.n_pages),
            stream=drawn, address=stream.address[part.pages], time_us=stream.time_us[rows],
            write=stream.write[rows], request_of=stream.request_of[rows],
        )  # fmt: skip
        share = drawn.n_pages / stream.pages.n_pages
        read = np.flatnonzero((rows >= first) & ~own.write)
        return cls(own, share, len(counted), read, time_us[own.request_of[read]])

    def shares(self, points: Sequence[Point]) -> list[Shares]:
        """What each point does; points with the same RAM, one after another, share its run.

        LRU over LRU without a buffer is not run: one pass has all its points.
        """
        shared = Shared(self.stream)
        return [
            self._scaled(
                *self._stack.served(*shrunk_sizes(point, self.rate))
                if is_stack(shrunk(hierarchy_of(point.hierarchy), self.rate))
                else self._counted(shared.run(point, self.rate).tier[self.rows])
            )
            for point in points
        ]

    @cached_property
    def _stack(self) -> Stack:
        return Stack.of(self.stream, self.rows, self.time_us)

    def _counted(self, tier: U8) -> tuple[int, int, float]:
        """Reads from the SSD and from the disk, and the mean time of the disk's; 0 where it serves none."""
        missed = tier == DISK
        count = int(missed.sum())
        return int((tier == SSD).sum()), count, float(self.time_us[missed].mean()) if count else 0.0

    def _scaled(self, ssd_reads: int, disk_reads: int, disk_us: float) -> Shares:
        whole = self.rate * max(1, self.reads)
        disk = min(1.0, disk_reads / whole)
        ssd = min(1.0 - disk, ssd_reads / whole)
        return Shares(1.0 - disk - ssd, ssd, disk, disk_us)
