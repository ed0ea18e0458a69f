"""What a budget buys: it is spent, never exceeded, and never on pages that there are none of."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.sizing.points import (
    LEAST_RAM,
    Point,
    Unit,
    affordable,
    all_cost,
    between,
    cost,
    least_cost,
    ram_sizes,
    rungs,
)

UNIT = Unit.of_gb(3.0, 0.15)
TEXTS = ("lru", "hca", "arc | rejectx+lru", "promotion: lru | s3fifo", "l2arc")


@given(st.sampled_from(TEXTS), st.integers(20, 10_000), st.floats(1e-4, 1.5), st.floats(0.1, 50), st.floats(0.01, 50))
def test_points_cost_at_most_the_budget_and_spend_it(text, n_pages, share, ram_gb, ssd_gb):
    hierarchy, unit = parse_hierarchy(text), Unit.of_gb(ram_gb, ssd_gb)
    budget = share * all_cost(n_pages, unit)
    for point in affordable(hierarchy, budget, unit, n_pages, ram_sizes(n_pages)):
        spent = cost(point, hierarchy.buffer_bytes, unit)
        assert spent <= budget * (1 + 1e-6)
        assert 1 <= point.ram_pages <= n_pages and (0 if hierarchy.kind == "ram" else 1) <= point.ssd_pages <= n_pages
        full = point.ssd_pages == n_pages or (hierarchy.kind == "ram" and point.ram_pages == n_pages)
        page = unit.ram if hierarchy.kind == "ram" else unit.ssd
        assert full or spent >= budget - 4096 * page * 1.001


def test_with_money_for_an_ssd_for_all_pages_the_rest_is_spent_on_ram():
    budget = 0.5 * all_cost(10_000, UNIT)
    points = affordable(parse_hierarchy("lru | lru"), budget, UNIT, 10_000, [16])
    assert [(one.ram_pages, one.ssd_pages) for one in points] == [(16, 10_000), (4500, 10_000)]


def test_the_transient_buffer_is_paid_for_as_ram():
    assert cost(Point("hca", 1, 0), 65536, UNIT) == pytest.approx(17 * 4096 * 3e-9)
    assert affordable(parse_hierarchy("hca"), 16 * 4096 * 3e-9, UNIT, 100, [1]) == []


def test_ram_alone_gets_all_the_money():
    (point,) = affordable(parse_hierarchy("arc"), 1000 * 4096 * 3e-9, UNIT, 5000, [16, 32])
    assert point == Point("arc", 1000, 0)


def test_sizes_of_ram_double_or_rise_by_parts_of_a_doubling():
    sizes = ram_sizes(1 << 16)
    assert sizes[0] == LEAST_RAM and sizes[-1] == 1 << 16
    assert all(b == 2 * a for a, b in pairwise(sizes))
    assert set(sizes) <= set(ram_sizes(1 << 16, 4)) and len(ram_sizes(1 << 16, 4)) == 4 * (len(sizes) - 1) + 1
    assert ram_sizes(5) == [5]


def test_a_sum_between_the_least_ram_and_its_double_buys_an_ssd_too():
    n_pages, most = 7344, 28  # doublings down from all pages go past 16: 57, 29, 14
    points = affordable(parse_hierarchy("lru | lru"), most * 4096 * UNIT.ram, UNIT, n_pages, ram_sizes(n_pages))
    assert [(point.ram_pages, point.ssd_pages) for point in points] == [(LEAST_RAM, (most - LEAST_RAM) * 20)]


@pytest.mark.parametrize("text", ["hca", "lru | lru", "promotion: lru | s3fifo", "l2arc"])
@pytest.mark.parametrize("dear", [0.5, 20.0, 1e6])
def test_from_the_least_cost_on_every_sum_buys_each_tier(text, dear):
    hierarchy, unit, n_pages = parse_hierarchy(text), Unit.of_gb(0.15 * dear, 0.15), 7344
    least = least_cost([hierarchy], unit)
    for budget in (least, 1.5 * least, least + 5.3 * 4096 * unit.ram):
        points = affordable(hierarchy, budget, unit, n_pages, ram_sizes(n_pages))
        assert points
        for point in points:
            assert min(point.ram_pages, point.ssd_pages) >= 1
            assert cost(point, hierarchy.buffer_bytes, unit) <= budget * (1 + 1e-9)
    assert affordable(hierarchy, 0.999 * least, unit, n_pages, ram_sizes(n_pages)) == []


def test_where_no_size_of_ram_fits_the_most_that_leaves_a_page_of_ssd_is_tried():
    budget = 10.4 * 4096 * UNIT.ram  # of RAM for ten pages and eight pages of SSD; the sizes begin at 16
    points = affordable(parse_hierarchy("lru | lru"), budget, UNIT, 7344, ram_sizes(7344))
    assert points == [Point("lru | lru", 10, 8)]


def test_sums_fall_by_a_factor_from_the_highest():
    assert rungs(1.0, 8.0, 2.0) == [1.0, 2.0, 4.0, 8.0]
    assert rungs(1.1, 8.0, 2.0) == [2.0, 4.0, 8.0]


def test_beside_a_size_lie_parts_of_a_doubling():
    assert between(Point("x", 100, 5), 2, 10_000) == [71, 141]
    assert between(Point("x", 100, 5), 2, 120) == [71]


def test_the_smallest_hierarchy_is_a_page_in_each_tier():
    both = [parse_hierarchy("hca"), parse_hierarchy("lru | lru")]
    assert least_cost(both, UNIT) == pytest.approx(4096 * 3.15e-9)
