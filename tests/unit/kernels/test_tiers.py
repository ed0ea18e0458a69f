"""The loops of hierarchies where a test by the whole hierarchy says too little."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels import tier_counts
from cachezoo.kernels.tier_buffer import empty_buffer, places, put_in_order
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition, Eviction
from cachezoo.policies.engine import hits_only, simulate
from cachezoo.policies.evictions.classics import INLFU, LFU
from cachezoo.questions.tiers.hierarchy import HCALFU
from tests.oracles import tiers as naive
from tests.stream_data import PAGES, reads


def counted(name, keeps, refuses):
    def make(stream, capacity, _):
        return tier_counts.make(stream.n_pages, capacity, keeps, refuses)

    return Eviction(name, "", make, tier_counts.has, tier_counts.touch, tier_counts.insert)


def batch(pages, address):
    """Pages as a buffer full of them writes them."""
    order = places(address)
    buffer = empty_buffer(len(pages), len(address))
    buffer.held[:] = order.rank[list(pages)]
    put_in_order(buffer, order.block)
    return order.page[buffer.batch].tolist()


@given(pages=st.lists(st.integers(0, 400), min_size=1, max_size=120, unique=True), spread=st.integers(1, 9))
@settings(deadline=None)
def test_a_batch_is_in_order(pages, spread):
    address = np.random.default_rng(spread).permutation(401).astype(np.int64) * spread
    assert batch(pages, address) == naive.flushed(pages, address.tolist())


def test_a_batch_writes_the_block_of_most_pages_first():
    address = np.array([130, 5, 129, 700, 6, 701, 128], np.int64)
    assert batch(range(7), address) == [6, 2, 0, 1, 4, 3, 5]


@pytest.mark.parametrize(
    ("own", "zoo"),
    [(counted("hcalfu", True, True), LFU), (counted("hcalfu", False, False), INLFU)],
    ids=("kept and refusing", "reset"),
)
@given(pages=PAGES, capacity=st.integers(1, 12))
def test_where_nothing_is_removed_it_is_the_zoos(own, zoo, pages, capacity):
    stream = reads(pages)
    run, want = (simulate(Composition(one, ACCEPT_ALL), stream, capacity) for one in (own, zoo))
    assert run.outcome.tolist() == want.outcome.tolist()
    assert run.victim.tolist() == want.victim.tolist()


@given(pages=PAGES, capacity=st.integers(1, 12))
def test_the_fast_loop_of_hcas_lfu_is_the_full_one(pages, capacity):
    stream, parts = reads(pages), Composition(HCALFU, ACCEPT_ALL)
    fast = hits_only(parts, stream.page_ids, stream.n_pages, capacity)
    assert fast.tolist() == simulate(parts, stream, capacity).outcome.tolist()


def test_hcas_lfu_takes_every_page_and_remembers():
    stream = reads([0, 0, 1, 1, 2, 2, 2])
    run = simulate(Composition(HCALFU, ACCEPT_ALL), stream, 2)
    assert run.victim.tolist() == [-1, -1, -1, -1, 0, -1, -1]
    stream = reads([0, 0, 1, 2, 1, 2, 1])  # pages 1 and 2 take turns beside 0, until both have been asked for as often
    assert simulate(Composition(HCALFU, ACCEPT_ALL), stream, 2).victim.tolist() == [-1, -1, -1, 1, 2, 0, -1]
