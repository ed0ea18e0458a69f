import numpy as np
import pytest

from cachezoo.contest.accuracy import accuracy, balanced_accuracy, balanced_mean, confusion, known


def test_figures_by_hand() -> None:
    labels, said = np.array([0, 0, 0, 0, 2, 2]), np.array([0, 0, 0, 1, 2, 0])
    assert accuracy(labels, said) == 4 / 6
    assert balanced_accuracy(labels, said) == (3 / 4 + 1 / 2) / 2
    assert confusion(labels, said, 3) == [[3, 1, 0], [0, 0, 0], [1, 0, 1]]
    empty = np.zeros(0, np.int64)
    assert accuracy(empty, empty) is None and balanced_accuracy(empty, empty) is None


def test_the_mean_of_categories_weighs_them_alike_and_pairs_what_is_compared() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], [1000, 100])
    said = np.where(rng.random(1100) < np.where(labels == 0, 0.9, 0.5), labels, 1 - labels)
    right = (said == labels).astype(float)
    found = balanced_mean(labels, right)
    assert found.value == pytest.approx(balanced_accuracy(labels, said))
    assert found.ends[0] < found.value < found.ends[1]
    worse = said.copy()
    worse[::7] = 1 - labels[::7]
    lead = balanced_mean(labels, right - (worse == labels))
    assert lead.value == pytest.approx(found.value - balanced_accuracy(labels, worse))
    assert balanced_mean(labels, right - right).ends == (0, 0)
    assert known(labels) and not known(labels[:1010]) and not known(labels[:0])
