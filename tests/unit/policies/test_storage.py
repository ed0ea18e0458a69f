"""Evictions that look at requests: metadata, writes, sizes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.evict import azor, hystor
from cachezoo.kernels.evict.hystor import weights
from cachezoo.kernels.evict.reca import kinds_of
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT, METADATA, PREFETCH, REQUEST, UNIT, WRITE
from cachezoo.kernels.requests import by_size, request_pages
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import simulate
from cachezoo.policies.evictions.classics import AZOR, HYSTOR, LFU, LRU, RECA
from cachezoo.policies.stream import Stream
from tests.oracles import engine as naive
from tests.oracles.admit.acceptall import Gate
from tests.oracles.evict import hystor as naive_hystor
from tests.oracles.evict import reca as naive_reca


def stream_of(*requests):
    """A stream of (pages, flags)."""
    ids, flags = [], []
    for pages, flag in requests:
        ids += pages
        flags += [flag | UNIT | (REQUEST if k == 0 else 0) for k in range(len(pages))]
    return Stream(np.array(ids, np.int32), np.array(flags, np.uint8), np.full(len(ids), 4096, np.int32), max(ids) + 1)


def run(eviction, stream, capacity, **values):
    return simulate(Composition(eviction, ACCEPT_ALL, values), stream, capacity)


@st.composite
def mixed(draw):
    """Reads and writes, small and large, of few pages."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    requests = []
    for _ in range(draw(st.integers(1, 60))):
        first, size = int(rng.integers(0, 20)), int(rng.choice([1, 1, 2, 4, 8]))
        requests.append((list(range(first, first + size)), int(rng.integers(0, 2)) * WRITE))
    return stream_of(*requests, ([29], 0))


@pytest.mark.parametrize(
    "values",
    [{"sequential": 4}, {"sequential": 2, "window": 3, "reach": 1.5, "bar": 0.9}, {"sequential": 3, "bar": 0}],
    ids=["defaults", "strict", "open"],
)
@given(stream=mixed(), capacity=st.integers(1, 12))
def test_reca_equals_its_oracle_whatever_its_parameters(values, stream, capacity):
    got = run(RECA, stream, capacity, **values)
    outcome, victim = naive.simulate(stream, naive_reca.Cache(stream, capacity, **values), Gate(stream, capacity))
    assert got.outcome.tolist() == outcome
    assert got.victim.tolist() == victim


@given(stream=mixed(), capacity=st.integers(1, 12), share=st.sampled_from([0, 0.35, 0.5, 0.9]))
def test_hystor_equals_its_oracle_whatever_its_share(stream, capacity, share):
    got = run(HYSTOR, stream, capacity, write_share=share)
    outcome, victim = naive.simulate(stream, naive_hystor.Cache(stream, capacity, share), Gate(stream, capacity))
    assert got.outcome.tolist() == outcome
    assert got.victim.tolist() == victim


def test_azor_keeps_metadata_from_data_however_hot():
    stream = stream_of(([0], METADATA), ([1], METADATA), *[([2], 0)] * 5, ([0, 1], 0))
    assert run(AZOR, stream, 2).outcome.tolist() == [ADMITTED] * 2 + [BYPASSED] * 5 + [HIT] * 2


def test_azor_lets_data_in_past_the_count_of_what_leaves():
    stream = stream_of(([0], 0), ([0], 0), ([1], 0), ([1], 0), ([1], 0))
    got = run(AZOR, stream, 1)
    assert got.outcome.tolist() == [ADMITTED, HIT, BYPASSED, BYPASSED, ADMITTED]
    assert got.victim.tolist() == [-1, -1, -1, -1, 0]


def test_azor_always_lets_metadata_in():
    stream = stream_of(*[([0], 0)] * 9, ([1], METADATA), ([2], METADATA))
    assert run(AZOR, stream, 1).victim.tolist()[-2:] == [0, 1]


def test_request_sizes_do_not_count_prefetches():
    flags = np.array([REQUEST, 0, PREFETCH, PREFETCH, REQUEST, REQUEST, 0, 0], np.uint8)
    pages = request_pages(flags)
    assert pages.tolist() == [2, 2, 2, 2, 1, 3, 3, 3]
    assert by_size(pages, np.arange(3, dtype=np.uint8)).tolist() == [2, 2, 2, 2, 1, 2, 2, 2]
    assert by_size(pages, np.arange(9, dtype=np.uint8)).tolist() == pages.tolist()
    assert request_pages(flags[:0]).tolist() == []


