import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.history import MAX_COUNT, empty_log, forget, update_history
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
    log = empty_log(6, len(ids))
    out = np.zeros((len(requests), 2 * len(windows)), np.float32)
    update_history(start, ids, read, rank, width, np.array(windows), log, out)
    np.testing.assert_array_equal(out, naive_history(requests, width, windows, rank))


def test_counts_saturate() -> None:
    n = MAX_COUNT + 10
    log, out = empty_log(1, n), np.zeros((n, 2), np.float32)
    one_each = np.arange(n + 1)
    update_history(one_each, np.zeros(n, np.int32), np.ones(n, bool), 0, 10 * n, np.array([1]), log, out)
    assert out[-1].tolist() == [MAX_COUNT, 0.0]
    assert out[:3, 0].tolist() == [0.0, 1.0, 2.0]


def test_sums_over_buckets_do_not_wrap() -> None:
    log = empty_log(1, 5)
    log.newest[0], log.used[0] = 3, 4
    log.older[:4], log.bucket[:4], log.counts[:4] = [-1, 0, 1, 2], [2, 3, 4, 5], MAX_COUNT
    out = np.zeros((1, 4), np.float32)
    one = np.array([0, 1])
    update_history(one, np.zeros(1, np.int32), np.ones(1, bool), 5, 1, np.array([1, 4]), log, out)
    assert out[0].tolist() == [MAX_COUNT, 4 * MAX_COUNT, MAX_COUNT, 4 * MAX_COUNT]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9)), max_size=60), st.integers(0, 60), st.integers(1, 6))
def test_what_is_forgotten_is_in_no_window(requests: list[tuple[int, int]], cut: int, depth: int) -> None:
    """Keys that are left go on as if nothing had been dropped, under their new numbers; the others begin anew."""
    cut, windows = min(cut, len(requests)), np.array([depth])
    read, ids = np.array([op == 0 for op, _ in requests], bool), np.array([key for _, key in requests], np.int32)
    log = empty_log(10, cut)
    out = np.zeros((len(ids), 2), np.float32)

    def update(low: int, high: int) -> None:
        update_history(np.arange(high - low + 1), ids[low:high], read[low:high], low, 3, windows, log, out[low:high])

    update(0, cut)
    log, alive = forget(log, cut // 3 - depth + 1, len(ids) - cut)
    assert len(log.newest) == alive.sum()
    number = np.full(10, -1)
    number[alive] = np.arange(len(log.newest))
    for key in ids[cut:].tolist():
        if number[key] < 0:
            number[key] = len(log.newest)
            log = log._replace(newest=np.append(log.newest, np.int32(-1)))
    ids[cut:] = number[ids[cut:]]
    update(cut, len(ids))
    np.testing.assert_array_equal(out, naive_history([(op, [key]) for op, key in requests], 3, [depth]))
