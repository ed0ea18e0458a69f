"""Scores of a forest of regression trees: float64 sums of the leaves in the order of the trees.

This is what LightGBM computes as a raw score, bit for bit, on any machine: there is one comparison a branch and one sum
a tree, and no product.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, F64, I32
from cachezoo.kernels.jit import njit

TOGETHER = 32


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


class Nodes(NamedTuple):
    """The same trees for scoring: c branches and leaves, a leaf being a node that leads to itself.

    Attributes:
        roots: uint32[trees] where each tree begins.
        feature: uint32[c] input that a node asks.
        threshold: float32[c]; an input above this takes the second way. Of float32 inputs the largest float32 at or
            below a branch's own threshold tells the same apart.
        ways: uint32[c, 2] the next nodes.
        leaf: float64[c] what a leaf adds.
    """

    roots: npt.NDArray[np.uint32]
    feature: npt.NDArray[np.uint32]
    threshold: F32
    ways: npt.NDArray[np.uint32]
    leaf: F64


def nodes_of(trees: Trees) -> Nodes:
    """Branches and leaves in one array."""
    branches, leaves = len(trees.feature), len(trees.leaf)

    def number(child: I32) -> npt.NDArray[np.uint32]:
        return np.where(child >= 0, child, branches + ~child).astype(np.uint32)

    itself = np.arange(branches, branches + leaves, dtype=np.uint32)
    with np.errstate(over="ignore"):
        below = trees.threshold.astype(np.float32)
    below = np.where(below > trees.threshold, np.nextafter(below, np.float32(-np.inf)), below)
    return Nodes(
        roots=number(trees.roots),
        feature=np.append(trees.feature, np.zeros(leaves, np.int32)).astype(np.uint32),
        threshold=np.append(below, np.full(leaves, np.inf, np.float32)),
        ways=np.stack([np.append(number(side), itself) for side in (trees.left, trees.right)], axis=1),
        leaf=np.append(np.zeros(branches), trees.leaf),
    )


@njit
def score_forest(nodes: Nodes, rows: F32, out: F64) -> None:
    """Score rows.

    A few rows go down a tree together, without a jump that depends on what they hold: a processor guesses such jumps
    wrong, and would wait for one row's next node while it could fetch those of the others.

    Args:
        nodes: of the forest.
        rows: float32[n, F], finite.
        out: float64[n], written.
    """
    feature, threshold, ways, leaf = nodes.feature, nodes.threshold, nodes.ways, nodes.leaf
    at = np.empty(TOGETHER, np.uint32)
    for first in range(0, len(rows), TOGETHER):
        some = rows[first : first + TOGETHER]
        sums = out[first : first + TOGETHER]
        sums[:] = 0.0
        for root in nodes.roots:
            at[:] = root
            moved = True
            while moved:
                changed = np.uint32(0)
                for k in range(len(some)):
                    node = at[k]
                    above = some[k, feature[node]] > threshold[node]
                    at[k] = ways[node, np.uint8(above)]
                    changed |= at[k] ^ node
                moved = changed != 0
            for k in range(len(some)):
                sums[k] += leaf[at[k]]
