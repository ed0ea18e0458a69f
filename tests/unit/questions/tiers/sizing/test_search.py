"""The search against a referee that simulates every point, and what it may not look at."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.judged import judge
from cachezoo.questions.tiers.prices import BUILT_IN
from cachezoo.questions.tiers.run import run_tiers
from cachezoo.questions.tiers.sizing.ledger import Ledger
from cachezoo.questions.tiers.sizing.miniature import Miniature
from cachezoo.questions.tiers.sizing.points import Unit, all_cost, least_cost
from cachezoo.questions.tiers.sizing.search import SPENT, Search
from cachezoo.questions.tiers.sizing.whole import Whole
from cachezoo.questions.tiers.sizing.work import Runner, Task, by_ram, runner
from tests.tier_data import skewed
from tests.tiers_data import DEVICE, HDD

UNIT = Unit.of_gb(3.0, 0.15)
HIERARCHIES = [parse_hierarchy(text) for text in ("lru", "arc", "hca", "lru | lru", "promotion: lru | s3fifo", "l2arc")]


def task_of(stream, most=10**9):
    whole = Whole.of(stream, DEVICE, BUILT_IN)
    return Task("t", Miniature.of(whole.head, whole.first, HDD, most), whole)


def search_of(task, ledger=None, hierarchies=HIERARCHIES):
    n_pages = task.whole.stream.pages.n_pages
    return Search(Runner(task, None), Ledger(None, {}) if ledger is None else ledger, UNIT, hierarchies, n_pages)


@pytest.mark.parametrize("most", [10**9, 9_000])
def test_the_best_of_each_sum_is_within_three_per_cent_of_the_referee(most):
    task = task_of(skewed(n=30_000, pages=4000), most)
    sums = [share * all_cost(task.whole.stream.pages.n_pages, UNIT) for share in (0.02, 0.1, 0.4)]
    own, referee = search_of(task), search_of(task)
    own.survey(sums, closely=sums)
    referee.exhaust(sums, 4)
    for money in sums:
        ours, best = own.best(money)[0], referee.best(money)[0]
        assert ours.full is not None and SPENT * money <= ours.cost <= money * (1 + 1e-6)
        assert ours.amat_us <= 1.03 * best.amat_us
    assert own.counts[1] < referee.counts[1] / 3


def test_points_are_ranked_by_hits_where_those_are_asked_for():
    task = task_of(skewed())
    search = search_of(task)
    money = 0.1 * all_cost(task.whole.stream.pages.n_pages, UNIT)
    search.survey([money], "disk", closely=[money])
    found = search.best(money, "disk")
    assert [one.dhr for one in found] == sorted(one.dhr for one in found)
    assert len({one.point.hierarchy for one in found}) == len(found)


@pytest.mark.parametrize("text", ["lru | lru", "hca"])
def test_a_sum_that_buys_less_ram_than_is_tried_otherwise_is_searched_too(text):
    hierarchies = [parse_hierarchy(text)]
    search = search_of(task_of(skewed(n=8000, pages=500)), hierarchies=hierarchies)
    money = 1.2 * least_cost(hierarchies, UNIT)
    search.survey([money, 0.5 * money], closely=[money])
    found = search.best(money)[0]
    assert found.full is not None and found.cost <= money * (1 + 1e-9)
    assert search.best(0.5 * money) == []  # too little for a page of each tier: nothing is found, and nothing fails


def test_the_half_that_judges_chooses_nothing():
    stream = skewed()
    half = Whole.of(stream, DEVICE, BUILT_IN).terms.first
    # The second half asks for other pages of the same number, so that sums are the same.
    moved = stream.trace.offset.copy()
    moved[half:] = np.random.default_rng(5).permutation(moved[half:])
    from cachezoo.questions.tiers.stream import tier_stream

    other = tier_stream(replace(stream.trace, offset=moved))
    assert other.pages.n_pages == stream.pages.n_pages
    found = []
    for one in (stream, other):
        search = search_of(task_of(one))
        money = 0.1 * all_cost(one.pages.n_pages, UNIT)
        search.survey([money], closely=[money])
        found.append([(best.point, best.amat_us) for best in search.best(money)])
    assert found[0] == found[1]


def test_a_point_is_judged_as_the_hierarchy_is_elsewhere():
    task = task_of(skewed())
    search = search_of(task)
    point = search.line(0.1 * all_cost(search.n_pages, UNIT), [64])[-2]
    (found,) = task.whole.judged([point])
    run = run_tiers(parse_hierarchy(point.hierarchy), task.whole.stream, point.ram_pages, point.ssd_pages)
    own = judge(task.whole.stream, run, task.whole.terms)
    assert (found.tiered, found.worn, found.cost) == (own.tiered, own.worn, own.cost)
    assert task.whole.disk_alone_us() > found.tiered.amat_us


def test_a_search_goes_on_from_a_ledger_without_simulating_again(tmp_path, monkeypatch):
    task = task_of(skewed(n=8000, pages=500))
    money = 0.1 * all_cost(task.whole.stream.pages.n_pages, UNIT)
    path = tmp_path / "points.jsonl"
    first = search_of(task, Ledger(path, {}))
    first.exhaust([money], 1)
    kept = path.read_bytes()
    monkeypatch.setattr(Whole, "chosen", None)
    again = search_of(task, Ledger(path, {}))
    again.exhaust([money], 1)
    assert [one.amat_us for one in again.best(money)] == [one.amat_us for one in first.best(money)]
    assert path.read_bytes() == kept


@pytest.mark.slow(seconds=90)  # other processes compile kernels for it
def test_processes_find_the_same(monkeypatch):
    import cachezoo.questions.tiers.sizing.work as work

    task = task_of(skewed(n=6000, pages=400))
    points = search_of(task).line(0.2 * all_cost(task.whole.stream.pages.n_pages, UNIT), [16, 64])
    monkeypatch.setattr(work, "FEW_ACCESSES", 10)
    with runner(task, 2) as many:
        found, noted = many.sampled(points), {}
        many.in_full(points[:3], noted.__setitem__)
    alone, own = Runner(task, None), {}
    alone.in_full(points[:3], own.__setitem__)
    assert found == alone.sampled(points) and noted == own


def test_points_with_the_same_ram_are_simulated_one_after_another():
    search = search_of(task_of(skewed(n=6000, pages=400)))
    points = search.line(0.2 * all_cost(search.n_pages, UNIT), [16, 64])
    groups = by_ram(points)
    assert sorted(point for group in groups for point in group) == sorted(points)
    keys = [(parse_hierarchy(group[0].hierarchy).ram, group[0].ram_pages) for group in groups]
    assert len(set(keys)) == len(keys)
