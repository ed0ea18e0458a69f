"""What a budget buys: it is spent, never exceeded, and never on pages that there are none of."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.questions.tiers.budget import LEAST_RAM, Market, Point, nearby, ram_sizes, rungs
from cachezoo.questions.tiers.hierarchy import parse_hierarchy

PAGE = 4096
RAM, SSD = (price * PAGE / 1e9 for price in (3.0, 0.15))
TEXTS = ("lru", "hca", "arc | rejectx+lru", "promotion: lru | s3fifo", "l2arc")
PAIR = parse_hierarchy("lru | lru")


def market(pages: int = 10_000, least: int = 1, ram: float = 3.0, ssd: float = 0.15) -> Market:
    return Market(ram * PAGE / 1e9, ssd * PAGE / 1e9, pages, least)


@given(st.sampled_from(TEXTS), st.integers(20, 10_000), st.floats(1e-4, 1.5), st.floats(0.1, 50), st.floats(0.01, 50))
def test_points_cost_at_most_the_budget_and_spend_it(text, n_pages, share, ram_gb, ssd_gb):
    hierarchy, own = parse_hierarchy(text), market(n_pages, 1, ram_gb, ssd_gb)
    budget = own.usd(share)
    for point in own.line(hierarchy, budget, ram_sizes(n_pages)):
        spent = own.cost(point)
        assert spent <= budget * (1 + 1e-6)
        assert 1 <= point.ram_pages <= n_pages and (0 if hierarchy.kind == "ram" else 1) <= point.ssd_pages <= n_pages
        full = point.ssd_pages == n_pages or (hierarchy.kind == "ram" and point.ram_pages == n_pages)
        assert full or spent >= budget - (own.ram if hierarchy.kind == "ram" else own.ssd) * 1.001


@pytest.mark.parametrize("text", ["lru", "hca", "lru | fifo", "hcalfu | tb=64K | lru", "promotion: lru | fifo"])
@pytest.mark.parametrize("split", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_split_spends_all_money_and_no_more(text, split, share):
    own = market(1000, 4)
    found = own.split(parse_hierarchy(text), own.usd(share), split)
    assert own.usd(share) - own.ram - own.ssd < own.cost(found) <= own.usd(share) + 1e-12
    assert own.usd(share) == pytest.approx(share * 1000 * PAGE / 1e9 * 3.0)


def test_a_split_buys_no_ssd_for_more_pages_than_there_are_and_ram_for_the_rest():
    own = market(1000, 4)
    found = own.split(PAIR, own.usd(0.5), 0.1)
    assert (found.ram_pages, found.ssd_pages) == (int(own.usd(0.5) / own.ram - 1000 * own.ssd / own.ram), 1000)


@pytest.mark.parametrize(
    ("text", "share", "split"),
    [("lru", 0.05, 0.5), ("lru | lru", 0.1, 0.5), ("lru | tb=1M | lru", 0.3, 0.9)],  # of which a buffer has 256 pages
)
def test_a_split_into_too_little_of_a_tier_is_not_bought(text, share, split):
    own = market(1000, 64)
    assert own.split(parse_hierarchy(text), own.usd(share), split) is None
    assert market(1000, 4).split(PAIR, own.usd(0.1), 0.5) is not None


def test_with_money_for_an_ssd_for_all_pages_the_rest_is_spent_on_ram():
    points = market().line(PAIR, market().usd(0.5), [16])
    assert [(one.ram_pages, one.ssd_pages) for one in points] == [(16, 10_000), (4500, 10_000)]


def test_the_transient_buffer_is_paid_for_as_ram():
    hca = parse_hierarchy("hca")
    assert market().cost(Point(hca, 1, 0)) == pytest.approx(17 * RAM)
    assert market(100).line(hca, 16 * RAM, [1]) == []


def test_ram_alone_gets_all_the_money():
    arc = parse_hierarchy("arc")
    assert market(5000).line(arc, 1000 * RAM, [16, 32]) == [Point(arc, 1000, 0)]


def test_sizes_of_ram_double_or_rise_by_parts_of_a_doubling():
    sizes = ram_sizes(1 << 16)
    assert sizes[0] == LEAST_RAM and sizes[-1] == 1 << 16
    assert all(b == 2 * a for a, b in pairwise(sizes))
    assert set(sizes) <= set(ram_sizes(1 << 16, 4)) and len(ram_sizes(1 << 16, 4)) == 4 * (len(sizes) - 1) + 1
    assert ram_sizes(5) == [5]


def test_a_sum_between_the_least_ram_and_its_double_buys_an_ssd_too():
    n_pages, most = 7344, 28  # doublings down from all pages go past 16: 57, 29, 14
    points = market(n_pages).line(PAIR, most * RAM, ram_sizes(n_pages))
    assert [(point.ram_pages, point.ssd_pages) for point in points] == [(LEAST_RAM, (most - LEAST_RAM) * 20)]


@pytest.mark.parametrize("text", ["hca", "lru | lru", "promotion: lru | s3fifo", "l2arc"])
@pytest.mark.parametrize("dear", [0.5, 20.0, 1e6])
def test_from_the_least_cost_on_every_sum_buys_each_tier(text, dear):
    hierarchy, own = parse_hierarchy(text), market(7344, 1, 0.15 * dear)
    least = own.least_cost([hierarchy])
    for budget in (least, 1.5 * least, least + 5.3 * own.ram):
        points = own.line(hierarchy, budget, ram_sizes(own.pages))
        assert points
        for point in points:
            assert min(point.ram_pages, point.ssd_pages) >= 1
            assert own.cost(point) <= budget * (1 + 1e-9)
    assert own.line(hierarchy, 0.999 * least, ram_sizes(own.pages)) == []


def test_where_no_size_of_ram_fits_the_most_that_leaves_a_page_of_ssd_is_tried():
    # RAM for ten pages and eight pages of SSD; the sizes begin at 16
    assert market(7344).line(PAIR, 10.4 * RAM, ram_sizes(7344)) == [Point(PAIR, 10, 8)]


def test_sums_fall_by_a_factor_from_the_highest():
    assert rungs(1.0, 8.0, 2.0) == [1.0, 2.0, 4.0, 8.0]
    assert rungs(1.1, 8.0, 2.0) == [2.0, 4.0, 8.0]


def test_near_a_size_are_parts_of_a_doubling():
    assert nearby(100, 2, 10_000) == [71, 141]
    assert nearby(100, 2, 120) == [71]


def test_the_smallest_hierarchy_is_a_page_in_each_tier():
    assert market().least_cost([parse_hierarchy("hca"), PAIR]) == pytest.approx(RAM + SSD)
