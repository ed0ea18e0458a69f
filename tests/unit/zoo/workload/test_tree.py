import numpy as np
import pytest

from cachezoo.errors import TrainingError
from cachezoo.features.window import WIDTH, window_columns
from cachezoo.serving.requests import batch_of
from cachezoo.zoo.workload.baselines import DEPTH, STATISTICS, WindowTree, fit_tree, window_statistics
from tests.baleen_data import make_trace
from tests.oracles.window import naive_statistics


def drawn(windows: int, seed: int) -> np.ndarray:
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

    rng, columns = np.random.default_rng(classes), drawn(500, classes)
    rows = window_statistics(columns)
    hit = rows[:, 0] + 0.5 * rows[:, 13] ** 2 + rng.normal(0, 0.3, 500) > rows[:, 0].mean() + 0.3
    labels = hit * rng.integers(1, classes, 500)
    tree = fit_tree(columns, labels, 3)
    peer = DecisionTreeClassifier(max_depth=DEPTH, class_weight="balanced", random_state=3).fit(rows, labels)
    more = drawn(2000, 9)
    np.testing.assert_array_equal(tree.predict(more), peer.predict(window_statistics(more)))
    again = WindowTree.of(tree.values())
    np.testing.assert_array_equal(again.predict(more), tree.predict(more))


def test_a_tree_without_splits() -> None:
    tree = fit_tree(np.zeros((10, 4, WIDTH), np.float32), np.full(10, 1), 1)
    assert tree.predict(drawn(3, 1)).tolist() == [1, 1, 1] and len(tree.feature) == 1
    assert tree.predict(drawn(0, 1)).tolist() == []


def test_a_tree_on_other_statistics_is_refused() -> None:
    values = fit_tree(np.zeros((10, 4, WIDTH), np.float32), np.full(10, 1), 1).values()
    with pytest.raises(TrainingError, match="mean_address"):
        WindowTree.of({**values, "statistics": [*values["statistics"][:4], "mean_address"]})
