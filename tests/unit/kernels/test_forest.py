import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels import forest
from cachezoo.kernels.forest import AS_THEY_ARE, LIGHTGBM_ZERO, Trees, nodes_of, prepared, score_forest, words_of

INPUTS = 5
VALUES = np.array([-3e38, -2.5, -1, -1e-36, -0.0, 0.0, 1e-40, 1e-36, 0.1, 0.3, 1, 7, 3e38], np.float32)


def grown(rng: np.random.Generator, sizes: list[int]) -> Trees:
    """Trees of so many leaves, any leaf split next; thresholds on values of rows, and between."""
    roots, feature, threshold, left, right, leaf = ([] for _ in range(6))
    for size in sizes:
        sides: list[tuple[list[int], int]] = []  # where each leaf so far hangs
        roots.append(0)
        sides.append((roots, len(roots) - 1))
        for _ in range(size - 1):
            side, at = sides.pop(int(rng.integers(len(sides))))
            side[at] = branch = len(feature)
            feature.append(int(rng.integers(INPUTS)))
            threshold.append(float(rng.choice([float(rng.choice(VALUES)), rng.normal(), 1e300, -1e300])))
            left.append(0), right.append(0)
            sides += [(left, branch), (right, branch)]
        for side, at in sides:
            side[at] = ~len(leaf)
            leaf.append(float(rng.normal()))
    numbers = (np.array(part, np.int32) for part in (roots, feature))
    sides_ = (np.array(part, np.int32) for part in (left, right))
    return Trees(*numbers, np.array(threshold), *sides_, np.array(leaf))


def naive(trees: Trees, rows: np.ndarray, start: float, zero: float) -> list[float]:
    found = []
    for row in rows:
        score = start
        for root in trees.roots:
            at = int(root)
            while at >= 0:
                value = float(row[trees.feature[at]])
                value = value if abs(value) > zero else 0.0
                at = int((trees.left if value <= trees.threshold[at] else trees.right)[at])
            score += float(trees.leaf[~at])
        found.append(score)
    return found


def rows_of(rng: np.random.Generator, n: int) -> np.ndarray:
    rows = rng.choice(VALUES, (n, INPUTS))
    return np.where(rng.random(rows.shape) < 0.2, rng.normal(size=rows.shape), rows).astype(np.float32)


@given(
    seed=st.integers(0, 10**6), sizes=st.lists(st.sampled_from([1, 2, 5, 31, 32, 33, 64, 65]), min_size=1, max_size=7),
    n=st.integers(0, 41), start=st.sampled_from([0.0, 0.3]), zero=st.sampled_from([AS_THEY_ARE, LIGHTGBM_ZERO]),
)  # fmt: skip
def test_scores_are_the_naive_ones(seed: int, sizes: list[int], n: int, start: float, zero: float) -> None:
    rng = np.random.default_rng(seed)
    trees, rows = grown(rng, sizes), rows_of(rng, n)
    expected = naive(trees, rows, start, zero)
    assert score_forest(prepared(trees, zero), rows, start).tolist() == expected
    assert score_forest(nodes_of(trees, zero), rows, start).tolist() == expected
    assert (words_of(trees, zero) is None) == (max(sizes) > 64)


def test_what_is_not_a_number_counts_as_0() -> None:
    trees = grown(np.random.default_rng(1), [20, 40])
    blank, zeros = np.full((1, INPUTS), np.nan, np.float32), np.zeros((1, INPUTS), np.float32)
    for one in (prepared(trees, LIGHTGBM_ZERO), nodes_of(trees, LIGHTGBM_ZERO)):
        assert score_forest(one, blank) == score_forest(one, zeros)


def test_words_that_take_too_much_room_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = grown(np.random.default_rng(2), [40] * 3)
    assert words_of(trees, AS_THEY_ARE) is not None
    monkeypatch.setattr(forest, "MOST_BYTES", 100)
    assert words_of(trees, AS_THEY_ARE) is None
