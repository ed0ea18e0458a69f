"""A hierarchy judged: what it serves from where, how fast, what it wears out, and what that costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cachezoo.arrays import F64, Bool
from cachezoo.console import Advance
from cachezoo.contest.blocks import BLOCKS, LEAST_BLOCKS, LEAST_IN_BLOCK
from cachezoo.contest.lead import Lead, saving
from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.cost import Cost, cost
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_hierarchy
from cachezoo.questions.tiers.measured import measure
from cachezoo.questions.tiers.paper import PaperMetrics, paper_metrics, reduction, usd_per_io
from cachezoo.questions.tiers.response import Loop, Response, Tiered, loop_of, response, stretch
from cachezoo.questions.tiers.run import TierRun, run_tiers
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.questions.tiers.worn import Worn, worn
from cachezoo.settings.device import AnalyticDevice, RealDevice
from cachezoo.settings.prices import Prices
from cachezoo.sizes import PAGE_BYTES, human_pages


@dataclass(frozen=True)
class Terms:
    """By what the hierarchies of a trace are judged; the same for all of them.

    Attributes:
        device: models of disk and SSD, or real ones, on which each tier's I/Os are replayed one at a time.
        prices: of RAM, SSD, disk and power.
        first: page access from which on it counts; what is before warms up.
        loop: see `response.Tiered`.
        stretched: factor by which arrivals are spread out.
    """

    device: AnalyticDevice | RealDevice
    prices: Prices
    first: int
    loop: Loop
    stretched: float


def terms_of(
    ts: TierStream,
    device: AnalyticDevice | RealDevice,
    prices: Prices,
    first: int | None = None,
    loop: Loop | None = None,
) -> Terms:
    """The terms of a trace.

    Args:
        ts: the trace.
        device: models of disk and SSD, or real ones.
        prices: of the media and power.
        first: page access from which on it counts; None: the request that the second half begins in.
        loop: see `response.Tiered`; None: what the trace has, see `loop_of`. On real devices `alone`.

    Raises:
        DeviceError: an open loop, and the trace has no clock.
    """
    if isinstance(device, RealDevice):
        loop = "alone"
    elif loop is None:
        loop = loop_of(ts)
    if first is None:
        first = ts.second_half
    factor = stretch(ts, device) if isinstance(device, AnalyticDevice) and loop == "open" else 1.0
    return Terms(device, prices, first, loop, factor)


@dataclass(frozen=True)
class Judged:
    """Of one hierarchy.

    Attributes:
        hierarchy: which.
        ram_pages, ssd_pages: of its tiers; the transient buffer is beside RAM's.
        tiered: hit ratios and response times.
        worn: of its SSD.
        cost: with the SSD replaced as it wears out.
        usd_per_io: the paper's, see `cachezoo.questions.tiers.paper.usd_per_io`; of all three tiers' price.
        blocks_us: float64[B] AMAT of blocks of time, µs; empty where the trace is too short for four.
        record: how its times were measured; None of models.
    """

    hierarchy: Hierarchy
    ram_pages: int
    ssd_pages: int
    tiered: Tiered
    worn: Worn
    cost: Cost
    usd_per_io: float
    blocks_us: F64
    record: dict[str, Any] | None = None


def price(ts: TierStream, hierarchy: Hierarchy, ram_pages: int, ssd_pages: int, prices: Prices, own: Worn) -> Cost:
    """What a hierarchy costs before the disk that holds the trace's volumes; its buffer is RAM."""
    ram_bytes = ram_pages * PAGE_BYTES + hierarchy.buffer_bytes
    years = float("inf") if own.years is None else own.years
    return cost(prices, ram_bytes, ssd_pages * PAGE_BYTES, ts.span_pages * PAGE_BYTES, years)


def judge_response(found: Response, prices: Prices) -> Judged:
    """Judge a run whose response times are known."""
    ts, run = found.ts, found.run
    own = worn(ts, found.reduced, run.ssd_pages, prices.ssd.cycles)
    costs = price(ts, run.hierarchy, run.ram_pages, run.ssd_pages, prices, own)
    per_io = usd_per_io(found, costs.usd)
    return Judged(run.hierarchy, run.ram_pages, run.ssd_pages, found.tiered, own, costs, per_io, blocks_of(found))


