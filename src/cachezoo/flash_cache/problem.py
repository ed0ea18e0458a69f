"""A part of a trace with the flash cache that is to serve it, the writes it may make, and the knob that meets them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cachezoo.arrays import EVERY, F64, I32, I64, Bool, Room, in_memory, stretches
from cachezoo.contest.counting import SECOND_HALF, Count
from cachezoo.devices.analytic import disk_at_rest
from cachezoo.devices.built_in import WDREDPRO2TB
from cachezoo.errors import TraceError
from cachezoo.kernels.flash import (
    DiskHead,
    FlashRun,
    Memory,
    Prefetch,
    WriteRate,
    disk_us,
    simulate_controlled,
    simulate_controlled_rejectx,
    simulate_flash,
    simulate_rejectx,
)
from cachezoo.kernels.flash_queue import Eviction
from cachezoo.kernels.hdd import hdd_transfer_us
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from cachezoo.kernels.write_budget import Controller
from cachezoo.settings.device import Hdd
from cachezoo.settings.flash import DiskName, EpisodeLabel, FlashPolicy
from cachezoo.traces.clock import has_clock, time_scale
from cachezoo.traces.table import OP_READ, Trace

HORIZONS = 96  # of a controller, that a trace has at least
GENERATIONS, GENERATION = 8, 1.0  # filters that RejectX remembers misses in, and what each takes, in capacities
DISKS: dict[DiskName, Hdd | None] = {"wdredpro2tb": WDREDPRO2TB, "baleen": None}
"""By `policy.flash.disk`; None: the two constants."""


@dataclass(frozen=True)
class Whole:
    """The trace that n requests are a sample of: how many times as much there is of it as of the sample.

    What a cache does to the segments that are read, and how long they take of a disk, it does to as many more of the
    whole trace's. The disk's head comes from where the request before in the whole trace ended.
    """

    accesses: float  # to segments
    reads: float  # of these, those that read
    writes: float
    segments: float  # distinct
    begins: Bool  # [n] the part that begins its request
    heads: I64  # [n] of `cachezoo.kernels.flash.disk_us`
    ends_us: tuple[int, int]  # its first and last time
    clock: bool  # whether it has one


@dataclass(frozen=True)
class FlashProblem:
    """A part of a trace with the cache that is to serve it, and the disk behind it.

    Disk-head time is of a model of the disk where there is one. It serves what reaches it in the order of the trace:
    reads that miss, and every write. An I/O costs a seek from where the one before ended, the rotation and the
    transfer, and the transfer alone where it goes on there. Volumes lie on the one disk as in the emulation of devices,
    each from address 0 on. Baleen's two constants cost a seek for each I/O, and count whole segments.
    """

    accesses: SegmentAccesses
    read: Bool  # [n]
    offset: I64  # [n] bytes
    size: I64  # [n] bytes
    capacity: int  # segments
    geometry: Geometry
    cost: DiskHead  # the two constants
    disk: Hdd | None  # the model that disk-head time comes from; None: the constants
    eviction: Eviction
    accept_all: FlashRun  # admits everything, without prefetch
    budget: float  # segment writes allowed
    tolerance: float  # how near to the budget a policy must come, relative
    first: int  # request from which on it counts
    time: I64  # [n] microseconds, or row numbers where the trace has no clock
    clock: bool  # the former
    whole_block: bool = True  # a read touches its blocks whole
    scale: float = 1.0  # recorded seconds that a second of `time` stands for
    at_least: bool = False  # where no setting of a knob comes near the budget, the next above is taken, not below
    # What the requests are a sample of; disk-head time then is the whole trace's. All else is of the sample
    whole: Whole | None = None

    def __len__(self) -> int:
        return len(self.read)

    def requests(self, rows: slice = EVERY, *, reads: bool = False) -> int:
        """Requests, or reads, among some rows; of a sample those of the whole trace that they are an estimate of."""
        chosen = self.read[rows] if reads else np.ones(len(self.read[rows]), np.bool_)
        if self.whole is None:
            return int(np.count_nonzero(chosen))
        found = int(np.count_nonzero(chosen & self.whole.begins[rows]))
        return round(found * (self.whole.reads if reads else self.whole.accesses))

    def flash_segments(self, written: int) -> int:
        """Segments that are written to flash where so many are here; of a sample those of the whole trace."""
        return written if self.whole is None else round(written * self.whole.reads)

    @property
    def whole_capacity(self) -> int:
        """Segments of the cache; of a sample, of the whole trace's."""
        return self.capacity if self.whole is None else round(self.capacity * self.whole.segments)

    def run(self, admit: Bool, prefetch: Prefetch | None = None) -> FlashRun:
        """Simulate one decision per request, bool[n], and what an admitted miss also fetches."""
        return simulate_flash(
            self.accesses, self.read, admit, self.capacity,
            eviction=self.eviction, prefetch=prefetch, whole_block=self.whole_block,
        )  # fmt: skip

    def run_rejectx(self, window: int, prefetch: Prefetch | None = None, filters: bool = False) -> FlashRun:
        """Simulate RejectX with a window, and what its misses also fetch; see `simulate_rejectx`."""
        memory: Memory = "filters" if filters else "recency"
        return simulate_rejectx(
            self.accesses, self.read, window, self.capacity,
            memory=memory, eviction=self.eviction, prefetch=prefetch, whole_block=self.whole_block,
        )  # fmt: skip

    def run_controlled(
        self, scores: F64, threshold: float, controller: Controller, prefetch: Prefetch | None = None
    ) -> FlashRun:
        """Simulate an admission by scores, float64[n], whose threshold keeps the budget's rate over the trace's time.

        Args:
            scores: of each request.
            threshold: in force at first.
            controller: how it follows what is written, see `_rate`.
            prefetch: what an admitted miss also fetches.
        """
        return simulate_controlled(
            self.accesses, self.read, scores, threshold, controller, self._rate(controller), self.capacity,
            eviction=self.eviction, prefetch=prefetch, whole_block=self.whole_block,
        )  # fmt: skip

    def run_controlled_rejectx(
        self, controller: Controller, prefetch: Prefetch | None = None, filters: bool = False
    ) -> FlashRun:
        """The same of RejectX, whose window keeps the rate; see `simulate_controlled_rejectx`."""
        remembered = (GENERATIONS, max(1, int(GENERATION * self.capacity))) if filters else None
        return simulate_controlled_rejectx(
            self.accesses, self.read, controller, self._rate(controller), self.capacity,
            filters=remembered, eviction=self.eviction, prefetch=prefetch, whole_block=self.whole_block,
        )  # fmt: skip

    def ends(self, time: I64) -> tuple[int, int]:
        """First and last of times; of a sample by the clock the whole trace's, which may begin before and go on."""
        if self.whole is not None and self.clock:
            return self.whole.ends_us
        return int(time[0]), int(time[-1])

    def _rate(self, controller: Controller) -> WriteRate:
        """The budget by time; the horizon is of recorded time, and shorter on short traces or without a clock."""
        first, last = self.ends(self.time)
        span = float(max(1, last - first))
        horizon = controller.horizon_s / self.scale * 1e6 if self.clock else span
        return WriteRate(self.budget / span, min(span / HORIZONS, horizon), self.time)

    def meet(self, writes_at: Callable[[int], int], upper: int, guess: int = -1) -> "BudgetSetting":
        """`meet_budget` with this part's budget and tolerance."""
        return meet_budget(writes_at, upper, self.budget, self.tolerance, guess, self.at_least)

    def dt_seconds(self, run: FlashRun) -> F64:
        """float64[n]: disk-head time of each request's read, 0 for hits and writes."""
        return self.disk_times(run)[0] * self.read

    def disk_times(self, run: FlashRun) -> tuple[F64, F64]:
        """float64[n] each: disk-head seconds of each request, of missing reads and of writes, and what is transfer."""
        times, transfer = self._disk_times(run)
        return self._of_whole(times), self._of_whole(transfer)

    def _disk_times(self, run: FlashRun) -> tuple[F64, F64]:
        """The same of the requests themselves."""
        segment, room = self.geometry.segment_bytes, self.accesses.room
        if self.disk is None:
            transfer: F64 = room(np.float64, len(self))
            for rows in stretches(len(self)):
                moved = self._segments(run, rows) * np.int64(segment)
                transfer[rows] = self.cost.seconds(np.zeros(len(moved)), moved)
            return self._constant_seconds(run), transfer
        heads = None if self.whole is None else self.whole.heads
        disk = disk_at_rest(self.disk)
        times, transfer = disk_us(disk, self.read, self.offset, self.size, run, segment, heads, room)
        times /= 1e6
        transfer /= 1e6
        return times, transfer

    def _of_whole(self, seconds: F64) -> F64:
        """What requests take, times as many as each stands for."""
        if self.whole is None:
            return seconds
        return seconds * np.where(self.read, self.whole.reads, self.whole.writes)

    def constant_seconds(self, run: FlashRun) -> F64:
        """float64[n]: disk-head time of each request by the two constants."""
        return self._of_whole(self._constant_seconds(run))

    def _constant_seconds(self, run: FlashRun) -> F64:
        seconds: F64 = self.accesses.room(np.float64, len(self))
        for rows in stretches(len(self)):
            n_bytes = self._segments(run, rows) * np.int64(self.geometry.segment_bytes)
            seeks = n_bytes > 0 if self.whole is None else (n_bytes > 0) & self.whole.begins[rows]
            seconds[rows] = self.cost.seconds(seeks, n_bytes)
        return seconds

    def spared_seconds(self, fetched: I32, rows: slice = EVERY) -> F64:
        """float64[k]: what the disk is spared of each read of an episode that is admitted; 0 for writes.

        A read that finds all it needs saves what it costs where nothing is cached. One that fetches has the same way
        to go, and moves what it fetches in place of what it asks for.

        Args:
            fetched: int32[k] segments.
            rows: the k requests.
        """
        alone, own = (seconds[rows] for seconds in self._uncached)
        moved = fetched * np.int64(self.geometry.segment_bytes)
        if self.disk is None:
            transfer = self.cost.seconds(np.zeros(len(moved)), moved)
        else:
            transfer = hdd_transfer_us(disk_at_rest(self.disk), self.offset[rows], moved) / 1e6
        return np.where(fetched == 0, alone, own - transfer) * self.read[rows]

    @cached_property
    def _uncached(self) -> tuple[F64, F64]:
        """`_disk_times` where nothing is cached."""
        return self._disk_times(self.run(self.accesses.room(np.bool_, len(self))))

    def _segments(self, run: FlashRun, rows: slice) -> I32:
        """int32: segments that some requests move at the disk."""
        return np.where(self.read[rows], run.io_segments[rows], self.accesses.sizes_of(rows))


