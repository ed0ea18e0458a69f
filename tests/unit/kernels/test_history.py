import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.history import MAX_COUNT, update_history
from tests.oracles.history import naive_history


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(0, 5), max_size=4, unique=True)), max_size=60),
    st.integers(1, 7),
    st.sampled_from([[1], [1, 3], [2, 4, 8]]),
    st.integers(0, 50),
)
def test_matches_the_naive_log(
    requests: list[tuple[int, list[int]]], width: int, windows: list[int], rank: int
) -> None:
    start = np.concatenate([[0], np.cumsum([len(keys) for _, keys in requests])]).astype(np.int64)
    ids = np.array([key for _, keys in requests for key in keys], np.int32)
    read = np.array([op == 0 for op, _ in requests], bool)
    state = (np.zeros((6, 2, windows[-1]), np.uint16), np.zeros(6, np.int64))
    out = np.zeros((len(requests), 2 * len(windows)), np.float32)
    update_history(start, ids, read, rank, width, np.array(windows), state, out)
    np.testing.assert_array_equal(out, naive_history(requests, width, windows, rank))


def test_counts_saturate() -> None:
    n = MAX_COUNT + 10
    state = (np.zeros((1, 2, 1), np.uint16), np.zeros(1, np.int64))
    out = np.zeros((n, 2), np.float32)
    one_each = np.arange(n + 1)
    update_history(one_each, np.zeros(n, np.int32), np.ones(n, bool), 0, 10 * n, np.array([1]), state, out)
    assert out[-1].tolist() == [MAX_COUNT, 0.0]
    assert out[:3, 0].tolist() == [0.0, 1.0, 2.0]


def test_sums_over_buckets_do_not_wrap() -> None:
    state = (np.full((1, 2, 4), MAX_COUNT, np.uint16), np.full(1, 5, np.int64))
    out = np.zeros((1, 4), np.float32)
    one = np.array([0, 1])
    update_history(one, np.zeros(1, np.int32), np.ones(1, bool), 5, 1, np.array([1, 4]), state, out)
    assert out[0].tolist() == [MAX_COUNT, 4 * MAX_COUNT, MAX_COUNT, 4 * MAX_COUNT]
