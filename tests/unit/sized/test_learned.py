"""Evictions of objects that learn as they go: equal to naive ones, and to those of pages where all sizes are."""

import dataclasses

import numpy as np
import pytest

from cachezoo.kernels import learning
from cachezoo.policies.admissions import ACCEPT_ALL as ALL_PAGES
from cachezoo.policies.components import Composition as PageComposition
from cachezoo.policies.components import settle
from cachezoo.policies.engine import simulate as simulate_pages
from cachezoo.policies.evictions import learned as pages
from cachezoo.policies.evictions.learned import fit
from cachezoo.policies.stream import Stream
from cachezoo.sized.admissions import ACCEPT_ALL
from cachezoo.sized.components import Composition
from cachezoo.sized.evictions import LRU
from cachezoo.sized.learned import LRB, THREELCACHE
from cachezoo.sized.modelled import ADAPT_SIZE
from cachezoo.sized.requests import Requests
from cachezoo.sized.simulate import simulate
from tests.oracles.sized import engine as naive
from tests.oracles.sized import learned as oracle

SMALL = {"rows": 256, "sample_every": 1, "trees": 6, "leaves": 8}
LRB_SMALL = {**SMALL, "window": 6, "candidates": 8}
EVERY = 60
ALL = pytest.mark.parametrize(
    ("eviction", "values", "cache", "of_pages"),
    [
        (LRB, LRB_SMALL, oracle.Lrb, pages.LRB),
        (THREELCACHE, SMALL, oracle.ThreeLCache, pages.THREELCACHE),
    ],
    ids=["lrb", "threelcache"],
)


def often(eviction, every=EVERY):
    return dataclasses.replace(eviction, learn_every=every)


def run(eviction, asked, capacity, values, gate=ACCEPT_ALL):
    return simulate(asked, Composition(eviction, gate, values), capacity)


def mixed(seed, length=1200, objects=90, equal=False):
    """Skewed requests, a loop, and a scan, in turns; some writes, deletes, changes of size and times to live."""
    rng = np.random.default_rng(seed)
    skewed = rng.zipf(1.3, length) % objects
    looped = np.arange(length) % 41 + objects
    turns = np.where((np.arange(length) // 97) % 3 == 1, looped, skewed)
    _, ids = np.unique(turns, return_inverse=True)
    ids = ids.astype(np.int32)
    if equal:
        return Requests.of_sizes(ids, np.ones(length, np.int64))
    size = np.exp(rng.uniform(0, 5, ids.max() + 1)).astype(np.int64)[ids]
    size[rng.random(length) < 0.02] += 9
    op = rng.choice(np.array([0, 1, 2], np.uint8), length, p=[0.85, 0.1, 0.05])
    time = np.arange(length, dtype=np.int64)
    return Requests(ids, size, op, int(ids.max()) + 1, time, time + rng.integers(50, 2000, length))


def naive_run(eviction, cache, asked, capacity, values):
    """The naive engine, which stops to learn where the engine does."""
    cache = cache(asked, capacity, fit, **settle(eviction.id, eviction.parameters, values))
    stops = list(range(eviction.learn_every, len(asked), eviction.learn_every))

    def paused(step):
        def at(key, i, *more):
            while stops and stops[0] <= i:
                cache.learn(stops.pop(0))
            return step(key, i, *more)

        return at

    cache.touch, cache.wants = paused(cache.touch), paused(cache.wants)
    return (*naive.simulate(asked, cache, naive.Always(), capacity), cache)


@ALL
@pytest.mark.parametrize("objects", [0, 1])
@pytest.mark.parametrize(("seed", "capacity"), [(1, 600), (2, 250), (3, 40), (4, 1500)])
def test_equals_its_oracle(eviction, values, cache, of_pages, objects, seed, capacity):
    asked, values = mixed(seed), {**values, "objects": objects}
    result = run(often(eviction), asked, capacity, values)
    outcome, counts, kept = naive_run(often(eviction), cache, asked, capacity, values)
    assert kept.model is not None or capacity == 40
    assert result.outcome.tolist() == outcome
    assert (result.evictions, result.evicted_bytes) == (counts["evictions"], counts["evicted_bytes"])


@ALL
@pytest.mark.parametrize(("seed", "capacity"), [(1, 20), (2, 7), (4, 45)])
def test_objects_of_a_byte_are_pages(eviction, values, cache, of_pages, seed, capacity):
    asked = mixed(seed, equal=True)
    page = simulate_pages(
        PageComposition(often(of_pages), ALL_PAGES, values), Stream.of_pages(asked.ids, asked.n_objects), capacity
    )
    for objects in (0, 1):
        result = run(often(eviction), asked, capacity, {**values, "objects": objects})
        assert result.outcome.tolist() == page.outcome.tolist()


@ALL
def test_rows_hold_the_bytes(eviction, values, cache, of_pages):
    states, asked, values = [], mixed(8), {**values, "rows": 4096}

    def make(*arguments):
        states.append(eviction.make(*arguments))
        return states[-1]

    run(dataclasses.replace(often(eviction), make=make), asked, 500, values)
    _, _, kept = naive_run(often(eviction), cache, asked, 500, values)
    learner = states[-1].core.learner
    written = learner.numbers[learning.WRITTEN]
    assert written > 300
    assert np.allclose(learner.rows[:written, :-1], [row for row, _ in kept.rows], rtol=1e-6)
    assert np.allclose(learner.rows[:written, -1], [label for _, label in kept.rows], rtol=1e-6)


@ALL
def test_knows_nothing_of_the_future(eviction, values, cache, of_pages):
    asked, cut = mixed(5), 700
    ids = asked.ids.copy()
    ids[cut:] = np.random.default_rng(1).permutation(ids[cut:])
    other = dataclasses.replace(asked, ids=ids)
    fits = [dataclasses.replace(one, size=np.where(one.ids % 2, 20, 30)) for one in (asked, other)]
    one, two = (run(often(eviction), each, 500, values) for each in fits)
    assert (one.outcome[:cut] == two.outcome[:cut]).all()
    assert (one.outcome[cut:] != two.outcome[cut:]).any()


@ALL
def test_runs_are_equal_and_another_seed_is_another_run(eviction, values, cache, of_pages):
    asked = mixed(11)
    first, second, seed = (run(often(eviction), asked, 500, {**values, **more}) for more in ({}, {}, {"seed": 2}))
    assert (first.outcome == second.outcome).all()
    assert (first.outcome != seed.outcome).any()


@ALL
def test_runs_behind_an_admission(eviction, values, cache, of_pages):
    result = run(often(eviction), mixed(13), 500, values, ADAPT_SIZE)
    assert result.hits > 0


@ALL
def test_learns_a_loop_that_lru_never_hits(eviction, values, cache, of_pages):
    """Objects of a long loop among objects asked for often: LRU keeps the loop's, which come back too late."""
    rng = np.random.default_rng(14)
    ids = np.where(rng.random(12_000) < 0.5, rng.integers(0, 30, 12_000), np.arange(12_000) % 200 + 30)
    asked = Requests.of_sizes(ids.astype(np.int32), 10 + ids.astype(np.int64) % 7)
    own = {**values, "rows": 1024, **({"window": 8} if eviction is LRB else {})}
    learns, lru = run(often(eviction, 500), asked, 780, own), run(LRU, asked, 780, {})
    assert learns.hit_ratio > lru.hit_ratio + 0.03
