import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds import pfoo as pages
from cachezoo.kernels.sized.pfoo import pfoo
from tests.oracles.sized import bounds as naive

REQUESTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7), st.integers(0, 5)), min_size=1, max_size=60)


def arrays(ids, sizes, weights):
    return np.array(ids, np.int32), np.array(sizes, np.int64), np.array(weights, np.float64)


@given(
    ids=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    sizes=st.lists(st.integers(0, 6), min_size=5, max_size=5),
    weights=st.lists(st.integers(0, 5), min_size=12, max_size=12),
    capacity=st.integers(1, 12),
)
@settings(deadline=None)
def test_the_best_cache_lies_between(ids, sizes, weights, capacity):
    own, weights = [sizes[k] for k in ids], weights[: len(ids)]
    best = naive.best_worth(ids, own, weights, capacity)
    bounds = pfoo(*arrays(ids, own, weights), capacity)
    assert bounds.lower <= best <= bounds.upper + 1e-9


@given(requests=REQUESTS, capacity=st.integers(1, 20))
@settings(deadline=None)
def test_equals_the_naive_one(requests, capacity):
    """Sizes may change from one request of an object to the next."""
    ids, sizes, weights = map(list, zip(*requests, strict=True))
    bounds = pfoo(*arrays(ids, sizes, weights), capacity)
    lower, upper = naive.pfoo(ids, sizes, weights, capacity)
    assert (bounds.lower, bounds.upper) == (pytest.approx(lower), pytest.approx(upper))


@given(requests=REQUESTS, capacity=st.integers(1, 9), unit=st.sampled_from([1, 512, 4096]))
@settings(deadline=None)
def test_objects_of_one_size_are_pages(requests, capacity, unit):
    ids, _, weights = map(list, zip(*requests, strict=True))
    found = pfoo(*arrays(ids, [unit] * len(ids), weights), capacity * unit)
    right = pages.pfoo(np.array(ids, np.int32), np.array(weights, np.float64), capacity)
    assert found.lower == right.lower
    assert found.upper == pytest.approx(right.upper)


@given(requests=REQUESTS, capacity=st.integers(1, 20), shift=st.randoms(use_true_random=False))
@settings(deadline=None)
def test_renamed_objects_have_the_same_bounds(requests, capacity, shift):
    ids, sizes, weights = map(list, zip(*requests, strict=True))
    names = list(range(10))
    shift.shuffle(names)
    assert pfoo(*arrays(ids, sizes, weights), capacity) == pfoo(
        *arrays([names[k] for k in ids], sizes, weights), capacity
    )


def test_a_cache_for_everything_hits_all_that_comes_again():
    rng = np.random.default_rng(3)
    ids = rng.zipf(1.3, 4000).astype(np.int64) % 500
    _, ids = np.unique(ids, return_inverse=True)
    sizes = rng.integers(1, 2**40, ids.max() + 1)[ids]
    bounds = pfoo(ids.astype(np.int32), sizes, sizes.astype(np.float64), 2**60)
    first = np.unique(ids, return_index=True)[1]
    assert bounds.lower == bounds.upper == pytest.approx(float(sizes.sum() - sizes[first].sum()))


def test_what_is_larger_than_the_cache_is_never_hit():
    bounds = pfoo(*arrays([0, 0, 1, 1], [9, 9, 3, 3], [1, 1, 1, 1]), 8)
    assert (bounds.lower, bounds.upper) == (1, 1)


def test_refusals():
    ids, sizes, weights = arrays([0, 0], [1, 1], [1, 1])
    with pytest.raises(ConfigError, match="capacity 0"):
        pfoo(ids, sizes, weights, 0)
    with pytest.raises(ConfigError, match="request 1: what a hit is worth"):
        pfoo(ids, sizes, np.array([1.0, np.nan]), 1)
    with pytest.raises(ConfigError, match="request 0: a size"):
        pfoo(ids, np.array([-1, 1]), weights, 1)
    with pytest.raises(ConfigError, match="check their unit"):
        pfoo(np.zeros(4, np.int32), np.full(4, 2**61), np.ones(4), 2**61)
