import numpy as np
import pytest

from cachezoo.errors import TrainingError
from cachezoo.features.sequence import request_columns
from cachezoo.serving.requests import batch_of
from cachezoo.systems.workload.tree import DEPTH, WindowTree, fit_tree, window_statistics
from tests.baleen_data import make_trace
from tests.oracles.workload import naive_statistics


def test_statistics_agree_with_the_naive_ones() -> None:
    trace = make_trace(300, 5)
    columns = (trace.time_us, trace.op, trace.offset, trace.size)
    starts = np.array([0, 7, 250], np.int64)
    rows = window_statistics(request_columns(batch_of(trace)).common, starts, 50)
    requests = list(zip(*(column.tolist() for column in columns), strict=True))
    want = [naive_statistics(requests, int(first), 50) for first in starts]
    np.testing.assert_allclose(rows, want, rtol=1e-5)


@pytest.mark.parametrize("classes", [2, 4])
def test_plain_arrays_predict_what_scikit_learn_predicts(classes: int) -> None:
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(classes)
    rows = rng.normal(size=(500, 5))
    labels = (rows[:, 0] + 0.5 * rows[:, 3] ** 2 + rng.normal(0, 0.3, 500) > 0.3) * rng.integers(1, classes, 500)
    tree = fit_tree(rows, labels, 3)
    peer = DecisionTreeClassifier(max_depth=DEPTH, class_weight="balanced", random_state=3).fit(rows, labels)
    more = rng.normal(size=(2000, 5))
    np.testing.assert_array_equal(tree.predict(more), peer.predict(more))
    again = WindowTree.of(tree.values())
    np.testing.assert_array_equal(again.predict(more), tree.predict(more))


def test_a_tree_without_splits() -> None:
    tree = fit_tree(np.zeros((10, 5)), np.full(10, 1), 1)
    assert tree.predict(np.ones((3, 5))).tolist() == [1, 1, 1] and len(tree.feature) == 1
    assert tree.predict(np.ones((0, 5))).tolist() == []


def test_a_tree_on_other_statistics_is_refused() -> None:
    values = fit_tree(np.zeros((10, 5)), np.full(10, 1), 1).values()
    with pytest.raises(TrainingError, match="sequential_share"):
        WindowTree.of({**values, "statistics": [*values["statistics"][:4], "sequential_share"]})
