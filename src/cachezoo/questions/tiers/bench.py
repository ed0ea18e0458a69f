"""Hierarchies on a trace: what each serves from where, how fast, what it wears out, and what that costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.console import progress
from cachezoo.contest.blocks import BLOCKS, LEAST_BLOCKS, LEAST_IN_BLOCK
from cachezoo.contest.choice import Goal
from cachezoo.contest.counting import SECOND_HALF, Count, first_access
from cachezoo.contest.lead import Lead
from cachezoo.contest.sampled import GROUPS, Estimated, half_widths
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.curves.sampling import first_sampled
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.errors import ConfigError, TraceError
from cachezoo.flash_cache.load import DAY_S
from cachezoo.policies.registry import in_sample
from cachezoo.questions.tiers.budget import Point, shrunk
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_hierarchy
from cachezoo.questions.tiers.prices import Cost, cost
from cachezoo.questions.tiers.purchase import Bought, Shop, Terms
from cachezoo.questions.tiers.reduced import volume_trace
from cachezoo.questions.tiers.response import (
    DRAM_US,
    Loop,
    Response,
    Tiered,
    depth_of,
    loop_of,
    measure,
    paper_metrics,
    response,
    rounded,
    stretch,
)
from cachezoo.questions.tiers.run import TierRun, counts, run_shared
from cachezoo.questions.tiers.stream import TierStream, tier_stream
from cachezoo.questions.tiers.uncut import Uncut
from cachezoo.questions.tiers.wear import SsdWear, days_from, ssd_wear
from cachezoo.settings.device import AnalyticDevice, RealDevice
from cachezoo.settings.prices import Prices
from cachezoo.sizes import PAGE_BYTES, Size, human_pages
from cachezoo.traces.clock import time_scale
from cachezoo.traces.sampling import SampledTrace
from cachezoo.traces.table import Trace

NOTHING = Point(parse_hierarchy("lru"), 0, 0)
"""The disk alone."""
WHOLE = Size.parse("100%")
BEGIN = 0.25
"""Of the page accesses, those before the window of the first half that chooses: they warm the tiers up."""


ESTIMATED = ("amat_us", "rhr", "shr", "dhr", "ssd_written")
"""Figures of `Tiered` whose error is said where they are estimated from a sample."""


@dataclass(frozen=True)
class Scored(Estimated):
    """A hierarchy of some size on a trace; the mean, and that of blocks of time, is its AMAT in µs."""

    point: Point
    tiered: Tiered  # hit ratios and response times
    wear: SsdWear
    cost: Cost  # with the SSD replaced as it wears out
    usd_per_io: float  # the paper's, see `Response.usd_per_io`; of all three tiers' price
    record: dict[str, Any] | None = None  # how its times were measured; None of models
    # half the 90 % intervals of figures that were estimated from a sample, by their names; none of a whole trace
    errors: dict[str, float] = field(default_factory=dict, kw_only=True)

    def sizes(self) -> dict[str, Any]:
        """Hierarchy and sizes, for JSON; the disk alone has no hierarchy."""
        own = self.point
        return {
            "hierarchy": str(own.hierarchy) if own.ram_pages else None,
            "ram_pages": own.ram_pages,
            "buffer_bytes": own.hierarchy.buffer_bytes,
            "ssd_pages": own.ssd_pages,
        }

    def metrics(self) -> dict[str, Any]:
        """The figures of a row of metrics/tiers, by their names there."""
        own, years = self.tiered, self.wear.years
        names = ("amat_us", "rhr", "shr", "dhr", "alone_us", "p50_us", "p95_us", "p99_us", "iops", "disk_busy")
        return {
            **{name: getattr(own, name) for name in names},
            "ssd_writes": own.ssd_written,
            "waf": self.wear.waf if self.point.ssd_pages else None,
            "ssd_years": years if years is not None and math.isfinite(years) else None,
            "usd_month": self.cost.month_usd,
            "usd_per_io": self.usd_per_io,
        }


@dataclass(frozen=True)
class Usual:
    """µs that a page takes, none waiting: read from the SSD, written to it, and the mean of the trace's requests."""

    ssd_read: float
    ssd_write: float
    disk: float


