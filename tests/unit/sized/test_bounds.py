"""Bounds of caches of objects: between them the best of all runs, and every policy below the upper one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds import relaxed
from cachezoo.kernels.bounds.following import next_access
from cachezoo.sized.bounds import belady_boundary, hit_bounds, relaxed_belady
from cachezoo.sized.simulate import simulate
from tests.oracles.sized import bounds as naive
from tests.sized_data import requests, skewed


@given(asked=requests(most=9, sizes=(0, 6)), capacity=st.integers(1, 14), around=st.booleans())
@settings(max_examples=150)
def test_the_best_of_all_runs_lies_between(asked, capacity, around):
    asked = replace(asked, ids=asked.ids % 4)
    bounds = hit_bounds(asked, capacity, around=around)
    best = naive.best_run(asked, capacity, around, [1] * len(asked))
    assert bounds.hits.lower <= best <= bounds.hits.upper + 1e-9
    best = naive.best_run(asked, capacity, around, asked.size.tolist())
    assert bounds.byte_hits.lower <= best <= bounds.byte_hits.upper + 1e-9


@given(asked=requests(), capacity=st.integers(1, 150), around=st.booleans(), warmup=st.integers(0, 40))
def test_no_policy_is_above(asked, capacity, around, warmup):
    bounds = hit_bounds(asked, capacity, around=around, warmup=warmup)
    for policy in ("lru", "beladysize(bypass=1)"):
        run = simulate(asked, policy, capacity, around=around, warmup=warmup)
        assert (run.requests, run.bytes) == (bounds.requests, bounds.bytes)
        assert run.hits <= bounds.hits.upper + 1e-9
        assert run.byte_hits <= bounds.byte_hits.upper + 1e-9


def test_the_bounds_are_near_to_each_other_and_to_what_hindsight_reaches():
    asked = skewed()
    bounds = hit_bounds(asked, 60_000)
    run = simulate(asked, "beladysize(bypass=1)", 60_000)
    assert bounds.hit_ratio.lower <= bounds.hit_ratio.upper < bounds.hit_ratio.lower + 0.03
    assert run.hit_ratio <= bounds.hit_ratio.upper < run.hit_ratio + 0.03
    assert bounds.byte_hit_ratio.upper < bounds.hit_ratio.upper


def test_a_warm_up_below_0_is_refused():
    with pytest.raises(ConfigError, match="warm-up -1"):
        hit_bounds(skewed(100), 10, warmup=-1)


@pytest.mark.parametrize("places", [7, 60, 100_000])
def test_relaxed_belady_is_at_the_boundary_of_min(places):
    asked = skewed()
    asked = replace(asked, size=np.full(len(asked), 100, np.int64))
    following = next_access(asked.ids, asked.n_objects)
    boundary = relaxed.belady_boundary(asked.ids, following, asked.n_objects, places)
    outcome, victim = np.empty(len(asked), np.uint8), np.empty(len(asked), np.int32)
    relaxed.relaxed_belady(asked.ids, following, places, boundary, outcome, victim)
    run, found = relaxed_belady(asked, places * 100)
    assert found == belady_boundary(asked, places * 100) == boundary
    assert run.outcome.tolist() == outcome.tolist()
