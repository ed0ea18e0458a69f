"""The advice: what to buy, what less or more money brings, and what others would do for the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cachezoo.arrays import F64
from cachezoo.questions.page.sizes import knee
from cachezoo.questions.tiers.bench import Bench, Scored
from cachezoo.questions.tiers.budget import ROUNDING, Point, rungs
from cachezoo.questions.tiers.options import HCA, L2ARC, SizeOptions
from cachezoo.questions.tiers.response import Tiered
from cachezoo.questions.tiers.search import Found, Halves, Ledger, Search, digest, runner
from cachezoo.questions.tiers.stream import TierStream, tier_stream
from cachezoo.settings.device import AnalyticDevice
from cachezoo.settings.prices import Prices
from cachezoo.traces.table import Trace

Why = Literal["budget", "enough", "everything", "knee", "whole", "reached", "unreachable", "needless"]
LOWEST = 1 / 1024
"""Of what RAM for all pages costs, the least sum that is looked at."""
DOUBLING = 2.0
LESS = 0.8
"""Of what the answer costs, the sum that the next-best may cost."""
ENOUGH = 0.01
"""Of the mean time or of all reads: what the rest of a budget has to bring to be spent."""
HALVINGS = 4
"""Times that the sum between two is halved to reach an aim: to a 23rd of the lower one."""


@dataclass(frozen=True)
class Offer:
    """Something that can be bought."""

    budget: float  # dollars that it is the best for; of others at the answer's price, that
    found: Found  # the point, with what chose it
    scored: Scored  # what it does on the half that chose nothing

    @property
    def point(self) -> Point:
        """Hierarchy and sizes."""
        return self.found.point

    @property
    def cost(self) -> float:
        """Dollars."""
        return self.found.cost

    @property
    def amat_us(self) -> float:
        """Mean time of a page read."""
        return self.scored.tiered.amat_us

    @property
    def served(self) -> float:
        """Part of the page reads that RAM and SSD serve."""
        return 1 - self.scored.tiered.dhr

    def values(self, scale: float) -> dict[str, Any]:
        """As JSON values; all dollars of what the trace stands for, by so many bytes for each of its own."""
        return {
            **self.scored.sizes(),
            "budget_usd": self.budget,
            "cost_usd": self.cost,
            "chosen_amat_us": self.found.amat_us,
            **self.scored.figures(scale),
        }


@dataclass(frozen=True)
class Advice:
    """What to buy, and why."""

    name: str  # of the trace
    options: SizeOptions
    prices: Prices
    stream: TierStream  # the trace
    first: int  # page access from which on the second half counts
    scale: float  # bytes that a byte of it stands for
    answer: Offer  # what to buy; where the disk alone reaches the aim, the least that was tried
    why: Why
    budget: float | None  # dollars that might have been spent; None without a budget
    everything: float  # dollars that RAM for all pages costs
    next_best: Offer | None  # the best other hierarchy for the same sum; None without one
    less: Offer | None  # the best for a fifth less than the answer; None where nothing is sold for that
    others: tuple[Offer, ...]  # RAM alone, HCA and L2ARC for the same sum, as far as tried and not the answer
    front: tuple[Offer, ...]  # the best of rising sums, by cost: what is beaten in cost and time is left out
    alone: tuple[Offer, ...]  # the best RAM alone of the same sums
    disk: Tiered  # without a cache
    counts: tuple[int, int]  # points simulated on the sample, and with all pages
    rate: float  # part of the pages that the sample has
    off: tuple[float, float]  # of points simulated both ways, error of the sample's reads from the disk: mean, most

    def values(self) -> dict[str, Any]:
        """As JSON values, units in the keys; sentences are added by who prints them."""
        several = {"others": self.others, "front": self.front, "ram_alone": self.alone}
        return {
            "trace": self.name,
            "why": self.why,
            "answer": self.answer.values(self.scale),
            "next_best": self.next_best.values(self.scale) if self.next_best else None,
            "less": self.less.values(self.scale) if self.less else None,
            **{key: [offer.values(self.scale) for offer in offers] for key, offers in several.items()},
            "budget_usd": self.budget,
            "everything_in_ram_usd": self.everything,
            "disk_alone_amat_us": self.disk.amat_us,
            "disk_alone_no_wait_us": self.disk.alone_us,
            "page_accesses": len(self.stream),
            "distinct_pages": self.stream.pages.n_pages,
            "scale": self.scale,
            "prices": self.prices.model_dump(mode="json"),
            "sampled": self.rate,
            "points_sampled": self.counts[0],
            "points_in_full": self.counts[1],
            "sample_off_mean": self.off[0],
            "sample_off_most": self.off[1],
        }


class Advisor:
    """A trace with what was found out of it at some prices."""

    def __init__(self, options: SizeOptions, search: Search) -> None:
        """Take a search."""
        self.options, self.search = options, search
        self._scored = dict[Point, Scored]()
        self.everything = search.market.everything
        least = max(self.everything * LOWEST, search.market.least_cost(search.hierarchies))
        self.most = max(self.everything, least)  # of few pages a transient buffer may be the dearer
        self.sums = rungs(least, self.most, DOUBLING)

    def offer(self, budget: float, found: Found) -> Offer:
        """A point that is judged, now or before."""
        return self.offers([(budget, found)])[0]

    def offers(self, wanted: Sequence[tuple[float, Found]]) -> list[Offer]:
        """Points that are judged, now or before."""
        new = [found.point for _, found in wanted if found.point not in self._scored]
        if new:
            self._scored |= self.search.score(new)
        return [Offer(budget, found, self._scored[found.point]) for budget, found in wanted]

    def best(self, budget: float, kind: str | None = None) -> Found | None:
        """The best that a sum buys; of a kind of hierarchy the best estimate, which may not be simulated in full."""
        known = self.search.best(budget, self.options.by, estimated=kind is not None)
        return next((one for one in known if kind in (None, one.point.hierarchy.kind)), None)

    def at_sums(self, kind: str | None = None) -> list[Offer]:
        """The best of each sum."""
        found = ((budget, self.best(budget, kind)) for budget in self.sums)
        return self.offers([(budget, one) for budget, one in found if one is not None])

    def spend(self, budget: float, ladder: Sequence[Offer]) -> tuple[Offer, Why]:
        """What to buy for at most a sum: the best, or a lesser sum's where the half that judges finds it as good.

        More money may do worse on that half, as it chose nothing. So what is enough is compared with the best of all
        sums within the budget, of the rising `ladder`, not with what the whole budget buys.
        """
        paid = min(budget, self.most)
        self.search.survey([LESS * paid, paid], self.options.by, closely=[paid])
        best = self.offer(paid, self.search.best(paid, self.options.by)[0])
        cheaper = self.best(LESS * paid)
        fifth_less = [self.offer(LESS * paid, cheaper)] if cheaper else []
        within = [*(one for one in ladder if one.budget <= paid * (1 + ROUNDING)), *fifth_less, best]
        enough = self._least(min(map(self._merit, within)))
        good = sorted((one for one in within if self._merit(one) <= enough), key=lambda one: one.cost)
        spent = best in good and good[0].cost >= LESS * budget
        if budget >= self.most:
            return best if spent else good[0], "everything"
        return (best, "budget") if spent else (good[0], "enough")

    def _merit(self, offer: Offer) -> float:
        return offer.amat_us if self.options.by == "amat" else 1 - offer.served

    def _least(self, merit: float) -> float:
        """The worst merit that is about as good as this one."""
        return merit + (ENOUGH if self.options.by == "disk" else ENOUGH * merit)

    def reach(self, offers: Sequence[Offer]) -> tuple[Offer, Why]:
        """The cheapest that reaches the aim on the half that judges; else the cheapest that comes as near as any."""
        place = next((k for k, one in enumerate(offers) if self._meets(one)), None)
        if place is None:
            near = self._least(min(map(self._merit, offers)))
            return next(one for one in offers if self._merit(one) <= near), "unreachable"
        if place == 0:
            return offers[0], "reached"
        low, high = offers[place - 1].budget, offers[place].budget
        found = offers[place]
        for _ in range(HALVINGS):
            middle = (low * high) ** 0.5
            self.search.survey([middle], self.options.by, closely=[middle])
            own = self.offer(middle, self.search.best(middle, self.options.by)[0])
            if self._meets(own):
                high, found = middle, own
            else:
                low = middle
        return found, "reached"

    def _meets(self, offer: Offer) -> bool:
        if self.options.ms is not None:
            return offer.amat_us <= 1e3 * self.options.ms
        return self.options.hit is not None and offer.served >= self.options.hit

    def bend(self, offers: Sequence[Offer]) -> tuple[Offer, Why]:
        """The knee of the front: where a further dollar brings less than half of what the average dollar does."""
        slowest = max(one.found.amat_us for one in offers)
        costs = [max(1, round(1e9 * one.cost / self.everything)) for one in offers]
        place = knee(costs, [1 - one.found.amat_us / slowest for one in offers])
        return offers[place], "knee" if place < len(offers) - 1 else "whole"


def advise(
    name: str, trace: Trace, device: AnalyticDevice, prices: Prices, options: SizeOptions, *, workers: int = 2,
    resume: Path | None = None,
) -> Advice:  # fmt: skip
    """Search what to buy for a trace, with so many processes; `resume` is the file of points that are done.

    Raises:
        CachezooError: a budget or a working set that cannot be; a trace that reads nothing; a file of something else.
    """
    stream = tier_stream(trace)
    market = options.market(prices, stream.pages.n_pages)
    budget = options.dollars(market)
    halves = Halves.of(Bench.of(name, stream, device, prices))
    ledger = Ledger(resume, {"trace": digest(trace), "device": device.model_dump(mode="json")})
    with runner(halves, workers) as run:
        return _advice(Advisor(options, Search(run, ledger, market, options.hierarchies)), halves, budget)


def _advice(advisor: Advisor, halves: Halves, budget: float | None) -> Advice:
    search, options, judges = advisor.search, advisor.options, halves.judges
    search.survey(advisor.sums, options.by)
    ladder = advisor.at_sums()
    disk = judges.no_cache()
    answer, why = _answer(advisor, ladder, budget, disk.amat_us)
    paid = answer.cost
    search.survey([paid, LESS * paid], options.by, closely=[paid])
    cheaper = advisor.best(LESS * paid)
    less = advisor.offer(LESS * paid, cheaper) if cheaper else None
    second, others = _same_sum(advisor, answer)
    bought = {one.point: one for one in [*ladder, answer, *([less] if less else [])]}
    rising = sorted(bought.values(), key=lambda one: one.cost)
    kept = front([one.cost for one in rising], [one.amat_us for one in rising])
    off = [abs(one.sampled.dhr - one.full.dhr) for one in search.found() if one.sampled and one.full]
    return Advice(
        name=judges.key,
        options=options,
        prices=judges.prices,
        stream=judges.ts,
        first=judges.first,
        scale=options.scale(judges.footprint),
        answer=answer,
        why=why,
        budget=budget,
        everything=advisor.everything,
        next_best=second,
        less=less,
        others=others,
        front=tuple(rising[place] for place in kept),
        alone=tuple(advisor.at_sums("ram")),
        disk=disk,
        counts=search.counts,
        rate=halves.miniature.rate,
        off=(sum(off) / len(off), max(off)),
    )


def _answer(advisor: Advisor, ladder: Sequence[Offer], budget: float | None, disk_us: float) -> tuple[Offer, Why]:
    """What to buy, and why that; where the disk alone reaches the aim, the least of all."""
    if budget is not None:
        return advisor.spend(budget, ladder)
    if advisor.options.ms is not None and disk_us <= 1e3 * advisor.options.ms:
        return ladder[0], "needless"
    if advisor.options.hit is not None or advisor.options.ms is not None:
        return advisor.reach(ladder)
    bent, why = advisor.bend(ladder)
    advisor.search.survey([bent.budget], advisor.options.by, closely=[bent.budget])
    return advisor.offer(bent.budget, advisor.search.best(bent.budget, advisor.options.by)[0]), why


def _same_sum(advisor: Advisor, answer: Offer) -> tuple[Offer | None, tuple[Offer, ...]]:
    """For the same sum: the best other hierarchy, and RAM alone, HCA and L2ARC where they are not the answer."""
    search, paid, by = advisor.search, answer.cost, advisor.options.by
    alone = advisor.best(paid, "ram")
    wanted = {HCA, L2ARC, *([alone.point.hierarchy] if alone else [])} - {answer.point.hierarchy}
    search.confirm([one.point for one in search.best(paid, by, estimated=True) if one.point.hierarchy in wanted])
    full = [one for one in search.best(paid, by) if one.point.hierarchy != answer.point.hierarchy]
    others = advisor.offers([(paid, one) for one in full if one.point.hierarchy in wanted])
    return (advisor.offer(paid, full[0]) if full else None), tuple(others)


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
