import json

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from cachezoo.errors import ConfigError
from cachezoo.zoo.workload.known import Known, moments, of_votes, strangeness
from cachezoo.zoo.workload.unknown import Limits, Strangeness, auroc, inverse_root, learn, left_out, limit, separation
from cachezoo.zoo.workload.windows import Inputs

SIZES = np.arange(1, 11, dtype=np.float32)


@pytest.fixture(scope="module")
def train() -> Inputs:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 20, 10)).astype(np.float32) * SIZES
    traces = rng.integers(0, 3, len(rows))
    return Inputs(rows=rows, labels=traces, traces=traces)


def test_what_is_known_hangs_on_no_number_of_threads(train: Inputs) -> None:
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            known = learn(train, ["a", "b", "c"])
            found.append(([one.values() for one in known], strangeness(train.rows, known).tolist()))
    assert found[0] == found[1]


def test_strangeness_is_the_mean_square_of_what_is_whitened(train: Inputs) -> None:
    known, values = learn(train, ["a", "b", "c"]), moments(train.rows)
    apart = [np.mean(((values - one.mean) @ one.whitening.T) ** 2, axis=1) for one in known]
    np.testing.assert_allclose(strangeness(train.rows, known), np.min(apart, axis=0), rtol=1e-10)
    own = values[train.traces == 0] - known[0].mean
    assert np.mean((own @ known[0].whitening.T) ** 2) == pytest.approx(1, abs=0.1)


def test_the_inverse_root_is_lapack_s() -> None:
    values = np.random.default_rng(1).normal(size=(200, 12))
    matrix = values.T @ values
    np.testing.assert_allclose(inverse_root(matrix), np.linalg.inv(np.linalg.cholesky(matrix)), rtol=1e-9, atol=1e-12)


def drawn(windows: int, seed: int, label: int) -> Inputs:
    """Windows of 20 requests with three inputs; each category has its own means and spread."""
    rng = np.random.default_rng([seed, label])
    rows = rng.normal(label, 0.5 + 0.3 * label, (windows, 20, 3))
    rows[:, :, 2] += rows[:, :, 0]  # two inputs hang together
    return Inputs(rows.astype(np.float32), np.full(windows, label), np.full(windows, label))


def joined(*parts: Inputs) -> Inputs:
    return Inputs(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "labels", "traces")))


TRAIN = joined(drawn(300, 1, 0), drawn(200, 1, 1), drawn(200, 1, 2))
KEYS = ["a_train", "b_train", "c_train"]


def test_strangeness_is_the_distance_to_the_nearest_trace() -> None:
    known = learn(TRAIN, KEYS)
    assert [one.trace for one in known] == KEYS
    some = joined(drawn(30, 2, 0), drawn(30, 2, 2))
    values = moments(TRAIN.rows)
    scale = values.std(axis=0)
    apart = []
    for trace in range(3):
        own = values[TRAIN.traces == trace] / scale
        covariance = np.cov(own.T, bias=True)
        covariance = 0.98 * covariance + (0.02 * np.trace(covariance) / 6 + 1e-3) * np.eye(6)
        left = moments(some.rows) / scale - own.mean(axis=0)
        apart.append([row @ np.linalg.solve(covariance, row) / 6 for row in left])
    np.testing.assert_allclose(strangeness(some.rows, known), np.min(apart, axis=0), rtol=1e-9)
    assert np.argmin(apart, axis=0).tolist() == [0] * 30 + [2] * 30
    assert strangeness(some.rows, []).tolist() == [0.0] * 60


def test_known_windows_are_near_and_strange_ones_far() -> None:
    known, test = learn(TRAIN, KEYS), joined(*(drawn(200, 5, label) for label in range(3)))
    near, far = strangeness(test.rows, known), strangeness(drawn(100, 5, 9).rows, known)
    assert 0.5 < np.median(near) < 2 < 10 < far.min()


def test_one_window_is_enough_to_know_something() -> None:
    known = learn(drawn(1, 1, 0), ["a"])
    assert np.isfinite(strangeness(drawn(5, 2, 0).rows, known)).all()


