import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef

from cachezoo.kernels.oracle_cache import CACHED, CONSULTED, DURATION_SHIFT, FORCED, SETTLED
from cachezoo.labels.tags import Tags
from cachezoo.zoo.caching.metrics import label_metrics, tag_metrics


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_metrics_are_the_field_s(pairs: list[tuple[bool, bool]]) -> None:
    predicted, truth = (np.array(column) for column in zip(*pairs, strict=True))
    figures = tag_metrics(predicted, truth)
    assert figures["accuracy"] == pytest.approx((predicted == truth).mean())
    assert figures["majority"] == pytest.approx(max(truth.mean(), 1 - truth.mean()))
    assert figures["rows"] == len(pairs)
    if 0 < truth.sum() < len(truth):
        assert figures["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(truth, predicted))
    else:
        assert figures["balanced_accuracy"] is None
    if figures["mcc"] is not None:
        assert figures["mcc"] == pytest.approx(matthews_corrcoef(truth, predicted))


def test_nothing_to_judge_is_none() -> None:
    assert set(tag_metrics(np.zeros(0, bool), np.zeros(0, bool)).values()) == {None}


def test_only_consulted_settled_free_rows_count() -> None:
    late = 3 << DURATION_SHIFT
    bits = [
        CACHED + CONSULTED + SETTLED + late,
        CONSULTED + SETTLED,
        CACHED + CONSULTED + SETTLED + FORCED,
        CACHED + SETTLED,
        CONSULTED,
    ]
    outputs = np.array([[0.9, 0, 0, 1], [0.9, 1, 0, 0], [0.1, 1, 0, 0], [0.1, 1, 0, 0], [0.9, 1, 0, 0]], np.float32)
    figures = label_metrics(outputs, Tags(np.array(bits, np.uint8)), 0.5)
    assert figures["cached_rows"] == 2
    assert figures["cached_accuracy"] == 0.5
    assert figures["duration_accuracy"] == 1.0
    assert figures["all_accuracy"] == pytest.approx(2 / 3), "a hit is right whatever the model says"
