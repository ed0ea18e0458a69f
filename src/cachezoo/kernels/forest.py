"""Scores of a forest of regression trees: float64 sums of the leaves in the order of the trees.

This is what LightGBM computes as a raw score, bit for bit, on any machine: there is one comparison a branch and one sum
a tree, and no product.

Trees of at most 64 leaves are not walked. A leaf is a bit of a word, and each value of an input has, for every tree, a
word of the leaves that it leaves possible. The words of all inputs are combined by AND, and the lowest bit that is left
is the leaf. Its place in a table follows from the product of that bit and a number whose runs of bits all differ (de
Bruijn's), so no branch depends on data. Source: QuickScorer (Lucchese et al., SIGIR 2015), here with the masks of each
input combined beforehand.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, F64, I32, I64, U32
from cachezoo.kernels.jit import HAVE_NUMBA, njit
from cachezoo.kernels.step import step

TOGETHER = 32
AT_ONCE = 4  # rows whose leaves are summed at once: a sum of one row waits for the one before
CHUNK = 64  # rows whose inputs are looked up at once
MOST_BYTES = 8 << 20  # of words; a forest that needs more is walked
DE_BRUIJN = {32: (0x077CB531, 27), 64: (0x03F79D71B4CB0A89, 58)}  # the number, and where its top bits begin
LIGHTGBM_ZERO = float(np.float32(1e-35))  # LightGBM takes inputs of at most this size, and not a number, for 0
AS_THEY_ARE = -1.0
Word = npt.NDArray[np.uint32 | np.uint64]


class Trees(NamedTuple):
    """Trees one after the other in flat arrays: b branches, l leaves. A branch leads to branches of higher numbers.

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
    """Trees for walking: c branches and leaves, a leaf being a node that leads to itself.

    Attributes:
        roots: uint32[trees] where each tree begins.
        feature: uint32[c] input that a node asks.
        threshold: float32[c]; an input above this takes the second way.
        ways: uint32[c, 2] the next nodes.
        leaf: float64[c] what a leaf adds.
        zero: inputs of at most this size count as 0.
    """

    roots: npt.NDArray[np.uint32]
    feature: npt.NDArray[np.uint32]
    threshold: F32
    ways: npt.NDArray[np.uint32]
    leaf: F64
    zero: float


class Words(NamedTuple):
    """The same trees as words of leaves, from left to right: `bits` of a word, i inputs that some branch asks.

    Attributes:
        inputs: int64[i] their columns.
        sizes: int64[i] thresholds of each.
        cuts: float32[i, …] distinct thresholds, rising; as many as `sizes` says.
        starts: uint32[i] the row of `allowed` for values up to the first cut.
        allowed: uint32 or uint64[cuts and one for each input, trees] leaves that are possible.
        values: float64[trees, bits] what a leaf adds, by `_place` of its bit.
        zero: inputs of at most this size count as 0.
    """

    inputs: I64
    sizes: I64
    cuts: F32
    starts: U32
    allowed: Word
    values: F64
    zero: float


def cut_of(thresholds: F64) -> F32:
    """The largest float32 at or below each threshold: it tells float32 inputs apart as the threshold does."""
    with np.errstate(over="ignore"):
        below = thresholds.astype(np.float32)
    found: F32 = np.where(below > thresholds, np.nextafter(below, np.float32(-np.inf)), below)
    return found


def nodes_of(trees: Trees, zero: float) -> Nodes:
    """Branches and leaves in one array."""
    branches, leaves = len(trees.feature), len(trees.leaf)

    def number(child: I32) -> npt.NDArray[np.uint32]:
        return np.where(child >= 0, child, branches + ~child).astype(np.uint32)

    itself = np.arange(branches, branches + leaves, dtype=np.uint32)
    return Nodes(
        roots=number(trees.roots),
        feature=np.append(trees.feature, np.zeros(leaves, np.int32)).astype(np.uint32),
        threshold=np.append(cut_of(trees.threshold), np.full(leaves, np.inf, np.float32)),
        ways=np.stack([np.append(number(side), itself) for side in (trees.left, trees.right)], axis=1),
        leaf=np.append(np.zeros(branches), trees.leaf),
        zero=zero,
    )


