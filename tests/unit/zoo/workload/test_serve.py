from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.features.sequence import REQUEST_FORMULAS, fit_features, open_inputs, request_columns
from cachezoo.features.window import WINDOW_FORMULAS, fit_inputs, normalised, window_columns
from cachezoo.serving.requests import RequestBatch, batch_of, join
from cachezoo.zoo.workload.serve import BATCH, SECOND_US, UNKNOWN, WorkloadServing, count_votes, looked_at
from cachezoo.zoo.workload.unknown import learn
from cachezoo.zoo.workload.windows import Inputs
from tests.lstm_data import make_stream
from tests.oracles.workload import naive_looked_at, naive_votes

POLICY = {"classes": ["a", "b"], "window": 10, "clip": 6.0, "vote_windows": 3, "switch_votes": 2}
GIB = 1 << 30


def features_of_windows() -> list[dict[str, Any]]:
    columns = window_columns(batch_of(make_stream(100, 1, "pairs")), np.arange(0, 100, 10, dtype=np.int64), 10)
    return fit_inputs(columns, WINDOW_FORMULAS)


def features_of_requests() -> list[dict[str, Any]]:
    """As models of earlier releases take them."""
    return fit_features([request_columns(batch_of(make_stream(100, 1, "pairs")))], REQUEST_FORMULAS)


def serving(infer: Any = None, features: Any = None, calibration: Any = None, **policy: Any) -> WorkloadServing:
    chosen = features_of_windows() if features is None else features
    given = {} if calibration is None else calibration
    return WorkloadServing(chosen, {**POLICY, **policy}, given, {"page_bytes": 4096}, infer or by_writes)


def by_writes(windows: np.ndarray) -> np.ndarray:
    """The share of writes as the probability of the second class."""
    second = (windows[:, :, -1] > 0).mean(axis=1)
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
    seed=st.integers(0, 100),
)
def test_votes_agree_with_the_naive_monitor(
    classes: list[int], vote_windows: int, switch_votes: int, seed: int
) -> None:
    given = np.array(classes, np.int32)
    votes, in_force = count_votes(given, 3, vote_windows, switch_votes)
    assert (votes.tolist(), in_force.tolist()) == naive_votes(classes, vote_windows, switch_votes)
    unsure = np.random.default_rng(seed).random(len(classes) // vote_windows) < 0.5
    votes, in_force = count_votes(given, 3, vote_windows, switch_votes, unsure)
    assert (votes.tolist(), in_force.tolist()) == naive_votes(classes, vote_windows, switch_votes, unsure.tolist())


@given(
    gaps=st.lists(st.sampled_from([0, 1, 300_000, 999_999, 1_000_000, 2_500_000, -700_000, 7_200 * SECOND_US])),
    length=st.integers(1, 5),
    every_s=st.integers(0, 3),
)
def test_votes_with_pauses_take_the_requests_of_the_naive_monitor(gaps: list[int], length: int, every_s: int) -> None:
    times = np.maximum(np.cumsum([0, *gaps]), 0)
    assert looked_at(times, length, every_s).tolist() == naive_looked_at(times.tolist(), length, every_s)


@given(
    ops=st.lists(st.integers(0, 1), min_size=1, max_size=120),
    every_s=st.integers(0, 2),
    vote_windows=st.integers(1, 3),
    seed=st.integers(0, 100),
)
def test_each_request_is_served_under_the_votes_of_what_was_looked_at_before(
    ops: list[int], every_s: int, vote_windows: int, seed: int
) -> None:
    gaps = np.random.default_rng(seed).choice([0, 40_000, 200_000, 900_000], len(ops))
    batch = replace(requests(ops), time_us=np.cumsum(gaps))
    seen = serving(window=2, vote_windows=vote_windows, switch_votes=2).run(batch, every_s)
    places = naive_looked_at(batch.time_us.tolist(), 2 * vote_windows, every_s)
    assert seen.looked_at.tolist() == places
    windows = list(zip(places[::2], places[1::2], strict=False))
    classes = [int(ops[first] + ops[last] > 1) for first, last in windows]
    votes, in_force = naive_votes(classes, vote_windows, 2)
    assert (seen.likeliest.tolist(), seen.votes.tolist(), seen.in_force.tolist()) == (classes, votes, in_force)
    said = [-1, *in_force]
    want = [said[sum(last < place for _, last in windows)] for place in range(len(ops))]
    assert seen.of_requests(len(ops)).tolist() == want


def test_a_vote_begins_at_most_once_in_so_many_seconds() -> None:
    """The due time is counted from the beginning of a vote; a vote waits for its requests through any pause."""
    second = SECOND_US
    times = np.array([5, 6, 3 * second + 4, 3 * second + 5, 3 * second + 5, 9 * second, 7_200 * second, 7_201 * second])
    assert looked_at(times, 2, 3).tolist() == [0, 1, 3, 4, 5, 6, 7]
    assert looked_at(times, 3, 3).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]  # late votes are followed at once
    assert looked_at(times, 2, 0).tolist() == list(range(8))
    back = np.array([10 * second, 0, 12 * second, 13 * second - 1, 13 * second])
    assert looked_at(back, 1, 3).tolist() == [0, 4]


