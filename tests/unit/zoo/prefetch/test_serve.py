import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.features.history import feature_list
from cachezoo.flash_cache.modes import ML_MODES, plain_modes, plain_prefetch
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.zoo.prefetch.serve import PrefetchServing, predicted_range
from tests.baleen_data import make_trace

PLAIN = {
    "features": feature_list([1, 2]),
    "encodings": {"namespace": {}, "user": {}},
    "geometry": {"block_bytes": 262144, "segment_bytes": 4096},
    "calibration": {"worth": 0.0, "threshold": 0.5},
    "policy": {"mode": "ml_range_when", "history": {"bucket_requests": 10, "windows": [1, 2]}},
}
PER_BLOCK = 64


def history_infer(rows: np.ndarray) -> np.ndarray:
    """Reaches and log-odds that hang on every sort of feature."""
    counts = rows[:, 6:].sum(axis=1)
    return np.stack([rows[:, 3] * 0.26, counts * 0.5, counts - rows[:, 5]], axis=1)


def batch(n: int, seed: int) -> RequestBatch:
    return batch_of(make_trace(n, seed))


def naive_range(first: int, last: int, before: float, after: float) -> tuple[int, int]:
    """The range, segment by segment."""
    inside = [s for s in range(first, last + 1) if s < PER_BLOCK]
    for _ in range(max(0, round(before))):
        if inside[0] > 0:
            inside.insert(0, inside[0] - 1)
    for _ in range(max(0, round(after))):
        if inside[-1] + 1 < PER_BLOCK:
            inside.append(inside[-1] + 1)
    return inside[0], inside[-1] + 1


@given(
    st.lists(
        st.tuples(st.integers(0, 63), st.integers(0, 99), st.floats(-9, 99), st.floats(-9, 99)), min_size=1, max_size=20
    )
)
def test_ranges_are_those_of_a_naive_loop(cases: list[tuple[int, int, float, float]]) -> None:
    first = np.array([case[0] for case in cases])
    last = first + np.array([case[1] for case in cases])
    low, high = predicted_range(first, last, np.array([case[2:] for case in cases]), PER_BLOCK)
    wanted = [naive_range(int(a), int(b), *case[2:]) for a, b, case in zip(first, last, cases, strict=True)]
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == wanted
    assert (low >= 0).all() and (low <= first).all() and (high <= PER_BLOCK).all() and (low < high).all()


@given(st.integers(0, 1000), st.lists(st.integers(1, 300), max_size=6))
def test_any_split_into_calls_prefetches_the_same_bit_for_bit(seed: int, cuts: list[int]) -> None:
    trace = make_trace(300, seed)
    whole = PrefetchServing(**PLAIN, infer=history_infer)
    rows = whole.features(batch(300, seed))
    parts = PrefetchServing(**PLAIN, infer=history_infer)
    edges = sorted({0, 300, *cuts})
    chunks = []
    for low, high in itertools.pairwise(edges):
        chunks.append(parts.features(batch_of(trace).part(low, high)))
    assert np.concatenate(chunks).tobytes() == rows.tobytes()
    for mode in (*plain_modes(PER_BLOCK), *ML_MODES):
        one, many = whole.prefetch(rows, mode), [parts.prefetch(chunk, mode) for chunk in chunks]
        np.testing.assert_array_equal(one.low, np.concatenate([part.low for part in many]))
        np.testing.assert_array_equal(one.high, np.concatenate([part.high for part in many]))


def test_modes() -> None:
    serving = PrefetchServing(**PLAIN, infer=history_infer)
    rows = serving.features(batch(500, 1))
    low, high = serving.ranges(rows)
    own = np.minimum(rows[:, 4] + 1, PER_BLOCK) - rows[:, 3]
    assert (high - low >= own).all() and (high - low > own).any()
    always, when = serving.prefetch(rows, "ml_range"), serving.prefetch(rows)
    wider = high - low > own
    np.testing.assert_array_equal(always.low < always.high, wider)
    np.testing.assert_array_equal(when.low < when.high, wider & (serving.worth(rows) >= 0))
    np.testing.assert_array_equal(always.high[wider], high[wider])
    np.testing.assert_array_equal(always.low[wider], low[wider])
    assert 0 < (when.low < when.high).sum() < wider.sum() and not when.on_partial
    assert serving.threshold == 0.5 and serving.mode == "ml_range_when"


def test_modes_without_a_model_fetch_what_the_simulator_does() -> None:
    requests = batch(300, 1)
    accesses = expand_segments(requests.volume.codes, requests.offset, requests.size, Geometry())
    for mode in plain_modes(PER_BLOCK):
        serving = PrefetchServing(**{**PLAIN, "policy": {**PLAIN["policy"], "mode": mode}}, infer=history_infer)
        got = serving.prefetch(serving.features(requests))
        want = plain_prefetch(mode, accesses.first + accesses.sizes - 1, PER_BLOCK)
        np.testing.assert_array_equal(got.low, want.low)
        np.testing.assert_array_equal(got.high, want.high)
        assert serving.mode == mode and got.on_partial == want.on_partial == (mode == "all_on_partial")


@pytest.mark.parametrize(
    ("section", "values", "match"),
    [
        ("calibration", {"threshold": 0.0}, "calibration holds no worth"),
        ("calibration", {"worth": 0.0}, "calibration holds no threshold"),
        ("policy", {"mode": "ml_range"}, "policy holds no history"),
        ("policy", {**PLAIN["policy"], "mode": "sometimes"}, "mode sometimes is unknown"),
        ("features", feature_list([1, 2])[:3], r"no block\.start"),
    ],
)
def test_rules(section: str, values: object, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        PrefetchServing(**{**PLAIN, section: values}, infer=history_infer)
