"""What has to be bought, by hand; and that money is the sum of its parts, scales with prices, and buys what lasts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.budget import GB, Point
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.prices import HOURS_A_MONTH
from cachezoo.questions.tiers.purchase import GIB, Rating, Shop, Terms
from cachezoo.settings.prices import BUILT_IN, Prices
from tests.unit.questions.tiers.test_prices import SIMPLE

PAGE = 4096
PRICES = Prices.model_validate(SIMPLE)
LRU, PAIR, HCA = map(parse_hierarchy, ("lru", "lru | lru", "hca"))
MANY = 1 << 30  # pages: 4 TiB


def shop(pages=MANY, scale=1.0, prices=PRICES, **terms) -> Shop:
    return Shop(prices, Terms(**terms), pages, scale)


def sized(hierarchy, ram_bytes, ssd_bytes=0.0) -> Point:
    return Point(hierarchy, int(ram_bytes // PAGE), int(ssd_bytes // PAGE))


def test_a_module_and_a_drive_are_bought_whole():
    found = shop().buy(sized(PAIR, 5 * GIB, 90 * GB), 0.0)
    assert (found.ram.count, found.ram.each_bytes) == (1, 8 * GIB)
    assert (found.ssd.kind, found.ssd.count, found.ssd.each_bytes) == ("plain", 1, 100 * GB)
    ram_usd = 8 * GIB / GB * 4
    assert (found.ram_usd, found.usd) == pytest.approx((ram_usd, ram_usd + 50))
    assert found.purchase_month_usd == pytest.approx((ram_usd + 50) / 60)
    assert found.power_month_usd == pytest.approx(8 * GIB / GB * 0.5 / 1000 * HOURS_A_MONTH * 2 * 0.1)
    assert (found.wear_month_usd, found.ssd_years, found.lasts) == (0, math.inf, True)


def test_parts_are_paid_to_the_byte():
    found = shop(parts=True, lifetime_years=1).buy(sized(PAIR, GIB, 10 * GB), 0.0)
    assert found.purchase_month_usd == pytest.approx((GIB / GB * 4 + 10 * 0.5) / 12, rel=1e-6)


@pytest.mark.parametrize(
    ("a_day_gb", "kind", "each_gb"),
    [
        (79, "plain", 100),  # a drive write a day over four years for five: 80 GB a day
        (81, "plain", 200),  # a larger one lasts twice as long, and is cheaper than the lasting one
        (161, "lasting", 100),
    ],
)
def test_the_cheapest_drive_is_bought_that_lasts(a_day_gb, kind, each_gb):
    found = shop().buy(sized(PAIR, GIB, 50 * GB), a_day_gb * GB)
    assert (found.ssd.kind, found.ssd.each_bytes, found.lasts) == (kind, each_gb * GB, True)
    assert found.wear_month_usd == 0 and found.ssd_years >= 5


def test_where_none_lasts_it_is_replaced_as_it_wears_out():
    found = shop().buy(sized(PAIR, GIB, 50 * GB), 8000 * GB)
    assert not found.lasts and found.ssd_years == pytest.approx(0.5)
    assert (found.ssd.kind, found.ssd.usd) == ("lasting", pytest.approx(150))
    assert found.wear_month_usd == pytest.approx(150 * 9 / 60)  # ten in five years, of which one is the purchase


@pytest.mark.parametrize(
    ("rating", "years"),
    [(Rating(kind="plain"), 4), (Rating(dwpd=2.5), 10), (Rating(tbw=36.525), 1)],
    ids=str,
)
def test_a_rating_given_is_the_drives(rating, years):
    found = shop(rating=rating).buy(sized(PAIR, GIB, 150 * GB), 100 * GB)
    assert found.ssd_years == pytest.approx(years * (2 if rating.tbw is None else 1))


def test_without_a_clock_no_ssd_is_known_to_last_and_ram_needs_none():
    assert shop().buy(sized(PAIR, GIB, GB), None).lasts is False
    assert shop().buy(sized(LRU, GIB), None).lasts is True


def test_nothing_costs_nothing():
    found = shop().buy(Point(LRU, 0, 0), None)
    assert (found.ram, found.ssd, found.usd, found.month_usd, found.lasts) == (None, None, 0, 0, True)


def test_more_than_the_largest_is_many_of_it():
    found = shop().buy(sized(PAIR, 20 * GIB, 500 * GB), 0.0)
    assert (found.ram.count, found.ram.each_bytes) == (3, 8 * GIB)
    assert (found.ssd.count, found.ssd.each_bytes) == (3, 200 * GB)


def test_sizes_end_with_the_first_that_has_room_for_all():
    own = shop(pages=30 * GIB // PAGE)
    assert [size * PAGE // GIB for size in own.ram_sizes()] == [4, 8, 16, 32]
    assert shop(pages=100).ram_sizes() == [4 * GIB // PAGE]
    assert shop(pages=100, parts=True).ram_sizes() == [16, 25, 50, 100]


def test_a_buffer_is_part_of_the_modules_and_no_ssd_is_behind_ram_for_all():
    own = shop(pages=6 * GIB // PAGE)
    points = list(own.points([HCA, LRU], own.ram_sizes(), own.ssd_sizes()))
    ram = {point.ram_pages for point in points if point.hierarchy == HCA}
    assert ram == {4 * GIB // PAGE - 16}
    assert {point.ram_pages for point in points if point.hierarchy == LRU} == {4 * GIB // PAGE, 6 * GIB // PAGE}
    assert all(own.buy(point, 0.0).ram.count == 1 for point in points)


def test_a_scaled_trace_buys_as_much_more_and_lives_as_much_longer():
    """Bytes a day are the same: time is scaled as the bytes are."""
    small, large = (
        shop(scale=scale, parts=True, rating=Rating(kind="plain")).buy(sized(PAIR, GIB, GB), 10 * GB)
        for scale in (1, 1000)
    )
    assert (large.usd, large.ssd_years) == pytest.approx((1000 * small.usd, 1000 * small.ssd_years))


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ({"rating": Rating(kind="gold")}, "--endurance gold: simple has plain, lasting; or give a rating"),
        ({"rating": Rating(tbw=600.0), "parts": True}, "--endurance 600TBW: how much of it a part of a drive has"),
    ],
)
def test_terms_that_cannot_be_are_refused(terms, says):
    with pytest.raises(ConfigError, match=says):
        shop(**terms)


BOUGHT = st.tuples(
    st.sampled_from([LRU, PAIR, HCA]), st.floats(1e5, 1e12), st.floats(1e5, 1e13), st.none() | st.floats(0, 1e15),
    st.booleans(), st.floats(0.1, 20),
)  # fmt: skip


def bought(prices, case, factor=1.0):
    hierarchy, ram, ssd, written, parts, years = case
    own = shop(prices=prices, parts=parts, lifetime_years=years).times(factor, factor, factor)
    return own.buy(sized(hierarchy, ram, ssd if hierarchy.has_ssd else 0), written)


@given(BOUGHT)
def test_a_month_is_the_sum_of_its_parts_and_what_lasts_has_no_wear(case):
    found = bought(BUILT_IN, case)
    assert found.month_usd == found.purchase_month_usd + found.wear_month_usd + found.power_month_usd
    assert found.purchase_month_usd == pytest.approx(found.usd / (12 * found.lifetime_years))
    assert min(found.purchase_month_usd, found.wear_month_usd, found.power_month_usd) >= 0
    assert not found.lasts or found.ssd is None or found.ssd_years >= found.lifetime_years
    assert not found.lasts or found.wear_month_usd == 0
    assert found.ram.bytes >= case[1] - PAGE and (found.ssd is None or found.ssd.bytes >= (case[2] - PAGE) * (1 - 1e-9))


@given(BOUGHT)
def test_double_prices_are_double_the_money_for_the_same(case):
    one, two = bought(BUILT_IN, case), bought(BUILT_IN, case, 2.0)
    assert two.month_usd == pytest.approx(2 * one.month_usd)
    assert (one.ram, one.lasts) == (two.ram, two.lasts)
    assert one.ssd is None or (one.ssd.kind, one.ssd.bytes) == (two.ssd.kind, two.ssd.bytes)
