"""Which sum is enough, of sums whose times on the half that judges are known."""

from types import SimpleNamespace

import pytest

from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.sizing.advice import LESS, Advisor
from cachezoo.questions.tiers.sizing.asked import Asked
from cachezoo.questions.tiers.sizing.points import Point, Unit
from cachezoo.questions.tiers.sizing.search import Found

PAGES = 4096
UNIT = Unit.of_gb(3.0, 0.15)


class Known:
    """A search, and what runs its points, whose best point of a sum takes a time known by the part of all pages."""

    n_pages = PAGES

    def __init__(self, times: dict[float, float]) -> None:
        self.hierarchies = {"lru": parse_hierarchy("lru")}
        self.times = times

    def survey(self, *_, **__) -> None:
        """Nothing: all is known."""

    def best(self, budget: float, *_, **__) -> list[Found]:
        pages = round(budget / UNIT.ram / 4096)
        return [Found(Point("lru", pages, 0), budget, None, None, 40.0)]

    def judged(self, points):
        """By the time of the nearest part."""
        return {one: self._one(min(self.times, key=lambda part: abs(part - one.ram_pages / PAGES))) for one in points}

    def _one(self, part: float):
        return SimpleNamespace(tiered=SimpleNamespace(amat_us=self.times[part], dhr=self.times[part] / 1000))


def spent(times: dict[float, float], part: float, **asked):
    known = Known(times)
    advisor = Advisor(Asked(**asked), known, known, UNIT)
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
