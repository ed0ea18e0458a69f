"""A forest of the trace's own past, grown anew as the trace goes, and how far it is believed beside the given forest.

An access is *settled* once its target can change no more: `delay` accesses after it. A reservoir keeps some of the
settled ones, each with the same chance. Which, hangs on their number alone, so a runtime remembers no other's inputs.
When `FIRST` capacities have settled, a forest is grown on the reservoir, and again each time `GROWTH` times as many
have. It predicts the accesses up to the next one. Trees are of one depth, split where the squared error falls most
among `BINS` ranges of each input, and each takes `RATE` of what is left.

The score in use is the given forest's and a share of the way from it to the own one's. The share is what would have
made the squared error of settled accesses least, which are weighted with a half-life of `HALF_LIFE` capacities; as if
`DOUBT` capacities of accesses, on which the forests differ by 1, had been predicted best by the given one. Source:
gradient boosting (Friedman 2001); reservoir sampling (Vitter 1985, algorithm R); stacking (Wolpert 1992) of two
predictors, done online.
"""

import math
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, F64, I64, U8
from cachezoo.kernels.admit.draws import draw, scaled
from cachezoo.kernels.jit import njit

DEPTH = 4
INNER, LEAVES = 2**DEPTH - 1, 2**DEPTH
BINS = 32
RATE = 0.2
LEAST = 20  # rows on either side of a split
LEAST_GAIN = 1e-6  # of squared error; less is rounding
FIRST, GROWTH = 1.5, 1.3
HALF_LIFE = 2.0  # capacities
DOUBT = 0.1  # capacities


class Trees(NamedTuple):
    """A forest. A row goes high where its input is above a node's cut; node n leads to 2n + 1 (low), 2n + 2 (high)."""

    inputs: I64  # int64[trees, INNER], columns
    cuts: F32  # float32[trees, INNER]; infinite where a node is not split
    leaves: F64  # float64[trees, LEAVES]
    base: F64  # float64[1], what is predicted without any tree


class Sums(NamedTuple):
    """Of the rows of a level's nodes by input and bin: float64[LEAVES, F, BINS] how many, and their residuals."""

    rows: F64
    rest: F64


def blank(trees: int) -> Trees:
    """Room for so many trees."""
    return Trees(
        np.zeros((trees, INNER), np.int64), np.zeros((trees, INNER), np.float32), np.zeros((trees, LEAVES)), np.zeros(1)
    )


@njit
def keep(reservoir: I64, low: int, high: int, seed: int) -> None:
    """Let accesses `low` to before `high` into the reservoir, in which all before them have had their chance."""
    for i in range(low, high):
        place = i if i < len(reservoir) else scaled(draw(seed, i & 0x7FFFFFFF), i + 1)
        if place < len(reservoir):
            reservoir[place] = i


