"""The choices of validation on a test trace: figures with intervals, and what each saves against the others."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from cachezoo.contest.lead import mean_of
from cachezoo.questions.tiers.bench import Bench
from cachezoo.questions.tiers.choose import Choice, sized
from cachezoo.questions.tiers.columns import Saved, TiersRow, TiersTrace
from cachezoo.questions.tiers.judged import Judged, judge_response, lead
from cachezoo.questions.tiers.money import Bought
from cachezoo.settings.prices import Prices
from cachezoo.traces.table import PAGE_BYTES


@dataclass(frozen=True)
class Ran:
    """A choice on a test trace.

    Attributes:
        bought: what was chosen.
        judged: its response times, the wear of its SSD, and its cost.
    """

    bought: Bought
    judged: Judged

    def saved(self, rival: "Ran") -> Saved:
        """How much shorter page reads are than a rival's."""
        own, other = self.judged.tiered, rival.judged.tiered
        return Saved(
            share=1 - own.amat_us / other.amat_us,
            interval=lead(self.judged, rival.judged).ends,
            alone_share=1 - own.alone_us / other.alone_us,
        )


def judge(bench: Bench, made: Mapping[float, Mapping[str, Choice]], prices: Prices) -> TiersTrace:
    """Run every family's choice at every budget.

    Args:
        bench: the test trace.
        made: choices by share and family.
        prices: of the media and of power.
    """
    rows = []
    for share, own in made.items():
        ran = {name: _ran(bench, choice.bought, prices) for name, choice in own.items()}
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


def _ran(bench: Bench, bought: Bought, prices: Prices) -> Ran:
    found = bench.replay(bought)
    return Ran(bought, judge_response(found, prices))


def _row(share: float, family: str, ran: Mapping[str, Ran]) -> TiersRow:
    own = ran[family]
    figures, wear, price = own.judged.tiered, own.judged.worn, own.judged.cost
    return TiersRow(
        **sized(own.bought),
        budget=share,
        family=family,
        amat_us=figures.amat_us,
        amat_interval=mean_of(own.judged.blocks_us, figures.amat_us).ends,
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
