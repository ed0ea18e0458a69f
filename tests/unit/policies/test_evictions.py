"""Every registered eviction: equal to its naive oracle in outcome and victim, and within its capacity."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCHED
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only, simulate
from cachezoo.policies.evictions import EVICTIONS
from tests.oracles import engine as naive
from tests.stream_data import PAGES, reads, streams

# An eviction that learns as it goes is held against its own oracle in its own test.
BY_RULE = [eviction for eviction in EVICTIONS if eviction.learn is None]
IDS = [eviction.id for eviction in BY_RULE]


def oracle(eviction, stream, capacity):
    return import_module(f"tests.oracles.evict.{eviction.id}").Cache(stream, capacity)


def gate(stream, capacity):
    return import_module("tests.oracles.admit.acceptall").Gate(stream, capacity)


def check(eviction, stream, capacity):
    run = simulate(Composition(eviction, ACCEPT_ALL), stream, capacity)
    outcome, victim = naive.simulate(stream, oracle(eviction, stream, capacity), gate(stream, capacity))
    assert run.outcome.tolist() == outcome
    assert run.victim.tolist() == victim


@pytest.mark.parametrize("eviction", BY_RULE, ids=IDS)
@given(pages=PAGES, capacity=st.integers(1, 12))
def test_equals_its_oracle(eviction, pages, capacity):
    check(eviction, reads(pages), capacity)


@pytest.mark.parametrize("eviction", BY_RULE, ids=IDS)
@given(stream=streams(), capacity=st.integers(1, 9))
def test_equals_its_oracle_on_requests(eviction, stream, capacity):
    check(eviction, stream, capacity)


@pytest.mark.parametrize("eviction", BY_RULE, ids=IDS)
def test_equals_its_oracle_on_a_long_skewed_trace(eviction):
    rng = np.random.default_rng(5)
    pages = np.concatenate([rng.zipf(1.2, 1200) % 200, np.arange(250), rng.zipf(1.4, 1200) % 150])
    check(eviction, reads(pages.tolist()), 40)


@pytest.mark.parametrize("eviction", BY_RULE, ids=IDS)
@given(pages=PAGES, capacity=st.integers(1, 12))
def test_the_fast_loop_is_the_full_one(eviction, pages, capacity):
    stream = reads(pages)
    composition = Composition(eviction, ACCEPT_ALL)
    fast = hits_only(composition, stream.page_ids, stream.n_pages, capacity)
    assert fast.tolist() == simulate(composition, stream, capacity).outcome.tolist()


@pytest.mark.parametrize("eviction", BY_RULE, ids=IDS)
def test_never_holds_more_than_its_capacity(eviction):
    rng = np.random.default_rng(7)
    stream = reads((rng.zipf(1.1, 6000) % 700).tolist())
    for capacity in (1, 2, 3, 10, 64, 699, 5000):
        run = simulate(Composition(eviction, ACCEPT_ALL), stream, capacity)
        entered = np.isin(run.outcome, (ADMITTED, PREFETCHED)).astype(np.int64)
        held = np.cumsum(entered - (run.victim >= 0))
        assert held.max() <= capacity
        assert (run.outcome == HIT).sum() > 0
