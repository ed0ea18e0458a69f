"""What the classifier has to beat: the characterisations of RC-RNN's Sec. 3.2 and a decision tree.

A characterisation puts every request into a class, from itself and the earlier requests of its window. The shares of
the classes in a window go through the network's last layer alone, a linear one with softmax:
    iosize      size
    frequency   how often the request's bytes were accessed before, type, size
    twsd        overlapped (by how often), sequential, strided or random; type, size
A request is overlapped where it shares bytes with an earlier one; sequential where it is long, or begins or ends where
an earlier one ends or begins; strided where an earlier one is near. The paper gives no limits; they stand below.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64
from cachezoo.errors import TrainingError
from cachezoo.features.window import NAMES, WIDTH
from cachezoo.kernels.window import NEAREST, OP, REPEATS, SECTOR, SIZE
from cachezoo.zoo.workload.windows import Windows

SEQUENTIAL_BYTES = 128 << 10  # from here on a request is sequential by its size
STRIDE_BYTES = 64 << 10  # up to here an earlier request is near
SIZES = (4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10)
COARSE_SIZES = (4 << 10, 16 << 10, 64 << 10)
TIMES = (0, 1, 3)  # accessed before: never, once, up to three times, more often
PENALTIES = (0.01, 0.1, 1.0, 10.0)
LEAST_SCALE = 1e-3
STEPS = 200
TOLERANCE = 1e-10  # Newton steps end far below the digits that are kept
DIGITS = 9
STATISTICS = tuple(f"{kind}_{name}" for kind in ("mean", "sd") for name in NAMES)
DEPTH = 4
TREE = f"tree{DEPTH}"
LEAF = -1


def window_statistics(columns: F32) -> F64:
    """Statistics of windows.

    Of the first WIDTH columns, as `cachezoo.features.window.window_columns` gives them: what reads the disk's addresses
    and the clock does not count.

    Returns:
        float64[w, 2 · WIDTH], columns `STATISTICS`.
    """
    values = np.abs(columns[:, :, :WIDTH].astype(np.float64))
    return np.concatenate([values.mean(axis=1), values.std(axis=1)], axis=1)


@dataclass(frozen=True)
class WindowTree:
    """A decision tree as parallel lists; node 0 is the root.

    Attributes:
        feature: int32[nodes], the statistic that a node looks at, -1 in a leaf.
        threshold: float64[nodes]; at most this goes left.
        left, right: int32[nodes], children.
        label: int32[nodes], the class of a leaf.
    """

    feature: I32
    threshold: F64
    left: I32
    right: I32
    label: I32

    def predict(self, columns: F32) -> I64:
        """Classes int64[w] of windows' raw inputs; statistics are compared in float32, as they were learned."""
        values = window_statistics(columns).astype(np.float32).astype(np.float64)
        at = np.zeros(len(values), np.int32)
        for _ in range(DEPTH):
            inner = self.feature[at] != LEAF
            column = np.where(inner, self.feature[at], 0)
            low = values[np.arange(len(values)), column] <= self.threshold[at]
            at = np.where(inner, np.where(low, self.left[at], self.right[at]), at).astype(np.int32)
        return self.label[at].astype(np.int64)

    def values(self) -> dict[str, Any]:
        """Plain JSON values, for train.json."""
        lists = {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}
        return {"model": TREE, "statistics": list(STATISTICS), **lists}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "WindowTree":
        """From what `values` gave.

        Raises:
            TrainingError: a tree on other statistics than this release computes.
        """
        if tuple(values["statistics"]) != STATISTICS:
            message = f"baseline's statistics {list(values['statistics'])}, not {list(STATISTICS)}; train again"
            raise TrainingError(message)
        integers = {name: np.array(values[name], np.int32) for name in ("feature", "left", "right", "label")}
        return cls(threshold=np.array(values["threshold"], np.float64), **integers)


def fit_tree(columns: F32, labels: I64, seed: int) -> WindowTree:
    """Grow a tree on windows, classes weighted to equal parts.

    The seed breaks ties between equally good splits.
    """
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=DEPTH, class_weight="balanced", random_state=seed)
    grown = tree.fit(window_statistics(columns), labels)
    nodes = grown.tree_
    leaf = nodes.children_left < 0
    return WindowTree(
        feature=np.where(leaf, LEAF, nodes.feature).astype(np.int32),
        threshold=np.where(leaf, 0.0, nodes.threshold),
        left=np.where(leaf, LEAF, nodes.children_left).astype(np.int32),
        right=np.where(leaf, LEAF, nodes.children_right).astype(np.int32),
        label=grown.classes_[nodes.value[:, 0, :].argmax(axis=1)].astype(np.int32),
    )


class Baseline(Protocol):
    """A fitted baseline."""

    def predict(self, columns: F32) -> I64:
        """Classes int64[w] of windows' raw inputs float32[w, T, WIDTH]."""

    def values(self) -> dict[str, Any]:
        """Plain JSON values, for train.json."""


def _classes_up_to(values: F32, limits: tuple[float, ...]) -> I64:
    return np.searchsorted(np.log2(np.array(limits, np.float64)), values - 1e-6).astype(np.int64)


def _iosize(columns: F32) -> tuple[I64, int]:
    return _classes_up_to(columns[:, :, SIZE], SIZES), len(SIZES) + 1