@pytest.mark.parametrize(("pages", "weight"), [(1, 128), (2, 64), (3, 64), (4, 32), (127, 2), (128, 1), (900, 1)])
def test_hystors_weight_is_the_inverse_bitmap(pages, weight):
    stream = stream_of((list(range(pages)), 0))
    assert set(weights(stream.request_pages).tolist()) == {weight}


def test_azors_count_stops_short_of_the_bit_of_metadata():
    state = azor.make(np.full(1, REQUEST, np.uint8), 1, 1)
    most, last = 2**31 - 2, 2**31 - 2  # a stream's accesses are numbered up to here
    state.own[0] = most << azor.TIME_BITS | last
    azor.touch(state, 0, 0)
    assert int(state.own[0]) == (most + 1) << azor.TIME_BITS
    assert int(state.own[0]) >> azor.META_BIT == 0


def test_hystor_prefers_what_small_requests_ask_for():
    """A page read thrice with fifteen others is worth less than one read once alone."""
    scan = (list(range(16)), 0)
    stream = stream_of(scan, scan, scan, ([16], 0), ([16], 0))
    assert run(HYSTOR, stream, 16, write_share=0).outcome.tolist()[-2:] == [ADMITTED, HIT]
    assert run(LFU, stream, 16).outcome.tolist()[-2:] == [BYPASSED, BYPASSED]


def test_hystor_takes_writes_where_reads_would_be_refused():
    hot = [([page], 0) for page in range(8)] * 4
    stream = stream_of(*hot, ([8], 0), ([9], WRITE), ([9], 0), ([10], WRITE), ([11], WRITE), ([9], 0))
    got = run(HYSTOR, stream, 10)
    assert got.outcome.tolist()[-6:] == [BYPASSED, ADMITTED, HIT, ADMITTED, ADMITTED, BYPASSED]
    assert got.victim.tolist()[-2:] == [9, -1]


def test_hystors_worth_stops_short_of_the_bit_of_metadata():
    state = hystor.make(np.full(3, REQUEST, np.uint8), np.ones(3, np.int32), 1, 1, 0.0)
    hystor.insert(state, 0, 0)
    state.own[0] = hystor.MOST_WORTH - 1 << hystor.WORTH_BIT
    hystor.touch(state, 0, 1)
    assert int(state.own[0]) == hystor.MOST_WORTH << hystor.WORTH_BIT | 1
    hystor.touch(state, 0, 2)
    assert int(state.own[0]) == hystor.MOST_WORTH << hystor.WORTH_BIT | 2


def test_reca_is_lru_where_all_requests_are_of_a_kind():
    ids = (np.random.default_rng(1).zipf(1.1, 3000) % 300).astype(np.int32)
    stream = Stream.of_pages(ids, 300)
    assert run(RECA, stream, 30).outcome.tolist() == run(LRU, stream, 30).outcome.tolist()


def test_recas_kinds():
    stream = stream_of(([0], 0), ([0], WRITE), ([0, 1, 2], 0), ([0, 1, 2], WRITE))
    assert kinds_of(stream.flags, stream.request_pages, 3).tolist() == [0, 1, 2, 2, 2, 3, 3, 3]


def test_reca_learns_to_keep_scans_out():
    """Small reads of a set that fits, between scans that never come back: LRU loses the set, ReCA-like keeps it."""
    requests, fresh = [], 60
    rng = np.random.default_rng(2)
    for _ in range(150):
        requests += [([int(page)], 0) for page in rng.integers(0, 60, 40)]
        requests.append((list(range(fresh, fresh + 64)), 0))
        fresh += 64
    stream = stream_of(*requests)
    late = stream.page_ids.size // 2
    small = (stream.page_ids < 60)[late:]
    ours = run(RECA, stream, 70).outcome[late:]
    lru = run(LRU, stream, 70).outcome[late:]
    assert (ours[small] == HIT).mean() > 0.95
    assert (lru[small] == HIT).mean() < 0.6
    assert (ours[~small] != BYPASSED).sum() == 0