def words_of(trees: Trees, zero: float) -> Words | None:
    """Words of leaves, or None where a tree has too many leaves, or all have too many thresholds."""
    leaves, cuts, n = _leaves(trees), cut_of(trees.threshold), len(trees.roots)
    bits = 32 if (most := int(leaves.max(initial=1))) <= 32 else 64
    inputs = np.unique(trees.feature).astype(np.int64)
    own = [np.unique(cuts[trees.feature == column]) for column in inputs]
    ends = np.cumsum([len(part) + 1 for part in own], dtype=np.int64)
    if most > bits or int(ends.max(initial=0)) * n * bits > 8 * MOST_BYTES:
        return None
    starts = ends - [len(part) + 1 for part in own]
    sizes = np.array([len(part) for part in own], np.int64)
    box = np.zeros((len(own), int(sizes.max(initial=0))), np.float32)
    rows = np.zeros((len(cuts), 2), np.int64)
    for column, part, padded, start, end in zip(inputs, own, box, starts, ends, strict=True):
        padded[: len(part)] = part
        here = trees.feature == column
        rows[here, 0], rows[here, 1] = start + 1 + np.searchsorted(part, cuts[here]), end
    word = np.uint32 if bits == 32 else np.uint64
    places = np.array([_place(1 << leaf, bits) for leaf in range(bits)])
    allowed, values = np.full((len(starts) and int(ends[-1]), n), ~word(0)), np.zeros((n, bits))
    _fill(trees, leaves, rows, places, allowed, values)
    return Words(inputs, sizes, box, starts.astype(np.uint32), allowed, values, zero)


def _place(bit: int, bits: int) -> int:
    """The place of a leaf's bit in a tree's values."""
    number, shift = DE_BRUIJN[bits]
    return (bit * number & (1 << bits) - 1) >> shift


@njit
def _leaves(trees: Trees) -> I64:
    """int64[b]: leaves below each branch."""
    leaves = np.zeros(len(trees.feature), np.int64)
    for branch in range(len(leaves) - 1, -1, -1):
        left, right = trees.left[branch], trees.right[branch]
        leaves[branch] = (leaves[left] if left >= 0 else 1) + (leaves[right] if right >= 0 else 1)
    return leaves


@njit
def _fill(trees: Trees, leaves: I64, rows: I64, places: I64, allowed: Word, values: F64) -> None:
    """Place the leaves, and take off the words those that an input above a branch's threshold rules out.

    Args:
        trees: the forest.
        leaves: int64[b] below each branch.
        rows: int64[b, 2] first and past the last row of `allowed` for inputs above each branch's threshold.
        places: int64[bits] of each leaf, from left to right, among a tree's values.
        allowed: changed, of ones.
        values: written.
    """
    tree, first = np.zeros(len(leaves), np.int64), np.zeros(len(leaves), np.int64)
    for t in range(len(trees.roots)):
        root = trees.roots[t]
        if root >= 0:
            tree[root] = t
        else:
            values[t, places[0]] = trees.leaf[~root]
    for branch in range(len(leaves)):
        t, low, left, right = tree[branch], first[branch], trees.left[branch], trees.right[branch]
        middle = low + (leaves[left] if left >= 0 else 1)
        for child, leaf in ((left, low), (right, middle)):
            if child >= 0:
                tree[child], first[child] = t, leaf
            else:
                values[t, places[leaf]] = trees.leaf[~child]
        stay = ~np.uint64((1 << middle) - (1 << low))
        for row in range(rows[branch, 0], rows[branch, 1]):
            allowed[row, t] &= stay


def prepared(trees: Trees, zero: float) -> Words | Nodes:
    """Trees to score by; inputs of at most the size `zero`, and not a number, count as 0."""
    words = words_of(trees, zero) if HAVE_NUMBA else None
    return nodes_of(trees, zero) if words is None else words


def score_forest(forest: Words | Nodes, rows: F32, start: float = 0.0) -> F64:
    """float64[n] of rows float32[n, F]: the sum of the leaves in the order of the trees, from `start` on."""
    out, rows = np.full(len(rows), start), np.ascontiguousarray(rows, np.float32)
    if isinstance(forest, Nodes):
        _walk(forest, rows, out)
    else:
        bits = forest.values.shape[1]
        number, shift = DE_BRUIJN[bits]
        _score(forest, rows, (np.uint64(number), np.uint64((1 << bits) - 1), np.uint64(shift)), out)
    return out


