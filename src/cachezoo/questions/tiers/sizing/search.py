"""The search: every point that a budget buys in miniature, and the best of them in full.

A point is a hierarchy with its sizes. All points of some budgets are simulated on a sample of the trace's pages, which
says where reads are served, and about how long the disk takes. The best few of each budget are then simulated with all
pages and replayed on the devices. As these say how far the sample is off, the others are ranked anew.

All of it looks at the first half of the trace alone: the second judges what was chosen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.questions.tiers.response import DRAM_US, Tiered
from cachezoo.questions.tiers.sizing.ledger import Ledger
from cachezoo.questions.tiers.sizing.miniature import Shares
from cachezoo.questions.tiers.sizing.points import Point, Unit, affordable, between, cost, ram_sizes
from cachezoo.questions.tiers.sizing.times import Times
from cachezoo.questions.tiers.sizing.work import Runner

By = Literal["amat", "disk"]
ANCHORS = 4
"""Points replayed first, to correct the sample by."""
FINE = (2, 4)
"""Parts of a doubling by which the RAM of the best points is varied, in turn."""
VARIED = 3
"""Hierarchies of a budget whose RAM is varied."""
ROUNDS = 8
"""Times that the best are confirmed at most: what is replayed says more of the others, and may put one first."""
TIE = 0.01
"""Part by which a point has to be told to be better than the best that was simulated in full, to be so too."""
RIVAL = 1.2
"""Times the least of all, up to which a hierarchy that was not yet simulated in full may be the best."""
SPENT = 0.9
"""Of a budget, what has to be spent."""
ROUNDING = 1e-9
"""Part of a budget by which rounding may exceed it."""


@dataclass(frozen=True)
class Found:
    """A point with what the half that chooses says of it.

    Attributes:
        point: the point.
        cost: dollars for RAM and SSD.
        sampled: where reads are served by the sample; None where only all pages were simulated.
        full: its figures by all pages; None where these were not simulated.
        amat_us: mean time of a page read: replayed, else told from the sample.
    """

    point: Point
    cost: float
    sampled: Shares | None
    full: Tiered | None
    amat_us: float

    @property
    def dhr(self) -> float:
        """Of the page reads, those that the disk serves."""
        known = self.full or self.sampled
        assert known is not None
        return known.dhr

    def merit(self, by: By) -> float:
        """What is to be small."""
        return self.amat_us if by == "amat" else self.dhr


class Search:
    """Points of a trace at some prices.

    Attributes:
        unit: what room costs.
        hierarchies: what is tried, by its text.
        n_pages: distinct pages of the trace.
    """

    def __init__(
        self, runner: Runner, ledger: Ledger, unit: Unit, hierarchies: Sequence[Hierarchy], n_pages: int
    ) -> None:
        """Start with nothing known but what the ledger has."""
        self.unit, self.n_pages = unit, n_pages
        self.hierarchies = {str(one): one for one in hierarchies}
        self._runner, self._ledger = runner, ledger
        self._sampled, self._full = dict[Point, Shares](), dict[Point, Tiered]()
        self._found: list[Found] | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """Points simulated on the sample, and with all pages."""
        return len(self._sampled), len(self._full)

    def line(self, budget: float, ram: Sequence[int]) -> list[Point]:
        """All hierarchies' points for a budget, with RAM of these sizes."""
        every = self.hierarchies.values()
        return [point for one in every for point in affordable(one, budget, self.unit, self.n_pages, ram)]

    def sample(self, points: Iterable[Point]) -> None:
        """Simulate on the sample what was not yet."""
        new = [point for point in dict.fromkeys(points) if point not in self._sampled]
        if new:
            found = self._runner.sampled(new)
            self._sampled |= {point: found[point] for point in new}  # in an order that no process decides
            self._found = None

    def confirm(self, points: Iterable[Point]) -> None:
        """Simulate with all pages and replay what was not yet, here or in the ledger."""
        wanted = [point for point in dict.fromkeys(points) if point not in self._full]
        known = {point: Tiered(**row) for point in wanted if (row := self._ledger.get(point)) is not None}
        if new := [point for point in wanted if point not in known]:
            known |= self._runner.in_full(new, lambda point, found: self._ledger.put(point, found.values()))
        self._full |= {point: known[point] for point in wanted}  # in an order that no process decides
        self._found = None

    def found(self) -> list[Found]:
        """What is known of all points; some have to be confirmed before."""
        if self._found is None:
            points = list(self._sampled)
            told = dict(zip(points, self._times().amat_us(points, list(self._sampled.values())), strict=True))
            self._found = [self._one(point, told.get(point)) for point in dict.fromkeys([*points, *self._full])]
        return self._found

    def _times(self) -> Times:
        both = [point for point in self._full if point in self._sampled]
        return Times.of(both, [self._sampled[point] for point in both], [self._full[point] for point in both])

    def _one(self, point: Point, told: float | None) -> Found:
        full = self._full.get(point)
        amat = full.amat_us if full else told
        assert amat is not None
        return Found(point, self.cost(point), self._sampled.get(point), full, amat)

    def cost(self, point: Point) -> float:
        """Dollars for its RAM and SSD."""
        return cost(point, self.hierarchies[point.hierarchy].buffer_bytes, self.unit)

    def best(self, budget: float, by: By = "amat", *, told: bool = False) -> list[Found]:
        """The best points that a budget buys, by rising merit: of each hierarchy its best.

        The budget is spent: in the half that chooses, room for pages that only come later cannot show its worth.

        Args:
            budget: dollars.
            by: what is to be small.
            told: take in points that were simulated on the sample alone.
        """
        within = [one for one in self.found() if (told or one.full) and one.cost <= budget * (1 + ROUNDING)]
        within = [one for one in within if one.cost >= SPENT * budget] or within
        chosen = dict[str, Found]()
        for one in sorted(within, key=lambda one: (one.merit(by), one.cost, one.point)):
            chosen.setdefault(one.point.hierarchy, one)
        return list(chosen.values())

    def survey(self, budgets: Sequence[float], by: By = "amat", closely: Sequence[float] = ()) -> None:
        """Search some budgets: at the end no point of any is told to be clearly better than one simulated in full.

        Args:
            budgets: dollars.
            by: what is to be small.
            closely: those of them at which every hierarchy that may be the best is simulated with all pages.
        """
        sizes = ram_sizes(self.n_pages)
        self.sample(point for budget in budgets for point in self.line(budget, sizes))
        if not any(point in self._sampled for point in self._full):
            self._anchor()
        self.confirm([one.point for budget in closely for one in self._rivals(budget, by)])
        for around in FINE:
            self.sample([point for budget in budgets for point in self._varied(budget, by, around)])
        for _ in range(ROUNDS):
            better = [one.point for budget in budgets for one in self._better(budget, by)]
            if not better:
                return
            self.confirm(better)

    def exhaust(self, budgets: Sequence[float], steps: int) -> None:
        """Simulate every point of some budgets with all pages: what `survey` is held against.

        Args:
            budgets: dollars.
            steps: RAM sizes between a size and its double.
        """
        sizes = ram_sizes(self.n_pages, steps)
        self.confirm([point for budget in budgets for point in self.line(budget, sizes)])

    def _anchor(self) -> None:
        """Replay points whose reads from the disk take differently long."""
        points = sorted(self._sampled, key=lambda point: (self._sampled[point].disk_us, point))
        told = np.array([self._sampled[point].disk_us for point in points])
        wanted = np.geomspace(max(told[0], DRAM_US), max(told[-1], DRAM_US), ANCHORS)
        self.confirm(points[min(int(np.searchsorted(told, time)), len(points) - 1)] for time in wanted)

    def _better(self, budget: float, by: By) -> list[Found]:
        """The best point of a budget as it is told, where it is clearly better than what was simulated in full."""
        told, known = self.best(budget, by, told=True), self.best(budget, by)
        if not told:  # the budget buys nothing
            return []
        first = told[0]
        near = known and known[0].cost >= SPENT * budget and (1 - TIE) * known[0].merit(by) <= first.merit(by)
        return [] if first.full or near else [first]

    def _rivals(self, budget: float, by: By) -> list[Found]:
        """The best points of hierarchies that may be the best of all."""
        found = self.best(budget, by, told=True)
        return [one for one in found if one.merit(by) <= RIVAL * found[0].merit(by)]

    def _varied(self, budget: float, by: By, around: int) -> list[Point]:
        """The best points of a budget with somewhat less and more RAM."""
        points = list[Point]()
        for one in self.best(budget, by, told=True)[:VARIED]:
            sizes = between(one.point, around, self.n_pages)
            points += affordable(self.hierarchies[one.point.hierarchy], budget, self.unit, self.n_pages, sizes)
        return points