def flash_problem_at(
    trace: Trace,
    geometry: Geometry,
    capacity: Callable[[int], int],
    cost: DiskHead,
    *,
    tolerance: float,
    disk: Hdd | None = None,
    eviction: Eviction = "lru",
    whole_block: bool = True,
    share: float = 1.0,
    count: Count = SECOND_HALF,
    room: Room = in_memory,
) -> FlashProblem:
    """The cache and the write budget for a part of a trace.

    Args:
        trace: the part.
        geometry: segments and blocks.
        capacity: segments of the cache, of the distinct segments that there are.
        cost: of a disk's I/O, by the two constants.
        tolerance: how near to the budget a policy must come, relative.
        disk: the model that disk-head time comes from; None: the constants.
        eviction: who leaves for room.
        whole_block: with LRU, a read touches its blocks whole.
        share: budget, as a share of what AcceptAll writes.
        count: from where on requests count; for `auto` AcceptAll fills the cache.
        room: where what is as long as the part lies.

    Raises:
        TraceError: the part has no reads.
        ConfigError: nothing would be left to count, or errors of `capacity`.
    """
    read: Bool = np.equal(trace.op, OP_READ, out=room(np.bool_, len(trace)))
    if not read.any():
        message = f"{trace.meta.trace_id}: the trace has no reads, and a flash cache is filled by reads; give another"
        raise TraceError(message)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, geometry, room)
    segments = capacity(accesses.n_segments)
    everything = room(np.bool_, len(read))
    everything[:] = True
    accept_all = simulate_flash(accesses, read, everything, segments, eviction=eviction, whole_block=whole_block)
    budget, first = accept_all.segment_writes * share, count.place(len(trace), accept_all.filled_at, trace.time_us)
    clock = has_clock(trace)
    time = trace.time_us
    if not clock:
        time = room(np.int64, len(trace))
        for rows in stretches(len(trace)):
            time[rows] = np.arange(rows.start, rows.stop)
    return FlashProblem(
        accesses, read, trace.offset, trace.size, segments, geometry, cost, disk, eviction, accept_all, budget,
        tolerance, first, time, clock, whole_block, time_scale(trace),
    )  # fmt: skip


