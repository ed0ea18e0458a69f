"""Evictions that learn as they go, against naive ones that keep lists and ask LightGBM itself."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels import learning
from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCH, PREFETCHED, REQUEST, UNIT
from cachezoo.policies.admissions import ACCEPT_ALL, ADMISSIONS
from cachezoo.policies.components import Composition, settle
from cachezoo.policies.engine import pauses, simulate
from cachezoo.policies.evictions import classics
from cachezoo.policies.evictions.learned import LRB, THREELCACHE, fit, plant
from cachezoo.policies.stream import Stream
from tests.oracles import engine as naive
from tests.oracles import learned as oracle

SMALL = {"rows": 256, "sample_every": 1, "trees": 6, "leaves": 8}
LRB_SMALL = {**SMALL, "window": 6, "candidates": 8}
EVERY = 60
BOTH = pytest.mark.parametrize(
    ("eviction", "values", "cache"),
    [(LRB, LRB_SMALL, oracle.Lrb), (THREELCACHE, SMALL, oracle.ThreeLCache)],
    ids=["lrb", "threelcache"],
)


def often(eviction, every=EVERY):
    return dataclasses.replace(eviction, learn_every=every)


def run(eviction, stream, capacity, values, admission=ACCEPT_ALL):
    return simulate(Composition(eviction, admission, values), stream, capacity)


def watched(eviction, stream, capacity, values):
    """Outcomes, and the state as it is at the end."""
    states = []

    def make(*arguments):
        states.append(eviction.make(*arguments))
        return states[-1]

    outcome = run(dataclasses.replace(eviction, make=make), stream, capacity, values).outcome
    return outcome, states[0]


def mixed(seed, length=1500, pages=90):
    """Skewed accesses, a loop, and a scan, in turns; some requests of several pages, some prefetches."""
    rng = np.random.default_rng(seed)
    skewed = rng.zipf(1.3, length) % pages
    looped = np.arange(length) % 41 + pages
    turns = np.where((np.arange(length) // 97) % 3 == 1, looped, skewed)
    _, ids = np.unique(turns, return_inverse=True)
    flags = np.full(length, UNIT, np.uint8)
    starts = rng.random(length) < 0.6
    starts[0] = True
    flags[starts] |= REQUEST
    fetched = ~starts & (rng.random(length) < 0.1)
    flags[fetched] = PREFETCH
    ids = ids.astype(np.int32)
    return Stream(ids, flags, np.full(length, 4096, np.int32), int(ids.max()) + 1)


def naive_run(eviction, cache, stream, capacity, values):
    """The naive engine, which stops to learn where the engine does."""
    known = settle(eviction.id, eviction.parameters, values)
    cache = cache(stream, capacity, known, fit)
    stops = set(pauses(stream, eviction.learn_every))
    steps = {name: getattr(cache, name) for name in ("touch", "insert")}

    class Gate:
        def saw(self, page, i): ...

        def admit(self, page, i):
            return True

    def paused(step):
        def at(page, i):
            due = [stop for stop in sorted(stops) if stop <= i]
            stops.difference_update(due)
            for stop in due:
                cache.learn(stop)
            return step(page, i)

        return at

    cache.touch, cache.insert = paused(steps["touch"]), paused(steps["insert"])
    return (*naive.simulate(stream, cache, Gate()), cache)


@BOTH
@pytest.mark.parametrize(("seed", "capacity"), [(1, 20), (2, 7), (3, 1), (4, 45)])
def test_equals_its_oracle(eviction, values, cache, seed, capacity):
    stream = mixed(seed)
    result = run(often(eviction), stream, capacity, values)
    outcome, victim, kept = naive_run(often(eviction), cache, stream, capacity, values)
    assert kept.model is not None or capacity == 1
    assert result.outcome.tolist() == outcome
    assert result.victim.tolist() == victim


def test_predictions_made_anew_at_each_eviction_equal_the_oracle_too():
    stream, values = mixed(6, 800), {**LRB_SMALL, "patience": 0, "deltas": 2, "counters": 0}
    result = run(often(LRB), stream, 15, values)
    outcome, victim, _ = naive_run(often(LRB), oracle.Lrb, stream, 15, values)
    assert (result.outcome.tolist(), result.victim.tolist()) == (outcome, victim)


@BOTH
def test_rows_hold_the_features_then_and_the_time_to_the_next_access(eviction, values, cache):
    stream = mixed(8)
    _, state = watched(often(eviction), stream, 25, {**values, "rows": 4096})
    _, _, kept = naive_run(often(eviction), cache, stream, 25, {**values, "rows": 4096})
    written = state.learner.numbers[learning.WRITTEN]
    assert written > 500
    assert np.allclose(state.learner.rows[:written, :-1], [row for row, _ in kept.rows], rtol=1e-6)
    assert np.allclose(state.learner.rows[:written, -1], [label for _, label in kept.rows], rtol=1e-6)


def test_labels_are_relaxed_belady():
    """Look into the future: each row's time to the page's next access, or twice the window where that is outside."""
    pages = np.random.default_rng(9).zipf(1.2, 1200) % 150
    _, ids = np.unique(pages, return_inverse=True)
    stream = Stream.of_pages(ids.astype(np.int32), int(ids.max()) + 1)
    capacity, window = 30, 60  # two capacities, so the same from the start
    _, state = watched(often(LRB), stream, capacity, {**LRB_SMALL, "window": 2, "rows": 4096, "deltas": 1})
    count = state.learner.numbers[learning.WRITTEN]
    rows, labels = state.learner.rows[:count, :-1], np.exp(state.learner.rows[:count, -1])
    beyond = np.isclose(labels, 2 * window)
    assert 0 < beyond.sum() < count
    # A page's waits, each between two accesses, say how long after the mark it can have come back.
    times = {page: np.flatnonzero(ids == page) for page in set(ids.tolist())}
    waits = {b - a for seen in times.values() for a, b in pairwise(seen)}
    whole = np.rint(labels + rows[:, 0]).astype(int)
    assert set(whole[~beyond].tolist()) <= waits
    assert (whole[~beyond] < window + 1).all()


@BOTH
@given(cut=st.integers(1, 899), seed=st.integers(0, 5))
@settings(max_examples=settings.default.max_examples // 2)
def test_knows_nothing_of_the_future(eviction, values, cache, cut, seed):
    stream = mixed(seed, 900)
    ids = stream.page_ids.copy()
    ids[cut:] = np.random.default_rng(seed).integers(0, stream.n_pages, len(ids) - cut)
    other = dataclasses.replace(stream, page_ids=ids)
    one, two = (run(often(eviction), each, 15, values) for each in (stream, other))
    assert (one.outcome[:cut] == two.outcome[:cut]).all()
    assert (one.victim[:cut] == two.victim[:cut]).all()


@BOTH
def test_is_lru_until_it_is_trained(eviction, values, cache):
    stream = mixed(10)
    lru = run(classics.LRU, stream, 20, {})
    untrained = run(often(eviction, 10**6), stream, 20, values)
    trained = run(often(eviction), stream, 20, values)
    assert (untrained.victim == lru.victim).all()
    assert (trained.victim != lru.victim).any()


@BOTH
def test_runs_are_equal_and_another_seed_is_another_run(eviction, values, cache):
    stream = mixed(11)
    first, second, threads, seed = (
        run(often(eviction), stream, 20, {**values, **more}) for more in ({}, {}, {"threads": 2}, {"seed": 2})
    )
    assert (first.victim == second.victim).all()
    assert (first.victim == threads.victim).all()
    assert (first.victim != seed.victim).any()


@BOTH
@pytest.mark.parametrize("capacity", [1, 2, 3, 10, 64, 5000])
def test_never_holds_more_than_its_capacity(eviction, values, cache, capacity):
    result = run(often(eviction), mixed(12), capacity, values)
    held = np.cumsum(np.isin(result.outcome, (ADMITTED, PREFETCHED)).astype(int) - (result.victim >= 0))
    assert held.max() <= capacity


@BOTH
def test_runs_behind_an_admission(eviction, values, cache):
    gate = next(each for each in ADMISSIONS if each is not ACCEPT_ALL)
    outcome = run(often(eviction), mixed(13), 20, values, gate).outcome
    assert (outcome == HIT).any()


@BOTH
def test_learns_a_loop_that_lru_never_hits(eviction, values, cache):
    """Pages of a long loop among pages asked for often: LRU keeps the loop's, which come back too late."""
    rng = np.random.default_rng(14)
    ids = np.where(rng.random(12_000) < 0.5, rng.integers(0, 30, 12_000), np.arange(12_000) % 200 + 30)
    stream = Stream.of_pages(ids.astype(np.int32), 230)
    learns = run(often(eviction, 500), stream, 60, {**values, "rows": 1024, "window": 8} if eviction is LRB else values)
    lru = run(classics.LRU, stream, 60, {})
    assert (learns.outcome == HIT).mean() > (lru.outcome == HIT).mean() + 0.03


