"""A trace that hierarchies are tried on: its second half is counted, the first warms the tiers."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from cachezoo.devices.analytic import t_hdd_us
from cachezoo.questions.tiers.money import Bought
from cachezoo.questions.tiers.reduced import volume_trace
from cachezoo.questions.tiers.response import DRAM_US, Loop, Response, depth_of, loop_of, response
from cachezoo.questions.tiers.run import TierRun, counts, questions, run_tiers
from cachezoo.questions.tiers.stream import TierStream, tier_stream
from cachezoo.settings.device import AnalyticDevice
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace

Kept = TypeVar("Kept")
MOST_KEPT = 8
"""Runs of RAM, and what they ask of the SSD: hierarchies that have these alike are tried one after another."""


@dataclass(frozen=True)
class Usual:
    """µs that a page takes: read from the SSD, written to it, and of the disk the mean of the trace's requests."""

    ssd_read: float
    ssd_write: float
    disk: float


@dataclass(frozen=True)
class Bench:
    """One trace and the devices behind it.

    Attributes:
        key: of the trace.
        ts: its accesses.
        device: the models of disk and SSD.
        first: the page access from which on it counts: the first of the request that the second half begins in.
        reads: page reads that count.
        requests: read requests that count.
        largest: page reads of the largest of them.
        loop, depth: how requests follow each other, and how many are outstanding, see `.response`.
        usual: service times, none waiting: what tells hierarchies apart before any is replayed.
    """

    key: str
    ts: TierStream
    device: AnalyticDevice
    first: int
    reads: int
    requests: int
    largest: int
    loop: Loop
    depth: int
    usual: Usual
    _made: OrderedDict[tuple[str | int, ...], Any] = field(default_factory=OrderedDict, repr=False, compare=False)

    @classmethod
    def of(cls, key: str, trace: Trace, pages: PageAccesses, device: AnalyticDevice) -> "Bench":
        """Make one."""
        ts = tier_stream(trace, pages)
        first = ts.second_half
        ssd = device.ssd
        usual = Usual(
            ssd.read_us + PAGE_BYTES / ssd.read_mb_s,
            ssd.write_us + PAGE_BYTES / ssd.write_mb_s,
            float(t_hdd_us(volume_trace(ts), device.hdd).mean()),
        )
        read = ~ts.write[first:]
        largest = int(np.bincount(ts.request_of[first:][read] - int(ts.request_of[first])).max(initial=1))
        requests = int((trace.op[int(ts.request_of[first]) :] == OP_READ).sum())
        return cls(key, ts, device, first, int(read.sum()), requests, largest, loop_of(ts), depth_of(ts), usual)

    @property
    def footprint(self) -> int:
        """Distinct pages of the whole trace."""
        return self.ts.pages.n_pages

    def run(self, bought: Bought) -> TierRun:
        """Simulate a hierarchy over the whole trace; what its RAM does is kept for others with the same RAM."""
        hierarchy, ram, ssd = bought.hierarchy, bought.ram_pages, bought.ssd_pages
        if hierarchy.kind == "l2arc":
            return run_tiers(hierarchy, self.ts, ram, ssd)
        l1 = self._kept((hierarchy.ram, ram), lambda: hierarchy.ram_policy().simulate(self.ts.stream, ram))
        if hierarchy.kind == "ram":
            return run_tiers(hierarchy, self.ts, ram, ssd, l1)
        key = hierarchy.ram, ram, hierarchy.kind, hierarchy.buffer_bytes
        asked = self._kept(key, lambda: questions(hierarchy, self.ts, l1))
        return run_tiers(hierarchy, self.ts, ram, ssd, l1, asked)

    def _kept(self, key: tuple[str | int, ...], make: Callable[[], Kept]) -> Kept:
        if key not in self._made:
            self._made[key] = make()
            if len(self._made) > MOST_KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        found: Kept = self._made[key]
        return found

    def estimate_us(self, bought: Bought) -> float:
        """µs that the counted page reads, and what is written to the SSD for them, take at the tiers' usual times."""
        found, usual = counts(self.run(bought), self.ts, self.first), self.usual
        ssd = found.ssd * usual.ssd_read + found.ssd_writes * usual.ssd_write
        return (found.ram + found.buffer) * DRAM_US + ssd + found.disk * usual.disk

    def replay(self, bought: Bought) -> Response:
        """A hierarchy's I/Os on the devices."""
        return response(self.ts, self.run(bought), self.device, self.first, loop=self.loop, depth=self.depth)
