"""A part of a trace with the flash cache that is to serve it, the writes it may make, and the knob that meets them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.contest.counting import SECOND_HALF, Count
from cachezoo.errors import TraceError
from cachezoo.kernels.flash import (
    DiskHead,
    FlashRun,
    Prefetch,
    WriteRate,
    simulate_controlled,
    simulate_flash,
    simulate_rejectx,
)
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from cachezoo.kernels.write_budget import Controller
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.traces.clock import has_clock
from cachezoo.traces.table import OP_READ, Trace

HORIZONS = 100  # that a trace has at least


@dataclass(frozen=True)
class FlashProblem:
    """A part of a trace with the cache that is to serve it."""

    accesses: SegmentAccesses
    read: Bool  # [n]
    capacity: int  # segments
    geometry: Geometry
    cost: DiskHead
    lru: bool
    accept_all: FlashRun  # admits everything, without prefetch
    budget: float  # segment writes allowed
    tolerance: float  # how near to the budget a policy must come, relative
    first: int  # request from which on it counts
    time: I64  # [n] microseconds, or row numbers where the trace has no clock
    clock: bool  # the former

    def __len__(self) -> int:
        return len(self.read)

    def run(self, admit: Bool, prefetch: Prefetch | None = None) -> FlashRun:
        """Simulate one decision per request, bool[n], and what an admitted miss also fetches."""
        return simulate_flash(self.accesses, self.read, admit, self.capacity, lru=self.lru, prefetch=prefetch)

    def run_rejectx(self, window: int, prefetch: Prefetch | None = None) -> FlashRun:
        """Simulate RejectX with a window of requests, and what its misses also fetch."""
        return simulate_rejectx(self.accesses, self.read, window, self.capacity, lru=self.lru, prefetch=prefetch)

    def run_controlled(
        self, scores: F64, threshold: float, controller: Controller, prefetch: Prefetch | None = None
    ) -> FlashRun:
        """Simulate an admission by scores, float64[n], whose threshold keeps the budget's rate over the trace's time.

        Args:
            scores: of each request.
            threshold: in force at first.
            controller: how it follows what is written; its horizon is a hundredth of the trace where that is shorter,
                or where there is no clock.
            prefetch: what an admitted miss also fetches.
        """
        span = float(max(1, self.time[-1] - self.time[0]))
        horizon = min(span / HORIZONS, controller.horizon_s * 1e6 if self.clock else span)
        rate = WriteRate(self.budget / span, horizon, self.time)
        return simulate_controlled(
            self.accesses,
            self.read,
            scores,
            threshold,
            controller,
            rate,
            self.capacity,
            lru=self.lru,
            prefetch=prefetch,
        )

    def dt_seconds(self, run: FlashRun) -> F64:
        """float64[n]: disk-head time of each request's read, 0 for hits and writes."""
        return self.cost.seconds(run.io_segments > 0, run.io_segments * np.int64(self.geometry.segment_bytes))

    def write_dt_seconds(self) -> F64:
        """float64[n]: disk-head time of each request's write, the same whatever is cached; 0 for reads."""
        write = ~self.read
        return self.cost.seconds(write, self.accesses.sizes * np.int64(self.geometry.segment_bytes) * write)


def flash_problem_at(
    trace: Trace,
    geometry: Geometry,
    capacity: Callable[[int], int],
    cost: DiskHead,
    *,
    tolerance: float,
    lru: bool = True,
    share: float = 1.0,
    count: Count = SECOND_HALF,
) -> FlashProblem:
    """The cache and the write budget for a part of a trace.

    Args:
        trace: the part.
        geometry: segments and blocks.
        capacity: segments of the cache, of the distinct segments that there are.
        cost: of a disk's I/O.
        tolerance: how near to the budget a policy must come, relative.
        lru: False evicts the oldest.
        share: budget, as a share of what AcceptAll writes.
        count: from where on requests count; for `auto` AcceptAll fills the cache.

    Raises:
        TraceError: the part has no reads.
        ConfigError: nothing would be left to count, or errors of `capacity`.
    """
    read = trace.op == OP_READ
    if not read.any():
        message = f"{trace.meta.trace_id}: the trace has no reads, and a flash cache is filled by reads; give another"
        raise TraceError(message)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, geometry)
    segments = capacity(accesses.n_segments)
    accept_all = simulate_flash(accesses, read, np.ones(len(read), np.bool_), segments, lru=lru)
    budget, first = accept_all.segment_writes * share, count.place(len(trace), accept_all.filled_at, trace.time_us)
    clock = has_clock(trace)
    time = trace.time_us if clock else np.arange(len(trace))
    return FlashProblem(
        accesses, read, segments, geometry, cost, lru, accept_all, budget, tolerance, first, time, clock
    )


def label_of(label: EpisodeLabel, category: str) -> EpisodeLabel:
    """`label.episodes` of a category: with its own geometry where it has one, the common one otherwise."""
    own = label.geometry.get(category)
    return label if own is None else EpisodeLabel(**{**dict(label), **dict(own)})


def flash_problem(trace: Trace, label: EpisodeLabel, flash: FlashPolicy) -> FlashProblem:
    """`flash_problem_at`, as params.yaml has the cache."""
    return flash_problem_at(
        trace,
        Geometry(label.block_bytes, label.segment_bytes),
        lambda segments: max(1, int(segments * label.cache_fraction)),
        DiskHead(flash.seek_ms, flash.rate_mib_s),
        tolerance=label.budget_tolerance,
        lru=flash.eviction == "lru",
        share=label.write_budget,
    )


@dataclass(frozen=True)
class BudgetSetting:
    """The setting of a knob that meets a budget."""

    index: int  # larger ones admit more
    writes: int  # segments, simulated
    reached: bool  # within the tolerance of the budget; False: the largest setting below it


def meet_budget(
    writes_at: Callable[[int], int], upper: int, budget: float, tolerance: float, guess: int = -1
) -> BudgetSetting:
    """Bisect an integer knob until the simulated writes meet the budget.

    Args:
        writes_at: segment writes at a setting in [0, upper]; rises with the setting, small dips do no harm.
        upper: the most permissive setting.
        budget: segment writes to reach.
        tolerance: how near is near enough, relative to the budget.
        guess: a setting to try first, or -1.

    Returns:
        The first setting within the tolerance, else the largest found that stays below the budget.
    """
    low, high = -1, upper + 1
    best = BudgetSetting(0, 0, False)
    at = guess if 0 <= guess <= upper else upper
    while high - low > 1:
        writes = writes_at(at)
        if abs(writes - budget) <= tolerance * budget:
            return BudgetSetting(at, writes, True)
        if writes < budget:
            low = at
            best = max(best, BudgetSetting(at, writes, False), key=lambda c: c.index)
        else:
            high = at
        at = (low + high) // 2
    return best
