"""A trace with its disk and SSD: what a cache makes of the time of its requests, and what it does to both devices.

The cost is the mean response time of requests, reads and writes. Each request ends with the slowest of the I/Os that it
waits for. As many requests are outstanding as when the trace was captured, one where that is not known. What nobody
waits for (fills, write-backs) keeps the devices busy, so that others wait.

A write-back cache that ends with more dirty pages than it began with has only put their writes off. They are charged:
the time that they take the disk is added to all requests alike, as if all that are outstanding waited for it.
"""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I64, Bool
from cachezoo.contest.blocks import LEAST_IN_BLOCK, block_means
from cachezoo.contest.choice import Outcome
from cachezoo.devices.analytic import disk_at_rest, drive_at_rest, t_hdd_us
from cachezoo.errors import TraceError
from cachezoo.kernels.hdd import hdd_service_us
from cachezoo.kernels.outcome import BYPASSED, HIT, NONE
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE
from cachezoo.kernels.targets.policy import policy_ios
from cachezoo.kernels.tier_loop import Ios, closed_loop
from cachezoo.kernels.tiers import DISK
from cachezoo.policies.engine import Run
from cachezoo.policies.registry import policy
from cachezoo.questions.targets.target import TargetRun
from cachezoo.questions.tiers.reduced import volume_trace
from cachezoo.questions.tiers.response import DRAM_US, depth_of
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.settings.device import AnalyticDevice, Hdd
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.table import OP_WRITE

ABOVE = "arc"
"""The policy of RAM, where there is a cache in RAM."""
BEGIN = 0.25
"""Of the page accesses, those before the window of the first half that chooses: they fill the cache."""


@dataclass(frozen=True)
class Ran(Outcome):
    """A cache on what counts of a trace; the mean, and that of blocks of requests, is their response time in µs."""

    read_us: float | None  # mean of read requests; None where there are none
    write_us: float | None
    hits: float | None  # of the page reads, those served from RAM or SSD
    ssd_written: float  # pages written to the SSD for each page that is asked
    disk_us: float  # what the disk works for a request, now or later, with what is owed
    later: float  # of that, the share that no request waits for
    at_risk: int  # pages that only the SSD holds, at most
    owed: int  # pages that are still to be written to the disk at the end, more than at the beginning
    owed_us: float  # which is in the mean, of each request
    disk_ios: int  # I/Os of the disk

    def values(self) -> dict[str, Any]:
        """All of it, for JSON."""
        own = {name: value for name, value in asdict(self).items() if name not in ("mean", "blocks")}
        return {"response_us": self.mean, **own}


