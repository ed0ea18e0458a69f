import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.stack_distance import lru_hits, stack_distances
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only
from cachezoo.policies.evictions.recency import LRU
from tests.oracles import bounds as naive

CAPACITIES = [1, 2, 3, 5, 8, 64, 130, 200, 10**7]


def dense(pages):
    names = {page: i for i, page in enumerate(dict.fromkeys(pages))}
    return np.array([names[page] for page in pages], np.int32), len(names)


def lru_at(ids, n, capacity, warmup):
    return int((hits_only(Composition(LRU, ACCEPT_ALL), ids, n, capacity)[warmup:] == HIT).sum())


@given(pages=st.lists(st.integers(0, 11), max_size=400), warmup=st.integers(0, 150))
@settings(deadline=None)
def test_distances_are_the_naive_ones_and_give_lru_at_every_capacity(pages, warmup):
    ids, n = dense(pages)
    distances = stack_distances(ids, n)
    assert distances.tolist() == naive.stack_distances(ids.tolist())
    expected = [lru_at(ids, n, capacity, warmup) for capacity in CAPACITIES]
    assert lru_hits(distances, CAPACITIES, warmup).tolist() == expected


@pytest.mark.parametrize("seed", range(2))
def test_numbers_run_out_again_and_again(seed):
    rng = np.random.default_rng(seed)
    ids, n = dense(np.concatenate([rng.zipf(1.2, 2500) % 170, np.arange(170), rng.integers(0, 170, 900)]).tolist())
    distances = stack_distances(ids, n)
    assert distances.tolist() == naive.stack_distances(ids.tolist())
    assert lru_hits(distances, CAPACITIES, 700).tolist() == [lru_at(ids, n, c, 700) for c in CAPACITIES]
