import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.stack_distance import lru_hits, stack_distances
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only
from cachezoo.policies.evictions.classics import LRU
from tests.oracles import bounds as naive

CAPACITIES = [1, 2, 3, 5, 8, 64, 130, 200, 10**7]


def dense(pages):
    names = {page: i for i, page in enumerate(dict.fromkeys(pages))}
    return np.array([names[page] for page in pages], np.int32), len(names)


def lru_at(ids, n, capacity, warmup):
    return int((hits_only(Composition(LRU, ACCEPT_ALL), ids, n, capacity)[warmup:] == HIT).sum())


def rising(warmups):
    """As many warm-ups as capacities, in order."""
    return sorted((warmups * len(CAPACITIES))[: len(CAPACITIES)])


@given(
    pages=st.lists(st.integers(0, 11), min_size=1, max_size=400),
    warmups=st.lists(st.integers(0, 150), min_size=1, max_size=len(CAPACITIES)),
)
@settings(deadline=None)
def test_distances_are_the_naive_ones_and_hits_those_of_lru_at_every_capacity(pages, warmups):
    ids, n = dense(pages)
    assert stack_distances(ids, n).tolist() == naive.stack_distances(ids.tolist())
    expected = [lru_at(ids, n, *each) for each in zip(CAPACITIES, rising(warmups), strict=True)]
    assert lru_hits(ids, n, CAPACITIES, rising(warmups)).tolist() == expected
    assert expected == naive.lru_hits(ids.tolist(), CAPACITIES, rising(warmups))


@pytest.mark.parametrize("seed", range(2))
def test_numbers_run_out_again_and_again(seed):
    rng = np.random.default_rng(seed)
    ids, n = dense(np.concatenate([rng.zipf(1.2, 2500) % 170, np.arange(170), rng.integers(0, 170, 900)]).tolist())
    assert stack_distances(ids, n).tolist() == naive.stack_distances(ids.tolist())
    warmups = rising([700, 20, 3500])
    expected = [lru_at(ids, n, *each) for each in zip(CAPACITIES, warmups, strict=True)]
    assert lru_hits(ids, n, CAPACITIES, warmups).tolist() == expected