def test_values_come_back_from_json() -> None:
    for one in learn(TRAIN, KEYS):
        again = Known.of(json.loads(json.dumps(one.values())), 3)
        np.testing.assert_array_equal(again.mean, one.mean)
        np.testing.assert_array_equal(again.whitening, one.whitening)
    values = learn(TRAIN, KEYS)[0].values()
    for broken in ({"mean": values["mean"][1:]}, {"whitening": values["whitening"][1:]}):
        with pytest.raises(ConfigError, match=r"calibration\.known: a_train: not 6 moments of 3 inputs"):
            Known.of({**values, **broken}, 3)
    with pytest.raises(ConfigError, match="not 8 moments of 4 inputs"):
        Known.of(values, 4)


def test_votes_are_means_of_whole_runs() -> None:
    assert of_votes(np.array([1.0, 2, 3, 6, 9]), 2).tolist() == [1.5, 4.5]
    assert of_votes(np.ones(3), 4).tolist() == []


@pytest.mark.parametrize("share", [0.0, 0.05, 0.25, 0.9])
def test_no_more_than_the_share_of_the_known_lies_above_the_limit(share: float) -> None:
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1], [400, 50])
    values = np.where(labels == 1, 3.0, 0.0) + rng.random(450)
    found = limit(values, labels, share)
    above = np.mean([(values[labels == label] > found).mean() for label in (0, 1)])
    assert above <= share + 1e-9 and found in values
    lower = values[values < found].max(initial=-1.0)
    assert np.mean([(values[labels == label] > lower).mean() for label in (0, 1)]) > share


def test_ties_at_the_limit_are_known() -> None:
    assert limit(np.array([1.0, 1.0, 1.0, 1.0]), np.zeros(4, np.int64), 0.5) == 1.0


def test_runs_of_votes_stay_within_their_trace() -> None:
    windows = np.array([1.0, 2.0, 3.0, 10.0, 20.0, 5.0])
    found = Strangeness.of(windows, np.array([0, 0, 0, 1, 1, 0]), np.array([0, 0, 0, 1, 1, 2]), 2)
    assert found.votes.tolist() == [1.5, 2.5, 15.0] and found.vote_labels.tolist() == [0, 0, 1]
    alone = Strangeness.of(windows, np.zeros(6, np.int64), np.arange(6), 2)
    assert alone.limits(0.5).keys() == {"window"} and found.limits(0.5).keys() == {"window", "vote"}


def test_auroc_by_hand() -> None:
    assert auroc(np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])) == 1.0
    assert auroc(np.array([3.0, 4.0]), np.array([1.0])) == 0.0
    assert auroc(np.array([1.0, 2.0, 3.0]), np.array([2.0])) == 0.5
    told = separation(
        Strangeness.of(np.array([0.1, 0.2]), np.zeros(2, np.int64), np.zeros(2, np.int64), 3),
        Strangeness.of(np.array([0.15, 0.5, 0.6]), np.ones(3, np.int64), np.zeros(3, np.int64), 3),
        {"window": 0.3, "vote": 0.3},
    )
    assert told == {"window_auroc": 5 / 6, "window_unknown": 2 / 3}


def test_a_category_left_out_is_told_from_the_others() -> None:
    halves = (joined(*(drawn(100, 7, k) for k in range(3))), joined(*(drawn(100, 8, k) for k in range(3))))
    figures = left_out(["a", "b", "c"], TRAIN, halves, KEYS, Limits(5, 0.05))
    names = {
        f"without_{c}_{kind}_{what}" for c in "abc" for kind in ("window", "vote") for what in ("auroc", "unknown")
    }
    assert set(figures) == names
    assert figures["without_c_window_auroc"] > 0.9 and figures["without_c_vote_unknown"] > 0.9
    # What of the left-out category stood among the train windows or those that choose changes nothing.
    label = TRAIN.labels == 2
    spoilt = Inputs(np.where(label[:, None, None], 99, TRAIN.rows).astype(np.float32), TRAIN.labels, TRAIN.traces)
    again = left_out(["a", "b", "c"], spoilt, halves, KEYS, Limits(5, 0.05))
    assert again["without_c_window_auroc"] == figures["without_c_window_auroc"]
    assert again["without_a_window_auroc"] != figures["without_a_window_auroc"]
