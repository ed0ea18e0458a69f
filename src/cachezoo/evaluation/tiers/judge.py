"""The choices of validation on a test trace: figures with intervals, and what each saves against the others."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.evaluation.tiers.bench import Bench
from cachezoo.evaluation.tiers.choose import Choice, sized
from cachezoo.evaluation.tiers.money import Bought
from cachezoo.measures.bootstrap import interval
from cachezoo.metrics.tiers import Saved, TiersRow, TiersTrace
from cachezoo.settings.prices import Prices
from cachezoo.tiers.judged import Judged, judge_response
from cachezoo.traces.table import PAGE_BYTES

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Draws:
    """How intervals are made: the same blocks of time are drawn for all, so that differences are paired.

    Attributes:
        blocks: of time, with equally many page reads.
        samples: resamples.
        seed: of the draws.
    """

    blocks: int
    samples: int
    seed: int

    def means(self, values: F64) -> F64:
        """float64[samples]: means of resampled blocks.

        Args:
            values: float64[blocks].
        """
        drawn = np.random.default_rng(self.seed).integers(0, self.blocks, (self.samples, self.blocks))
        found: F64 = values[drawn].mean(axis=1)
        return found


@dataclass(frozen=True)
class Ran:
    """A choice on a test trace.

    Attributes:
        bought: what was chosen.
        judged: its response times, the wear of its SSD, and its cost.
        means_us: float64[samples] resampled mean times of a page read.
    """

    bought: Bought
    judged: Judged
    means_us: F64

    def saved(self, rival: "Ran") -> Saved:
        """How much shorter page reads are than a rival's."""
        own, other = self.judged.tiered, rival.judged.tiered
        return Saved(
            share=1 - own.amat_us / other.amat_us,
            interval=interval(1 - self.means_us / rival.means_us),
            alone_share=1 - own.alone_us / other.alone_us,
        )


def judge(bench: Bench, made: Mapping[float, Mapping[str, Choice]], prices: Prices, draws: Draws) -> TiersTrace:
    """Run every family's choice at every budget.

    Args:
        bench: the test trace.
        made: choices by share and family.
        prices: of the media and of power.
        draws: of intervals.
    """
    rows = []
    for share, own in made.items():
        ran = {name: _ran(bench, choice.bought, prices, draws) for name, choice in own.items()}
        rows += [_row(share, name, ran) for name in ran]
    return TiersTrace(
        role="test",
        footprint_bytes=bench.footprint * PAGE_BYTES,
        disk_bytes=bench.ts.span_pages * PAGE_BYTES,
        reads=bench.reads,
        loop=bench.loop,
        depth=bench.depth,
        rows=rows,
    )


def _ran(bench: Bench, bought: Bought, prices: Prices, draws: Draws) -> Ran:
    found = bench.replay(bought)
    return Ran(bought, judge_response(found, prices), draws.means(found.blocks(draws.blocks)))


def _row(share: float, family: str, ran: Mapping[str, Ran]) -> TiersRow:
    own = ran[family]
    figures, wear, price = own.judged.tiered, own.judged.worn, own.judged.cost
    return TiersRow(
        **sized(own.bought),
        budget=share,
        family=family,
        amat_us=figures.amat_us,
        amat_interval=interval(own.means_us),
        alone_us=figures.alone_us,
        rhr=figures.rhr,
        shr=figures.shr,
        dhr=figures.dhr,
        p50_us=figures.p50_us,
        p95_us=figures.p95_us,
        p99_us=figures.p99_us,
        iops=figures.iops,
        disk_busy=figures.disk_busy,
        ssd_writes=figures.ssd_written,
        waf=wear.waf if own.bought.ssd_pages else None,
        ssd_years=wear.years if wear.years is not None and math.isfinite(wear.years) else None,
        usd_month=price.month_usd,
        usd_per_io=own.judged.usd_per_io,
        saved={name: own.saved(rival) for name, rival in ran.items() if name != family},
    )
