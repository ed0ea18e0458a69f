"""Hierarchies in miniature: on some of a trace's pages, with as small a part of every tier; times estimated from that.

As in `cachezoo.curves.sampling`, misses are scaled up and RAM has what is left; the rate of an L2ARC's feed and the
transient buffer shrink with the tiers. Source: Waldspurger et al., "Cache Modeling and Optimization using Miniature
Simulations", USENIX ATC 2017, Sec. 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.policies.sampling import sample
from cachezoo.questions.tiers.bench import Bench
from cachezoo.questions.tiers.budget import Point, shrunk
from cachezoo.questions.tiers.response import DRAM_US, Tiered
from cachezoo.questions.tiers.run import DISK, SSD, WRITTEN, run_shared
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.traces.pages import PageAccesses

LEAST_DRAWN = 1000
"""Distinct pages that a sample has at least; of fewer, all are taken."""
LEAST = 1e-6
NEAR = 0.3
"""Difference of logarithms over which the weight of another point falls by e."""
FAR = 1e-6
"""Weight of points that are far away, which count where there are no others."""
KIN = 10.0
"""Times that a point of the same hierarchy weighs as much as another."""


@dataclass(frozen=True)
class Shares:
    """Where the page reads that count were served, in parts of them."""

    rhr: float  # by RAM or the transient buffer
    shr: float
    dhr: float
    disk_us: float  # mean time that the requests of those from the disk take there without a cache, one at a time
    written: float  # pages written to the SSD for each page read


@dataclass(frozen=True)
class Miniature:
    """Some pages of a bench."""

    stream: TierStream  # accesses to them
    rate: float  # part of the whole trace's pages; 1: all
    reads: int  # page reads of the whole trace that count
    begin: int  # access of the sample from which on it counts
    rows: I64  # [k] those of the sample
    time_us: F64  # [k] what the request of each takes on the disk without a cache

    @classmethod
    def of(cls, bench: Bench, most: int) -> "Miniature":
        """Draw pages by a hash, so many that about `most` accesses are to them.

        Of a trace with fewer accesses, or with few pages, all are taken.
        """
        stream, first = bench.ts, bench.first
        time_us = bench.each_us
        counted = first + np.flatnonzero(~stream.write[first:])
        rate = most / max(1, len(stream))
        if rate >= 1 or rate * stream.pages.n_pages < LEAST_DRAWN:
            return cls(stream, bench.rate, bench.reads_counted, first, counted, time_us[stream.request_of[counted]])
        part = sample(stream.stream, rate, 0)
        rows, drawn = part.rows, part.stream
        own = replace(
            stream,
            pages=PageAccesses(np.arange(len(rows) + 1, dtype=np.int64), drawn.page_ids, drawn.n_pages),
            stream=drawn, address=stream.address[part.pages], time_us=stream.time_us[rows],
            write=stream.write[rows], request_of=stream.request_of[rows],
        )  # fmt: skip
        share = bench.rate * drawn.n_pages / stream.pages.n_pages
        read = np.flatnonzero((rows >= first) & ~own.write)
        begin = int(np.searchsorted(rows, first))
        return cls(own, share, bench.reads_counted, begin, read, time_us[own.request_of[read]])

    def shares(self, points: Sequence[Point]) -> list[Shares]:
        """What each point does; points with the same RAM, one after another, share its run."""
        return [self._shares(shrunk(point, self.rate)) for point in points]

    def _shares(self, point: Point) -> Shares:
        run = run_shared(point, self.stream)
        tier = run.tier[self.rows]
        missed = tier == DISK
        ssd_reads, disk_reads = int((tier == SSD).sum()), int(missed.sum())
        disk_us = float(self.time_us[missed].mean()) if disk_reads else 0.0
        written = np.count_nonzero(run.event_at[run.event == WRITTEN] >= self.begin)
        whole = self.rate * max(1, self.reads)
        disk = min(1.0, disk_reads / whole)
        ssd = min(1.0 - disk, ssd_reads / whole)
        return Shares(1.0 - disk - ssd, ssd, disk, disk_us, float(written / whole))


@dataclass(frozen=True)
class Times:
    """Estimates mean response times from where reads are served, corrected by points that were replayed on the devices.

    A read from the disk is estimated to take what its request takes on the disk without a cache. What a read from the
    SSD takes is drawn between replayed points by the share of reads that it serves. How far the mean of all is from a
    replay is much the same for points of a hierarchy, and for points with a like estimate: what others were off by
    corrects it, those nearby and those of the same hierarchy most. What the sample has too much of, such as first
    accesses, is in that too.
    """

    ssd: F64  # [k] logarithms of shares of reads from the SSD, rising; their times are `ssd_us`
    ssd_us: F64  # [k]
    hierarchies: tuple[str, ...]  # of the p points replayed
    estimated: F64  # [p] logarithms of their mean times; a replay's are `off` more
    off: F64  # [p] logarithms

    @classmethod
    def of(cls, points: Sequence[Point], sampled: Sequence[Shares], replayed: Sequence[Tiered]) -> "Times":
        """From points that were replayed, at least one: what each did by the sample, and by the whole trace."""
        ssd = _mean_by([(float(np.log(one.shr)), one.rta_ssd_us) for one in replayed if one.shr > 0])
        estimated = _estimated(sampled, *ssd)
        off = np.log([one.amat_us for one in replayed]) - estimated
        return cls(*ssd, tuple(str(point.hierarchy) for point in points), estimated, off)

    def amat_us(self, points: Sequence[Point], shares: Sequence[Shares]) -> list[float]:
        """Mean time of a page read, of each point with these shares."""
        estimated = _estimated(shares, self.ssd, self.ssd_us)
        near = np.exp(-np.abs(estimated[:, None] - self.estimated[None, :]) / NEAR)
        names = np.array([str(point.hierarchy) for point in points])
        weight = (near + FAR) * np.where(names[:, None] == np.array(self.hierarchies)[None, :], KIN, 1.0)
        found: list[float] = np.exp(estimated + weight @ self.off / weight.sum(axis=1)).tolist()
        return found


def _estimated(shares: Sequence[Shares], ssd: F64, ssd_us: F64) -> F64:
    """Logarithms of the mean times, not corrected."""
    rhr, shr, dhr, disk_us = np.array([(one.rhr, one.shr, one.dhr, one.disk_us) for one in shares]).reshape(-1, 4).T
    of_ssd = np.interp(np.log(np.maximum(shr, LEAST)), ssd, ssd_us) if len(ssd) else np.zeros(len(shr))
    own = rhr * DRAM_US + shr * of_ssd + dhr * disk_us
    found: F64 = np.log(np.maximum(own, LEAST))
    return found


def _mean_by(pairs: Sequence[tuple[float, float]]) -> tuple[F64, F64]:
    """Values by rising keys, those of equal keys as their mean."""
    keys = sorted({key for key, _ in pairs})
    means = [float(np.mean([value for own, value in pairs if own == key])) for key in keys]
    return np.array(keys), np.array(means)
