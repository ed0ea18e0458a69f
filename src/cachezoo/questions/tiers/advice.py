"""The advice: what to buy for a sum a month, or nothing; and whether it holds where prices differ.

The first half of the trace chooses, by the front of mean time over money a month. The second judges: what was chosen
stands only as far as it is better there than what is cheaper, by the gate of all comparisons
(`cachezoo.contest.verdict`), and nothing that is shown is both cheaper and faster. The disk alone is always a rival.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cachezoo.arrays import F64
from cachezoo.contest.choice import Goal
from cachezoo.contest.lead import Lead
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.errors import ConfigError
from cachezoo.questions.page.sizes import knee
from cachezoo.questions.tiers.bench import NOTHING, Bench, Scored
from cachezoo.questions.tiers.budget import ROUNDING, Money, Point, rungs
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.options import SizeOptions
from cachezoo.questions.tiers.purchase import Bought, Shop
from cachezoo.questions.tiers.search import MOST_LOAD, Found, Halves, Ledger, Search, Simulated, digest, runner
from cachezoo.settings.device import AnalyticDevice
from cachezoo.settings.prices import Prices
from cachezoo.sizes import PAGE_BYTES, human
from cachezoo.traces.sampling import SampledTrace
from cachezoo.traces.table import Trace

Why = Literal["sum", "enough", "knee", "whole", "reached", "unreachable", "needless", "nothing", "idle"]
DOUBLING = 2.0
HALVINGS = 4
"""Times that the sum between two is halved to reach an aim: to a 23rd of the lower one."""
PRICED = {"half the price of RAM": (0.5, 1.0), "double the price of RAM": (2.0, 1.0),
          "half the price of SSD": (1.0, 0.5), "double the price of SSD": (1.0, 2.0)}  # fmt: skip
"""Where the advice is asked for again: times the prices of RAM and of SSD."""


@dataclass(frozen=True, eq=False)
class Offer:
    """Something that can be bought, or nothing."""

    found: Found  # the point, with what chose it
    scored: Scored  # what it does on the half that chose nothing
    bought: Bought  # what it takes, by what it writes there
    load: float | None  # part of the trace's time that its SSD works there; None without a clock

    @property
    def point(self) -> Point:
        """Hierarchy and sizes."""
        return self.found.point

    @property
    def nothing(self) -> bool:
        """Whether it is the disk alone."""
        return self.point == NOTHING

    @property
    def month(self) -> float:
        """Dollars a month."""
        return self.bought.month_usd

    @property
    def amat_us(self) -> float:
        """Mean time of a page read."""
        return self.scored.mean

    @property
    def served(self) -> float:
        """Part of the page reads that RAM and SSD serve."""
        return 1 - self.scored.tiered.dhr

    @property
    def able(self) -> bool:
        """Whether its SSD lasts as long as asked and can do the load."""
        return self.bought.lasts and (self.load is None or self.load <= MOST_LOAD)

    def over(self, rival: "Offer") -> Lead:
        """The share of a rival's mean time that it saves."""
        return self.scored.lead(rival.scored, Goal.COST)

    def values(self) -> dict[str, Any]:
        """As JSON values; all dollars and bytes bought are of what the trace stands for."""
        return {
            **self.scored.sizes(),
            "nothing": self.nothing,
            "chosen_amat_us": self.found.amat_us,
            "interval_us": self.scored.interval,
            **({"errors_90": self.scored.errors} if self.scored.errors else {}),
            "able": self.able,
            "ssd_load": self.load,
            "response": self.scored.tiered.values(),
            "wear": self.scored.wear.values(),
            "cost": self.bought.values(),
        }


