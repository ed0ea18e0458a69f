"""A part of a trace with the flash cache that is to serve it, and the writes it may make."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, Bool
from cachezoo.contest.counting import SECOND_HALF
from cachezoo.errors import TraceError
from cachezoo.kernels.flash import DiskHead, FlashRun, Prefetch, simulate_flash, simulate_rejectx
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.traces.table import OP_READ, Trace


@dataclass(frozen=True)
class FlashProblem:
    """A part of a trace with the cache that is to serve it.

    Attributes:
        accesses: its segments.
        read: bool[n].
        capacity: segments the cache holds.
        geometry, cost, lru: as configured.
        accept_all: the run that admits everything, without prefetch.
        budget: segment writes allowed.
        tolerance: how near to the budget a policy must come, relative.
        first: request from which on it counts.
    """

    accesses: SegmentAccesses
    read: Bool
    capacity: int
    geometry: Geometry
    cost: DiskHead
    lru: bool
    accept_all: FlashRun
    budget: float
    tolerance: float
    first: int

    def __len__(self) -> int:
        return len(self.read)

    def run(self, admit: Bool, prefetch: Prefetch | None = None) -> FlashRun:
        """Simulate one decision per request, bool[n], and what an admitted miss fetches beside."""
        return simulate_flash(self.accesses, self.read, admit, self.capacity, lru=self.lru, prefetch=prefetch)

    def run_rejectx(self, window: int, prefetch: Prefetch | None = None) -> FlashRun:
        """Simulate RejectX with a window of requests, and what its misses fetch beside."""
        return simulate_rejectx(self.accesses, self.read, window, self.capacity, lru=self.lru, prefetch=prefetch)

    def dt_seconds(self, run: FlashRun) -> F64:
        """float64[n]: disk-head time of each request's read, 0 for hits and writes."""
        return self.cost.seconds(run.io_segments > 0, run.io_segments * np.int64(self.geometry.segment_bytes))

    def write_dt_seconds(self) -> F64:
        """float64[n]: disk-head time of each request's write, the same whatever is cached; 0 for reads."""
        write = ~self.read
        return self.cost.seconds(write, self.accesses.sizes * np.int64(self.geometry.segment_bytes) * write)


def flash_problem(trace: Trace, label: EpisodeLabel, flash: FlashPolicy) -> FlashProblem:
    """The cache and the write budget for a part of a trace.

    Raises:
        TraceError: the part has no reads, so there is nothing to admit.
    """
    geometry = Geometry(label.block_bytes, label.segment_bytes)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, geometry)
    read = trace.op == OP_READ
    if not read.any():
        name = trace.meta.trace_id
        raise TraceError(f"{name}: the trace has no reads, so it has no episodes; leave it out of this category")
    capacity = max(1, int(accesses.n_segments * label.cache_fraction))
    lru = flash.eviction == "lru"
    accept_all = simulate_flash(accesses, read, np.ones(len(read), np.bool_), capacity, lru=lru)
    cost = DiskHead(flash.seek_ms, flash.rate_mib_s)
    budget = accept_all.segment_writes * label.write_budget
    tolerance, first = label.budget_tolerance, SECOND_HALF.place(len(trace), 0)
    return FlashProblem(accesses, read, capacity, geometry, cost, lru, accept_all, budget, tolerance, first)