@dataclass(frozen=True, eq=False)
class Bench:
    """A trace, the devices behind it, prices, and what counts: the same for all hierarchies that are compared on it.

    Of a trace of which a sample was read, sizes and figures are those of the whole trace: its tiers are simulated as
    much smaller as the sample has fewer pages. Reads that SSD and disk serve are scaled up and RAM has what is left, as
    `cachezoo.curves.sampling` says of misses; as many requests are outstanding as were of the whole trace, so that each
    waits for as many.
    """

    key: str  # of the trace
    ts: TierStream
    device: AnalyticDevice | RealDevice  # models, or real ones, on which each tier's I/Os are replayed one at a time
    prices: Prices
    first: int  # page access from which on it counts, which begins a request; what is before warms up
    loop: Loop
    depth: int  # requests outstanding, see `Tiered`
    stretched: float = 1.0  # factor by which arrivals are spread out
    decisions: Bool | None = None  # of the bundle that admits to some hierarchies, as of `run_tiers`
    sample: SampledTrace | None = None  # what `ts` is a sample of, or its beginning; None where it is the whole

    @classmethod
    def of(
        cls, key: str, ts: TierStream, device: AnalyticDevice | RealDevice, prices: Prices, *,
        first: int | None = None, loop: Loop | None = None, decisions: Bool | None = None,
    ) -> "Bench":  # fmt: skip
        """Take a trace.

        Without `first` the second half counts, from the request on that it begins in. Without `loop` it is what the
        trace has, see `loop_of`; on real devices it is always `alone`.

        Raises:
            DeviceError: an open loop, and the trace has no clock.
        """
        if isinstance(device, RealDevice):
            own: Loop = "alone"
        else:
            own = loop_of(ts) if loop is None else loop
        factor = stretch(ts, device) if isinstance(device, AnalyticDevice) and own == "open" else 1.0
        begin = ts.second_half if first is None else first
        return cls(key, ts, device, prices, begin, own, depth_of(ts), factor, decisions)

    @classmethod
    def of_trace(
        cls, key: str, trace: Trace | SampledTrace, device: AnalyticDevice | RealDevice, prices: Prices, *,
        count: Count = SECOND_HALF, fill: Size = WHOLE, loop: Loop | None = None,
    ) -> "Bench":  # fmt: skip
        """Take a trace, or a sample of one.

        Args:
            key: of the trace.
            trace: it.
            device: as of the bench.
            prices: as of the bench.
            count: from where on it counts.
            fill: of the cache that has to be full where the rule says so.
            loop: as of `of`.

        Raises:
            ConfigError: a sample in an open loop, which has too few arrivals, or on real devices.
            DeviceError: as of `of`.
        """
        if isinstance(trace, Trace):
            ts = tier_stream(trace)
            first = first_access(ts.pages, count, fill.pages(ts.pages.n_pages), trace.time_us)
            return cls.of(key, ts, device, prices, first=first, loop=loop)
        if loop == "open" or isinstance(device, RealDevice):
            how = "an open loop needs all arrivals" if loop == "open" else "real devices are asked all I/Os"
            raise ConfigError(f"{trace.trace.meta.trace_id}: {how}, and a sample was read; give --sample exact")
        counted = int(first_sampled(trace, count, [fill.pages(trace.n_pages)])[0])
        return cls._of_sample(key, trace, device, prices, counted, loop)

    @classmethod
    def _of_sample(
        cls, key: str, sample: SampledTrace, device: AnalyticDevice | RealDevice, prices: Prices, counted: int,
        loop: Loop | None,
    ) -> "Bench":  # fmt: skip
        """The bench of a sample; `counted` is the access of the whole trace from which on it counts."""
        ts = tier_stream(sample.trace, sample.pages)
        starts = ts.pages.request_start
        first = int(starts[np.searchsorted(starts[:-1], np.searchsorted(sample.rows, counted))])
        if ts.write[first:].all():
            raise ConfigError(
                f"{key}: a sample of {ts.pages.n_pages} pages at rate {sample.rate:g} reads nothing where it counts; "
                "use a higher one, or exact"
            )
        own: Loop = loop or ("alone" if sample.outstanding is None else "closed")
        return cls(key, ts, device, prices, first, own, rounded(sample.outstanding), sample=sample)

    @property
    def footprint(self) -> int:
        """Distinct pages of the whole trace."""
        return self.ts.pages.n_pages if self.sample is None else self.sample.n_pages

    @property
    def accesses(self) -> int:
        """Page accesses of the whole trace."""
        return self._place(len(self.ts))

    @property
    def counted_from(self) -> int:
        """The page access of the whole trace from which on it counts."""
        return self._place(self.first)

    def _place(self, access: int) -> int:
        """Where an access of `ts` is in the whole trace."""
        if self.sample is None:
            return access
        rows = self.sample.rows
        return int(rows[access]) if access < len(rows) else self.sample.accesses

    @cached_property
    def rate(self) -> float:
        """Part of the whole trace's pages that are here."""
        return 1.0 if self.sample is None else self.sample.pages.n_pages / self.sample.n_pages

    @cached_property
    def reads_counted(self) -> int:
        """Page reads of the whole trace that count."""
        if self.sample is None:
            return int(self.reads.sum())
        ends = (self.sample.reads_from(place) for place in (self.counted_from, self.accesses))
        return next(ends) - next(ends)

    @cached_property
    def groups(self) -> "tuple[Bench, ...]":
        """A sample dealt out to `GROUPS` samples that share no page; none of a whole trace, nor of such a group."""
        if self.sample is None or self.sample.dealt:
            return ()
        return tuple(
            Bench._of_sample(self.key, part, self.device, self.prices, self.counted_from, self.loop)
            for part in self.sample.groups(GROUPS)
        )

    @property
    def models(self) -> AnalyticDevice:
        """The devices, which are models."""
        assert isinstance(self.device, AnalyticDevice)
        return self.device

    @cached_property
    def reads(self) -> I64:
        """int64[r]: page reads of each request that counts; 0 of a write."""
        return self.ts.reads_from(int(self.ts.request_of[self.first]))

    @cached_property
    def uncut(self) -> Uncut | None:
        """What whole requests take the disk, of which a sample has parts; None of a whole trace, or where unknown."""
        return None if self.sample is None else Uncut.of(self.sample, self.ts, self.models.hdd)

    @cached_property
    def each_us(self) -> F64:
        """float64[n]: what each request takes on the disk without a cache, one at a time."""
        if self.uncut is not None:
            return self.uncut.alone_us[:, -1]
        return t_hdd_us(volume_trace(self.ts), self.models.hdd)

    @cached_property
    def usual(self) -> Usual:
        """What distinguishes hierarchies before any is replayed."""
        ssd = self.models.ssd
        return Usual(
            ssd.read_us + PAGE_BYTES / ssd.read_mb_s,
            ssd.write_us + PAGE_BYTES / ssd.write_mb_s,
            float(np.average(self.each_us, weights=None if self.uncut is None else self.uncut.weight)),
        )

    def run(self, point: Point) -> TierRun:
        """Simulate a hierarchy over the whole trace, or as small a part of it as the sample is over that."""
        with in_sample(point.hierarchy.ram, point.ram_pages):
            return run_shared(shrunk(point, self.rate), self.ts, self.decisions)

    def estimate_us(self, point: Point) -> float:
        """µs that the counted page reads, and what is written to the SSD for them, take at the tiers' usual times."""
        found, usual = counts(self.run(point), self.ts, self.first), self.usual
        ssd = found.ssd * usual.ssd_read + found.ssd_writes * usual.ssd_write
        return (found.ram + found.buffer) * DRAM_US + ssd + found.disk * usual.disk

    def replay(self, run: TierRun) -> Response:
        """A run's I/Os on the models.

        Raises:
            TraceError: the run contradicts itself.
        """
        found = response(
            self.ts, run, self.models, self.first, loop=self.loop, stretched=self.stretched, depth=self.depth
        )  # fmt: skip
        if self.uncut is None:
            return found
        own = found.reduced
        disk_us, uncut_us = self.uncut.times_us(own.disk, own.first_request, found.depth, run.ram_pages > 0)
        return replace(found, disk_us=disk_us, uncut_us=uncut_us, weight=self.uncut.weight)

    def tiered(self, point: Point) -> Tiered:
        """Hit ratios and response times of a hierarchy on the models."""
        return self._of_whole(self.replay(self.run(point)).tiered, point)

    def _of_whole(self, found: Tiered, point: Point) -> Tiered:
        """A sample's figures as estimates of the whole trace's."""
        if self.sample is None:
            return found
        reads = max(1, self.reads_counted)
        more = found.reads / (self.rate * reads) if point.ram_pages else 1.0
        # Of an estimate whose parts are more than all reads RAM has none.
        below = more / max(1.0, more * (found.shr + found.dhr))
        shr, dhr = below * found.shr, below * found.dhr
        rhr = 1 - shr - dhr
        names = ("writes", "ssd_written", "ssd_ios", "disk_ios", "requests")
        scaled: dict[str, Any] = {name: round(getattr(found, name) / self.rate) for name in names}
        return replace(
            found, reads=reads, rhr=rhr, bhr=min(rhr, more * found.bhr), shr=shr, dhr=dhr,
            amat_us=rhr * DRAM_US + shr * found.rta_ssd_us + dhr * found.rta_hdd_us,
            alone_us=max(0.0, found.alone_us - found.rhr * DRAM_US) * below + rhr * DRAM_US,
            span_s=found.span_s / self.rate, **scaled,
        )  # fmt: skip

    def score(self, point: Point) -> Scored:
        """All figures of a hierarchy.

        Raises:
            DeviceError: a real device refuses, or fails.
            TraceError: nothing is read where it counts.
        """
        found, groups = self._score(point), [group.tiered(point) for group in self.groups]
        if not groups:
            return found
        errors = dict[str, float]()
        for name in ESTIMATED:
            whole, *each = (np.array(getattr(own, name)) for own in (found.tiered, *groups))
            errors[name] = float(half_widths(whole, np.array(each)))
        return replace(found, errors=errors, groups=np.array([group.amat_us for group in groups]))

    def _score(self, point: Point) -> Scored:
        run, record = self.run(point), None
        if isinstance(self.device, RealDevice):
            found, record = measure(self.ts, run, self.device, self.first)
        else:
            found = self.replay(run)
        wear = ssd_wear(self.ts, found.reduced, run.ssd_pages, self.prices.ssd.cycles)
        years = math.inf if wear.years is None else wear.years
        ssd_bytes, disk_bytes = point.ssd_pages * PAGE_BYTES, self.ts.span_pages * PAGE_BYTES
        price = cost(self.prices, point.ram_bytes, ssd_bytes, disk_bytes, years)
        count, tiered = blocks_of(found.reduced.reads), found.tiered
        blocks = found.blocks(count) if count else np.zeros(0)
        whole, times = self._of_whole(tiered, point), 1 / self.rate
        return Scored(
            whole.amat_us, blocks * (whole.amat_us / tiered.amat_us), point, whole,
            replace(wear, written=round(times * wear.written), erases=round(times * wear.erases)), price,
            found.usd_per_io(price.usd), record,
        )  # fmt: skip

    @cached_property
    def days(self) -> float | None:
        """That what counts lasted when it was recorded; None where the trace has no clock."""
        return days_from(self.ts, int(self.ts.request_of[self.first]))

    @cached_property
    def seconds(self) -> float | None:
        """The same by the trace's own clock, into which a day may be squeezed."""
        return None if self.days is None else self.days * DAY_S / time_scale(self.ts.trace)

    def written_a_day(self, tiered: Tiered) -> float | None:
        """Bytes that a hierarchy writes to its SSD in a recorded day; None without a clock."""
        return None if self.days is None else tiered.ssd_written * PAGE_BYTES / self.days

    def load(self, busy: float, tiered: Tiered) -> float | None:
        """The part of the trace's time that a tier would work, which is busy this part of the modelled one.

        Above 1 it cannot do the load as fast as it came. None without a clock.
        """
        return busy * tiered.span_s / self.seconds if self.seconds else None

    def waits(self, tiered: Tiered) -> float | None:
        """The part of the trace's time that each of those who ask at once waits for page reads; None without a clock.

        Above 1 it would take longer than it did.
        """
        return tiered.reads * tiered.amat_us / 1e6 / tiered.depth / self.seconds if self.seconds else None

    def head(self) -> "Bench":
        """The accesses before what counts, of which the last part chooses.

        Raises:
            TraceError: there are none.
        """
        end, ts = self.first, self.ts
        if end == 0:
            name = ts.trace.meta.trace_id
            raise TraceError(f"{name}: no request lies in its first half, which chooses; give a longer trace")
        head = ts.head(int(ts.request_of[end]))
        begin = int(BEGIN * self.accesses)
        if self.sample is not None:
            begin = min(int(np.searchsorted(self.sample.rows, begin)), end - 1)
        return replace(self, ts=head, first=int(ts.pages.request_start[ts.request_of[begin]]))