def _with_type_and_size(columns: F32, classes: I64, n: int) -> tuple[I64, int]:
    sizes = len(COARSE_SIZES) + 1
    size = _classes_up_to(columns[:, :, SIZE], COARSE_SIZES)
    return (classes * 2 + columns[:, :, OP].astype(np.int64)) * sizes + size, n * 2 * sizes


def _frequency(columns: F32) -> tuple[I64, int]:
    times = _classes_up_to(columns[:, :, REPEATS], tuple(1.0 + most for most in TIMES))
    return _with_type_and_size(columns, times, len(TIMES) + 1)


def _twsd(columns: F32) -> tuple[I64, int]:
    nearest, size = columns[:, :, NEAREST], columns[:, :, SIZE]
    times = _classes_up_to(columns[:, :, REPEATS], tuple(1.0 + most for most in TIMES))
    sequential = (nearest == 0) | (size >= np.log2(SEQUENTIAL_BYTES))
    strided = (nearest > 0) & (nearest <= np.log2(1 + STRIDE_BYTES / SECTOR))
    alone = np.where(sequential, 1, np.where(strided, 2, 0))
    return _with_type_and_size(columns, np.where(times > 0, 2 + times, alone), 3 + len(TIMES))


CHARACTERISATIONS: Mapping[str, Callable[[F32], tuple[I64, int]]] = {
    "twsd": _twsd,
    "frequency": _frequency,
    "iosize": _iosize,
}
BASELINES = (TREE, *CHARACTERISATIONS)


def shares(name: str, columns: F32) -> F64:
    """Share of each class of a characterisation among a window's requests.

    Returns:
        float64[w, classes of it].
    """
    found, n = CHARACTERISATIONS[name](columns)
    flat = np.arange(len(found))[:, None] * n + found
    counts = np.bincount(flat.ravel(), minlength=len(found) * n).reshape(len(found), n)
    out: F64 = counts / columns.shape[1]
    return out


@dataclass(frozen=True)
class Head:
    """A linear layer on normalised shares; the largest sum names the category.

    Attributes:
        name: the characterisation.
        penalty: inverse strength of the weights' L2 penalty, chosen on validation.
        mean, scale: float64[S], normalise the shares.
        weights: float64[S, K].
        bias: float64[K].
    """

    name: str
    penalty: float
    mean: F64
    scale: F64
    weights: F64
    bias: F64

    def sums(self, columns: F32) -> F64:
        """Logits float64[w, K]."""
        out: F64 = ((shares(self.name, columns) - self.mean) / self.scale) @ self.weights + self.bias
        return out

    def predict(self, columns: F32) -> I64:
        """Classes int64[w] of windows' raw inputs."""
        found: I64 = self.sums(columns).argmax(axis=1).astype(np.int64)
        return found

    def values(self) -> dict[str, Any]:
        """Plain JSON values, for train.json."""
        arrays = {name: getattr(self, name).tolist() for name in ("mean", "scale", "weights", "bias")}
        return {"model": self.name, "penalty": self.penalty, **arrays}


def _fit_head(name: str, train: Windows, penalty: float) -> Head:
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    values = shares(name, train.columns)
    mean, scale = values.mean(axis=0), np.maximum(values.std(axis=0), LEAST_SCALE)
    with threadpool_limits(limits=1):
        fitted = LogisticRegression(
            C=penalty, class_weight="balanced", solver="newton-cholesky", tol=TOLERANCE, max_iter=STEPS
        ).fit((values - mean) / scale, train.labels)
    weights, bias = fitted.coef_.T, fitted.intercept_
    if weights.shape[1] == 1:  # of two classes scikit-learn keeps the second one's sum alone
        weights, bias = np.concatenate([0 * weights, weights], axis=1), np.concatenate([0 * bias, bias])
    # A constant added to all classes changes nothing; and what the last digits are is not the same in every run.
    weights, bias = weights.round(DIGITS), (bias - bias.mean()).round(DIGITS)
    return Head(name, penalty, mean, scale, weights, bias)


def _loss(head: Head, windows: Windows) -> float:
    """Mean cross-entropy, categories weighing the same."""
    sums = head.sums(windows.columns)
    own = np.logaddexp.reduce(sums, axis=1) - sums[np.arange(len(sums)), windows.labels]
    return float(np.mean([own[windows.labels == label].mean() for label in np.unique(windows.labels)]))


def fit_baselines(train: Windows, held: Windows | None, seed: int) -> dict[str, Baseline]:
    """All baselines on the train windows, by name.

    The loss on `held`, validation windows, chooses a head's penalty; None takes the middle one.
    """
    out: dict[str, Baseline] = {TREE: fit_tree(train.columns, train.labels, seed)}
    for name in CHARACTERISATIONS:
        if held is None:
            out[name] = _fit_head(name, train, 1.0)
        else:
            heads = [_fit_head(name, train, penalty) for penalty in PENALTIES]
            out[name] = heads[int(np.argmin([_loss(head, held) for head in heads]))]
    return out


def read_baseline(values: Mapping[str, Any]) -> Baseline:
    """From what `values` gave.

    Raises:
        TrainingError: a baseline that this release does not know.
    """
    name = str(values["model"])
    if name == TREE:
        return WindowTree.of(values)
    if name not in CHARACTERISATIONS:
        raise TrainingError(f"baseline {name[:40]!r}, not one of {', '.join(BASELINES)}; train again")
    arrays = {part: np.array(values[part], np.float64) for part in ("mean", "scale", "weights", "bias")}
    return Head(name, float(values["penalty"]), **arrays)
