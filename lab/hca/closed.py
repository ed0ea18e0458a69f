"""Six hours of a workload that asks for the next record as soon as it has the last, as Filebench's threads do.

How fast it goes depends on what the caches hold, and what L2ARC's feed copies depends on how fast it goes. So times
are made from a run's own hits, and where the feed looks at the clock, run and times are made in turns until they agree.

A request takes what its I/Os take, one after the other. What is written to the SSD delays no request by itself, but
the SSD does one thing at a time: time never runs ahead of its work.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.questions.tiers.reduced import reduce
from cachezoo.questions.tiers.response import DRAM_US
from cachezoo.questions.tiers.run import DISK, SSD, WRITTEN, TierRun, run_tiers
from cachezoo.questions.tiers.stream import TierStream, tier_stream
from cachezoo.settings.device import AnalyticDevice
from cachezoo.traces.table import OP_READ, PAGE_BYTES
from lab.hca.paper import PRICE, RUN_HOURS, SNAPSHOT_S
from lab.hca.traces import SAMPLE, Workload, pages_of

HOUR_US = 3600e6
WINDOW_HOURS = 1 / 6  # of the curves over time
FIRST_TRY = 1 << 15  # requests of the sample; twice as many where they do not last six hours
AGREED = 0.002  # a run whose times move less than this, in proportion, is taken
TURNS = 8
FEED_BYTES_S = 8 * 2**20  # of ZFS's feed, l2arc_write_max; the sample's is in proportion


class Timed:
    """What a run took.

    Attributes:
        end_us: float64[n] when each request ends, µs; the sample's clock goes as the whole workload's does.
        path_us: float64[n] what each takes by itself.
    """

    def __init__(self, ts: TierStream, run: TierRun, device: AnalyticDevice) -> None:
        """Replay the reduced traces, an I/O at a time."""
        reduced = reduce(ts, run)
        n = len(ts.trace)
        self.path_us, work = np.full(n, DRAM_US), np.zeros(n)
        for asked, times in (
            (reduced.disk, t_hdd_us(reduced.disk.trace, device.hdd)),
            (reduced.ssd, t_ssd_us(reduced.ssd.trace, device.ssd)),
        ):
            waits = (
                asked.read if asked is reduced.ssd else np.ones(len(asked), np.bool_)
            )  # writes go through to the disk
            self.path_us += np.bincount(asked.request[waits], times[waits], n)
            if asked is reduced.ssd:
                work += np.bincount(asked.request, times, n)
        self.end_us: F64 = SAMPLE * np.maximum(np.cumsum(self.path_us), np.cumsum(work))


class Window(NamedTuple):
    """A part of the six hours."""

    shares: tuple[float, float, float] | None  # of page reads: RAM's with the buffer, the SSD's, the disk's
    iops: float  # requests a second, of the whole workload
    latency_ms: float | None  # mean of a read by itself; None without a read


@dataclass(frozen=True)
class SixHours:
    """A workload on a set-up for six hours.

    Attributes:
        ts: its requests, those after the six hours included.
        run: what the hierarchy did.
        timed: what that took.
        requests: within the six hours.
    """

    ts: TierStream
    run: TierRun
    timed: Timed
    requests: int

    @property
    def iops(self) -> float:
        """Requests a second, of the whole workload."""
        return self.requests * SAMPLE / (RUN_HOURS * 3600)

    def shares(self, first: int = 0, last: int | None = None) -> tuple[float, float, float]:
        """Of the page reads of requests [first, last): those that RAM with the buffer, the SSD and the disk serve."""
        start = self.ts.pages.request_start
        part = slice(int(start[first]), int(start[self.requests if last is None else last]))
        tier = self.run.tier[part][~self.ts.write[part]]
        disk, ssd = float(np.mean(tier == DISK)), float(np.mean(tier == SSD))
        return 1 - disk - ssd, ssd, disk

    def requests_by(self, hours: float) -> int:
        """How many end within the first hours."""
        return int(np.searchsorted(self.timed.end_us, hours * HOUR_US, side="right"))

    def over_time(self) -> list[Window]:
        """The six hours by windows of `WINDOW_HOURS`."""
        bounds = [self.requests_by(k * WINDOW_HOURS) for k in range(round(RUN_HOURS / WINDOW_HOURS) + 1)]
        return [self._window(low, high) for low, high in pairwise(bounds)]

    def _window(self, low: int, high: int) -> Window:
        if low == high:  # not one request of the sample ends in it
            return Window(None, 0.0, None)
        reads = self.ts.trace.op[low:high] == OP_READ
        shares = self.shares(low, high) if reads.any() else None
        latency = float(self.timed.path_us[low:high][reads].mean()) / 1000 if reads.any() else None
        return Window(shares, (high - low) * SAMPLE / (WINDOW_HOURS * 3600), latency)

    def latency_ms(self) -> float:
        """Mean of a read by itself."""
        read = self.ts.trace.op[: self.requests] == OP_READ
        return float(self.timed.path_us[: self.requests][read].mean()) / 1000

    def cost(self) -> float:
        """Dollars over requests a second, mean over the snapshots, as in Section VI.A."""
        count = round(RUN_HOURS * 3600 / SNAPSHOT_S)
        snapshots = (self.timed.end_us[: self.requests] / (SNAPSHOT_S * 1e6)).astype(np.int64).clip(max=count - 1)
        done = np.bincount(snapshots, minlength=count)
        return float(np.mean(PRICE * SNAPSHOT_S / (np.maximum(done, 1) * SAMPLE)))

    def held_pages(self) -> tuple[I64, F64]:
        """Pages on the SSD after each of its events, and the hours at which they are."""
        change = np.where(self.run.event == WRITTEN, 1, -1)
        hours = self.timed.end_us[self.ts.request_of[self.run.event_at]] / HOUR_US
        within = hours <= RUN_HOURS
        return np.cumsum(change)[within], hours[within]

    def ssd_writes_mb_s(self) -> float:
        """10**6 bytes a second written to the SSD, of the whole workload."""
        last = self.ts.pages.request_start[self.requests]
        pages = np.count_nonzero(self.run.event[self.run.event_at < last] == WRITTEN)
        return float(pages) * PAGE_BYTES * SAMPLE / (RUN_HOURS * 3600 * 1e6)


def _agreed(
    hierarchy: Hierarchy, ts: TierStream, ram: int, ssd: int, device: AnalyticDevice
) -> tuple[TierStream, TierRun, Timed]:
    """A run and its times, in turns where the run depends on them; with the accesses at these times."""
    run = run_tiers(hierarchy, ts, ram, ssd)
    timed = Timed(ts, run, device)
    for _ in range(TURNS if hierarchy.kind == "l2arc" else 0):
        before = timed.end_us[-1]
        begins = np.concatenate([[0.0], timed.end_us[:-1]]).astype(np.int64)
        ts = replace(ts, trace=replace(ts.trace, time_us=begins), time_us=begins[ts.request_of])
        run = run_tiers(hierarchy, ts, ram, ssd)
        timed = Timed(ts, run, device)
        if abs(timed.end_us[-1] / before - 1) <= AGREED:
            break
    return ts, run, timed


def six_hours(
    workload: Workload, hierarchy: Hierarchy, ram_gb: float, ssd_gb: float, device: AnalyticDevice
) -> SixHours:
    """Run a workload from empty caches on.

    Args:
        workload: what is asked.
        hierarchy: the caches; a feed is the sample's, see `FEED_BYTES_S`.
        ram_gb: GiB of RAM of the whole.
        ssd_gb: GiB of SSD.
        device: the disk and the SSD.
    """
    requests = FIRST_TRY
    while True:
        ts = tier_stream(workload.trace(requests))
        ts, run, timed = _agreed(hierarchy, ts, pages_of(ram_gb), pages_of(ssd_gb), device)
        done = int(np.searchsorted(timed.end_us, RUN_HOURS * HOUR_US, side="right"))
        if done < requests:
            return SixHours(ts, run, timed, done)
        requests *= 2