@dataclass(frozen=True, eq=False)
class Bench:
    """A trace, the devices, and the request from which on it counts."""

    ts: TierStream
    device: AnalyticDevice
    first: int  # request
    depth: int  # requests outstanding

    @classmethod
    def of(cls, ts: TierStream, device: AnalyticDevice) -> "Bench":
        """A trace, of which the second half counts.

        Raises:
            TraceError: no request begins in its first half.
        """
        first = int(ts.request_of[ts.second_half])
        if first == 0:
            raise TraceError(f"{ts.trace.meta.trace_id}: one request is all of its first half; give a longer trace")
        return cls(ts, device, first, depth_of(ts))

    @property
    def head(self) -> "Bench":
        """The first half, of which the second part chooses.

        Raises:
            TraceError: one request is most of it.
        """
        ts, first = self.ts.head(self.first), int(self.ts.request_of[int(BEGIN * len(self.ts))])
        if first >= self.first:
            name = self.ts.trace.meta.trace_id
            raise TraceError(f"{name}: one request is most of its first half; give a longer trace")
        return Bench(ts, self.device, first, self.depth)

    @cached_property
    def _write(self) -> Bool:
        marks: Bool = self.ts.trace.op == OP_WRITE
        return marks

    def no_cache(self) -> Ran:
        """The disk alone."""
        ts, n = self.ts, len(self.ts.trace)
        start = ts.pages.request_start
        found = np.full(len(ts), DISK, np.uint8)
        place = ts.address[ts.pages.page_ids[start[:-1]]]
        request, pages = np.arange(n, dtype=np.int32), np.diff(start).astype(np.int32)
        return self.ran(TargetRun(found, self._write.astype(np.uint8), request, place, pages, np.zeros(n, np.int32)))

    def policy(self, name: str, pages: int, back: bool, ram: int = 0) -> Ran:
        """A policy of the zoo as such a cache, with so many pages of ARC in RAM above it."""
        ts = self.ts
        above, run = self.served(name, pages, ram)
        asked = ts.pages.request_start, ts.pages.page_ids, self._write, ts.address
        return self.ran(TargetRun.of(*policy_ios(*asked, above, run.outcome, run.victim, back)))

    def served(self, name: str, pages: int, ram: int) -> tuple[Bool, Run]:
        """bool[m] what RAM serves, and the policy's run over what it does not: its misses, and all writes."""
        stream, m = self.ts.stream, len(self.ts)
        above = np.zeros(m, np.bool_)
        if not ram:
            return above, policy(name).simulate(stream, pages)
        above = (policy(ABOVE).simulate(stream, ram).outcome == HIT) & ~self.ts.write
        parts = {part: getattr(stream, part)[~above] for part in ("page_ids", "flags", "page_bytes")}
        found = policy(name).simulate(replace(stream, **parts, whole_pages=stream.request_pages[~above]), pages)
        outcome, victim = np.full(m, BYPASSED, np.uint8), np.full(m, NONE, np.int32)
        outcome[~above], victim[~above] = found.outcome, found.victim
        return above, Run(outcome, victim)

    def ran(self, run: TargetRun) -> Ran:
        """Replay a run's I/Os on the models, from those of the first request that counts on."""
        low = int(np.searchsorted(run.request, self.first))
        code, request = run.code[low:], run.request[low:].astype(np.int64) - self.first
        place, pages = run.place[low:] * PAGE_BYTES, run.pages[low:].astype(np.int64) * PAGE_BYTES
        waits, ssd = code & LATER == 0, code & ON_SSD != 0
        disk_ios, ssd_ios = (
            Ios(request[part], place[part], pages[part], code[part] & WRITE, waits[part]) for part in (~ssd, ssd)
        )
        n = len(self.ts.trace) - self.first
        models = disk_at_rest(self.device.hdd), disk_ios, *drive_at_rest(self.device.ssd), ssd_ios
        disk_us, ssd_us, _ = closed_loop(*models, n, self.depth, DRAM_US)
        times = np.full(n, DRAM_US)
        for ios, own in ((disk_ios, disk_us), (ssd_ios, ssd_us)):
            np.maximum.at(times, ios.request[ios.waits], own[ios.waits])
        work = self._work_us(disk_ios)
        total, late = float(work.sum()), float(work[~disk_ios.waits].sum())
        owed = max(0, int(run.dirty[-1]) - (int(run.dirty[self.first - 1]) if self.first else 0))
        back = (disk_ios.write != 0) & ~disk_ios.waits
        owing = owed * self._page_us(work[back], disk_ios.size[back])
        owed_us = owing * self.depth / n
        write, first = self._write[self.first :], int(self.ts.pages.request_start[self.first])
        reads = ~self.ts.write[first:]
        return Ran(
            mean=float(times.mean()) + owed_us,
            blocks=block_means(times) + owed_us,
            read_us=_mean(times[~write]),
            write_us=_mean(times[write]),
            hits=_mean((run.found[first:] != DISK)[reads]),
            ssd_written=int(ssd_ios.size[ssd_ios.write != 0].sum()) / PAGE_BYTES / len(reads),
            disk_us=(total + owing) / n,
            later=(late + owing) / (total + owing) if total + owing else 0.0,
            at_risk=int(run.dirty[self.first :].max()),
            owed=owed,
            owed_us=owed_us,
            disk_ios=len(work),
        )

    def _page_us(self, work: F64, size: I64) -> float:
        """µs that a page written back takes the disk: as those of a run did, else as the trace's own writes do."""
        if len(work) < LEAST_IN_BLOCK:
            work, size = self._written_us, self.ts.trace.size[self._write]
        return float(work.sum()) * PAGE_BYTES / float(size.sum()) if len(work) else 0.0

    @cached_property
    def _written_us(self) -> F64:
        volume = volume_trace(self.ts)
        times: F64 = t_hdd_us(volume, self._bare)[self._write]
        return times

    @property
    def _bare(self) -> Hdd:
        """The disk without a write buffer, which would spare no work."""
        return self.device.hdd.model_copy(update={"write_buffer_bytes": 0})

    def _work_us(self, ios: Ios) -> F64:
        """float64[k]: what each I/O takes the disk."""
        times: F64 = hdd_service_us(disk_at_rest(self._bare), ios.offset, ios.size, ios.write, np.empty(0))
        return times


def _mean(values: npt.NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None
