"""Evictions that look ahead: equal to naive ones, to the page bounds at equal sizes, and between the bounds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.bounds import belady, relaxed
from cachezoo.kernels.bounds.following import next_access
from cachezoo.sized.admissions import ACCEPT_ALL
from cachezoo.sized.components import Composition
from cachezoo.sized.foresight import BELADY, BELADY_SIZE, RELAXED_BELADY
from cachezoo.sized.simulate import simulate
from tests.oracles.sized import engine as naive
from tests.oracles.sized import foresight as oracle
from tests.sized_data import requests, skewed

CASES = [
    (BELADY, oracle.Belady, {}),
    (BELADY, oracle.Belady, {"bypass": 1}),
    (BELADY_SIZE, oracle.BeladySize, {"candidates": 0}),
    (BELADY_SIZE, oracle.BeladySize, {"candidates": 0, "bypass": 1}),
    (RELAXED_BELADY, oracle.RelaxedBelady, {"boundary": 1}),
    (RELAXED_BELADY, oracle.RelaxedBelady, {"boundary": 9}),
]


@pytest.mark.parametrize(("eviction", "cache", "values"), CASES)
@given(asked=requests(), capacity=st.integers(1, 150), around=st.booleans(), resizing=st.booleans())
def test_a_run_is_its_oracles(eviction, cache, values, asked, capacity, around, resizing):
    run = simulate(asked, Composition(eviction, ACCEPT_ALL, values), capacity, around=around, resizing=resizing)
    right = cache(asked, capacity, **values)
    outcome, counts = naive.simulate(asked, right, naive.Always(), capacity, around, resizing)
    assert run.outcome.tolist() == outcome
    assert (run.evictions, run.evicted_bytes) == (counts["evictions"], counts["evicted_bytes"])


@pytest.mark.parametrize("places", [1, 7, 60, 300])
@pytest.mark.parametrize(("bypass", "kernel"), [(0, belady.belady), (1, belady.belady_bypass)])
def test_objects_of_equal_size_are_pages(places, bypass, kernel):
    asked = skewed()
    asked = replace(asked, size=np.full(len(asked), 100, np.int64))
    outcome, victim = np.empty(len(asked), np.uint8), np.empty(len(asked), np.int32)
    kernel(asked.ids, next_access(asked.ids, asked.n_objects), places, outcome, victim)
    for eviction in (BELADY, BELADY_SIZE):
        values = {"bypass": bypass} if eviction is BELADY else {"bypass": bypass, "candidates": 0}
        run = simulate(asked, Composition(eviction, ACCEPT_ALL, values), places * 100)
        assert run.outcome.tolist() == outcome.tolist()


def test_relaxed_belady_of_equal_sizes_is_that_of_pages():
    asked = skewed()
    asked = replace(asked, size=np.full(len(asked), 100, np.int64))
    following = next_access(asked.ids, asked.n_objects)
    outcome, victim = np.empty(len(asked), np.uint8), np.empty(len(asked), np.int32)
    relaxed.relaxed_belady(asked.ids, following, 60, 50, outcome, victim)
    run = simulate(asked, Composition(RELAXED_BELADY, ACCEPT_ALL, {"boundary": 50}), 6000)
    assert run.outcome.tolist() == outcome.tolist()


def test_draws_come_near_to_looking_at_all():
    asked = skewed()
    ratios = [
        simulate(asked, Composition(BELADY_SIZE, ACCEPT_ALL, {"candidates": candidates}), 60_000).hit_ratio
        for candidates in (0, 128, 1)
    ]
    assert abs(ratios[0] - ratios[1]) < 0.01
    assert ratios[2] < ratios[1]