@dataclass(frozen=True)
class Advice:
    """What to buy, and why."""

    name: str  # of the trace
    options: SizeOptions
    shop: Shop
    bench: Bench  # the trace, of which the second half counts
    answer: Offer
    why: Why
    chosen: Offer  # what the first half chose; the answer unless the second finds less as good
    nothing: Offer  # the disk alone
    all_ram: Offer  # RAM alone for all pages
    ram_alone: Offer | None  # the best RAM alone for what the choice costs a month; None where that buys none
    ssd: Offer | None  # the fastest with an SSD that can be had for what RAM for all pages costs, else the cheapest
    next_best: Offer | None  # the best other hierarchy for the same sum; None without one
    front: tuple[Offer, ...]  # the best of sums that double, by money: what is beaten in money and time is left out
    elsewhere: dict[str, Offer]  # the answer where prices differ, by how
    waits: float | None  # of the trace's time, the part waited for page reads without a cache; None without a clock
    counts: tuple[int, int]  # points simulated on the sample, and with all pages
    rate: float  # part of the pages that the sample has
    off: tuple[float, float]  # of points simulated both ways, error of the sample's reads from the disk: mean, most

    @property
    def prices(self) -> Prices:
        """The price list."""
        return self.shop.prices

    @property
    def scale(self) -> float:
        """Bytes that a byte of the trace stands for."""
        return self.shop.scale

    @cached_property
    def rows(self) -> tuple[Offer, ...]:
        """What is shown, each once, by money: the disk alone and RAM alone among it."""
        some = (self.nothing, self.all_ram, self.ram_alone, self.ssd, self.answer, self.chosen, *self.front)
        every = {one.point: one for one in some if one is not None}
        return tuple(sorted(every.values(), key=lambda one: (one.month, one.amat_us, one.point.key)))

    @property
    def moved(self) -> dict[str, Offer]:
        """Prices at which something else is advised: with an SSD or without, or twice or half as much room."""
        return {name: one for name, one in self.elsewhere.items() if not alike(one.point, self.answer.point)}

    def values(self) -> dict[str, Any]:
        """As JSON values, units in the keys; sentences are added by who prints them."""
        several = {"rows": self.rows, "front": self.front}
        single = ("answer", "chosen", "nothing", "all_ram", "ram_alone", "ssd", "next_best")
        offers = {name: getattr(self, name) for name in single}
        lead = self.chosen.over(self.nothing)
        return {
            "trace": self.name,
            "why": self.why,
            **{name: one.values() if one else None for name, one in offers.items()},
            **{key: [offer.values() for offer in found] for key, found in several.items()},
            "chosen_over_nothing": {**lead.values(), "verdict": verdict(lead, LEAST_SAVING)},
            "elsewhere": {name: one.values() for name, one in self.elsewhere.items()},
            "holds": not self.moved,
            "waits": self.waits,
            "recorded_days": self.bench.days,
            "page_accesses": self.bench.accesses,
            "distinct_pages": self.bench.footprint,
            "scale": self.scale,
            "prices": self.prices.model_dump(mode="json"),
            "lifetime_years": self.shop.terms.lifetime_years,
            "parts": self.shop.terms.parts,
            "sampled": self.rate,
            "points_sampled": self.counts[0],
            "points_in_full": self.counts[1],
            "sample_off_mean": self.off[0],
            "sample_off_most": self.off[1],
            **({} if self.bench.sample is None else {"trace_sampled": self.bench.rate}),
        }


def alike(one: Point, other: Point) -> bool:
    """Whether two points are about the same purchase: of the same tiers, and within a doubling of the room."""
    small, large = sorted(own.ram_pages + own.ssd_pages for own in (one, other))
    return bool(one.ssd_pages) == bool(other.ssd_pages) and (large < DOUBLING * small or large == small)


def better(one: Offer, other: Offer) -> bool:
    """Whether the time that one saves of another's is worth having; of too short a trace, as far as it is seen."""
    lead = one.over(other)
    found = verdict(lead, LEAST_SAVING)
    return found == Verdict.BETTER or (found == Verdict.SHORT and lead.value >= LEAST_SAVING)


