"""The search against a referee that simulates every point, what it may not look at, and points kept in a file."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers import search as module
from cachezoo.questions.tiers.bench import Bench
from cachezoo.questions.tiers.budget import Market, Point
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.prices import BUILT_IN
from cachezoo.questions.tiers.run import run_tiers
from cachezoo.questions.tiers.search import SPENT, Halves, Ledger, Runner, Search, by_ram, digest, runner
from cachezoo.questions.tiers.stream import tier_stream
from tests.page_data import seeded_trace
from tests.tiers_data import DEVICE, skewed

HIERARCHIES = [parse_hierarchy(text) for text in ("lru", "arc", "hca", "lru | lru", "promotion: lru | s3fifo", "l2arc")]
PAIR = parse_hierarchy("lru | lru")


def halves_of(stream, most=10**9):
    return Halves.of(Bench.of("t", stream, DEVICE, BUILT_IN), most)


def search_of(halves, ledger=None, hierarchies=HIERARCHIES):
    market = Market.of(BUILT_IN, halves.judges.footprint)
    return Search(Runner(halves), Ledger() if ledger is None else ledger, market, hierarchies)


@pytest.mark.parametrize("most", [10**9, 9_000])
def test_the_best_of_each_sum_is_within_three_per_cent_of_the_referee(most):
    halves = halves_of(skewed(n=30_000, pages=4000), most)
    own, referee = search_of(halves), search_of(halves)
    sums = [own.market.usd(share) for share in (0.02, 0.1, 0.4)]
    own.survey(sums, closely=sums)
    referee.exhaust(sums, 4)
    for money in sums:
        ours, best = own.best(money)[0], referee.best(money)[0]
        assert ours.full is not None and SPENT * money <= ours.cost <= money * (1 + 1e-6)
        assert ours.amat_us <= 1.03 * best.amat_us
    assert own.counts[1] < referee.counts[1] / 3


def test_points_are_ranked_by_hits_where_those_are_asked_for():
    search = search_of(halves_of(skewed()))
    money = search.market.usd(0.1)
    search.survey([money], "disk", closely=[money])
    found = search.best(money, "disk")
    assert [one.dhr for one in found] == sorted(one.dhr for one in found)
    assert len({one.point.hierarchy for one in found}) == len(found)


@pytest.mark.parametrize("text", ["lru | lru", "hca"])
def test_a_sum_that_buys_less_ram_than_is_tried_otherwise_is_searched_too(text):
    hierarchies = [parse_hierarchy(text)]
    search = search_of(halves_of(skewed(n=8000, pages=500)), hierarchies=hierarchies)
    money = 1.2 * search.market.least_cost(hierarchies)
    search.survey([money, 0.5 * money], closely=[money])
    found = search.best(money)[0]
    assert found.full is not None and found.cost <= money * (1 + 1e-9)
    assert search.best(0.5 * money) == []  # too little for a page of each tier: nothing is found, and nothing fails


def test_the_half_that_judges_chooses_nothing():
    stream = skewed()
    half = stream.second_half
    # The second half has other pages, as many, so that sums are the same.
    moved = stream.trace.offset.copy()
    moved[half:] = np.random.default_rng(5).permutation(moved[half:])
    other = tier_stream(replace(stream.trace, offset=moved))
    assert other.pages.n_pages == stream.pages.n_pages
    found = []
    for one in (stream, other):
        search = search_of(halves_of(one))
        money = search.market.usd(0.1)
        search.survey([money], closely=[money])
        found.append([(best.point, best.amat_us) for best in search.best(money)])
    assert found[0] == found[1]


def test_a_search_scores_a_point_as_the_bench_does():
    halves = halves_of(skewed())
    search = search_of(halves)
    point = search.line(search.market.usd(0.1), [64])[-2]
    found = search.score([point])[point]
    own = halves.judges
    alone = own.replay(run_tiers(point.hierarchy, own.ts, point.ram_pages, point.ssd_pages)).tiered
    assert found.tiered == alone and found.mean == alone.amat_us
    assert own.no_cache().amat_us > found.tiered.amat_us


def test_a_search_goes_on_from_a_ledger_without_simulating_again(tmp_path, monkeypatch):
    halves = halves_of(skewed(n=8000, pages=500))
    path = tmp_path / "points.jsonl"
    first = search_of(halves, Ledger(path))
    money = first.market.usd(0.1)
    first.exhaust([money], 1)
    kept = path.read_bytes()
    monkeypatch.setattr(Halves, "work", None)
    again = search_of(halves, Ledger(path))
    again.exhaust([money], 1)
    assert [one.amat_us for one in again.best(money)] == [one.amat_us for one in first.best(money)]
    assert path.read_bytes() == kept


@pytest.mark.slow(seconds=90)  # other processes compile kernels for it
def test_processes_find_the_same(monkeypatch):
    halves = halves_of(skewed(n=6000, pages=400))
    alone = search_of(halves)
    points = alone.line(alone.market.usd(0.2), [16, 64])
    monkeypatch.setattr(module, "FEW_ACCESSES", 10)
    with runner(halves, 2) as many:
        found, noted = many.run("sampled", points), {}
        many.run("simulated", points[:3], noted.__setitem__)
    assert found == Runner(halves).run("sampled", points) and noted == Runner(halves).run("simulated", points[:3])


def test_points_with_the_same_ram_are_simulated_one_after_another():
    search = search_of(halves_of(skewed(n=6000, pages=400)))
    points = search.line(search.market.usd(0.2), [16, 64])
    groups = by_ram(points)
    assert {point for group in groups for point in group} == set(points) and sum(map(len, groups)) == len(points)
    assert all(len({point.ram_key for point in group}) == 1 for group in groups)
    assert len({group[0].ram_key for group in groups}) == len(groups)


@pytest.fixture(scope="module")
def tiered():
    return halves_of(skewed(n=6000, pages=400)).judges.tiered(Point(PAIR, 16, 64))


def test_a_ledger_is_read_again_and_a_line_cut_off_is_dropped(tmp_path, tiered):
    path, point, other = tmp_path / "points.jsonl", Point(PAIR, 3, 5), Point(parse_hierarchy("lru"), 3, 0)
    Ledger(path, {"trace": "a"}).put(point, tiered)
    before = path.read_bytes()
    path.write_bytes(before + b'["lru | lr')
    again = Ledger(path, {"trace": "a"})
    assert again == {point: tiered}
    again.put(other, replace(tiered, reads=2))
    assert path.read_bytes().startswith(before)
    assert Ledger(path, {"trace": "a"}) == {point: tiered, other: replace(tiered, reads=2)}


@pytest.mark.parametrize(
    "content", ["nothing\n", "{}\n", '{"kind": "other", "what": {}}\n', '{"kind": "cachezoo size", "what": {}}\n[1]\n']
)
def test_another_file_is_refused_by_its_name(tmp_path, content):
    path = tmp_path / "points.jsonl"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"points\.jsonl: no file of"):
        Ledger(path)
    assert path.read_text() == content


def test_points_of_another_trace_are_refused(tmp_path):
    path = tmp_path / "points.jsonl"
    Ledger(path, {"trace": "a", "device": 1})
    with pytest.raises(ConfigError, match="another trace"):
        Ledger(path, {"trace": "b", "device": 1})


def test_traces_differ_by_their_digests():
    one = seeded_trace(50, 20, 1)
    assert digest(one) == digest(seeded_trace(50, 20, 1)) != digest(seeded_trace(50, 20, 2))