def label_of(label: EpisodeLabel, category: str) -> EpisodeLabel:
    """`label.episodes` of a category: with its own geometry where it has one, the common one otherwise."""
    own = label.geometry.get(category)
    return label if own is None else EpisodeLabel(**{**dict(label), **dict(own)})


def flash_problem(trace: Trace, label: EpisodeLabel, flash: FlashPolicy, room: Room = in_memory) -> FlashProblem:
    """`flash_problem_at`, as params.yaml has the cache."""
    return flash_problem_at(
        trace,
        Geometry(label.block_bytes, label.segment_bytes),
        lambda segments: max(1, int(segments * label.cache_fraction)),
        DiskHead(flash.seek_ms, flash.rate_mib_s),
        tolerance=label.budget_tolerance,
        disk=DISKS[flash.disk],
        eviction=flash.eviction,
        whole_block=flash.touch == "block",
        share=label.write_budget,
        room=room,
    )


@dataclass(frozen=True)
class BudgetSetting:
    """The setting of a knob that meets a budget."""

    index: int  # larger ones admit more
    writes: int  # segments, simulated
    reached: bool  # within the tolerance of the budget; False: the largest setting below it


def meet_budget(
    writes_at: Callable[[int], int],
    upper: int,
    budget: float,
    tolerance: float,
    guess: int = -1,
    at_least: bool = False,
) -> BudgetSetting:
    """Bisect an integer knob until the simulated writes meet the budget.

    Args:
        writes_at: segment writes at a setting in [0, upper]; rises with the setting, small dips do no harm.
        upper: the most permissive setting.
        budget: segment writes to reach.
        tolerance: how near is near enough, relative to the budget.
        guess: a setting to try first, or -1.
        at_least: without a setting that is near enough, take the next above the budget, where there is one.

    Returns:
        The first setting within the tolerance, else the largest found that stays below the budget.
    """
    low, high = -1, upper + 1
    best, above = BudgetSetting(0, 0, False), None
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
            above = BudgetSetting(at, writes, False)
        at = (low + high) // 2
    return above if at_least and above is not None else best