def blocks_of(found: Response) -> F64:
    """float64[B]: AMAT of 20 blocks of time, or fewer; empty where those are below four.

    A block has 50 read requests on average, and no request alone is larger than one.
    """
    reads = found.reduced.reads
    blocks = min(BLOCKS, int((reads > 0).sum()) // LEAST_IN_BLOCK, int(reads.sum() // reads.max()))
    return found.blocks(blocks) if blocks >= LEAST_BLOCKS else np.zeros(0)


def judge(ts: TierStream, run: TierRun, terms: Terms) -> Judged:
    """Judge a run.

    Raises:
        DeviceError: a real device refuses, or fails.
        TraceError: nothing is read where it counts, or the run contradicts itself.
    """
    if isinstance(terms.device, RealDevice):
        measured, record = measure(ts, run, terms.device, terms.first)
        return replace(judge_response(measured, terms.prices), record=record)
    found = response(ts, run, terms.device, terms.first, loop=terms.loop, stretched=terms.stretched)
    return judge_response(found, terms.prices)


def lead(own: Judged, other: Judged) -> Lead:
    """The part by which the AMAT of `own` is below that of `other`, of the same trace and terms."""
    return saving(own.blocks_us, other.blocks_us, reduction(other.tiered.amat_us, own.tiered.amat_us))


@dataclass(frozen=True)
class Contest:
    """Several hierarchies with the same bytes, by rising AMAT.

    Attributes:
        rows: of each.
        baselines: by the text of RAM's cache: that RAM alone before the disk, the paper's baseline.
        terms: by which they were judged.
    """

    rows: Sequence[Judged]
    baselines: dict[str, Judged]
    terms: Terms

    def baseline(self, row: Judged) -> Judged:
        """RAM alone, with the cache that the row has in RAM."""
        return self.baselines[row.hierarchy.ram]

    def paper(self, row: Judged) -> PaperMetrics:
        """The paper's metrics of a row."""
        return paper_metrics(row.tiered, self.baseline(row).tiered)

    def values(self) -> list[dict[str, Any]]:
        """The rows, for JSON."""
        return [
            {
                "hierarchy": str(row.hierarchy),
                "kind": row.hierarchy.kind,
                "ram_pages": row.ram_pages,
                "buffer_bytes": row.hierarchy.buffer_bytes,
                "ssd_pages": row.ssd_pages,
                "response": row.tiered.values(),
                "paper": self.paper(row).values(),
                "wear": row.worn.values(),
                "cost": row.cost.values(),
                "usd_per_io": row.usd_per_io,
                "measured": row.record,
                "ram_alone_amat_us": self.baseline(row).tiered.amat_us,
                "amat_reduction": reduction(self.baseline(row).tiered.amat_us, row.tiered.amat_us),
                "behind_fastest": lead(self.rows[0], row).values(),
            }
            for row in self.rows
        ]


def check_sizes(ts: TierStream, hierarchies: Sequence[Hierarchy], ram_pages: int, ssd_pages: int) -> None:
    """Refuse sizes that no hierarchy of the trace can make use of.

    Raises:
        ConfigError: RAM or SSD holds more than the trace's distinct pages.
    """
    footprint = ts.pages.n_pages
    asked = [("RAM", "--ram", ram_pages)]
    asked += [("SSD", "--ssd", ssd_pages)] if any(own.has_ssd for own in hierarchies) else []
    for name, option, pages in asked:
        if pages > footprint:
            message = (
                f"{ts.trace.meta.trace_id}: {human_pages(pages)} of {name} is more than the {human_pages(footprint)} "
                f"that the trace touches, so that some of it stays empty; give {option} 100% or less"
            )
            raise ConfigError(message)


def contest(
    ts: TierStream,
    hierarchies: Sequence[Hierarchy],
    ram_pages: int,
    ssd_pages: int,
    terms: Terms,
    advance: Advance,
    decisions: Bool | None = None,
) -> Contest:
    """Run hierarchies with the same bytes, and RAM alone for each cache that any of them has in RAM.

    Args:
        ts: the trace.
        hierarchies: which.
        ram_pages: of RAM.
        ssd_pages: of the SSD, where there is one.
        terms: by which they are judged.
        advance: progress, in hierarchies and baselines.
        decisions: of the bundle that admits to some of them, as of `run_tiers`.

    Raises:
        ConfigError: sizes that cannot be used, or a bundle's decisions are missing.
        TraceError: nothing is read where it counts.
    """
    check_sizes(ts, hierarchies, ram_pages, ssd_pages)
    rows, baselines = list[Judged](), dict[str, Judged]()
    done = 0
    for text in dict.fromkeys(own.ram for own in hierarchies):
        alone = parse_hierarchy(text)
        advance(done, text)
        l1 = alone.ram_policy(decisions).simulate(ts.stream, ram_pages)
        baselines[text] = judge(ts, run_tiers(alone, ts, ram_pages, 0, l1), terms)
        done += 1
        for own in hierarchies:
            if own.ram != text:
                continue
            advance(done, str(own))
            if own.kind == "ram":
                rows.append(baselines[text])
            else:
                run = run_tiers(own, ts, ram_pages, ssd_pages, l1, decisions=decisions)
                rows.append(judge(ts, run, terms))
            done += 1
    advance(done)
    return Contest(sorted(rows, key=lambda row: row.tiered.amat_us), baselines, terms)


def steps(hierarchies: Sequence[Hierarchy]) -> int:
    """Units of progress of `contest`."""
    return len(hierarchies) + len({own.ram for own in hierarchies})