def settle(chosen: Offer, rows: Sequence[Offer]) -> Offer:
    """The cheapest of the rows that the chosen one is no better than; none that is left is cheaper and faster.

    Args:
        chosen: by the half that judges nothing.
        rows: all that is shown; those whose SSD cannot do the load, or does not last, are passed over.
    """
    able = [one for one in rows if one.able]
    cheaper = sorted((one for one in able if one.month < chosen.month), key=lambda one: (one.month, one.amat_us))
    answer = next((one for one in cheaper if not better(chosen, one)), chosen)
    beaten = [one for one in able if one.month <= answer.month and one.amat_us < answer.amat_us]
    return min(beaten, key=lambda one: (one.amat_us, one.month), default=answer)


class Advisor:
    """A trace with what was found out of it, at some prices."""

    def __init__(self, options: SizeOptions, search: Search, scored: dict[Point, Scored]) -> None:
        """Take a search, and what was judged already, at whatever prices."""
        self.options, self.search, self._scored = options, search, scored
        self._judges = search.simulated.halves.judges
        search.simulated.confirm([NOTHING])
        known = {one.point: one for one in search.simulated.found()}
        every = [one for point, one in known.items() if point.ram_pages >= search.shop.pages and not point.ssd_pages]
        whole = min(every, key=lambda one: (search.month(one), one.point.key))
        self.nothing, self.all_ram = self.offers([known[NOTHING], whole])
        least = min((search.month(one) for one in known.values() if one.point != NOTHING), default=self.all_ram.month)
        self.sums = rungs(least, self.all_ram.month, DOUBLING)
        self.most = options.budget.amount if options.budget and not options.budget.monthly else float("inf")
        search.survey(self.sums, options.by, most=self.most)

    def offers(self, wanted: Sequence[Found]) -> list[Offer]:
        """Points that are judged, now or before."""
        new = [found.point for found in wanted if found.point not in self._scored]
        if new:
            self._scored |= self.search.simulated.score(new)
        return [self._offer(found) for found in wanted]

    def _offer(self, found: Found) -> Offer:
        scored, bench = self._scored[found.point], self._judges
        bought = self.search.shop.buy(found.point, bench.written_a_day(scored.tiered))
        return Offer(found, scored, bought, bench.load(scored.tiered.ssd_busy, scored.tiered))

    def best(self, month: float, kind: str | None = None) -> Offer | None:
        """The best that a sum a month buys, of a kind of hierarchy the best estimate; None where it buys nothing."""
        known = self.search.best(month, self.options.by, estimated=kind is not None, most=self.most)
        found = next((one for one in known if kind in (None, one.point.hierarchy.kind) and one.point != NOTHING), None)
        return None if found is None else self.offers([found])[0]

    @cached_property
    def ladder(self) -> list[Offer]:
        """The best of each sum that can be had, by money, the disk alone first."""
        found = [one for month in self.sums if (one := self.best(month)) is not None]
        every = {one.point: one for one in found if one.able}
        return [self.nothing, *sorted(every.values(), key=lambda one: (one.month, one.amat_us))]

    def closely(self, month: float) -> Offer | None:
        """As `best`, with every hierarchy simulated in full that may be the best."""
        self.search.survey([month], self.options.by, closely=[month], most=self.most)
        return self.best(month)

    def choose(self) -> tuple[Offer, Why]:
        """What the first half chooses, and by which aim."""
        budget, options = self.options.budget, self.options
        if budget is not None:
            month = budget.amount if budget.monthly else self.all_ram.month
            found = self.closely(min(month, self.all_ram.month))
            within = [
                one for one in [*self.ladder, *([found] if found and found.able else [])] if self._within(one, budget)
            ]
            return min(within, key=lambda one: (self._chose(one), one.month)), "sum"
        if options.ms is not None or options.hit is not None:
            return self._reach()
        costs = [max(1, round(1e9 * one.month / self.all_ram.month)) for one in self.ladder[1:]]
        slowest = self.nothing.found.amat_us
        place = knee(costs, [max(0.0, 1 - one.found.amat_us / slowest) for one in self.ladder[1:]]) if costs else -1
        found = self.closely(self.ladder[1 + place].month)
        own = found if found is not None and found.able else self.ladder[1 + place]
        return own, "knee" if place < len(costs) - 1 else "whole"

    def decide(self) -> tuple[Offer, Offer, Why]:
        """The answer, what the first half chose, and why."""
        chosen, why = self.choose()
        extra = (self.all_ram, self.best(chosen.month, "ram"), self.fastest_ssd(), chosen)
        rows = [one for one in [*self.ladder, *extra] if one is not None and self._allowed(one)]
        answer = self._of(rows, chosen, why)
        known = {one.point for one in rows}
        while (second := self.second(answer)) is not None and second.point not in known and self._allowed(second):
            known.add(second.point)
            rows.append(second)
            answer = self._of(rows, chosen, why)
        if why in ("needless", "reached", "unreachable"):
            return answer, chosen, why
        if answer.nothing:
            return answer, chosen, "nothing"
        if why in ("knee", "whole") and self._idle(answer):
            return self.nothing, chosen, "idle"
        return answer, chosen, "enough" if answer is not chosen and why == "sum" else why

    def _of(self, rows: Sequence[Offer], chosen: Offer, why: Why) -> Offer:
        """The cheapest of some rows that meets the aim, or as `settle`."""
        if why not in ("needless", "reached"):
            return settle(chosen, rows)
        return min((one for one in rows if self._meets(one)), key=lambda one: (one.month, one.amat_us))

    def fastest_ssd(self) -> Offer | None:
        """With an SSD: the best for what RAM for all pages costs, or the cheapest where that buys none."""
        found = [one for one in self.search.simulated.found() if one.point.ssd_pages]
        if not found:
            return None
        search = self.search
        within = [one for one in found if search.able(one) and search.month(one) <= self.all_ram.month]
        if within:
            return self.offers([min(within, key=lambda one: (one.merit(self.options.by), search.month(one)))])[0]
        least = min((not search.bought(one).lasts, search.month(one)) for one in found)
        near = [one for one in found if (not search.bought(one).lasts, search.month(one)) <= least]
        return self.offers([min(near, key=lambda one: (one.merit(self.options.by), one.point.key))])[0]

    def second(self, answer: Offer) -> Offer | None:
        """The best other hierarchy for the same sum, of those simulated in full."""
        if answer.nothing:
            return None
        known = self.search.best(answer.month, self.options.by, most=self.most)
        others = [one for one in known if one.point.hierarchy != answer.point.hierarchy and one.point != NOTHING]
        return self.offers(others[:1])[0] if others else None

    def _chose(self, offer: Offer) -> float:
        return offer.found.merit(self.options.by)

    def _within(self, offer: Offer, budget: Money) -> bool:
        spent = offer.month if budget.monthly else offer.bought.usd
        return spent <= budget.amount * (1 + ROUNDING)

    def _allowed(self, offer: Offer) -> bool:
        return self.options.budget is None or self._within(offer, self.options.budget)

    def _reach(self) -> tuple[Offer, Why]:
        """The cheapest that reaches the aim on the half that judges; else the fastest."""
        if self._meets(self.nothing):
            return self.nothing, "needless"
        rows = sorted([*self.ladder, self.all_ram], key=lambda one: one.month)
        place = next((k for k, one in enumerate(rows) if self._meets(one)), None)
        if place is None:
            return min(rows, key=lambda one: (self._chose(one), one.month)), "unreachable"
        low, high, found = max(rows[place - 1].month, self.sums[0] / DOUBLING), rows[place].month, rows[place]
        for _ in range(HALVINGS):
            middle = (low * high) ** 0.5
            own = self.closely(middle)
            if own is not None and own.able and self._meets(own) and own.month < found.month:
                high, found = own.month, own
            else:
                low = middle
        return found, "reached"

    def _meets(self, offer: Offer) -> bool:
        if not offer.able:
            return False
        if self.options.ms is not None:
            return offer.amat_us <= 1e3 * self.options.ms
        return self.options.hit is not None and offer.served >= self.options.hit

    def _idle(self, offer: Offer) -> bool:
        """Whether so little is waited for page reads that what is saved of that is not worth having."""
        waits = self._judges.waits(self.nothing.scored.tiered)
        return waits is not None and waits * offer.over(self.nothing).value < LEAST_SAVING


