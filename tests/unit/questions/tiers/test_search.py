"""The search against a referee that simulates every point, what it may not look at, and points kept in a file."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers import search as module
from cachezoo.questions.tiers.bench import NOTHING, Bench
from cachezoo.questions.tiers.budget import Point
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.purchase import Rating, Shop, Terms
from cachezoo.questions.tiers.run import run_tiers
from cachezoo.questions.tiers.search import SPENT, Halves, Ledger, Runner, Search, Simulated, by_ram, digest, runner
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.settings.prices import BUILT_IN
from tests.page_data import seeded_trace
from tests.tiers_data import DEVICE, skewed

HIERARCHIES = [parse_hierarchy(text) for text in ("lru", "arc", "hca", "lru | lru", "promotion: lru | s3fifo", "l2arc")]
PAIR, LRU = parse_hierarchy("lru | lru"), parse_hierarchy("lru")


def halves_of(stream, most=10**9):
    return Halves.of(Bench.of("t", stream, DEVICE, BUILT_IN), most)


def search_of(halves, ledger=None, hierarchies=HIERARCHIES, **terms):
    shop = Shop(BUILT_IN, Terms(parts=True, rating=Rating(dwpd=1e9), **terms), halves.judges.footprint)
    return Search(Simulated(Runner(halves), Ledger() if ledger is None else ledger), shop, hierarchies)


def sums_of(search):
    pages = search.shop.pages
    return [share * search.shop.buy(Point(LRU, pages, 0), 0.0).month_usd for share in (0.05, 0.1, 0.4)]


@pytest.mark.parametrize("most", [10**9, 9_000])
def test_the_best_of_each_sum_is_within_three_per_cent_of_the_referee(most):
    halves = halves_of(skewed(n=30_000, pages=4000), most)
    own, referee = search_of(halves), search_of(halves)
    sums = sums_of(own)
    own.survey(sums, closely=sums)
    referee.exhaust(1)
    for month in sums:
        ours, best = own.best(month)[0], referee.best(month)[0]
        assert ours.full is not None and SPENT * month <= own.month(ours) <= month * (1 + 1e-6)
        assert ours.amat_us <= 1.03 * best.amat_us
    assert own.simulated.counts[1] < referee.simulated.counts[1] / 3


def test_points_are_ranked_by_hits_where_those_are_asked_for():
    search = search_of(halves_of(skewed()))
    month = sums_of(search)[1]
    search.survey([month], "disk", closely=[month])
    found = search.best(month, "disk")
    assert [one.dhr for one in found] == sorted(one.dhr for one in found)
    assert len({one.point.hierarchy for one in found}) == len(found)


def test_what_does_not_last_or_cannot_do_the_load_is_never_best():
    halves = halves_of(skewed())
    shop = Shop(BUILT_IN, Terms(parts=True, rating=Rating(dwpd=0.01)), halves.judges.footprint)
    search = Search(Simulated(Runner(halves), Ledger()), shop, HIERARCHIES)
    search.survey(sums_of(search))
    assert all(not one.point.ssd_pages for month in sums_of(search) for one in search.best(month, estimated=True))
    lasting = search_of(halves)
    found = next(one for one in lasting.simulated.found() if one.point.ssd_pages and lasting.able(one))
    assert not lasting.able(replace(found, load=1.01))


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
        month = sums_of(search)[1]
        search.survey([month], closely=[month])
        found.append([(best.point, best.amat_us) for best in search.best(month)])
    assert found[0] == found[1]


def test_a_search_scores_a_point_as_the_bench_does():
    halves = halves_of(skewed())
    point = Point(PAIR, 64, 200)
    found = Runner(halves).run("judged", [point])[point]
    own = halves.judges
    alone = own.replay(run_tiers(point.hierarchy, own.ts, point.ram_pages, point.ssd_pages)).tiered
    assert found.tiered == alone and found.mean == alone.amat_us
    nothing = own.score(NOTHING)
    assert nothing.mean > found.mean and (nothing.tiered.dhr, nothing.tiered.ssd_written) == (1, 0)


def test_a_search_goes_on_from_a_ledger_without_simulating_again(tmp_path, monkeypatch):
    halves = halves_of(skewed(n=8000, pages=500))
    path = tmp_path / "points.jsonl"
    points = [Point(PAIR, 16, 100), Point(LRU, 30, 0)]
    Simulated(Runner(halves), Ledger(path)).confirm(points)
    kept = path.read_bytes()
    monkeypatch.setattr(Halves, "work", None)
    Simulated(Runner(halves), Ledger(path)).confirm(points)
    assert path.read_bytes() == kept and kept.count(b"\n") == 3


@pytest.mark.slow(seconds=90)  # other processes compile kernels for it
def test_processes_find_the_same(monkeypatch):
    halves = halves_of(skewed(n=6000, pages=400))
    alone = Shop(BUILT_IN, Terms(parts=True), 400)
    points = list(alone.points(HIERARCHIES, [16, 64], [200]))
    monkeypatch.setattr(module, "FEW_ACCESSES", 10)
    with runner(halves, 2) as many:
        found, noted = many.run("sampled", points), {}
        many.run("simulated", points[:3], noted.__setitem__)
    assert found == Runner(halves).run("sampled", points) and noted == Runner(halves).run("simulated", points[:3])


def test_points_with_the_same_ram_are_simulated_one_after_another():
    points = list(Shop(BUILT_IN, Terms(parts=True), 400).points(HIERARCHIES, [16, 64], [200]))
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
    "content",
    [
        "nothing\n",
        "{}\n",
        '{"kind": "other", "what": {}}\n',
        '{"kind": "cachezoo recommend --only ram-ssd", "what": {}}\n[1]\n',
    ],
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
