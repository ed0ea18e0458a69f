"""Response times of a hierarchy: each tier serves its reduced trace on its own model, waiting included.

The mean over page reads of the time of the I/O that brought the page is the hierarchy's AMAT (average memory access
time). Usually the loop is closed: as many requests are outstanding as when the trace was captured, so that a request
waits for that many at most. In an open loop arrivals are the trace's. Where the disk alone, without any cache, could
not keep up with them, they are spread out by one factor, which is the trace's and the device's and not the hierarchy's.
What it measures on traces with bursts is how long those last: benchmarks/tier_response.py prints it.

On the user's own disk and SSD fio replays the reduced trace of each, one I/O at a time, so that a time is the device's
and no queue's of ours. Measured times are never mixed with the models': how busy a tier is follows from them as well.

Source: HCA, Sec. V-B and VII-A, which takes the response times from DiskSim.
"""

import os
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from cachezoo.arrays import F64
from cachezoo.devices.analytic import disk_at_rest, drive_at_rest, t_hdd_us, t_ssd_us
from cachezoo.devices.fio.replay import Settings, check_replay, replay
from cachezoo.devices.fio.target import Use, open_target
from cachezoo.devices.queueing import (
    MOST_DEPTH,
    NATIVE_QUEUE,
    arrivals_us,
    captured_depth,
    hdd_load,
    hdd_times,
    ssd_load,
    ssd_times,
)
from cachezoo.devices.replaying import recorded
from cachezoo.errors import DeviceError, TraceError
from cachezoo.kernels.tier_loop import Ios, closed_loop
from cachezoo.kernels.tier_reduce import wait_for_ios
from cachezoo.kernels.tiers import BUFFER
from cachezoo.questions.tiers.reduced import Reduced, TierIos, reduce, volume_trace
from cachezoo.questions.tiers.run import TierRun
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.settings.device import AnalyticDevice, RealDevice
from cachezoo.traces.clock import has_clock
from cachezoo.traces.table import OP_WRITE

Loop = Literal["closed", "open", "alone"]
"""`closed`: `depth` requests are outstanding, waiting included; `open`: the trace's arrivals, waiting included;
`alone`: one request at a time, which waits for nothing but what is being flushed to the SSD, or, on real devices, one
I/O at a time."""
Provenance = Literal["analytic", "real"]
"""Where times come from: the models, or measured."""
SNAPSHOT_S = 60.0
"""HCA, Sec. VI-A."""
MOST_SNAPSHOTS = 1000
DRAM_US = 0.1
"""A page in RAM, µs: a DRAM access of 100 ns, as HCA has it; what copies the page is not in it."""


