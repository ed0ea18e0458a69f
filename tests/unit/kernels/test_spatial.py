import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.spatial import accesses_of, drawn_groups
from tests.oracles import spatial as naive

START = st.integers(0, 2**64 - 1)


@given(
    n=st.integers(0, 300),
    rate=st.sampled_from([1e-9, 0.01, 0.3, 0.5, 0.75, 1.0]),
    count=st.sampled_from([1, 2, 8, 255]),
    start=START,
)
@settings(deadline=None)
def test_groups_are_the_naive_ones(n, rate, count, start):
    assert drawn_groups(n, rate, count, start).tolist() == naive.groups(n, rate, count, start)


@given(pages=st.lists(st.integers(0, 40), max_size=200), rate=st.sampled_from([0.1, 0.5, 1.0]), start=START)
@settings(deadline=None)
def test_accesses_are_the_naive_ones(pages, rate, start):
    group = drawn_groups(41, rate, 3, start)
    rows, ids = accesses_of(np.array(pages, np.int32), group)
    assert (rows.tolist(), ids.tolist()) == naive.accesses(pages, group.tolist())


@pytest.mark.parametrize("rate", [0.9, 0.1, 0.01])
def test_groups_are_about_equal_and_lower_rates_draw_subsets(rate):
    n, count = 400_000, 8
    groups = drawn_groups(n, rate, count, 12345)
    sizes = np.bincount(groups, minlength=count + 1)[1:]
    expected = rate * n / count
    assert np.abs(sizes - expected).max() < 5 * np.sqrt(expected)
    lower = drawn_groups(n, rate / 2, count, 12345) > 0
    assert lower.any() and not (lower & (groups == 0)).any()