def blocks_of(reads: I64) -> int:
    """Blocks of time of so many page reads of each request: 20, or fewer; 0 where those are below four.

    A block has 50 read requests on average, and no request alone is larger than one.
    """
    blocks = min(BLOCKS, int((reads > 0).sum()) // LEAST_IN_BLOCK, int(reads.sum() // reads.max(initial=1)))
    return blocks if blocks >= LEAST_BLOCKS else 0


@dataclass(frozen=True)
class Comparison:
    """Several hierarchies with the same bytes, by rising AMAT."""

    bench: Bench
    rows: Sequence[Scored]  # the hierarchies, RAM alone of each cache that any of them has in RAM, and the disk alone
    baselines: dict[str, Scored]  # by the text of RAM's cache: that RAM alone before the disk, the paper's baseline
    shop: Shop

    @property
    def reference(self) -> Scored:
        """The fastest RAM alone, which all rows are compared with: each with its own would not rank as AMAT does."""
        return min(self.baselines.values(), key=lambda own: own.mean)

    def saved(self, row: Scored) -> Lead:
        """The share of the reference's AMAT that a row saves; negative where it takes longer."""
        return row.lead(self.reference, Goal.COST)

    def bought(self, row: Scored) -> Bought:
        """What it takes, by what it writes to its SSD where it counts."""
        return self.shop.buy(row.point, self.bench.written_a_day(row.tiered))

    @property
    def leading(self) -> Sequence[Scored]:
        """The fastest, and those that it is not better than by the gate."""
        best = self.rows[0]
        return [row for row in self.rows if verdict(best.lead(row, Goal.COST), LEAST_SAVING) != Verdict.BETTER]

    def values(self) -> list[dict[str, Any]]:
        """The rows, for JSON."""
        found = []
        for row in self.rows:
            base = self.reference if row.point == NOTHING else self.baselines[row.point.hierarchy.ram]
            alone, saved = base.tiered, self.saved(row)
            figures = {
                **row.sizes(),
                "kind": "disk" if row.point == NOTHING else row.point.hierarchy.kind,
                "response": row.tiered.values(),
                "wear": row.wear.values(),
                **({"errors_90": row.errors} if row.errors else {}),
                "cost": self.bought(row).values(),
                "paper": paper_metrics(row.tiered, alone),
                "usd_per_io": row.usd_per_io,
                "measured": row.record,
                "ram_alone_amat_us": alone.amat_us,
                "amat_saved": saved.value,
                "saved_over_ram_alone": {**saved.values(), "verdict": verdict(saved, LEAST_SAVING)},
                "behind_fastest": self.rows[0].lead(row, Goal.COST).values(),
            }
            found.append(figures)
        return found


def compare(
    bench: Bench, hierarchies: Sequence[Hierarchy], ram_pages: int, ssd_pages: int, terms: Terms | None = None
) -> Comparison:
    """Run hierarchies with the same bytes, RAM alone for each cache that any of them has in RAM, and the disk alone.

    Raises:
        ConfigError: sizes that no hierarchy can make use of, or a bundle's decisions are missing.
        TraceError: nothing is read where it counts.
    """
    tiers = [("RAM", "--ram", ram_pages)]
    tiers += [("SSD", "--ssd", ssd_pages)] if any(own.has_ssd for own in hierarchies) else []
    for name, option, pages in tiers:
        if pages > bench.footprint:
            message = (
                f"{bench.ts.trace.meta.trace_id}: {human_pages(pages)} of {name} is more than the "
                f"{human_pages(bench.footprint)} that the trace touches, so that some of it stays empty; give {option} "
                "100% or less"
            )
            raise ConfigError(message)
    points = [Point(own, ram_pages, ssd_pages if own.has_ssd else 0) for own in hierarchies]
    alone = {text: Point(parse_hierarchy(text), ram_pages, 0) for text in dict.fromkeys(own.ram for own in hierarchies)}
    scored = dict[Point, Scored]()
    # Those with the same RAM one after another, so that it is simulated once.
    every = sorted({*points, *alone.values(), NOTHING}, key=lambda one: (one.ram_key, one.key))
    with progress(f"{len(hierarchies)} hierarchies on {bench.key}", len(every)) as advance:
        for point in every:
            advance(len(scored), str(point.hierarchy))
            scored[point] = bench.score(point)
        advance(len(every))
    rows = sorted(scored.values(), key=lambda row: row.mean)
    shop = Shop(bench.prices, terms or Terms(), bench.footprint)
    return Comparison(bench, rows, {text: scored[point] for text, point in alone.items()}, shop)
