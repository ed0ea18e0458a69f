"""Which sum is enough, of sums whose times on the half that judges are known; and the Pareto front."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.questions.tiers.advice import LESS, Advisor, front
from cachezoo.questions.tiers.budget import Market, Point
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.options import SizeOptions
from cachezoo.questions.tiers.search import Found

PAGES = 4096
LRU = parse_hierarchy("lru")
PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30)


class Known:
    """A search whose best point of a sum takes a time known by the part of all pages."""

    market = Market(3.0 * 4096 / 1e9, 0.15 * 4096 / 1e9, PAGES)
    hierarchies = (LRU,)

    def __init__(self, times: dict[float, float]) -> None:
        self.times = times

    def survey(self, *_, **__) -> None:
        """Nothing: all is known."""

    def best(self, budget: float, *_, **__) -> list[Found]:
        return [Found(Point(LRU, round(budget / self.market.ram), 0), budget, None, None, 40.0)]

    def score(self, points):
        """By the time of the nearest part."""
        return {one: self._one(min(self.times, key=lambda part: abs(part - one.ram_pages / PAGES))) for one in points}

    def _one(self, part: float):
        return SimpleNamespace(tiered=SimpleNamespace(amat_us=self.times[part], dhr=self.times[part] / 1000))


def spent(times: dict[float, float], part: float):
    advisor = Advisor(SizeOptions(), Known(times))
    return advisor.spend(part * advisor.everything, advisor.at_sums()), advisor


TURNED = {1: 141, 1 / 2: 116, 1 / 4: 141, 1 / 8: 200, 1 / 16: 300}


@pytest.mark.parametrize("part", [1, 1.05, 0.9, 0.7, 500])
def test_a_sum_is_not_enough_where_a_larger_one_within_the_budget_is_faster(part):
    (answer, why), advisor = spent({**TURNED, 0.9: 141, 0.7: 141}, part)
    assert answer.amat_us == 116 and answer.cost == pytest.approx(advisor.everything / 2)
    assert why == ("everything" if part >= 1 else "enough")


def test_a_larger_budget_never_gets_a_slower_answer_than_a_smaller_sum():
    times = [spent(TURNED, 2.0**-k)[0][0].amat_us for k in range(6)]
    assert times == sorted(times)


def test_what_a_fifth_less_buys_is_taken_where_it_is_faster():
    (answer, why), advisor = spent({1: 100, 0.75: 110, 0.75 * LESS: 90, 1 / 2: 95, 1 / 4: 200}, 0.75)
    assert answer.amat_us == 90 and why == "enough"
    assert answer.cost == pytest.approx(0.75 * LESS * advisor.everything)


def test_a_budget_that_brings_a_hundredth_is_spent():
    (answer, why), advisor = spent({1: 90, 0.9: 98, 1 / 2: 100, 1 / 4: 200}, 0.9)
    assert (answer.amat_us, why) == (98, "budget")
    assert answer.cost == pytest.approx(0.9 * advisor.everything)


def test_the_knee_is_that_of_time_over_money():
    """Hits rise with each sum, so that their curve bends at another one than that of times."""
    advisor = Advisor(SizeOptions(), Known({2.0**-k: 1.0 for k in range(6)}))
    times = {1 / 32: 1000, 1 / 16: 900, 1 / 8: 100, 1 / 4: 99, 1 / 2: 98, 1: 97}
    offers = [
        replace(one, found=replace(one.found, amat_us=time))
        for one, time in zip(advisor.at_sums()[-6:], times.values(), strict=True)
    ]
    bent, why = advisor.bend(offers)
    assert (bent.cost / advisor.everything, why) == (pytest.approx(1 / 8), "knee")
    even = [
        replace(one, found=replace(one.found, amat_us=1000 * (1 - one.cost / advisor.everything))) for one in offers
    ]
    assert advisor.bend(even) == (even[-1], "whole")


@given(PAIRS)
def test_the_front_is_what_no_other_point_beats(pairs):
    cost, time = zip(*pairs, strict=True)
    found = front(cost, time)
    for k, (own_cost, own_time) in enumerate(pairs):
        beaten = any(
            (c <= own_cost and t <= own_time) and (c < own_cost or t < own_time or place < k)
            for place, (c, t) in enumerate(pairs)
            if place != k
        )
        assert (k in found) == (not beaten)
    assert [cost[k] for k in found] == sorted(cost[k] for k in found)


def test_what_takes_no_time_that_is_known_is_on_no_front():
    assert front([1.0, 2.0], [float("nan"), 3.0]) == [1]
