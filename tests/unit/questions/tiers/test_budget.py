"""What a budget buys: it is spent, never exceeded, and never on pages that there are none of."""

import pytest

from cachezoo.questions.tiers.budget import Market, nearby, rungs
from cachezoo.questions.tiers.hierarchy import parse_hierarchy

PAGE = 4096
RAM, SSD = (price * PAGE / 1e9 for price in (3.0, 0.15))
TEXTS = ("lru", "hca", "arc | rejectx+lru", "promotion: lru | s3fifo", "l2arc")
PAIR = parse_hierarchy("lru | lru")


def market(pages: int = 10_000, least: int = 1, ram: float = 3.0, ssd: float = 0.15) -> Market:
    return Market(ram * PAGE / 1e9, ssd * PAGE / 1e9, pages, least)


def cost(own: Market, point) -> float:
    return (point.ram_pages + point.hierarchy.buffer_pages) * own.ram + point.ssd_pages * own.ssd


@pytest.mark.parametrize("text", ["lru", "hca", "lru | fifo", "hcalfu | tb=64K | lru", "promotion: lru | fifo"])
@pytest.mark.parametrize("split", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_split_spends_all_money_and_no_more(text, split, share):
    own = market(1000, 4)
    found = own.split(parse_hierarchy(text), own.usd(share), split)
    assert own.usd(share) - own.ram - own.ssd < cost(own, found) <= own.usd(share) + 1e-12
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


def test_sums_fall_by_a_factor_from_the_highest():
    assert rungs(1.0, 8.0, 2.0) == [1.0, 2.0, 4.0, 8.0]
    assert rungs(1.1, 8.0, 2.0) == [2.0, 4.0, 8.0]


def test_near_a_size_are_parts_of_a_doubling():
    assert nearby(100, 2, 10_000) == [71, 141]
    assert nearby(100, 2, 120) == [71]