@njit
def _edges(rows: F32, drawn: I64) -> F32:
    """float32[F, BINS - 1]: values that cut the drawn rows of each input into bins of like size."""
    found = np.empty((rows.shape[1], BINS - 1), np.float32)
    for f in range(rows.shape[1]):
        values = np.sort(rows[drawn, f])
        for k in range(BINS - 1):
            found[f, k] = values[(k + 1) * len(values) // BINS]
    return found


@njit
def _binned(rows: F32, drawn: I64, edges: F32) -> U8:
    """uint8[n, F]: how many edges lie below each value."""
    found = np.empty((len(drawn), rows.shape[1]), np.uint8)
    for f in range(rows.shape[1]):
        found[:, f] = np.searchsorted(edges[f], rows[drawn, f])
    return found


@njit
def _gather(bins: U8, residuals: F64, node: I64, first: int, sums: Sums) -> None:
    """Count the rows of the level whose first node is `first`."""
    sums.rows[:] = 0
    sums.rest[:] = 0
    for i in range(len(bins)):
        rows, rest = sums.rows[node[i] - first], sums.rest[node[i] - first]
        for f in range(bins.shape[1]):
            rows[f, bins[i, f]] += 1
            rest[f, bins[i, f]] += residuals[i]


@njit
def _best(rows: F64, rest: F64) -> tuple[int, int]:
    """The input and the last bin below the cut that lower the squared error most; (-1, 0) if none does."""
    all_rows, all_rest = rows[0].sum(), rest[0].sum()
    best, most = (-1, 0), LEAST_GAIN
    for f in range(len(rows)):
        low, below = 0.0, 0.0
        for k in range(BINS - 1):
            low += rows[f, k]
            below += rest[f, k]
            if low >= LEAST and all_rows - low >= LEAST:
                gain = below**2 / low + (all_rest - below) ** 2 / (all_rows - low) - all_rest**2 / all_rows
                if gain > most:
                    best, most = (f, k), gain
    return best


@njit
def _grow(bins: U8, edges: F32, residuals: F64, trees: Trees, t: int, sums: Sums) -> None:
    """Grow tree t and take its leaves from the residuals."""
    node = np.zeros(len(bins), np.int64)
    for depth in range(DEPTH):
        first = 2**depth - 1
        _gather(bins, residuals, node, first, sums)
        cut = np.full(first + 1, BINS, np.int64)
        for n in range(first + 1):
            f, k = _best(sums.rows[n], sums.rest[n])
            trees.inputs[t, first + n], trees.cuts[t, first + n] = max(f, 0), np.inf
            if f >= 0:
                cut[n], trees.cuts[t, first + n] = k, edges[f, k]
        for i in range(len(bins)):
            high = bins[i, trees.inputs[t, node[i]]] > cut[node[i] - first]
            node[i] = 2 * node[i] + 1 + high
    total, rows = np.zeros(LEAVES), np.ones(LEAVES)
    for i in range(len(bins)):
        total[node[i] - INNER] += residuals[i]
        rows[node[i] - INNER] += 1
    trees.leaves[t] = RATE * total / rows
    for i in range(len(bins)):
        residuals[i] -= trees.leaves[t, node[i] - INNER]


@njit
def fit(rows: F32, target: F32, drawn: I64, trees: Trees) -> None:
    """Grow all trees anew.

    Args:
        rows: float32[m, F].
        target: float32[m].
        drawn: int64[n], the rows to learn from.
        trees: changed in place.
    """
    edges = _edges(rows, drawn)
    bins = _binned(rows, drawn, edges)
    residuals = target[drawn].astype(np.float64)
    trees.base[0] = residuals.mean()
    residuals -= trees.base[0]
    shape = (LEAVES, rows.shape[1], BINS)
    sums = Sums(np.empty(shape), np.empty(shape))
    for t in range(len(trees.leaves)):
        _grow(bins, edges, residuals, trees, t, sums)


@njit
def predict(rows: F32, span: tuple[int, int], trees: Trees, scores: F32) -> None:
    """Write `scores[span[0] : span[1]]`."""
    for i in range(span[0], span[1]):
        row, score = rows[i], trees.base[0]
        for t in range(len(trees.leaves)):
            n = 0
            for _ in range(DEPTH):
                n = 2 * n + 1 + (row[trees.inputs[t, n]] > trees.cuts[t, n])
            score += trees.leaves[t, n - INNER]
        scores[i] = score


@njit
def foresee(rows: F32, target: F32, delay: int, capacity: int, trees: Trees, sample: int, seed: int) -> F32:
    """Predict each access by a forest of those that were settled before it.

    Args:
        rows: float32[m, F] inputs.
        target: float32[m]; that of an access is read when `delay` accesses have followed it, not before.
        delay: accesses.
        capacity: C, pages.
        trees: room for the forest.
        sample: rows that it is grown on, at most, the size of the reservoir.
        seed: of the draws.

    Returns:
        float32[m]; not a number before the first forest, or where there is room for no tree.
    """
    scores = np.full(len(rows), np.nan, np.float32)
    reservoir, kept = np.empty(sample, np.int64), 0
    settled = max(2 * LEAST, int(np.ceil(FIRST * capacity)))
    while settled + delay < len(rows) and len(trees.leaves):
        keep(reservoir, kept, settled, seed)
        kept = settled
        fit(rows, target, reservoir[: min(sample, settled)], trees)
        further = int(np.ceil(settled * GROWTH))
        predict(rows, (settled + delay, min(len(rows), further + delay)), trees, scores)
        settled = further
    return scores


@njit
def believe(scores: F32, own: F32, target: F32, delay: int, capacity: int) -> F32:
    """The scores in use, float32[m].

    Args:
        scores: float32[m] of the given forest.
        own: float32[m] as `foresee` returns them.
        target: float32[m].
        delay: accesses after which a target is read.
        capacity: C, pages.
    """
    used = scores.copy()
    fade = math.exp2(-1.0 / (HALF_LIFE * capacity))
    gained, apart, settled = 0.0, 0.0, 0
    for i in range(len(scores)):
        if np.isnan(own[i]):
            continue
        while settled + delay < i:
            way = own[settled] - scores[settled]
            if not np.isnan(way):
                gained = gained * fade + way * (target[settled] - scores[settled])
                apart = apart * fade + way * way
            settled += 1
        share = min(1.0, max(0.0, gained / (apart + DOUBT * capacity)))
        used[i] = scores[i] + share * (own[i] - scores[i])
    return used
