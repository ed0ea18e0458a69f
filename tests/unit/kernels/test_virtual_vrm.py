import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.virtual.mapping import MOST_RUNS
from cachezoo.kernels.virtual.queues import QUEUES, moves
from cachezoo.kernels.virtual.vrm import Settings, simulate
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only
from cachezoo.policies.evictions.classics import LRU
from cachezoo.seeds import derive_seed
from tests.oracles import virtual as naive


def skewed(seed, m, n_pages):
    rng = np.random.default_rng(derive_seed(seed, "references"))
    loop = np.arange(m) % (n_pages - 3)
    return np.where(rng.random(m) < 0.5, rng.zipf(1.4, m) % n_pages, loop).astype(np.int32)


def check(queue, ids, n_pages, n, capacity, own, profile=None):
    """Against a set of pages, reference by reference."""
    found = simulate(moves(queue, ids, n_pages, n), capacity, n, own, profile)
    cache = naive.Cache(queue, n, capacity, own, profile)
    runs, allocation, fragmentation = [cache.runs], 0, 0
    for i, page in enumerate(ids.tolist()):
        hit, moved, read = cache.ask(page)
        assert (bool(found.hit[i]), int(found.moved[i])) == (hit, moved + read), i
        assert bool(found.kept[i]) == cache.kept
        assert len(cache.held) <= len(cache.positions) <= capacity
        allocation, fragmentation = allocation + read, fragmentation + moved
        if cache.asked % cache.q == 0:
            runs.append(cache.runs)
    assert (found.allocation, found.fragmentation) == (allocation, fragmentation)
    assert found.moved.sum() == allocation + fragmentation
    assert found.mappings.shape == (len(runs), MOST_RUNS, 2)
    for row, expected in zip(found.mappings.tolist(), runs, strict=True):
        assert row == [*map(list, expected)] + [[-1, -1]] * (MOST_RUNS - len(expected))
    return found


@given(
    queue=st.sampled_from(QUEUES),
    pages=st.lists(st.integers(0, 15), min_size=1, max_size=120),
    n=st.integers(1, 20),
    share=st.floats(0, 1),
    fragment=st.integers(1, 4),
    f=st.integers(1, 4),
    alpha=st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    q=st.integers(1, 20),
    cost=st.sampled_from([0.0, 0.5, 1.0]),
    warm=st.booleans(),
)
def test_a_set_of_pages_does_the_same(queue, pages, n, share, fragment, f, alpha, q, cost, warm):
    n = max(n, fragment)
    capacity = fragment + int(share * (n - fragment))
    count = -(-n // fragment)
    profile = np.linspace(0, 0.1, count) if warm else None
    own = Settings(fragment, f, alpha, q, cost)
    check(queue, np.array(pages, np.int32), 16, n, capacity, own, profile)


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("own", [Settings(32, 2, 0.95, 100), Settings(8, 5, 0.8, 50, 0.4)])
def test_longer_queues(queue, own):
    check(queue, skewed(1, 2000, 400), 400, 360, 100, own)


@pytest.mark.parametrize("seed", range(3))
def test_where_far_runs_cost_what_they_save_it_is_lru(seed):
    """A hit in a run away from the head crosses its beginning, so with cost = 1 the head is never worth less."""
    ids, n_pages, n, capacity = skewed(seed, 4000, 300), 300, 256, 64
    found = simulate(moves("lru", ids, n_pages, n), capacity, n, Settings(16, 1, 0.9, 100, 1.0))
    expected = hits_only(Composition(LRU, ACCEPT_ALL), ids, n_pages, capacity) == HIT
    assert found.hit.tolist() == expected.tolist()
    assert not found.moved.any()


def test_a_loop_is_hit_and_saves_the_disk_nothing():
    """900 pages in turn over a cache of 128: what is hit was read before it was asked, so the disk reads as much."""
    ids = (np.arange(40_000) % 900).astype(np.int32)
    found = simulate(moves("lru", ids, 900, 1024), 128, 1024, Settings(fragment=32))
    assert not (hits_only(Composition(LRU, ACCEPT_ALL), ids, 900, 128) == HIT).any()
    assert found.hit.mean() == 0.95
    assert (found.allocation, found.fragmentation) == (4, 38_000)
    assert ((~found.hit).sum() + found.moved.sum()) / len(ids) == 1.0001
    assert found.mappings[0, :2].tolist() == [[0, 128], [-1, -1]]
    assert found.mappings[-1, :2].tolist() == [[0, 96], [896, 928]]


def test_the_example_by_hand():
    """Six pages in turn over a cache of three, as docs/virtual.md tells it."""
    ids = (np.arange(36) % 6).astype(np.int32)
    found = simulate(moves("lru", ids, 6, 8), 3, 8, Settings(fragment=1, q=12))
    assert found.hit.tolist() == [False] * 12 + [True] * 24
    assert found.moved.tolist() == [0] * 11 + [1] * 25
    assert found.mappings[1, :3].tolist() == [[0, 2], [5, 6], [-1, -1]]
    assert (~found.hit).sum() + found.moved.sum() == 37


def test_a_learned_profile_saves_the_first_quantum():
    ids = (np.arange(9_000) % 900).astype(np.int32)
    own = Settings(fragment=32)
    known = moves("lru", ids, 900, 1024)
    profile = np.zeros(32)
    profile[899 // 32] = 1.0
    cold, warm = simulate(known, 128, 1024, own), simulate(known, 128, 1024, own, profile)
    assert cold.hit[: own.q].sum() == 0
    assert warm.hit[:900].sum() == 0 and warm.hit[900:].all()
