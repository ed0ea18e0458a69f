"""LRU in partitions, and who gets how much: kernels beside the plainest way to say the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.accounting import residents
from cachezoo.kernels.outcome import ADMITTED
from cachezoo.kernels.partition import add_misses, climb, hull, led, lookahead, optimum, partitioned
from cachezoo.kernels.stack_distance import stack_distances
from cachezoo.policies.registry import policy
from cachezoo.policies.stream import Stream
from tests.oracles import sharing as oracle


def drawn(seed: int, count: int, length: int, pages: int):
    rng = np.random.default_rng(seed)
    app = rng.integers(0, count, length).astype(np.int32)
    return app, (rng.zipf(1.3, length) % pages + pages * app).astype(np.int32)


def distances(app, pages, count):
    found = np.empty(len(app), np.int32)
    for a in range(count):
        own = pages[app == a]
        ids = np.unique(own, return_inverse=True)[1].astype(np.int32)
        found[app == a] = stack_distances(ids, max(1, int(ids.max(initial=0)) + 1))
    return found


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 120), st.integers(1, 20), st.data())
def test_partitions_hit_as_lists_do_whatever_split_follows(seed, count, length, pages, data):
    app, ids = drawn(seed, count, length, pages)
    cuts = data.draw(st.lists(st.integers(1, length), max_size=4, unique=True))
    begins = np.array(sorted({0, *(cut for cut in cuts if cut < length)}), np.int64)
    sizes = data.draw(
        st.lists(
            st.lists(st.integers(0, 12), min_size=count, max_size=count), min_size=len(begins), max_size=len(begins)
        )
    )
    hit = np.empty(length, np.bool_)
    partitioned(app, distances(app, ids, count), begins, np.array(sizes, np.int64), hit)
    assert hit.tolist() == oracle.lru_partitions(app, ids, begins, sizes)


@pytest.mark.parametrize("fragment", [1, 3])
def test_misses_at_every_size_are_those_of_an_lru_of_that_size(fragment):
    app, ids = drawn(5, 3, 400, 30)
    misses = np.zeros((3, 8), np.int64)
    every = np.ones(len(app), np.bool_)
    add_misses(app, distances(app, ids, 3), every, 0, 150, fragment, misses)
    add_misses(app, distances(app, ids, 3), every, 150, len(app), fragment, misses)
    for size in range(8):
        assert misses[:, size].tolist() == oracle.misses(app, ids, 3, size * fragment)


def test_references_that_do_not_count_are_no_misses():
    app, ids = drawn(6, 2, 100, 9)
    misses = np.zeros((2, 4), np.int64)
    add_misses(app, distances(app, ids, 2), np.zeros(100, np.bool_), 0, 100, 1, misses)
    assert not misses.any()


@st.composite
def curves(draw):
    count = draw(st.integers(1, 4))
    least = np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), np.int64)
    total = draw(st.integers(int(least.sum()), 12))
    steps = draw(st.lists(st.lists(st.integers(0, 5), min_size=total, max_size=total), min_size=count, max_size=count))
    falls = np.array(steps, np.int64).reshape(count, total)
    misses = np.concatenate([falls, np.zeros((count, 1), np.int64)], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    return np.ascontiguousarray(misses), total, least


@given(curves())
def test_the_optimum_is_the_best_of_all_splits(given_curves):
    misses, total, least = given_curves
    assert tuple(optimum(misses, total, least)) == oracle.optimum(misses.tolist(), total, least.tolist())


@given(curves())
def test_lookahead_gives_the_steepest_saving_first(given_curves):
    misses, total, least = given_curves
    found = lookahead(misses, total, least)
    assert found.tolist() == oracle.lookahead(misses.tolist(), total, least.tolist())
    assert found.sum() == total and (found >= least).all()


def test_lookahead_sees_over_a_cliff_that_a_single_step_does_not():
    loop = np.array([100, 100, 100, 100, 0, 0], np.int64)
    slow = np.array([50, 45, 41, 38, 36, 35], np.int64)
    assert lookahead(np.stack([slow, loop]), 5, np.zeros(2, np.int64)).tolist() == [1, 4]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), min_size=1, max_size=12))
def test_the_hull_is_the_least_of_all_lines(steps):
    sizes = np.cumsum([wide for wide, _ in steps])
    misses = np.cumsum([fall for _, fall in steps][::-1])[::-1].astype(np.int64)
    found = zip(*(own.tolist() for own in hull(sizes, misses)), strict=True)
    assert list(found) == oracle.hull(sizes.tolist(), misses.tolist())


def test_a_hull_goes_over_a_cliff():
    loop = hull(np.arange(6), np.array([100, 100, 100, 100, 0, 0], np.int64))
    assert loop[0].tolist() == [100, 75, 50, 25, 0, 0]
    assert loop[1].tolist() == [0, 0, 0, 0, 4, 5] and loop[2].tolist() == [0, 4, 4, 4, 4, 5]


def runs_at(pages, sizes, name):
    found = [policy(name).simulate(Stream.of_pages(pages, int(pages.max()) + 1), size) for size in sizes]
    return np.stack([run.outcome == ADMITTED for run in found]), np.stack([run.victim for run in found])


@pytest.mark.parametrize("name", ["lru", "s3fifo", "larc"])
@pytest.mark.parametrize("seed", range(3))
def test_a_part_follows_its_leader_as_sets_do_and_is_never_larger(name, seed):
    rng = np.random.default_rng(seed)
    pages = np.unique(rng.zipf(1.3, 400) % 60, return_inverse=True)[1].astype(np.int32)
    sizes = (3, 8, 20)
    entered, victim = runs_at(pages, sizes, name)
    begins, leader = np.array([0, 50, 120, 300], np.int64), rng.integers(0, 3, 4)
    hit = np.empty(400, np.bool_)
    led(pages, entered, victim, begins, leader, 60, hit)
    of_each = np.repeat(leader, np.diff([*begins, 400]))
    pairs = [list(zip(*both, strict=True)) for both in zip(entered.tolist(), victim.tolist(), strict=True)]
    assert hit.tolist() == oracle.led(pages.tolist(), pairs, of_each.tolist())
    alone = np.empty(400, np.bool_)
    led(pages, entered, victim, np.zeros(1, np.int64), np.ones(1, np.int64), 60, alone)
    assert (alone == (policy(name).hits(pages, 60, 8) == 2)).all()
    if name == "lru":
        app = np.zeros(400, np.int32)
        partitioned(app, distances(app, pages, 1), begins, np.array(sizes)[leader][:, None], alone)
        assert (hit == alone).all()


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 120), st.integers(1, 5), st.integers(1, 3))
def test_hill_climbing_is_the_naive_one(seed, count, length, shadow, credit):
    app, ids = drawn(seed, count, length, 20)
    first = np.random.default_rng(seed).integers(1, 8, count)
    least = np.minimum(first, 2)
    looks = np.arange(length, dtype=np.int64)
    sizes, hit, own = np.empty((length, count), np.int64), np.empty(length, np.bool_), first.copy()
    climb(app, distances(app, ids, count), own, least, shadow, credit, seed, looks, sizes, hit)
    naive = oracle.climb(app.tolist(), ids.tolist(), first.tolist(), least.tolist(), shadow, credit, seed)
    assert (hit.tolist(), sizes.tolist()) == naive
    assert own.sum() == first.sum() and (sizes >= least).all()


def test_residents_counts_who_entered_and_who_left():
    app, victim = np.array([0, 1, 1, 0], np.int32), np.array([-1, -1, 0, 2], np.int32)
    entered, held = np.array([True, True, True, True]), np.zeros((3, 2), np.int64)
    residents(app, entered, victim, np.array([0, 0, 1], np.int32), np.array([0, 2, 3], np.int64), held)
    assert held.tolist() == [[0, 0], [1, 1], [0, 2]]
