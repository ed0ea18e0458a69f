import numpy as np

from cachezoo.systems.workload.accuracy import accuracy, balanced_accuracy, balanced_mean, confusion


def test_figures_by_hand() -> None:
    labels, said = np.array([0, 0, 0, 0, 2, 2]), np.array([0, 0, 0, 1, 2, 0])
    assert accuracy(labels, said) == 4 / 6
    assert balanced_accuracy(labels, said) == (3 / 4 + 1 / 2) / 2
    assert confusion(labels, said, 3) == [[3, 1, 0], [0, 0, 0], [1, 0, 1]]
    empty = np.zeros(0, np.int64)
    assert accuracy(empty, empty) is None and balanced_accuracy(empty, empty) is None


def test_resamples_are_paired_and_balanced() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], [1000, 100])
    said = np.where(rng.random(1100) < np.where(labels == 0, 0.9, 0.5), labels, 1 - labels)
    draws = balanced_resamples(labels, said, 20, 500, 3)
    assert abs(draws.mean() - balanced_accuracy(labels, said)) < 0.01
    np.testing.assert_array_equal(draws, balanced_resamples(labels, said, 20, 500, 3))
    worse = said.copy()
    worse[::7] = 1 - labels[::7]
    assert (draws - balanced_resamples(labels, worse, 20, 500, 3) >= 0).all()
