"""What to buy, or nothing: cases where a purchase does not pay, what the answer is held against, and the front."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.contest.choice import Outcome
from cachezoo.devices.built_in import BUILT_IN as DEVICE
from cachezoo.errors import ConfigError
from cachezoo.questions.tiers import advice as advice_module
from cachezoo.questions.tiers.advice import Offer, advise, alike, front, settle
from cachezoo.questions.tiers.bench import NOTHING
from cachezoo.questions.tiers.budget import Money, Point
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.options import SizeOptions
from cachezoo.questions.tiers.purchase import Rating, Terms
from cachezoo.questions.tiers.sentences import headline, lines, runs, versus
from cachezoo.settings.prices import BUILT_IN
from cachezoo.show.formats import latency, ordinary
from tests.tiers_data import PAGE, byte_trace, skewed

LRU, PAIR = parse_hierarchy("lru"), parse_hierarchy("lru | lru")
FEW = tuple(map(parse_hierarchy, ("lru", "arc", "lru | lru", "hca", "promotion: lru | s3fifo")))
PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30)
PARTS = Terms(parts=True)


def advice(trace, prices=BUILT_IN, **given):
    return advise("t", trace, DEVICE, prices, SizeOptions(FEW, **given), workers=1)


def pages_of(pages, write=None, gap_us=1000):
    n = len(pages)
    write = np.zeros(n) if write is None else write
    return byte_trace(np.asarray(pages, np.int64) * PAGE, np.full(n, PAGE), write, np.arange(n) * gap_us)


def hardly_any_twice(n=20_669, twice=199):
    """As TPC-C below a database's own cache: of so many accesses all but a few are to pages of their own."""
    rng = np.random.default_rng(1)
    pages = rng.permutation(4 * n)[:n]
    pages[rng.choice(np.arange(n // 2, n), twice, replace=False)] = pages[:twice]
    return pages_of(pages)


def holds(found) -> None:
    """What any advice keeps: no row shown is cheaper and faster, and what is advised lasts and does the load."""
    own = found.answer
    assert own.able and own.bought.lasts
    for row in found.rows:
        assert not row.able or not (row.month <= own.month and row.amat_us < own.amat_us)
    assert {NOTHING, found.all_ram.point} <= {row.point for row in found.rows}
    assert all(row.month == pytest.approx(sum_of(row)) for row in found.rows)
    headline(found), lines(found)


def sum_of(offer) -> float:
    own = offer.bought
    return own.purchase_month_usd + own.wear_month_usd + own.power_month_usd


@pytest.mark.parametrize("terms", [Terms(), PARTS], ids=["whole", "parts"])
def test_of_pages_that_hardly_come_twice_nothing_is_bought(terms):
    found = advice(hardly_any_twice(), terms=terms)
    holds(found)
    assert found.answer.nothing and found.why == "nothing"
    said = ordinary(headline(found))
    assert said.startswith("Buy nothing: ") and "against the" in said


def test_what_is_as_fast_as_the_answer_is_no_saving():
    found = advice(hardly_any_twice())
    for other, said in ((found.chosen, "; against that the answer "), (found.answer, ", as fast as the answer.")):
        text = " ".join(lines(replace(found, next_best=other)))
        assert f"{versus(found, other)}{said}" in text


def test_writes_that_would_wear_every_ssd_out_leave_ram_alone():
    rng = np.random.default_rng(2)
    n = 30_000
    pages = rng.zipf(1.2, n) % 2000
    trace = pages_of(pages, rng.random(n) < 0.5, gap_us=2)  # 2 GB/s
    found = advice(trace, terms=PARTS)
    holds(found)
    assert found.answer.point.ssd_pages == 0 and not found.answer.nothing
    assert all(not row.able for row in found.rows if row.point.ssd_pages)
    assert found.ssd is not None and "is worn out after" in " ".join(lines(found))
    small = advice(trace, terms=PARTS, budget=Money(found.all_ram.month / 50, True))
    holds(small)
    assert small.answer.point.ssd_pages == 0


def test_where_page_reads_are_hardly_waited_for_nothing_is_bought():
    """A read every ten seconds: the disk is idle."""
    rng = np.random.default_rng(3)
    trace = pages_of(rng.integers(0, 300, 6000), gap_us=10_000_000)
    found = advice(trace)
    holds(found)
    assert found.answer.nothing and found.why == "idle" and found.chosen.point != NOTHING
    assert "give --target-ms" in headline(found)
    waiting = advice(trace, ms=1.0)
    holds(waiting)
    assert waiting.why == "reached" and not waiting.answer.nothing and waiting.answer.amat_us <= 1000
    takes = ordinary(latency(waiting.answer.amat_us))
    assert f"; a page read takes {takes} on average, waits included, instead of " in ordinary(headline(waiting))


def test_an_aim_that_the_disk_alone_reaches_needs_nothing():
    found = advice(skewed(n=6000, pages=600).trace, ms=1000.0)
    holds(found)
    assert (found.answer.nothing, found.why) == (True, "needless")


def test_an_aim_that_nothing_reaches_is_said_to_be_so():
    found = advice(skewed(n=6000, pages=600).trace, terms=PARTS, ms=1e-6)
    holds(found)
    assert found.why == "unreachable" and "cannot be reached" in headline(found)


def test_a_trace_without_a_clock_is_advised_no_ssd():
    trace = skewed(n=8000, pages=800).trace
    found = advice(replace(trace, time_us=np.zeros(len(trace), np.int64)), terms=PARTS)
    holds(found)
    assert found.answer.point.ssd_pages == 0 and "no clock" in " ".join(lines(found))


@pytest.mark.parametrize("share", [0.02, 0.2, 2.0])
@pytest.mark.parametrize("monthly", [True, False])
def test_no_more_is_spent_than_may_be(share, monthly):
    trace = skewed(n=8000, pages=800).trace
    all_ram = advice(trace, terms=PARTS).all_ram
    most = share * (all_ram.month if monthly else all_ram.bought.usd)
    found = advice(trace, terms=Terms(parts=True, rating=Rating(dwpd=999.0)), budget=Money(most, monthly))
    holds(found)
    assert (found.answer.month if monthly else found.answer.bought.usd) <= most * (1 + 1e-9)


def test_double_prices_leave_the_choice_and_double_the_money():
    trace = skewed(n=8000, pages=800).trace
    dear = BUILT_IN.model_copy(
        update={
            name: getattr(BUILT_IN, name).model_copy(
                update={key: 2 * getattr(getattr(BUILT_IN, name), key) for key in ("usd_per_gb", "low", "high")}
            )
            for name in ("ram", "ssd")
        }
    )
    dear = dear.model_copy(
        update={"power": dear.power.model_copy(update={"usd_per_kwh": 2 * BUILT_IN.power.usd_per_kwh})}
    )
    one, two = (advice(trace, prices, terms=PARTS) for prices in (BUILT_IN, dear))
    assert one.answer.point == two.answer.point and two.answer.month == pytest.approx(2 * one.answer.month)
    assert one.moved.keys() <= one.elsewhere.keys()


def test_a_working_set_scales_the_purchase_and_time_and_no_more_than_the_disk_holds():
    trace = skewed(n=8000, pages=800).trace
    terms = Terms(parts=True, rating=Rating(dwpd=999.0))
    one, large = (advice(trace, terms=terms, working_set=size) for size in (None, 1000 * 800 * PAGE))
    assert large.scale == pytest.approx(1000 * 800 / one.bench.footprint)
    point = large.answer.point
    small = one.shop.buy(point, 1e9)
    assert large.shop.buy(point, 1e9).usd == pytest.approx(large.scale * small.usd)
    holds(large)
    with pytest.raises(ConfigError, match="the disk that times are modelled on"):
        advice(trace, working_set=1 << 50)


def test_purchases_are_alike_within_a_doubling_and_the_same_tiers():
    assert alike(Point(LRU, 100, 0), Point(LRU, 199, 0)) and not alike(Point(LRU, 100, 0), Point(LRU, 200, 0))
    assert not alike(Point(LRU, 100, 0), Point(PAIR, 10, 90)) and alike(NOTHING, NOTHING)
    assert not alike(NOTHING, Point(LRU, 1, 0))


@dataclass(frozen=True)
class Row:
    """An offer whose money and time are known."""

    month: float
    scored: Outcome
    able: bool = True
    over = Offer.over

    @property
    def amat_us(self) -> float:
        return self.scored.mean


def row(month, time, able=True, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    blocks = time * (1 + noise * rng.standard_normal(20))
    return Row(month, Outcome(float(time), blocks * time / blocks.mean()), able)


def test_the_cheapest_that_the_chosen_one_is_no_better_than_is_the_answer():
    nothing, little, much = row(0, 100), row(1, 50.4), row(2, 50)
    assert settle(much, [nothing, little, much]) is little  # 0.8 % is too little to matter
    assert settle(much, [nothing, row(1, 60), much]) is much
    noisy = row(2, 97, noise=0.5, seed=3)
    assert settle(noisy, [nothing, noisy]) is nothing


def test_what_is_cheaper_and_faster_is_the_answer_unless_it_is_not_able():
    faster = row(1, 40)
    assert settle(row(2, 50), [row(0, 100), faster]) is faster
    slow = row(2, 50)
    assert settle(slow, [row(0, 100), row(1, 40, able=False), slow]) is slow


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40), st.booleans()), min_size=1, max_size=12), st.data())
def test_the_answer_is_beaten_by_no_row_that_is_able(pairs, data):
    rows = [row(month, time, able, 0.2, k) for k, (month, time, able) in enumerate(pairs)]
    chosen = data.draw(st.sampled_from(rows))
    own = settle(chosen, rows)
    assert own.month <= chosen.month
    assert not any(one.able and one.month <= own.month and one.amat_us < own.amat_us for one in rows)


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


