"""Scores of a forest of regression trees: float64 sums of the leaves in the order of the trees.

This is what LightGBM computes as a raw score, bit for bit, on any machine: there is one comparison a branch and one sum
a tree, and no product.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, F64, I32
from cachezoo.kernels.jit import njit


class Trees(NamedTuple):
    """Trees one after the other in flat arrays: b branches, l leaves.

    Attributes:
        roots: int32[trees] where each tree begins: a branch's number, or `~leaf` where the tree is one leaf.
        feature: int32[b] input that a branch asks.
        threshold: float64[b]; an input of at most this goes left.
        left, right: int32[b] a branch's number, or `~leaf`.
        leaf: float64[l] what a leaf adds.
    """

    roots: I32
    feature: I32
    threshold: F64
    left: I32
    right: I32
    leaf: F64


@njit
def score_forest(trees: Trees, rows: F32, out: F64) -> None:
    """Score rows.

    Args:
        trees: the forest.
        rows: float32[n, F], finite.
        out: float64[n], written.
    """
    for i in range(len(rows)):
        total = 0.0
        for root in trees.roots:
            node = root
            while node >= 0:
                if np.float64(rows[i, trees.feature[node]]) <= trees.threshold[node]:
                    node = trees.left[node]
                else:
                    node = trees.right[node]
            total += trees.leaf[~node]
        out[i] = total