def test_the_policy_says_how_often_and_a_run_may_say_otherwise() -> None:
    batch = replace(requests([1] * 90), time_us=np.arange(90, dtype=np.int64) * 100_000)
    model = serving(vote_every_s=5)
    assert len(model.run(batch).looked_at) == 60 and len(model.run(batch).features) == 60
    assert len(model.run(batch, 0).looked_at) == 90 == len(serving().run(batch).looked_at)
    assert len(serving().run(batch, 5).looked_at) == 60


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
    assert seen.features.shape == (n, len(WINDOW_FORMULAS)) and seen.probabilities.shape == (0, 2)
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
    starts = np.arange(0, 10 * BATCH + 25, 10, dtype=np.int64)
    want = normalised(window_columns(batch, starts, 10), model._features, 6.0)
    np.testing.assert_array_equal(seen.features, want.reshape(-1, len(WINDOW_FORMULAS))[: len(batch)])
    assert sizes == [(BATCH, 10, 10), (2, 10, 10)] and len(seen.classes) == BATCH + 2


def test_models_of_earlier_releases_take_their_own_inputs() -> None:
    batch = batch_of(make_stream(45, 3, "turns"))
    model = serving(features=features_of_requests())
    want = open_inputs(request_columns(batch), 0, model._features, 6.0)
    np.testing.assert_array_equal(model.run(batch).features, want)
    assert model.run(batch).classes.tolist() == model.run(batch).likeliest.tolist()


def test_the_same_requests_elsewhere_or_on_another_clock_get_the_same_answer() -> None:
    rng = np.random.default_rng(2)
    weights = rng.normal(size=(10 * len(WINDOW_FORMULAS), 2))

    def infer(windows: np.ndarray) -> np.ndarray:  # hangs on every digit of every input
        return (windows.reshape(len(windows), -1) @ weights).astype(np.float32)

    model, batch = serving(infer, **known()), batch_of(make_stream(1000, 3, "turns"))
    seen = model.run(batch)
    clock, place = {"time_us": batch.time_us * 10}, {"offset": batch.offset + GIB}
    for moved in (clock, place, clock | place):
        again = model.run(replace(batch, **moved))
        for name in ("features", "probabilities", "strangeness", "likeliest", "classes", "votes", "in_force"):
            np.testing.assert_array_equal(getattr(again, name), getattr(seen, name))


def known(**above: float) -> dict[str, Any]:
    """What a model knows that was trained on the stream `pairs`, and its limits."""
    starts = np.arange(0, 2000, 10, dtype=np.int64)
    rows = normalised(window_columns(batch_of(make_stream(2000, 1, "pairs")), starts, 10), features_of_windows(), 6.0)
    found = learn(Inputs(rows, np.zeros(200, np.int64), np.zeros(200, np.int64)), ["pairs_1"])
    return {"calibration": {"known": [one.values() for one in found]}, "unknown_above": above}


def test_what_is_strange_is_unknown() -> None:
    familiar, strange = batch_of(make_stream(300, 7, "pairs")).part(0, 300), requests([0] * 300)
    both = join([familiar, strange])
    sure = serving(**known()).run(both)
    assert sure.strangeness[:30].max() < sure.strangeness[30:].min() and (sure.votes >= -1).all()
    limit = float(np.sqrt(sure.strangeness[:30].max() * sure.strangeness[30:].min()))
    seen = serving(**known(window=limit, vote=limit)).run(both)
    assert (seen.classes[:30] >= 0).all() and (seen.classes[30:] == UNKNOWN).all()
    np.testing.assert_array_equal(seen.likeliest, sure.likeliest)
    assert seen.votes[2::3].tolist() == [*sure.votes[2:30:3], *[UNKNOWN] * 10]
    # Two votes for unknown in a row put it in force, from the end of the second on.
    assert seen.in_force[30:36].tolist() == [seen.in_force[29]] * 5 + [UNKNOWN]
    assert seen.of_requests(600)[[359, 360]].tolist() == [seen.in_force[29], UNKNOWN]
    windows = serving(**known(window=limit)).run(both)
    assert (windows.classes[30:] == UNKNOWN).all() and (windows.votes >= -1).all()


@pytest.mark.parametrize(
    ("policy", "match"),
    [
        ({"window": 0}, "window 0"),
        ({"vote_windows": 0}, "vote_windows 0"),
        ({"switch_votes": -1}, "switch_votes -1"),
        ({"classes": []}, "classes"),
        *(
            ({"vote_every_s": value}, r"policy\.vote_every_s is")
            for value in (-1, 0.5, "60", True, None, (1 << 20) + 1)
        ),
        ({"classes": ["a", "a"]}, "classes"),
        ({"unknown_above": {"vote": -1.0}}, r"policy\.unknown_above\.vote: -1\.0 is no strangeness"),
        ({"unknown_above": {"window": "1"}}, r"unknown_above\.window: '1' is no strangeness"),
        ({"unknown_above": {"window": float("nan")}}, r"unknown_above\.window: nan is no strangeness"),
    ],
)
def test_policies_that_are_none(policy: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        serving(**policy)


def test_other_models_are_refused() -> None:
    model = serving()
    mixed = [features_of_requests()[0], features_of_windows()[0]]
    with pytest.raises(ConfigError, match=r"formula time\.log1p_gap is unknown"):
        serving(features=mixed)
    with pytest.raises(ConfigError, match="not 18 moments of 9 inputs"):
        serving(features=model._features[1:], **known())
    for formula in ("history.age", "feedback.cached", "of.another.release"):
        features = [{**model._features[0], "formula": formula}]
        with pytest.raises(ConfigError, match=formula):
            WorkloadServing(features, POLICY, {}, {"page_bytes": 4096}, by_writes)
    with pytest.raises(ConfigError, match="page_bytes 512"):
        WorkloadServing(model._features, POLICY, {}, {"page_bytes": 512}, by_writes)
    with pytest.raises(ConfigError, match="2 probabilities for 3 categories"):
        serving(classes=["a", "b", "c"]).run(requests([1] * 10))
