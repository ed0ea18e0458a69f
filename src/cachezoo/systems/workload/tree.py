"""The classifier's baseline: a decision tree of depth 4 on five statistics of a window of raw requests.

The statistics are the window's means of the very inputs that the network sees: share of reads, log2 size, ln(1 + gap),
the jump by its magnitude, and the address. scikit-learn grows the tree; plain arrays of it, which fit into train.json,
predict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.errors import TrainingError
from cachezoo.kernels.sequence import ADDRESS, DELTA, GAP, OP, SIZE

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
STATISTICS = ("read_share", "mean_log2_size", "mean_log1p_gap", "mean_abs_slog_delta", "mean_address")
DEPTH = 4
BASELINE = f"tree{DEPTH}"
LEAF = -1


def window_statistics(common: F32, starts: I64, window: int) -> F64:
    """Statistics of windows of consecutive requests.

    Args:
        common: float32[n, ≥ 5] raw columns, as `cachezoo.kernels.sequence` numbers them.
        starts: int64[w], the first request of each window.
        window: requests in a window.

    Returns:
        float64[w, 5], columns `STATISTICS`.
    """
    values = common.astype(np.float64)
    jump = np.abs(values[:, DELTA])
    columns = (1.0 - values[:, OP], values[:, SIZE], values[:, GAP], jump, values[:, ADDRESS])
    sums = [np.concatenate([[0.0], np.cumsum(column)]) for column in columns]
    return np.stack([(total[starts + window] - total[starts]) / window for total in sums], axis=1)


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

    def predict(self, statistics: F64) -> I32:
        """Classes int32[w] of statistics float64[w, 5], compared in float32 as they were learned."""
        values = statistics.astype(np.float32).astype(np.float64)
        at = np.zeros(len(values), np.int32)
        for _ in range(DEPTH):
            inner = self.feature[at] != LEAF
            column = np.where(inner, self.feature[at], 0)
            low = values[np.arange(len(values)), column] <= self.threshold[at]
            at = np.where(inner, np.where(low, self.left[at], self.right[at]), at).astype(np.int32)
        return self.label[at]

    def values(self) -> dict[str, Any]:
        """Plain JSON values, for train.json."""
        lists = {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}
        return {"model": BASELINE, "statistics": list(STATISTICS), **lists}

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


def fit_tree(statistics: F64, labels: I64, seed: int) -> WindowTree:
    """Grow a tree on windows, classes weighted to equal parts.

    Args:
        statistics: float64[w, 5].
        labels: int64[w] classes.
        seed: breaks ties between equally good splits.
    """
    from sklearn.tree import DecisionTreeClassifier

    grown = DecisionTreeClassifier(max_depth=DEPTH, class_weight="balanced", random_state=seed).fit(statistics, labels)
    nodes = grown.tree_
    leaf = nodes.children_left < 0
    return WindowTree(
        feature=np.where(leaf, LEAF, nodes.feature).astype(np.int32),
        threshold=np.where(leaf, 0.0, nodes.threshold),
        left=np.where(leaf, LEAF, nodes.children_left).astype(np.int32),
        right=np.where(leaf, LEAF, nodes.children_right).astype(np.int32),
        label=grown.classes_[nodes.value[:, 0, :].argmax(axis=1)].astype(np.int32),
    )
