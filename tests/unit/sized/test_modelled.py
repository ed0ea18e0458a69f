"""W-TinyLFU, LHD and AdaptSize of objects: equal to naive ones, and to what their papers say of simple cases."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.outcome import ADMITTED
from cachezoo.kernels.sized import lhd as kernel
from cachezoo.policies.engine import simulate as simulate_pages
from cachezoo.policies.spec import parse as parse_pages
from cachezoo.policies.stream import Stream
from cachezoo.sized.admissions import ACCEPT_ALL
from cachezoo.sized.components import Composition
from cachezoo.sized.evictions import LRU
from cachezoo.sized.modelled import ADAPT_SIZE, LHD, WTINYLFU
from cachezoo.sized.simulate import simulate
from tests.oracles.sized import engine as naive
from tests.oracles.sized import modelled as oracle
from tests.oracles.sized.evict import Lru
from tests.sized_data import requests, skewed

COUNTS = ("evictions", "evicted_bytes", "expired", "deleted", "resized", "too_large", "unknown")
CASES = [
    (WTINYLFU, oracle.WTinyLfu, {}),
    (WTINYLFU, oracle.WTinyLfu, {"window": 0.3, "protected": 0.5, "sample": 2}),
    (LHD, oracle.Lhd, {}),
    (LHD, oracle.Lhd, {"candidates": 3, "every": 20, "seed": 5}),
]


def check(run, right):
    outcome, counts = right
    assert run.outcome.tolist() == outcome
    assert {name: getattr(run, name) for name in COUNTS} == {name: counts[name] for name in COUNTS}


@pytest.mark.parametrize(("eviction", "cache", "values"), CASES)
@given(asked=requests(), capacity=st.integers(1, 150), around=st.booleans(), resizing=st.booleans())
def test_a_run_is_its_oracles(eviction, cache, values, asked, capacity, around, resizing):
    run = simulate(asked, Composition(eviction, ACCEPT_ALL, values), capacity, around=around, resizing=resizing)
    check(run, naive.simulate(asked, cache(asked, capacity, **values), naive.Always(), capacity, around, resizing))


@pytest.mark.parametrize(("eviction", "cache", "values"), CASES)
@pytest.mark.parametrize("constant", [True, False])
def test_a_long_run_is_its_oracles(eviction, cache, values, constant):
    asked = skewed(n=1500, objects=300, constant=constant)
    capacity = 20_000
    values = {**values, "every": 200} if "every" in values else values
    run = simulate(asked, Composition(eviction, ACCEPT_ALL, values), capacity)
    check(run, naive.simulate(asked, cache(asked, capacity, **values), naive.Always(), capacity))
    assert run.evictions > 100


@pytest.mark.parametrize("places", [1, 7, 60, 300])
def test_w_tinylfu_of_objects_of_a_byte_is_that_of_pages(places):
    asked = skewed()
    asked = replace(asked, size=np.ones(len(asked), np.int64))
    page = simulate_pages(parse_pages("wtinylfu").composition(), Stream.of_pages(asked.ids, asked.n_objects), places)
    assert simulate(asked, Composition(WTINYLFU, ACCEPT_ALL), places).outcome.tolist() == page.outcome.tolist()


def test_a_large_object_must_be_wanted_more_than_all_it_drives_out():
    ids = [0, 1, 2, 3, 0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]
    sizes = [10 if key < 4 else 40 for key in ids]
    asked = oracle_requests(ids, sizes)
    run = simulate(asked, Composition(WTINYLFU, ACCEPT_ALL, {"window": 0.0, "protected": 0.5}), 41)
    entered = np.flatnonzero(run.outcome[8:] == ADMITTED)
    assert entered.tolist() == [8]  # asked for nine times, where the others were eight times together


def oracle_requests(ids, sizes):
    return replace(
        skewed(len(ids)), ids=np.array(ids, np.int32), size=np.array(sizes, np.int64), n_objects=max(ids) + 1
    )


@given(counts=st.lists(st.integers(0, 50), min_size=12, max_size=12))
def test_ages_of_another_unit_keep_their_counts(counts):
    table = np.zeros((kernel.CLASSES, kernel.AGES))
    table[3, :6], table[3, -6:] = counts[:6], counts[6:]
    kernel.double_ages(table)
    assert table.sum() == sum(counts)
    kernel.halve_ages(table)
    assert table.sum() == sum(counts)
    assert table[3, :6].tolist() == counts[:6]


def test_hit_density_beats_recency_where_small_objects_are_hit_more():
    asked = skewed(n=30_000, objects=3000)
    own, lru = (simulate(asked, Composition(one, ACCEPT_ALL), 150_000).hit_ratio for one in (LHD, LRU))
    assert own > lru + 0.05


@given(asked=requests(), capacity=st.integers(1, 150), start=st.integers(1, 40), seed=st.integers(0, 3))
def test_what_enters_is_drawn_by_size(asked, capacity, start, seed):
    values = {"start": start, "seed": seed}
    run = simulate(asked, Composition(LRU, ADAPT_SIZE, {}, values), capacity)
    check(run, naive.simulate(asked, Lru(asked, capacity), oracle.AdaptSize(asked, capacity, **values), capacity))


def tuned(asked, capacity, every):
    """c after the first tuning, and the model of the naive one."""
    states = []

    def make(*arguments):
        states.append(ADAPT_SIZE.make(*arguments))
        return states[-1]

    asked = replace(asked, ids=asked.ids[:every], size=asked.size[:every], op=asked.op[:every])
    simulate(asked, Composition(LRU, replace(ADAPT_SIZE, make=make), {}, {"every": every}), capacity)
    right = oracle.AdaptSize(asked, capacity, every)
    for i, key in enumerate(asked.ids.tolist()):
        right.saw(key, i)
    return float(states[-1].c[0]), right


@pytest.mark.parametrize("capacity", [3000, 40_000, 10**9])
def test_c_is_tuned_to_most_hits_by_the_model(capacity):
    c, right = tuned(skewed(n=1000, objects=150), capacity, 1000)
    assert right.hits(c) == pytest.approx(max(map(right.hits, (right.c, c))), rel=0.01)
    if capacity == 10**9:
        assert c > 10**9  # everything fits, so everything enters


def test_adaptsize_hits_more_than_all_who_enter():
    asked = skewed(n=60_000, objects=5000)
    own, lru = (simulate(asked, Composition(LRU, gate), 50_000).hit_ratio for gate in (ADAPT_SIZE, ACCEPT_ALL))
    assert own > lru + 0.03
