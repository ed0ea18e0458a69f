import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds import belady, bitset, pfoo, relaxed, static
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.outcome import HIT
from tests.oracles import bounds as naive

ACCESSES = st.lists(st.integers(0, 11), min_size=1, max_size=120)
FEW = st.lists(st.integers(0, 5), min_size=1, max_size=13)
CAPACITY = st.integers(1, 9)
MINS = [(belady.belady, False), (belady.belady_bypass, True)]


def dense(pages):
    names = {page: i for i, page in enumerate(dict.fromkeys(pages))}
    return np.array([names[page] for page in pages], np.int32), len(names)


def long_trace():
    rng = np.random.default_rng(5)
    return dense(np.concatenate([rng.zipf(1.2, 1500) % 300, np.arange(400), rng.zipf(1.4, 1500) % 200]).tolist())


def run(kernel, ids, n, capacity, *more):
    outcome, victim = np.full(len(ids), 9, np.uint8), np.full(len(ids), 9, np.int32)
    kernel(ids, next_access(ids, n), capacity, *more, outcome, victim)
    return outcome.tolist(), victim.tolist()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 300_000)), max_size=60), st.integers(0, 400))
@settings(deadline=None)
def test_bits_are_a_set(steps, spread):
    words, start = bitset.empty(300_001)
    members, most = set(), 0
    for step, (add, position) in enumerate(steps):
        position = position if step % 3 else position % (spread + 1)
        if add:
            bitset.add(words, start, position)
            members.add(position)
            most = max(most, position)
        elif members:
            most = bitset.highest(words, start, most)
            assert most == max(members)
            bitset.remove(words, start, most)
            members.remove(most)
        assert bitset.holds(words, position) == (position in members)
    assert sum(bitset.count(word) for word in words[: start[1]]) == len(members)


@pytest.mark.parametrize("positions", [0, 1, 64, 65, 4096, 4097, 300_000])
def test_the_last_level_of_bits_is_one_word(positions):
    words, start = bitset.empty(positions)
    assert len(words) == start[-1] + 1
    assert len(start) >= 2


@given(ACCESSES)
@settings(deadline=None)
def test_next_access_is_the_next_of_the_same_page(pages):
    ids, n = dense(pages)
    following = next_access(ids, n)
    assert following.dtype == np.int32
    assert following.tolist() == [min(naive.next_use(pages, i, page), len(pages)) for i, page in enumerate(pages)]


@pytest.mark.parametrize(("kernel", "bypass"), MINS)
@given(pages=ACCESSES, capacity=CAPACITY)
def test_min_equals_the_naive_one(kernel, bypass, pages, capacity):
    ids, n = dense(pages)
    outcome, victim = naive.min_always(ids.tolist(), capacity, bypass)
    assert run(kernel, ids, n, capacity) == (outcome, victim)
    alone = np.empty(len(ids), np.uint8)
    kernel(ids, next_access(ids, n), capacity, alone, np.empty(0, np.int32))
    assert alone.tolist() == outcome


@pytest.mark.parametrize(("kernel", "bypass"), MINS)
@pytest.mark.parametrize("capacity", [1, 40, 5000])
def test_min_equals_the_naive_one_on_a_long_skewed_trace(kernel, bypass, capacity):
    ids, n = long_trace()
    ids = ids[:1100]
    assert run(kernel, ids, n, capacity) == naive.min_always(ids.tolist(), capacity, bypass)


@given(pages=FEW, capacity=st.integers(1, 3))
def test_min_with_bypass_is_the_optimum(pages, capacity):
    ids, n = dense(pages)
    assert run(belady.belady_bypass, ids, n, capacity)[0].count(HIT) == naive.best_hits(pages, capacity)


@given(pages=ACCESSES, capacity=st.integers(1, 14))
@settings(deadline=None)
def test_static_hindsight_equals_the_naive_one(pages, capacity):
    ids, n = dense(pages)
    outcome = np.empty(len(ids), np.uint8)
    static.static_hindsight(ids, n, capacity, outcome)
    assert outcome.tolist() == naive.static_hindsight(ids.tolist(), capacity)


@given(pages=ACCESSES, capacity=CAPACITY)
@settings(deadline=None)
def test_the_boundary_is_the_least_time_ahead_of_what_min_drives_out(pages, capacity):
    ids, n = dense(pages)
    m = len(ids)
    _, victim = run(belady.belady, ids, n, capacity)
    ahead = relaxed.eviction_ahead(ids, next_access(ids, n), np.array(victim, np.int32), n)
    expected = naive.ahead(ids.tolist(), victim)
    assert ahead.tolist() == [-1 if d is None else min(d, m) for d in expected]
    boundary = min(naive.boundary(ids.tolist(), capacity), m)
    assert relaxed.belady_boundary(ids, next_access(ids, n), n, capacity) == boundary


