from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.features.sequence import fit_features, open_inputs, request_columns
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.systems.workload.serve import BATCH, WorkloadServing, count_votes
from tests.lstm_data import make_stream
from tests.oracles.workload import naive_votes

POLICY = {"classes": ["a", "b"], "window": 10, "clip": 6.0, "vote_windows": 3, "switch_votes": 2}


def serving(infer: Any = None, **policy: Any) -> WorkloadServing:
    trace = make_stream(100, 1, "pairs")
    features = fit_features([request_columns(batch_of(trace))], "workload")
    return WorkloadServing(features, {**POLICY, **policy}, {}, {"page_bytes": 4096}, infer or by_writes)


def by_writes(windows: np.ndarray) -> np.ndarray:
    """The share of writes as the probability of the second class."""
    second = (windows[:, :, 4] > 0).mean(axis=1)
    return np.stack([1 - second, second], axis=1).astype(np.float32)


def requests(op: list[int]) -> RequestBatch:
    n = len(op)
    ones = np.full(n, 4096, np.int64)
    volume = Coded.constant("vda", n)
    return RequestBatch(np.arange(n, dtype=np.int64), np.array(op, np.uint8), ones * np.arange(n), ones, volume)


@given(
    classes=st.lists(st.integers(0, 2), max_size=60),
    vote_windows=st.integers(1, 6),
    switch_votes=st.integers(1, 3),
)
def test_votes_agree_with_the_naive_monitor(classes: list[int], vote_windows: int, switch_votes: int) -> None:
    votes, in_force = count_votes(np.array(classes, np.int32), 3, vote_windows, switch_votes)
    assert (votes.tolist(), in_force.tolist()) == naive_votes(classes, vote_windows, switch_votes)


def test_a_tie_goes_to_the_category_in_force_else_to_the_first() -> None:
    votes, in_force = count_votes(np.array([1, 0, 1, 1, 0, 1], np.int32), 2, 2, 1)
    assert votes.tolist() == [-1, 0, -1, 1, -1, 1]
    assert in_force.tolist() == [-1, 0, 0, 1, 1, 1]


def test_two_equal_votes_in_a_row_switch() -> None:
    votes, in_force = count_votes(np.array([0, 1, 2, 1, 1, 1, 0], np.int32), 3, 1, 2)
    assert votes.tolist() == [0, 1, 2, 1, 1, 1, 0]
    assert in_force.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_requests_are_served_under_what_earlier_windows_said() -> None:
    seen = serving(vote_windows=1, switch_votes=1).run(requests([0] * 10 + [1] * 10 + [0] * 5))
    assert seen.classes.tolist() == [0, 1] and seen.in_force.tolist() == [0, 1]
    assert seen.of_requests(25).tolist() == [-1] * 10 + [0] * 10 + [1] * 5


@pytest.mark.parametrize("n", [1, 9])
def test_fewer_requests_than_a_window(n: int) -> None:
    seen = serving().run(requests([1] * n))
    assert seen.features.shape == (n, 5) and seen.probabilities.shape == (0, 2)
    assert len(seen.classes) == len(seen.votes) == len(seen.in_force) == 0
    assert seen.of_requests(n).tolist() == [-1] * n


def test_no_vote_before_its_last_window() -> None:
    seen = serving().run(requests([1] * 29))
    assert seen.votes.tolist() == [-1, -1] and (seen.of_requests(29) == -1).all()
    seen = serving().run(requests([1] * 30))
    assert seen.votes.tolist() == [-1, -1, 1] and seen.of_requests(31)[30] == 1


def test_inputs_are_the_shared_features_and_windows_come_in_batches() -> None:
    sizes = []

    def infer(windows: np.ndarray) -> np.ndarray:
        sizes.append(windows.shape)
        return by_writes(windows)

    batch = batch_of(make_stream(10 * BATCH + 25, 3, "turns"))
    model = serving(infer)
    seen = model.run(batch)
    want = open_inputs(request_columns(batch), 0, model._features, 6.0)
    np.testing.assert_array_equal(seen.features, want)
    assert sizes == [(BATCH, 10, 5), (2, 10, 5)] and len(seen.classes) == BATCH + 2


@pytest.mark.parametrize(
    ("policy", "match"),
    [
        ({"window": 0}, "window 0"),
        ({"vote_windows": 0}, "vote_windows 0"),
        ({"switch_votes": -1}, "switch_votes -1"),
        ({"classes": []}, "classes"),
        ({"classes": ["a", "a"]}, "classes"),
    ],
)
def test_policies_that_are_none(policy: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        serving(**policy)


def test_other_models_are_refused() -> None:
    model = serving()
    for formula in ("history.age", "feedback.cached", "of.another.release"):
        features = [{**model._features[0], "formula": formula}]
        with pytest.raises(ConfigError, match=formula):
            WorkloadServing(features, POLICY, {}, {"page_bytes": 4096}, by_writes)
    with pytest.raises(ConfigError, match="page_bytes 512"):
        WorkloadServing(model._features, POLICY, {}, {"page_bytes": 512}, by_writes)
    with pytest.raises(ConfigError, match="2 probabilities for 3 categories"):
        serving(classes=["a", "b", "c"]).run(requests([1] * 10))