def advise(
    name: str, trace: Trace | SampledTrace, device: AnalyticDevice, prices: Prices, options: SizeOptions, *,
    workers: int = 2, resume: Path | None = None,
) -> Advice:  # fmt: skip
    """Search what to buy for a trace, or by a sample of it; `resume` is the file of points that are done.

    Raises:
        CachezooError: a sum or a working set that cannot be; a trace that reads nothing; a file of something else.
    """
    bench = Bench.of_trace(name, trace, device, prices)
    shop = options.shop(prices, bench.footprint)
    volume = bench.ts.span_pages * PAGE_BYTES * shop.scale
    if shop.scale > 1 and volume > device.hdd.capacity_bytes:
        raise ConfigError(
            f"--working-set {human(options.working_set or 0)}: the volumes of the trace then have {human(volume)}, and "
            f"the disk that times are modelled on {human(device.hdd.capacity_bytes)}; give less, or --device with a "
            "larger disk"
        )
    halves = Halves.of(bench)
    ledger = Ledger(resume, {"trace": digest(bench.ts.trace), "device": device.model_dump(mode="json")})
    with runner(halves, workers) as run:
        simulated, scored = Simulated(run, ledger), dict[Point, Scored]()

        # RAM alone is a rival of every hierarchy, so it is tried whatever is asked for.
        alone = (parse_hierarchy(own.ram) for own in options.hierarchies)
        hierarchies = tuple(dict.fromkeys((*options.hierarchies, *alone)))

        def at(own: Shop) -> Advisor:
            return Advisor(options, Search(simulated, own, hierarchies), scored)

        return _advice(at(shop), {how: at(shop.times(*factors)) for how, factors in PRICED.items()})


