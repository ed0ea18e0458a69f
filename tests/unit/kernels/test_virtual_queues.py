import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.stack_distance import stack_distances
from cachezoo.kernels.virtual.queues import QUEUES, moves
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only
from cachezoo.policies.evictions import EVICTIONS
from cachezoo.seeds import derive_seed
from tests.oracles import virtual as naive

PAGES = st.lists(st.integers(0, 11), min_size=1, max_size=300)


def rows(found):
    return [row.tolist() for row in found]


def mixed(seed, m, n_pages):
    """References of several kinds one after another: skewed, looping, uniform."""
    rng = np.random.default_rng(derive_seed(seed, "references"))
    parts = [rng.zipf(1.3, m) % n_pages, np.arange(m) % (n_pages - 7), rng.integers(0, n_pages, m)]
    return np.concatenate(parts).astype(np.int32)


@given(queue=st.sampled_from(QUEUES), pages=PAGES, n=st.integers(1, 14))
@settings(deadline=None)
def test_moves_are_the_naive_ones(queue, pages, n):
    assert rows(moves(queue, np.array(pages, np.int32), 12, n)) == naive.moves(queue, pages, n)


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("n", [350, 1000])
def test_moves_of_a_queue_of_many_blocks_are_the_naive_ones(queue, n):
    ids = mixed(n, 2500, 900)
    assert rows(moves(queue, ids, 900, n)) == naive.moves(queue, ids.tolist(), n)


@pytest.mark.parametrize("queue", QUEUES)
def test_no_references(queue):
    assert [len(row) for row in moves(queue, np.empty(0, np.int32), 3, 2)] == [0, 0, 0]


@pytest.mark.parametrize("queue", QUEUES)
def test_a_move_fills_at_or_before_what_it_vacates_and_lengthens_the_queue_by_at_most_one(queue):
    n = 200
    found = moves(queue, mixed(3, 2500, 900), 900, n)
    known = found.position >= 0
    assert (found.filled <= found.vacated).all() and found.vacated.max() == n - 1
    longest = np.maximum.accumulate(found.vacated)
    assert (np.diff(longest, prepend=-1) <= 1).all()
    if queue != "arc":
        assert (found.position[known] == found.vacated[known]).all()


@given(pages=PAGES, n=st.integers(1, 14))
@settings(deadline=None)
def test_positions_of_lru_are_stack_distances(pages, n):
    ids = np.array(pages, np.int32)
    distances = stack_distances(ids, 12)
    assert moves("lru", ids, 12, n).position.tolist() == np.where(distances < n, distances, -1).tolist()


@pytest.mark.parametrize(("queue", "n"), [("arc", 60), ("arc", 400), ("lru", 60)])
def test_a_page_is_in_the_queue_when_it_is_in_the_cache_of_that_policy(queue, n):
    ids = mixed(5, 4000, 500)
    (eviction,) = (each for each in EVICTIONS if each.id == queue)
    hits = hits_only(Composition(eviction, ACCEPT_ALL), ids, 500, n) == HIT
    assert (moves(queue, ids, 500, n).position >= 0).tolist() == hits.tolist()
