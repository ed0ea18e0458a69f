"""A baseline of the classifier: a decision tree of depth 4 on statistics of a window.

The statistics are mean and standard deviation over the window of every input that a network may take, jumps by their
magnitude. scikit-learn grows the tree; plain arrays of it, which fit into train.json, predict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64
from cachezoo.errors import TrainingError
from cachezoo.features.window import NAMES

STATISTICS = tuple(f"{kind}_{name}" for kind in ("mean", "sd") for name in NAMES)
DEPTH = 4
TREE = f"tree{DEPTH}"
LEAF = -1


def window_statistics(columns: F32) -> F64:
    """Statistics of windows.

    Args:
        columns: float32[w, T, WIDTH] raw inputs, as `cachezoo.features.window.window_columns` gives them.

    Returns:
        float64[w, 2 · WIDTH], columns `STATISTICS`.
    """
    values = np.abs(columns.astype(np.float64))
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

    Args:
        columns: float32[w, T, WIDTH] raw inputs.
        labels: int64[w] classes.
        seed: breaks ties between equally good splits.
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