@dataclass(frozen=True)
class Tiered:
    """What a hierarchy does, in figures."""

    reads: int  # page accesses that count, by kind
    writes: int
    rhr: float  # of the page reads, those that RAM with the transient buffer serves; rhr + shr + dhr = 1
    bhr: float  # by that buffer alone
    shr: float  # by the SSD
    dhr: float  # by the disk
    amat_us: float  # mean time of a page read = rhr * DRAM + shr * rta_ssd_us + dhr * rta_hdd_us
    alone_us: float  # AMAT if each device served one I/O at a time and none had to wait; what is more is waiting
    rta_ssd_us: float  # mean time of the pages that the SSD brought; 0 where it brought none
    rta_hdd_us: float  # the same of the disk
    p50_us: float  # of read requests, each as slow as its slowest I/O
    p95_us: float
    p99_us: float
    write_us: float  # mean time of the write requests, which go through to the disk; 0 where there are none
    iops: float  # read and write requests over the busy time of the busiest tier: the most that it can serve
    busiest: str  # that tier, `ram`, `ssd` or `disk`
    iops_ssd: float  # I/Os of the SSD, reads and writes, over its busy time; 0 where it is idle
    ssd_busy: float  # part of the time that it works; above 1 where it falls ever further behind
    disk_busy: float
    ssd_written: int  # pages
    ssd_ios: int
    disk_ios: int
    requests: int  # read and write requests
    span_s: float  # from the first request to the end of the last; in an open loop to its arrival
    stretched: float  # factor by which arrivals were spread out
    loop: Loop
    depth: int  # requests outstanding in a closed loop; 1 otherwise
    provenance: Provenance

    def values(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


def paper_metrics(tiered: Tiered, baseline: Tiered) -> dict[str, float]:
    """Hit ratios and times in µs as HCA has them, by its names; nothing is ranked by these, as ranks are by AMAT.

    `xcrta`, equation 1, RTA_SSD * SHR, is no response time: the fewer pages the SSD has, the better it looks. It is the
    SSD's part of AMAT. `hcrta`, equation 2 as printed, RHR * t_DRAM + SHR * XCRTA, has SHR twice and the disk not at
    all, where nearly all of the time is spent: a hierarchy that sends more to the disk has a lower one. What was meant
    is AMAT. `xciops`, equation 3, IOPS_SSD * SHR, has the SSD's I/Os, reads and batches flushed to it, over its busy
    time; a larger transient buffer makes fewer and larger ones, so it falls while the SSD does the same work in less
    time. `bdrta` and `hcdrta`, equations 4 and 5, DHR * RTA_disk, are the disk's part of AMAT.

    Source: HCA, Sec. VI-A and VII-A.

    Args:
        tiered: of the hierarchy; a hit in the transient buffer is one of RAM.
        baseline: of the same RAM before the same disk, without buffer and SSD.
    """
    xcrta = tiered.rta_ssd_us * tiered.shr
    return {
        "rhr": tiered.rhr,
        "shr": tiered.shr,
        "dhr": tiered.dhr,
        "xcrta": xcrta,
        "hcrta": tiered.rhr * DRAM_US + tiered.shr * xcrta,
        "xciops": tiered.iops_ssd * tiered.shr,
        "bdrta": baseline.dhr * baseline.rta_hdd_us,
        "hcdrta": tiered.dhr * tiered.rta_hdd_us,
    }


def loop_of(ts: TierStream) -> Loop:
    """`closed` where the trace says how many requests were outstanding, else `alone`."""
    latency = ts.trace.latency_us
    return "closed" if latency is not None and bool((latency >= 0).any()) else "alone"


def depth_of(ts: TierStream) -> int:
    """How many requests were outstanding when the trace was captured, rounded; 1 where it has no latencies."""
    return rounded(None if loop_of(ts) == "alone" else captured_depth(ts.trace))


def rounded(outstanding: float | None) -> int:
    """A mean number of outstanding requests as a closed loop's depth; None, where none is known, as 1."""
    return 1 if outstanding is None else min(max(int(outstanding + 0.5), 1), MOST_DEPTH)


def stretch(ts: TierStream, device: AnalyticDevice) -> float:
    """The factor by which a trace's arrivals are spread out, 1 or more: the disk alone then works 90 % of the time.

    Raises:
        DeviceError: the trace has no clock: all requests arrive at once, or its times are numbers of rows.
    """
    if not has_clock(ts.trace):
        raise DeviceError(f"{ts.trace.meta.trace_id}: the trace has no clock, so an open loop has no load; use closed")
    return arrivals_us(ts.trace, hdd_load(volume_trace(ts), device.hdd))[1]


@dataclass(frozen=True)
class Response:
    """A run's I/Os with their times, and what follows from them."""

    ts: TierStream
    run: TierRun
    reduced: Reduced  # its I/Os
    disk_us: F64  # [k] of each, from arrival to end
    ssd_us: F64
    device: AnalyticDevice | None  # whose models say how busy tiers are; None where measured times say it themselves
    stretched: float  # these three as of `Tiered`
    loop: Loop
    depth: int
    replayed_us: float  # from the first request to the end of the last; in an open loop to its arrival
    # Where requests are parts that a sample has of whole ones: [k] what the whole one of each I/O of the disk takes
    # alone, and [n] what each part counts for, see `Uncut`
    uncut_us: F64 | None = None
    weight: F64 | None = None

    @cached_property
    def _requests(self) -> tuple[F64, F64]:
        """float64[r] twice: µs that the pages of each read request take in all, and its slowest I/O."""
        reads, first = self.reduced.reads, self.reduced.first_request
        total, longest = np.zeros(len(reads)), np.zeros(len(reads))
        brought = np.zeros(len(reads), np.int64)
        for ios, times in ((self.reduced.disk, self.disk_us), (self.reduced.ssd, self.ssd_us)):
            read = ios.read
            wait_for_ios(ios.request[read], ios.pages[read], times[read], first, total, longest, brought)
        total += (reads - brought) * DRAM_US
        longest[(reads > brought) & (longest < DRAM_US)] = DRAM_US
        return total, longest

    @cached_property
    def _counts_for(self) -> F64:
        """float64[r]: what each request counts for."""
        first = self.reduced.first_request
        return np.ones(len(self.reduced.reads)) if self.weight is None else self.weight[first:]

    @cached_property
    def span_us(self) -> float:
        """As `replayed_us`; where requests are parts, what the whole ones take in a closed loop."""
        if self.weight is None:
            return self.replayed_us
        took, disk = self._requests[1].copy(), self.reduced.disk
        took[disk.request[~disk.read] - self.reduced.first_request] = self.disk_us[~disk.read]
        return float(self._counts_for @ took) / self.depth

    def blocks(self, count: int) -> F64:
        """float64[count]: AMAT of blocks of time with about equally many page reads each, µs.

        The blocks are the trace's, so that those of two hierarchies can be compared one by one.

        Raises:
            TraceError: there are fewer read requests than blocks, or one request reads as much as a block.
        """
        total, reads = self._requests[0], self.reduced.reads
        edges = np.searchsorted(np.cumsum(reads), np.linspace(0, reads.sum(), count + 1), side="left")
        edges[0], edges[-1] = 0, len(reads)
        if (np.diff(edges) < 1).any():
            message = f"{self.ts.trace.meta.trace_id}: too few read requests for {count} blocks of time; give fewer"
            raise TraceError(message)
        pages = np.add.reduceat(reads, edges[:-1])
        means: F64 = np.add.reduceat(total, edges[:-1]) / pages
        return means

    @cached_property
    def _disk_work_us(self) -> F64:
        """float64[k]: what each of the disk's I/Os takes it. A write buffer would spare no work, and is off."""
        if self.device is None:
            return self.disk_us
        if self.uncut_us is not None:
            return self.uncut_us
        bare = self.device.hdd.model_copy(update={"write_buffer_bytes": 0})
        return t_hdd_us(self.reduced.disk.trace, bare)

    def _ssd_work_us(self, first: int, last: int) -> float:
        """What its I/Os take the part of the SSD that has most to do, for the requests [first, last)."""
        if self.device is None:
            low, high = np.searchsorted(self.reduced.ssd.request, (first, last)).tolist()
            return float(self.ssd_us[low:high].sum())
        own = self.reduced.ssd.between(first, last)
        return ssd_load(own.trace, self.device.ssd) if len(own) else 0.0

    def busy_us(self, first: int, last: int) -> dict[str, float]:
        """µs that each tier works for the requests [first, last), rows of the trace."""
        disk, base = self.reduced.disk, self.reduced.first_request
        low, high = np.searchsorted(disk.request, (first, last)).tolist()
        work_us = self._disk_work_us[low:high]
        if self.weight is not None:
            work_us = work_us * self.weight[disk.request[low:high]]
        return {
            "ram": DRAM_US * float(self.reduced.reads[first - base : last - base].sum()),
            "ssd": self._ssd_work_us(first, last),
            "disk": float(work_us.sum()),
        }

    def _alone_us(self, in_ram: int) -> float:
        """µs that all page reads take without waiting, so many of them in RAM."""
        ssd = self.reduced.ssd
        ssd_us = self.ssd_us if self.device is None else t_ssd_us(ssd.trace, self.device.ssd)
        pairs = ((ssd, ssd_us), (self.reduced.disk, self._disk_work_us))
        return DRAM_US * in_ram + sum(count * mean for count, mean in (_brought(*pair) for pair in pairs))

    def iops_by_snapshot(self, seconds: float = SNAPSHOT_S) -> F64:
        """float64[s]: requests over the busy time of the busiest tier, of each snapshot of the trace with requests.

        Args:
            seconds: that a snapshot lasts; of a trace that takes more than 1,000 of them, a thousandth.
        """
        first = self.reduced.first_request
        at = (self.ts.trace.time_us[first:] - self.ts.trace.time_us[first]) * (self.stretched / 1e6)
        length = max(seconds, float(at[-1]) / MOST_SNAPSHOTS)
        begins = np.flatnonzero(np.diff(at // length, prepend=-1.0))
        edges = [*(first + begins).tolist(), first + len(at)]
        busiest = [max(self.busy_us(low, high).values()) for low, high in pairwise(edges)]
        served: F64 = 1e6 * np.add.reduceat(self._counts_for, np.array(edges[:-1]) - first) / np.array(busiest)
        return served

    def usd_per_io(self, usd: float) -> float:
        """$ per I/O, HCA, Sec. VI-A: mean over snapshots of a price over the I/Os a second of the snapshot.

        The unit is dollars for each I/O a second, not for an I/O. The paper counts the prices of disk and SSD, without
        RAM; here it is the price that is given. The paper's I/Os a second are those that its closed loop got; here they
        are those that the busiest tier would let through.
        """
        return float(np.mean(usd / self.iops_by_snapshot()))

    @cached_property
    def tiered(self) -> Tiered:
        """The figures.

        Raises:
            TraceError: nothing is read.
        """
        reduced = self.reduced
        reads = int(reduced.reads.sum())
        if reads == 0:
            raise TraceError(f"{self.ts.trace.meta.trace_id}: no page is read where it counts; give a trace that reads")
        total, longest = self._requests
        (ssd_pages, ssd_us), (disk_pages, disk_us) = (
            _brought(ios, times) for ios, times in ((reduced.ssd, self.ssd_us), (reduced.disk, self.disk_us))
        )
        requests = self._counts_for
        of_disk = requests[reduced.disk.request - reduced.first_request]
        written = reduced.disk.trace.op == OP_WRITE
        busy = self.busy_us(reduced.first_request, len(self.ts.trace))
        busiest = max(busy, key=lambda name: busy[name])
        first = int(self.ts.pages.request_start[reduced.first_request])
        buffered = int(((self.run.tier[first:] == BUFFER) & ~self.ts.write[first:]).sum())
        reading = reduced.reads > 0
        weighted: Any = {} if self.weight is None else {"weights": requests[reading], "method": "inverted_cdf"}
        quantiles = np.quantile(longest[reading], (0.5, 0.95, 0.99), **weighted)
        return Tiered(
            reads=reads,
            writes=int(self.ts.write[first:].sum()),
            rhr=1 - (ssd_pages + disk_pages) / reads,
            bhr=buffered / reads,
            shr=ssd_pages / reads,
            dhr=disk_pages / reads,
            amat_us=float(total.sum()) / reads,
            alone_us=self._alone_us(reads - ssd_pages - disk_pages) / reads,
            rta_ssd_us=ssd_us,
            rta_hdd_us=disk_us,
            p50_us=float(quantiles[0]),
            p95_us=float(quantiles[1]),
            p99_us=float(quantiles[2]),
            write_us=float(np.average(self.disk_us[written], weights=of_disk[written])) if written.any() else 0.0,
            iops=1e6 * float(requests.sum()) / busy[busiest],
            busiest=busiest,
            iops_ssd=1e6 * len(reduced.ssd) / busy["ssd"] if busy["ssd"] else 0.0,
            ssd_busy=busy["ssd"] / self.span_us if self.span_us else 0.0,
            disk_busy=busy["disk"] / self.span_us if self.span_us else 0.0,
            ssd_written=int(reduced.ssd.pages[~reduced.ssd.read].sum()),
            ssd_ios=len(reduced.ssd),
            disk_ios=round(of_disk.sum()),
            requests=round(requests.sum()),
            span_s=self.span_us / 1e6,
            stretched=self.stretched,
            loop=self.loop,
            depth=self.depth,
            provenance="real" if self.device is None else "analytic",
        )


def _brought(ios: TierIos, times: F64) -> tuple[int, float]:
    """Pages that a tier's reads bring, and their mean time, µs."""
    read = ios.read
    pages = ios.pages[read]
    count = int(pages.sum())
    return count, float((pages * times[read]).sum()) / count if count else 0.0


def _open(ts: TierStream, reduced: Reduced, device: AnalyticDevice, stretched: float) -> tuple[F64, F64]:
    """float64[k] twice: µs from arrival to end of the I/Os of the disk and of the SSD, each on its model."""
    disk, ssd = reduced.disk, reduced.ssd
    start = ts.trace.time_us[reduced.first_request]
    disk_at, ssd_at = ((ios.trace.time_us - start).astype(np.float64) * stretched for ios in (disk, ssd))
    none = np.empty(0)  # without I/Os there are no arrivals, which the models would take for a closed loop
    return (
        hdd_times(disk.trace, device.hdd, disk_at, NATIVE_QUEUE, device.hdd.scheduler) if len(disk) else none,
        ssd_times(ssd.trace, device.ssd, ssd_at, NATIVE_QUEUE) if len(ssd) else none,
    )


def _closed(reduced: Reduced, device: AnalyticDevice, depth: int) -> tuple[F64, F64, float]:
    """As `_open`, and when the last request ends."""
    disk, ssd = (
        Ios(ios.request - reduced.first_request, ios.trace.offset, ios.trace.size, ios.trace.op, waits)
        for ios, waits in ((reduced.disk, np.ones(len(reduced.disk), np.bool_)), (reduced.ssd, reduced.ssd.read))
    )
    models = disk_at_rest(device.hdd), disk, *drive_at_rest(device.ssd), ssd
    found: tuple[F64, F64, float] = closed_loop(*models, len(reduced.reads), depth, DRAM_US)
    return found


def response(
    ts: TierStream,
    run: TierRun,
    device: AnalyticDevice,
    first: int = 0,
    *,
    loop: Loop = "closed",
    stretched: float | None = None,
    depth: int | None = None,
) -> Response:
    """Replay a run's reduced traces on the models.

    Args:
        ts: what the hierarchy was run on.
        run: what it did.
        device: in a closed loop the disk is first come, first served.
        first: page access from which on reads count; I/Os before it are not replayed, so that devices begin at rest.
        loop: see `loop_of`.
        stretched: of an open loop, where it is known already, as it is the same for all hierarchies.
        depth: of a closed loop; None: as captured, see `depth_of`.

    Raises:
        DeviceError: an open loop, and the trace has no clock.
        TraceError: the run contradicts itself.
    """
    reduced = reduce(ts, run, first)
    if loop != "open":
        own = 1 if loop == "alone" else depth_of(ts) if depth is None else depth
        disk_us, ssd_us, span_us = _closed(reduced, device, own)
        return Response(ts, run, reduced, disk_us, ssd_us, device, 1.0, loop, own, span_us)
    factor = stretch(ts, device) if stretched is None else stretched
    arrive = ts.trace.time_us[reduced.first_request :]
    span_us = float(arrive[-1] - arrive[0]) * factor
    return Response(ts, run, reduced, *_open(ts, reduced, device, factor), device, factor, loop, 1, span_us)


def measure(ts: TierStream, run: TierRun, device: RealDevice, first: int = 0) -> tuple[Response, dict[str, Any]]:
    """Replay a run's reduced traces on real devices; nothing before the page access `first` is replayed.

    Returns:
        The response, and a record of how it was measured: `hdd` and `ssd`, each None where there was nothing to replay.

    Raises:
        DeviceError: a target is refused, a reduced trace does not fit one, or a replay fails.
        TraceError: the run contradicts itself.
    """
    if os.path.realpath(device.hdd.path) == os.path.realpath(device.ssd.path):
        raise DeviceError(f"device.hdd and device.ssd are both {device.hdd.path}; name two devices, or a file for each")
    reduced = reduce(ts, run, first)
    use = Use(device.engine, device.logical_block_bytes, device.writes == "replay", device.force)
    settings = Settings.of(device)
    tiers = {"hdd": (reduced.disk, device.hdd), "ssd": (reduced.ssd, device.ssd)}
    targets = {name: open_target(own.path, own.name, use) for name, (_, own) in tiers.items()}
    for name, (tier, _) in tiers.items():
        if len(tier):
            check_replay(tier.trace, targets[name], settings)
    times, record = {}, dict[str, Any]()
    # The SSD waits for the disk, for hours: it is kept from others as well.
    with targets["hdd"].held(use.writes) as disk, targets["ssd"].held(use.writes) as flash:
        for name, target in (("hdd", disk), ("ssd", flash)):
            tier = tiers[name][0]
            found = replay(tier.trace, target, settings) if len(tier) else None
            times[name] = found.times_us if found else np.empty(0)
            record[name] = recorded(found) if found else None
    span_us = float(times["hdd"].sum() + times["ssd"].sum())
    return Response(ts, run, reduced, times["hdd"], times["ssd"], None, 1.0, "alone", 1, span_us), record