def _advice(advisor: Advisor, elsewhere: dict[str, Advisor]) -> Advice:
    search, judges = advisor.search, advisor.search.simulated.halves.judges
    answer, chosen, why = advisor.decide()
    ssd = advisor.fastest_ssd()
    rising = [one for one in advisor.ladder if one.able]
    kept = [rising[place] for place in front([one.month for one in rising], [one.amat_us for one in rising])]
    ram_alone = advisor.best(chosen.month, "ram")
    found = Advice(
        name=judges.key,
        options=advisor.options,
        shop=search.shop,
        bench=judges,
        answer=answer,
        why=why,
        chosen=chosen,
        nothing=advisor.nothing,
        all_ram=advisor.all_ram,
        ram_alone=ram_alone,
        ssd=ssd,
        next_best=advisor.second(answer),
        front=tuple(kept),
        elsewhere={how: own.decide()[0] for how, own in elsewhere.items()},
        waits=judges.waits(advisor.nothing.scored.tiered),
        counts=(0, 0),
        rate=search.simulated.halves.miniature.rate,
        off=(0.0, 0.0),
    )
    off = [abs(one.sampled.dhr - one.full.dhr) for one in search.simulated.found() if one.sampled and one.full]
    return replace(found, counts=search.simulated.counts, off=(sum(off) / len(off), max(off)))


def front(cost: Sequence[float] | F64, time: Sequence[float] | F64) -> list[int]:
    """Places of the points that are on the Pareto front of cost and time, by rising cost.

    Of points that cost the same and take as long, the first is taken; one whose time is no number is on no front.
    """
    best, found = float("inf"), []
    for place in np.lexsort((np.arange(len(cost)), np.asarray(time), np.asarray(cost))).tolist():
        if time[place] < best:
            best = float(time[place])
            found.append(place)
    return found