@given(pages=ACCESSES, capacity=CAPACITY, boundary=st.integers(1, 130))
def test_relaxed_belady_equals_the_naive_one(pages, capacity, boundary):
    ids, n = dense(pages)
    expected = naive.relaxed_belady(ids.tolist(), capacity, boundary)
    assert run(relaxed.relaxed_belady, ids, n, capacity, boundary) == expected


@pytest.mark.parametrize("boundary", [1, 150, 400])
def test_relaxed_belady_equals_the_naive_one_on_a_long_skewed_trace(boundary):
    ids, n = long_trace()
    ids = ids[:1100]
    expected = naive.relaxed_belady(ids.tolist(), 40, boundary)
    assert run(relaxed.relaxed_belady, ids, n, 40, boundary) == expected


def test_relaxed_belady_goes_from_lru_to_min_as_the_boundary_grows():
    ids, n = long_trace()
    hits = [run(relaxed.relaxed_belady, ids, n, 40, boundary)[0].count(HIT) for boundary in (1, 100, 300, len(ids))]
    assert hits == sorted(hits)
    assert hits[-1] == run(belady.belady, ids, n, 40)[0].count(HIT)
    at_boundary = relaxed.belady_boundary(ids, next_access(ids, n), n, 40)
    _, victim = run(relaxed.relaxed_belady, ids, n, 40, at_boundary)
    ahead = relaxed.eviction_ahead(ids, next_access(ids, n), np.array(victim, np.int32), n)
    evicted = ahead[ahead >= 0]
    assert len(evicted) > 0 and evicted.min() >= at_boundary


@given(pages=FEW, draws=st.lists(st.sampled_from([0, 1, 1, 2, 3, 8]), min_size=13, max_size=13), capacity=CAPACITY)
def test_the_best_worth_lies_between_the_bounds(pages, draws, capacity):
    capacity = min(capacity, 3)
    weights = draws[: len(pages)]
    best = naive.best_worth(pages, weights, capacity)
    assert naive.best_intervals(pages, weights, capacity) == best
    bounds = pfoo.pfoo(dense(pages)[0], np.array(weights, np.float64), capacity)
    assert bounds.lower <= best <= bounds.upper + 1e-9


@given(
    accesses=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=60),
    capacity=st.integers(1, 6),
    seed=st.integers(0, 9),
)
@settings(deadline=None)
def test_pfoo_equals_the_naive_one(accesses, capacity, seed):
    ids, _ = dense([page for page, _ in accesses])
    weights = [weight / 4 for _, weight in accesses]
    bounds = pfoo.pfoo(ids, np.array(weights), capacity)
    lower, upper = naive.pfoo(ids.tolist(), weights, capacity)
    assert bounds.lower == pytest.approx(lower)
    assert bounds.upper == pytest.approx(upper)


@pytest.mark.parametrize("capacity", [1, 3, 10, 40, 150, 10**6])
def test_min_with_bypass_lies_between_the_bounds_of_equal_hits(capacity):
    ids, n = long_trace()
    bounds = pfoo.pfoo(ids, np.ones(len(ids)), capacity)
    hits = run(belady.belady_bypass, ids, n, capacity)[0].count(HIT)
    assert bounds.lower <= hits <= bounds.upper
    if capacity > n:
        assert bounds.lower == bounds.upper == len(ids) - n


def test_bounds_of_nothing_are_nothing():
    assert pfoo.pfoo(np.zeros(0, np.int32), np.zeros(0), 3) == pfoo.Bounds(0.0, 0.0)
    assert pfoo.pfoo(np.arange(5, dtype=np.int32), np.ones(5), 3) == pfoo.Bounds(0.0, 0.0)


def test_refusals():
    ids, following = np.zeros(2, np.int32), np.array([1, 2], np.int32)
    with pytest.raises(ConfigError, match="capacity 0"):
        pfoo.pfoo(ids, np.ones(2), 0)
    for weight in (-1.0, np.nan, np.inf):
        with pytest.raises(ConfigError, match="access 1"):
            pfoo.pfoo(ids, np.array([1.0, weight]), 1)
    with pytest.raises(ConfigError, match="boundary 0"):
        relaxed.relaxed_belady(ids, following, 1, 0, np.empty(2, np.uint8), np.empty(2, np.int32))
