import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from cachezoo.contest.accuracy import balanced_accuracy
from cachezoo.errors import TrainingError
from cachezoo.features.window import WIDTH, window_columns
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.zoo.workload.baselines import (
    BASELINES,
    CHARACTERISATIONS,
    DEPTH,
    PENALTIES,
    STATISTICS,
    WindowTree,
    fit_baselines,
    fit_tree,
    read_baseline,
    shares,
    window_statistics,
)
from cachezoo.zoo.workload.windows import Windows
from tests.baleen_data import make_trace
from tests.oracles.window import naive_statistics
from tests.unit.features.test_window import drawn, requests_of


def normal_windows(windows: int, seed: int) -> np.ndarray:
    """Windows of four requests whose inputs are drawn."""
    return np.random.default_rng(seed).normal(size=(windows, 4, WIDTH)).astype(np.float32)


def test_statistics_agree_with_the_naive_ones() -> None:
    trace = make_trace(300, 5)
    columns = window_columns(batch_of(trace), np.array([0, 7, 250], np.int64), 50)
    rows = window_statistics(columns)
    assert rows.shape == (3, len(STATISTICS)) == (3, 2 * WIDTH)
    np.testing.assert_allclose(rows, [naive_statistics(window.tolist()) for window in columns], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_plain_arrays_predict_what_scikit_learn_predicts(classes: int) -> None:
    from sklearn.tree import DecisionTreeClassifier

    rng, columns = np.random.default_rng(classes), normal_windows(500, classes)
    rows = window_statistics(columns)
    hit = rows[:, 0] + 0.5 * rows[:, 13] ** 2 + rng.normal(0, 0.3, 500) > rows[:, 0].mean() + 0.3
    labels = hit * rng.integers(1, classes, 500)
    tree = fit_tree(columns, labels, 3)
    peer = DecisionTreeClassifier(max_depth=DEPTH, class_weight="balanced", random_state=3).fit(rows, labels)
    more = normal_windows(2000, 9)
    np.testing.assert_array_equal(tree.predict(more), peer.predict(window_statistics(more)))
    again = WindowTree.of(tree.values())
    np.testing.assert_array_equal(again.predict(more), tree.predict(more))


def test_a_tree_without_splits() -> None:
    tree = fit_tree(np.zeros((10, 4, WIDTH), np.float32), np.full(10, 1), 1)
    assert tree.predict(normal_windows(3, 1)).tolist() == [1, 1, 1] and len(tree.feature) == 1
    assert tree.predict(normal_windows(0, 1)).tolist() == []


def test_a_tree_on_other_statistics_is_refused() -> None:
    values = fit_tree(np.zeros((10, 4, WIDTH), np.float32), np.full(10, 1), 1).values()
    with pytest.raises(TrainingError, match="mean_address"):
        WindowTree.of({**values, "statistics": [*values["statistics"][:4], "mean_address"]})


KIB = 1024
COARSE = (4 * KIB, 16 * KIB, 64 * KIB)
FINE = (4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB)


def columns_of(rows: list[tuple[int, int, int]]) -> np.ndarray:
    """One window of (op, offset, size)."""
    from cachezoo.coded import Coded

    op, offset, size = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    batch = RequestBatch(np.arange(len(rows)), op.astype(np.uint8), offset, size, Coded.constant("v", len(rows)))
    return window_columns(batch, np.array([0], np.int64), len(rows))


def naive_class(name: str, window: list, i: int) -> int:
    """The class of request i of (time, op, volume, offset, size), from a loop over those before it."""
    _, op, volume, offset, size = window[i]
    bin_of = lambda limits: sum(size > limit for limit in limits)  # noqa: E731
    if name == "iosize":
        return bin_of(FINE)
    earlier = [other for other in window[:i] if other[2] == volume]
    times = sum(o[3] < offset + size and offset < o[3] + o[4] for o in earlier)
    often = 0 if times == 0 else 1 if times == 1 else 2 if times <= 3 else 3
    kind = often
    if name == "twsd":
        apart = [max(0, o[3] - offset - size, offset - o[3] - o[4]) for o in earlier]
        sequential = size >= 128 * KIB or 0 in apart
        near = bool(apart) and min(apart) <= 64 * KIB
        kind = 2 + often if often else 1 if sequential else 2 if near else 0
    return (kind * 2 + op) * 4 + bin_of(COARSE)


@pytest.mark.parametrize("name", sorted(CHARACTERISATIONS))
def test_shares_agree_with_a_loop_over_requests(name: str) -> None:
    batch = drawn(900, 8)
    batch = RequestBatch(batch.time_us, batch.op, batch.offset * 5, batch.size * 11, batch.volume)
    starts = np.arange(0, 900, 30, dtype=np.int64)
    found = shares(name, window_columns(batch, starts, 30))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for row, first in zip(found, starts.tolist(), strict=True):
        window = requests_of(batch, first, first + 30)
        counts = np.bincount([naive_class(name, window, i) for i in range(30)], minlength=found.shape[1])
        np.testing.assert_allclose(row * 30, counts)


def test_patterns_by_hand() -> None:
    rows = [
        (0, 0, 4 * KIB),  # nothing before it: random
        (0, 4 * KIB, 4 * KIB),  # begins where one ended: sequential
        (1, 2 * KIB, 4 * KIB),  # shares bytes with two: overlapped, up to three times
        (0, 40 * KIB, 8 * KIB),  # near: strided
        (0, 900 * KIB, 200 * KIB),  # long: sequential
        (0, 5000 * KIB, 4 * KIB),  # far: random
    ]
    found = shares("twsd", columns_of(rows))[0]
    kinds = found.reshape(-1, 2, 4).sum(axis=(1, 2)) * len(rows)
    np.testing.assert_allclose(kinds, [2, 2, 1, 0, 1, 0])  # random, sequential, strided, overlapped once, …


def windows_of(count: int, seed: int) -> Windows:
    """Windows of two kinds: one repeats itself where the other runs on; sizes and types are alike."""
    rng, found, labels = np.random.default_rng(seed), [], []
    for k in range(count):
        label = k % 2
        offset = (np.arange(20) if label else rng.integers(0, 6, 20)) * 4096
        found.append(columns_of([(int(rng.integers(0, 2)), int(at), 4096) for at in offset]))
        labels.append(label)
    return Windows(np.concatenate(found), np.array(labels), np.zeros(count, np.int64))


def test_what_each_baseline_can_tell() -> None:
    train, held, test = (windows_of(n, seed) for n, seed in ((60, 1), (40, 2), (40, 3)))
    fitted = fit_baselines(train, held, 5)
    assert tuple(fitted) == BASELINES
    scores = {name: balanced_accuracy(test.labels, one.predict(test.columns)) for name, one in fitted.items()}
    assert scores["iosize"] == 0.5 and min(scores[name] for name in ("tree4", "twsd", "frequency")) == 1.0
    for one in fitted.values():
        again = read_baseline(one.values())
        np.testing.assert_array_equal(again.predict(test.columns), one.predict(test.columns))
        assert again.values() == one.values()
    assert all(fitted[name].values()["penalty"] in PENALTIES for name in CHARACTERISATIONS)


def test_validation_chooses_the_penalty_and_nothing_else() -> None:
    train, held = windows_of(60, 1), windows_of(40, 2)
    swapped = Windows(held.columns, 1 - held.labels, held.traces)
    right, wrong = (fit_baselines(train, one, 5)["twsd"].values()["penalty"] for one in (held, swapped))
    assert right == max(PENALTIES) and wrong == min(PENALTIES)
    assert fit_baselines(train, held, 5)["tree4"].values() == fit_baselines(train, swapped, 5)["tree4"].values()
    assert fit_baselines(train, None, 5)["twsd"].values()["penalty"] == 1.0


def test_three_classes_and_unequal_ones_weigh_the_same() -> None:
    base = windows_of(60, 1)
    rare = base.labels.copy()
    rare[rare == 1] = np.where(np.arange(30) < 3, 1, 0)
    kept = (base.labels == 0) | (rare == 1)
    few = base.of(kept)
    assert few.counts(2).tolist() == [30, 3]
    test = windows_of(40, 3)
    assert balanced_accuracy(test.labels, fit_baselines(few, None, 1)["twsd"].predict(test.columns)) == 1.0
    three = Windows(base.columns, np.where(base.labels == 1, 2, np.arange(60) // 2 % 2), base.traces)
    said = fit_baselines(three, None, 1)["frequency"].predict(test.columns)
    assert set(said) <= {0, 1, 2} and ((said == 2) == (test.labels == 1)).all()


def test_a_baseline_of_another_release_is_refused() -> None:
    with pytest.raises(TrainingError, match="'entropy', not one of tree4, twsd, frequency, iosize; train again"):
        read_baseline({"model": "entropy"})


def test_heads_hang_on_no_number_of_threads_and_on_no_order_of_windows() -> None:
    own = windows_of(300, 4)
    turned = Windows(np.ascontiguousarray(own.columns[::-1]), own.labels[::-1].copy(), own.traces)
    found = []
    for threads, train in ((1, own), (2, own), (2, turned)):
        with threadpool_limits(limits=threads):
            heads = fit_baselines(train, None, 1)
        found.append({name: [heads[name].values()[part] for part in ("weights", "bias")] for name in CHARACTERISATIONS})
    assert found[0] == found[1] == found[2]
    assert np.ptp(found[0]["twsd"][0]) > 0
