"""The whole advice: what to buy, what less or more money brings, and what others would do for the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cachezoo.questions.page.sizes import knee
from cachezoo.questions.tiers.front import front
from cachezoo.questions.tiers.judged import Judged
from cachezoo.questions.tiers.sizing.asked import Asked
from cachezoo.questions.tiers.sizing.candidates import HCA, L2ARC
from cachezoo.questions.tiers.sizing.ledger import Ledger, digest
from cachezoo.questions.tiers.sizing.miniature import Miniature
from cachezoo.questions.tiers.sizing.points import Point, Unit, all_cost, least_cost, rungs
from cachezoo.questions.tiers.sizing.search import ROUNDING, Found, Search
from cachezoo.questions.tiers.sizing.whole import Whole
from cachezoo.questions.tiers.sizing.work import Runner, Task, runner
from cachezoo.questions.tiers.stream import TierStream, tier_stream
from cachezoo.settings.device import AnalyticDevice
from cachezoo.settings.prices import Prices
from cachezoo.show.formats import ordinary
from cachezoo.traces.table import Trace

Why = Literal["budget", "enough", "everything", "knee", "whole", "reached", "unreachable", "needless"]
LOWEST = 1 / 1024
"""Of what RAM for all pages costs, the least sum that is looked at."""
DOUBLING = 2.0
LESS = 0.8
"""Of what the answer costs, the sum that the next-best may cost."""
ENOUGH = 0.01
"""Of the mean time or of all reads: what the rest of a budget has to bring to be spent."""
MOST_ACCESSES = 30_000
"""Page accesses of the half that chooses above which points are simulated on a sample first."""
HALVINGS = 4
"""Times that the sum between two is halved to reach an aim: to a 23rd of the lower one."""
RISE = 2 ** (1 / 16)


@dataclass(frozen=True)
class Offer:
    """Something that can be bought.

    Attributes:
        budget: dollars that it is the best for; of others at the answer's price, that.
        found: the point, with what chose it.
        judged: what it does on the half that chose nothing.
    """

    budget: float
    found: Found
    judged: Judged

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
        return self.judged.tiered.amat_us

    @property
    def served(self) -> float:
        """Part of the page reads that RAM and SSD serve."""
        return 1 - self.judged.tiered.dhr

    def values(self, scale: float) -> dict[str, Any]:
        """As JSON values; all dollars of what the trace stands for.

        Args:
            scale: bytes that a byte of the trace stands for; its own costs are multiplied by it.
        """
        judged = self.judged
        cost = {key: scale * value if key.endswith("usd") else value for key, value in judged.cost.values().items()}
        return {
            "hierarchy": self.point.hierarchy,
            "ram_pages": self.point.ram_pages,
            "buffer_bytes": judged.hierarchy.buffer_bytes,
            "ssd_pages": self.point.ssd_pages,
            "budget_usd": self.budget,
            "cost_usd": self.cost,
            "chosen_amat_us": self.found.amat_us,
            "response": judged.tiered.values(),
            "wear": judged.worn.values(),
            "cost": cost,
        }


@dataclass(frozen=True)
class Advice:
    """What came of it.

    Attributes:
        name: of the trace.
        asked: as given.
        prices: by which.
        stream: the trace.
        first: page access from which on the second half counts.
        scale: bytes that a byte of it stands for.
        answer: what to buy; where the disk alone reaches the aim, the least that was tried.
        why: of that.
        budget: dollars that might have been spent; None without a budget.
        everything: dollars that RAM for all pages costs.
        next_best: the best other hierarchy for the same sum; None without one.
        less: the best for a fifth less than the answer; None where nothing is sold for that.
        others: RAM alone, HCA and L2ARC for the same sum, as far as they are tried and not the answer.
        front: the best of rising sums, by cost: what is beaten in cost and time is left out.
        alone: the best RAM alone of the same sums.
        disk_us: mean time of a page read without a cache.
        counts: points simulated on the sample, and with all pages.
        rate: part of the pages that the sample has.
        off: of the points simulated both ways, how far the sample's part of reads from the disk is off: mean, most.
    """

    name: str
    asked: Asked
    prices: Prices
    stream: TierStream
    first: int
    scale: float
    answer: Offer
    why: Why
    budget: float | None
    everything: float
    next_best: Offer | None
    less: Offer | None
    others: tuple[Offer, ...]
    front: tuple[Offer, ...]
    alone: tuple[Offer, ...]
    disk_us: float
    counts: tuple[int, int]
    rate: float
    off: tuple[float, float]

    def values(self) -> dict[str, Any]:
        """As JSON values, units in the keys."""
        from cachezoo.questions.tiers.sizing import words

        several = {"others": self.others, "front": self.front, "ram_alone": self.alone}
        return {
            "trace": self.name,
            "advice": ordinary(words.headline(self)),
            "why": self.why,
            "answer": self.answer.values(self.scale),
            "next_best": self.next_best.values(self.scale) if self.next_best else None,
            "less": self.less.values(self.scale) if self.less else None,
            **{key: [offer.values(self.scale) for offer in offers] for key, offers in several.items()},
            "budget_usd": self.budget,
            "everything_in_ram_usd": self.everything,
            "disk_alone_amat_us": self.disk_us,
            "page_accesses": len(self.stream),
            "distinct_pages": self.stream.pages.n_pages,
            "scale": self.scale,
            "prices": self.prices.model_dump(mode="json"),
            "sampled": self.rate,
            "points_sampled": self.counts[0],
            "points_in_full": self.counts[1],
            "sample_off_mean": self.off[0],
            "sample_off_most": self.off[1],
            "next": words.command(self),
            "next_leaves_out": words.left_out(self),
        }


class Advisor:
    """A trace with what was found out of it at some prices."""

    def __init__(self, asked: Asked, search: Search, run: Runner, unit: Unit) -> None:
        """Take a search."""
        self.asked, self.search, self.unit = asked, search, unit
        self._run = run
        self._judged = dict[Point, Judged]()
        self.everything = all_cost(search.n_pages, unit)
        least = max(self.everything * LOWEST, least_cost(tuple(search.hierarchies.values()), unit))
        self.most = max(self.everything, least)  # of few pages a transient buffer may be the dearer
        self.sums = rungs(least, self.most, DOUBLING)

    def offer(self, budget: float, found: Found) -> Offer:
        """A point that is judged, now or before."""
        return self.offers([(budget, found)])[0]

    def offers(self, wanted: Sequence[tuple[float, Found]]) -> list[Offer]:
        """Points that are judged, now or before."""
        new = [found.point for _, found in wanted if found.point not in self._judged]
        if new:
            self._judged |= self._run.judged(list(dict.fromkeys(new)))
        return [Offer(budget, found, self._judged[found.point]) for budget, found in wanted]

    def best(self, budget: float, kind: str | None = None) -> Found | None:
        """The best that a sum buys.

        Args:
            budget: dollars.
            kind: of the hierarchy; None for any. Of a kind it is the best as told, which may not be simulated in full.
        """
        kinds = {text: one.kind for text, one in self.search.hierarchies.items()}
        known = self.search.best(budget, self.asked.by, told=kind is not None)
        return next((one for one in known if kind in (None, kinds[one.point.hierarchy])), None)

    def at_sums(self, kind: str | None = None) -> list[Offer]:
        """The best of each sum."""
        found = ((budget, self.best(budget, kind)) for budget in self.sums)
        return self.offers([(budget, one) for budget, one in found if one is not None])

    def spend(self, budget: float, ladder: Sequence[Offer]) -> tuple[Offer, Why]:
        """What to buy for at most a sum: the best, or a lesser sum's where the half that judges finds it as good.

        More money may do worse on that half, as it chose nothing. So what is enough is held against the best of all
        sums within the budget, not against what the whole budget buys.

        Args:
            budget: dollars.
            ladder: the best of the sums, rising.
        """
        paid = min(budget, self.most)
        self.search.survey([LESS * paid, paid], self.asked.by, closely=[paid])
        best = self.offer(paid, self.search.best(paid, self.asked.by)[0])
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
        return offer.amat_us if self.asked.by == "amat" else 1 - offer.served

    def _least(self, merit: float) -> float:
        """The worst merit that is about as good as this one."""
        return merit + (ENOUGH if self.asked.by == "disk" else ENOUGH * merit)

    def reach(self, offers: Sequence[Offer]) -> tuple[Offer, Why]:
        """The cheapest that reaches the aim on the half that judges; else the cheapest that comes as near as any.

        Args:
            offers: the best of the sums, rising.
        """
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
            self.search.survey([middle], self.asked.by, closely=[middle])
            own = self.offer(middle, self.search.best(middle, self.asked.by)[0])
            if self._meets(own):
                high, found = middle, own
            else:
                low = middle
        return found, "reached"

    def _meets(self, offer: Offer) -> bool:
        if self.asked.ms is not None:
            return offer.amat_us <= 1e3 * self.asked.ms
        return self.asked.hit is not None and offer.served >= self.asked.hit

    def bend(self, offers: Sequence[Offer]) -> tuple[Offer, Why]:
        """The knee of the front: where a further dollar brings less than half of what the average dollar does."""
        slowest = max(one.found.amat_us for one in offers)
        costs = [max(1, round(1e9 * one.cost / self.everything)) for one in offers]
        place = knee(costs, [1 - one.found.amat_us / slowest for one in offers])
        return offers[place], "knee" if place < len(offers) - 1 else "whole"


def advise(
    name: str, trace: Trace, device: AnalyticDevice, prices: Prices, asked: Asked, *, workers: int = 2,
    resume: Path | None = None,
) -> Advice:  # fmt: skip
    """Search what to buy for a trace.

    Args:
        name: of the trace, for people.
        trace: the requests.
        device: models of the disk and the SSD.
        prices: of RAM, SSD and disk.
        asked: the aim, and assumptions.
        workers: processes.
        resume: file of points that are done; None keeps none.

    Raises:
        CachezooError: a budget or a working set that cannot be; a trace that reads nothing; a file of something else.
    """
    stream = tier_stream(trace)
    n_pages = stream.pages.n_pages
    unit = asked.unit(prices, n_pages)
    budget = asked.dollars(unit, n_pages)
    whole = Whole.of(stream, device, prices)
    task = Task(name, Miniature.of(whole.head, whole.first, device.hdd, MOST_ACCESSES), whole)
    ledger = Ledger(resume, {"trace": digest(trace), "device": device.model_dump(mode="json")})
    with runner(task, workers) as run:
        advisor = Advisor(asked, Search(run, ledger, unit, asked.hierarchies, n_pages), run, unit)
        return _advice(advisor, task, prices, budget, asked.scale(n_pages))


def _advice(advisor: Advisor, task: Task, prices: Prices, budget: float | None, scale: float) -> Advice:
    search, asked = advisor.search, advisor.asked
    search.survey(advisor.sums, asked.by)
    ladder = advisor.at_sums()
    disk_us = task.whole.disk_alone_us()
    answer, why = _answer(advisor, ladder, budget, disk_us)
    paid = answer.cost
    search.survey([paid, LESS * paid], asked.by, closely=[paid])
    cheaper = advisor.best(LESS * paid)
    less = advisor.offer(LESS * paid, cheaper) if cheaper else None
    second, others = _beside(advisor, answer)
    bought = {one.point: one for one in [*ladder, answer, *([less] if less else [])]}
    rising = sorted(bought.values(), key=lambda one: one.cost)
    kept = front([one.cost for one in rising], [one.amat_us for one in rising])
    off = [abs(one.sampled.dhr - one.full.dhr) for one in search.found() if one.sampled and one.full]
    return Advice(
        name=task.name,
        asked=asked,
        prices=prices,
        stream=task.whole.stream,
        first=task.whole.terms.first,
        scale=scale,
        answer=answer,
        why=why,
        budget=budget,
        everything=advisor.everything,
        next_best=second,
        less=less,
        others=others,
        front=tuple(rising[place] for place in kept),
        alone=tuple(advisor.at_sums("ram")),
        disk_us=disk_us,
        counts=search.counts,
        rate=task.miniature.rate,
        off=(sum(off) / len(off), max(off)),
    )


def _answer(advisor: Advisor, ladder: Sequence[Offer], budget: float | None, disk_us: float) -> tuple[Offer, Why]:
    """What to buy, and why that; where the disk alone reaches the aim, the least of all."""
    if budget is not None:
        return advisor.spend(budget, ladder)
    if advisor.asked.ms is not None and disk_us <= 1e3 * advisor.asked.ms:
        return ladder[0], "needless"
    if advisor.asked.hit is not None or advisor.asked.ms is not None:
        return advisor.reach(ladder)
    bent, why = advisor.bend(ladder)
    advisor.search.survey([bent.budget], advisor.asked.by, closely=[bent.budget])
    return advisor.offer(bent.budget, advisor.search.best(bent.budget, advisor.asked.by)[0]), why


def _beside(advisor: Advisor, answer: Offer) -> tuple[Offer | None, tuple[Offer, ...]]:
    """For the same sum: the best other hierarchy, and RAM alone, HCA and L2ARC where they are not the answer."""
    search, paid, by = advisor.search, answer.cost, advisor.asked.by
    alone = advisor.best(paid, "ram")
    wanted = {HCA, L2ARC, *([alone.point.hierarchy] if alone else [])} - {answer.point.hierarchy}
    search.confirm([one.point for one in search.best(paid, by, told=True) if one.point.hierarchy in wanted])
    full = [one for one in search.best(paid, by) if one.point.hierarchy != answer.point.hierarchy]
    others = advisor.offers([(paid, one) for one in full if one.point.hierarchy in wanted])
    return (advisor.offer(paid, full[0]) if full else None), tuple(others)