def test_what_no_runtime_has_is_called_simulation_only():
    assert runs(Point(parse_hierarchy("l2arc"), 5, 10), 20) == "ZFS runs it, with the commands of --for zfs."
    for own in FEW:
        for pages in (0, 10):
            assert runs(Point(own, 5, pages), 20).startswith("Simulation only: cachezoo cannot run ")
    assert 'cannot run "lru | lru". ' in runs(Point(parse_hierarchy("lru | lru"), 5, 10), 20)


def test_ram_for_all_pages_needs_no_policy_of_its_own():
    arc = parse_hierarchy("arc")
    assert "any page cache does" in runs(Point(arc, 20, 0), 20)
    assert "cannot run ARC in RAM" in runs(Point(arc, 19, 0), 20)


def test_the_answer_is_compared_with_what_was_chosen_and_not_with_each_other(monkeypatch):
    own = {name: SimpleNamespace(able=True, month=month, amat_us=amat)
           for name, month, amat in (("nothing", 0.0, 120.0), ("some", 1.0, 109.0), ("much", 2.0, 100.0))}  # fmt: skip
    surely = {(own["much"].month, own["nothing"].month)}  # much over some, and some over nothing, are not told apart
    monkeypatch.setattr(advice_module, "better", lambda one, other: (one.month, other.month) in surely)
    assert settle(own["much"], list(own.values())) is own["some"]


def test_ram_alone_is_a_rival_where_none_is_asked_for():
    found = advise("t", pages_of(np.arange(3000) % 400), DEVICE, BUILT_IN, SizeOptions((PAIR,)), workers=1)
    holds(found)
    assert any(not row.point.ssd_pages and row.point.ram_pages for row in found.rows)