@given(seed=st.integers(0, 1000), leaves=st.sampled_from([2, 3, 8, 32]), spread=st.sampled_from([2, 40, 2**26]))
def test_forest_is_lightgbms(seed, leaves, spread):
    import lightgbm as lgb

    rng = np.random.default_rng(seed)
    rows = rng.integers(0, spread, (300, 3)).astype(np.float32)
    labels = (np.sin(rows[:, 0]) + rows[:, 1] / spread).astype(np.float32)
    text = fit(rows, labels, 5, leaves, 0.3, 1, 1)
    learner = learning.make(1, 0, 0, len(rows), learning.Training(1, 5, leaves, 1, 1, 0.3))
    forest = learner.forest
    learner.numbers[learning.TREES] = plant(forest, text)
    booster = lgb.Booster(model_str=text)
    thresholds = forest["threshold"][np.isfinite(forest["threshold"])]
    rows[: min(300, len(thresholds)), 1] = thresholds[:300]
    learner.inputs[:] = rows
    learning.score(learner, len(rows))
    scores = learner.scores
    assert scores.tolist() == booster.predict(rows).tolist()
    dumped = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    assert scores[:50].tolist() == [sum(oracle.tree_value(tree, row) for tree in dumped) for row in rows[:50]]


def test_draws_spread():
    numbers = learning.blank_numbers(3)
    counts = np.bincount([learning.draw(numbers, 10) for _ in range(5000)], minlength=10)
    assert counts.min() > 400 and counts.max() < 600
