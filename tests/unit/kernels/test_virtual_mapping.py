import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.virtual.mapping import MOST_RUNS, allocate, make_work
from cachezoo.seeds import derive_seed
from tests.oracles import virtual as naive


def chosen(value, crossings, k, f, cost, work=None, optimal=0):
    runs = np.empty((MOST_RUNS, 2), np.int64)
    value, crossings = np.array(value, np.float64), np.array(crossings, np.float64)
    count, worth = allocate(value, crossings, k, f, cost, optimal, work or make_work(len(value), k, f), runs)
    return runs[:count].tolist(), worth


VALUES = st.one_of(st.integers(0, 3), st.sampled_from([0.1, 0.2, 0.30000000000000004, 0.7, 5e-324, 1e300]))


@given(
    value=st.lists(VALUES, min_size=1, max_size=40),
    f=st.integers(1, 16),
    cost=st.sampled_from([0, 0.5, 1]),
    data=st.data(),
)
def test_mapping_and_its_worth_are_the_naive_ones(value, f, cost, data):
    k = data.draw(st.integers(1, len(value)))
    crossings = data.draw(st.lists(VALUES, min_size=len(value), max_size=len(value)))
    assert chosen(value, crossings, k, f, cost) == naive.allocate(
        [float(each) for each in value], crossings, k, f, cost
    )


@pytest.mark.parametrize("seed", range(4))
def test_many_runs_and_one_room_to_work_in(seed):
    rng = np.random.default_rng(derive_seed(seed, "values"))
    work = make_work(300)
    for f in (1, 2, 5, 16):
        value = rng.poisson(2, 300) * 0.95 ** rng.integers(0, 9, 300)
        crossings = rng.poisson(9, 300).astype(float)
        for k in (1, 60, 150, 299, 300):
            for cost in (0.0, 0.3):
                assert chosen(value, crossings, k, f, cost, work) == naive.allocate(value, crossings, k, f, cost)


def test_two_runs_of_the_paper():
    """Sec. 3.2: positions 0 to 4 and 10 to 14 are used most, and a cache of 10 maps them."""
    value = [1.0] * 5 + [0.0] * 5 + [1.0] * 5
    assert chosen(value, [0.0] * 15, 10, 2, 0.0) == ([[0, 5], [10, 15]], 10.0)


def test_a_dropped_run_goes_to_those_that_stay():
    """With one run at most, 10 to 14 is worth less than the head and its room goes to 5 to 9, which nobody asks."""
    value = [2.0] * 5 + [0.0] * 5 + [1.0] * 5
    assert chosen(value, [0.0] * 15, 10, 1, 0.0) == ([[0, 10]], 10.0)


def test_of_equal_runs_the_nearest_to_the_head_stays():
    assert chosen([0.0, 1, 0, 0, 1, 0], [0.0] * 6, 2, 1, 0.0) == ([[0, 2]], 1.0)


def test_a_far_run_costs_what_enters_it():
    value, crossings = [0.0, 0, 0, 9, 9, 0], [0.0, 9, 9, 18, 0, 0]
    assert chosen(value, crossings, 2, 1, 0.0) == ([[3, 5]], 18.0)
    assert chosen(value, crossings, 2, 1, 0.5) == ([[3, 5]], 9.0)
    assert chosen(value, crossings, 2, 1, 1.0) == ([[0, 2]], 0.0)


@given(
    value=st.lists(st.integers(0, 5), min_size=1, max_size=9),
    f=st.integers(1, 4),
    cost=st.sampled_from([0, 0.5, 1]),
    data=st.data(),
)
def test_the_optimum_is_the_best_of_all_mappings(value, f, cost, data):
    k = data.draw(st.integers(1, len(value)))
    crossings = data.draw(st.lists(st.integers(0, 5), min_size=len(value), max_size=len(value)))
    runs, worth = chosen(value, crossings, k, f, cost, optimal=1)
    best, most = naive.optimum(value, crossings, k, f, cost)
    assert worth == most and (cost or runs == best)


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_worth_at_least_the_papers(seed):
    rng = np.random.default_rng(derive_seed(seed, "values"))
    value, crossings = rng.poisson(0.4, 200) * rng.poisson(9, 200), rng.poisson(3, 200)
    for f in (1, 2, 5):
        for cost in (0.0, 0.5):
            runs, worth = chosen(value, crossings, 30, f, cost, optimal=1)
            assert worth >= chosen(value, crossings, 30, f, cost)[1]
            assert len(runs) <= f and sum(high - low for low, high in runs) == 30