@step
def _rank(words: Words, rows: F32, values: F32, ranks: U32) -> None:
    """Write the rows of `allowed` for each input of rows float32[n, F], uint32[i, n] at least.

    All rows meet one threshold after the other, and counts have 32 bits as inputs do, so that many are taken at once.
    """
    zero = np.float32(words.zero)
    for j in range(len(words.inputs)):
        column, rank, cuts = words.inputs[j], ranks[j], words.cuts[j]
        for k in range(len(rows)):
            value = rows[k, column]
            values[k] = value if abs(value) > zero else np.float32(0)
        rank[:] = words.starts[j]
        for cut in range(words.sizes[j]):
            for k in range(len(values)):
                rank[k] += np.uint32(values[k] > cuts[cut])


@step
def _combine(allowed: Word, ranks: U32, k: int, word: Word) -> None:
    """Write the leaves of each tree that all inputs of row k leave possible."""
    word[:] = ~np.uint64(0)
    j, some = 0, len(ranks) - 7
    while j < some:
        a, b, c, d = allowed[ranks[j, k]], allowed[ranks[j + 1, k]], allowed[ranks[j + 2, k]], allowed[ranks[j + 3, k]]
        e, f, g, h = (
            allowed[ranks[j + 4, k]], allowed[ranks[j + 5, k]], allowed[ranks[j + 6, k]], allowed[ranks[j + 7, k]]
        )  # fmt: skip
        for t in range(len(word)):
            word[t] &= a[t] & b[t] & c[t] & d[t] & e[t] & f[t] & g[t] & h[t]
        j += 8
    while j < len(ranks):
        a = allowed[ranks[j, k]]
        for t in range(len(word)):
            word[t] &= a[t]
        j += 1


@njit
def _score(words: Words, rows: F32, bruijn: tuple[np.uint64, np.uint64, np.uint64], out: F64) -> None:
    """Add the leaves of rows float32[n, F] to `out`, float64[n]; `bruijn` is the number, a word of ones, the shift."""
    allowed, leaves, (number, ones, shift) = words.allowed, words.values, bruijn
    values, ranks = np.zeros(CHUNK, np.float32), np.zeros((len(words.inputs), CHUNK), np.uint32)
    word, sums = np.zeros((AT_ONCE, allowed.shape[1]), allowed.dtype), np.zeros(CHUNK)
    for first in range(0, len(rows), CHUNK):
        some = rows[first : first + CHUNK]
        _rank(words, some, values, ranks)
        sums[: len(some)] = out[first : first + CHUNK]
        for low in range(0, len(some), AT_ONCE):
            for k in range(AT_ONCE):
                own = word[k]
                _combine(allowed, ranks, low + k, own)
                for t in range(len(own)):
                    own[t] = ((own[t] & -own[t]) * number & ones) >> shift
            a, b, c, d = sums[low], sums[low + 1], sums[low + 2], sums[low + 3]
            for t in range(len(leaves)):
                leaf = leaves[t]
                a += leaf[word[0, t]]
                b += leaf[word[1, t]]
                c += leaf[word[2, t]]
                d += leaf[word[3, t]]
            sums[low], sums[low + 1], sums[low + 2], sums[low + 3] = a, b, c, d
        out[first : first + CHUNK] = sums[: len(some)]


@njit
def _walk(nodes: Nodes, rows: F32, out: F64) -> None:
    """Add the leaves of rows float32[n, F] to `out`, float64[n].

    A few rows go down a tree together, without a jump that depends on what they hold: a processor guesses such jumps
    wrong, and would wait for one row's next node while it could fetch those of the others.
    """
    feature, threshold, ways, leaf = nodes.feature, nodes.threshold, nodes.ways, nodes.leaf
    at = np.empty(TOGETHER, np.uint32)
    for first in range(0, len(rows), TOGETHER):
        some = rows[first : first + TOGETHER]
        sums = out[first : first + TOGETHER]
        for root in nodes.roots:
            at[:] = root
            moved = True
            while moved:
                changed = np.uint32(0)
                for k in range(len(some)):
                    node = at[k]
                    value = some[k, feature[node]]
                    if not abs(value) > nodes.zero:
                        value = np.float32(0)
                    above = value > threshold[node]
                    at[k] = ways[node, np.uint8(above)]
                    changed |= at[k] ^ node
                moved = changed != 0
            for k in range(len(some)):
                sums[k] += leaf[at[k]]
