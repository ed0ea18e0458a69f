"""Hierarchies on a trace: what each serves from where, how fast, what it wears out, and what that costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cachezoo.arrays import I64, Bool
from cachezoo.console import progress
from cachezoo.contest.blocks import BLOCKS, LEAST_BLOCKS, LEAST_IN_BLOCK
from cachezoo.contest.choice import Goal, Outcome
from cachezoo.contest.lead import Lead
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.errors import ConfigError, TraceError
from cachezoo.flash_cache.load import DAY_S
from cachezoo.questions.tiers.budget import Point
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
    stretch,
)
from cachezoo.questions.tiers.run import TierRun, counts, run_shared
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.questions.tiers.wear import SsdWear, days_from, ssd_wear
from cachezoo.settings.device import AnalyticDevice, RealDevice
from cachezoo.settings.prices import Prices
from cachezoo.sizes import PAGE_BYTES, human_pages
from cachezoo.traces.clock import time_scale

NOTHING = Point(parse_hierarchy("lru"), 0, 0)
"""The disk alone."""
BEGIN = 0.25
"""Of the page accesses, those before the window of the first half that chooses: they warm the tiers up."""


@dataclass(frozen=True)
class Scored(Outcome):
    """A hierarchy of some size on a trace; the mean, and that of blocks of time, is its AMAT in µs."""

    point: Point
    tiered: Tiered  # hit ratios and response times
    wear: SsdWear
    cost: Cost  # with the SSD replaced as it wears out
    usd_per_io: float  # the paper's, see `Response.usd_per_io`; of all three tiers' price
    record: dict[str, Any] | None = None  # how its times were measured; None of models

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
    """A trace, the devices behind it, prices, and what counts: the same for all hierarchies that are compared on it."""

    key: str  # of the trace
    ts: TierStream
    device: AnalyticDevice | RealDevice  # models, or real ones, on which each tier's I/Os are replayed one at a time
    prices: Prices
    first: int  # page access from which on it counts, which begins a request; what is before warms up
    loop: Loop
    depth: int  # requests outstanding, see `Tiered`
    stretched: float = 1.0  # factor by which arrivals are spread out
    decisions: Bool | None = None  # of the bundle that admits to some hierarchies, as of `run_tiers`

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

    @property
    def footprint(self) -> int:
        """Distinct pages of the whole trace."""
        return self.ts.pages.n_pages

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
    def usual(self) -> Usual:
        """What distinguishes hierarchies before any is replayed."""
        ssd = self.models.ssd
        return Usual(
            ssd.read_us + PAGE_BYTES / ssd.read_mb_s,
            ssd.write_us + PAGE_BYTES / ssd.write_mb_s,
            float(t_hdd_us(volume_trace(self.ts), self.models.hdd).mean()),
        )

    def run(self, point: Point) -> TierRun:
        """Simulate a hierarchy over the whole trace."""
        return run_shared(point, self.ts, self.decisions)

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
        return response(
            self.ts, run, self.models, self.first, loop=self.loop, stretched=self.stretched, depth=self.depth
        )  # fmt: skip

    def tiered(self, point: Point) -> Tiered:
        """Hit ratios and response times of a hierarchy on the models."""
        return self.replay(self.run(point)).tiered

    def score(self, point: Point) -> Scored:
        """All figures of a hierarchy.

        Raises:
            DeviceError: a real device refuses, or fails.
            TraceError: nothing is read where it counts.
        """
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
        return Scored(tiered.amat_us, blocks, point, tiered, wear, price, found.usd_per_io(price.usd), record)

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
        return replace(self, ts=head, first=int(ts.pages.request_start[ts.request_of[int(BEGIN * len(ts))]]))


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
