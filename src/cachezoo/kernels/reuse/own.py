"""A forest of the trace's own past, grown anew as the trace goes, and how far it is believed beside the given forest.

An access is *settled* once its target can change no more: `delay` accesses after it. A reservoir keeps some of the
settled ones, each with the same chance. Their numbers alone decide which, so a runtime remembers no other's inputs.
When `FIRST` capacities have settled, a forest is grown on the reservoir, and again each time `GROWTH` times as many
have. A runtime does that in parts, one in each of the next accesses, so that no access waits for a whole forest: how
many accesses that takes follows from rows and trees alone (`accesses_of`), and the forest predicts from the last of
them on, to the same of the next forest. Trees are of one depth, split where the squared error falls most
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
import numpy.typing as npt

from cachezoo.arrays import F32, F64, I32, I64, U8
from cachezoo.kernels import forest
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
Cells = npt.NDArray[np.uint16]


class Trees(NamedTuple):
    """A forest. A row goes high where its input is above a node's cut; node n leads to 2n + 1 (low), 2n + 2 (high)."""

    inputs: I64  # int64[trees, INNER], columns
    cuts: F32  # float32[trees, INNER]; infinite where a node is not split
    leaves: F64  # float64[trees, LEAVES]
    base: F64  # float64[1], what is predicted without any tree


class Bins(NamedTuple):
    """Drawn rows by input and bin, of those inputs that have several bins; the first input is always one.

    Attributes:
        columns: int64[v] the inputs.
        edges: float32[v, BINS - 1] values that cut each into bins of like size.
        cells: uint16[n, v] BINS times the place among `columns`, and how many edges lie below the row's value.
    """

    columns: I64
    edges: F32
    cells: Cells


class Room(NamedTuple):
    """What a tree is grown in.

    Attributes:
        order, high: int32[n] rows.
        packed: int64[n] of each row as `_pack` writes them.
        piles: int64[INNER, cells] their sums in each node.
        sums: float64[cells, 2] as `_gather` writes them.
    """

    order: I32
    high: I32
    packed: I64
    piles: I64
    sums: F64


def blank(trees: int) -> Trees:
    """Room for so many trees."""
    return Trees(
        np.zeros((trees, INNER), np.int64), np.zeros((trees, INNER), np.float32), np.zeros((trees, LEAVES)), np.zeros(1)
    )


def further(settled: int) -> int:
    """How many accesses have settled when the next forest is grown."""
    return math.ceil(settled * GROWTH)


def accesses_of(settled: int, rows: int, trees: int, pace: int) -> int:
    """Accesses in which a forest is grown: it predicts the last of them, and those that follow.

    They are at most half of those that come before the next forest is grown, so one at a time is grown.

    Args:
        settled: accesses.
        rows: it is grown on.
        trees: of the forest.
        pace: rows by trees that each access grows, about; 0: one access grows all.
    """
    return max(1, min(-(-rows * trees // pace), (further(settled) - settled) // 2)) if pace else 1


@njit
def keep(reservoir: I64, low: int, high: int, seed: int) -> None:
    """Let accesses `low` to before `high` into the reservoir, in which all before them have had their chance."""
    for i in range(low, high):
        place = i if i < len(reservoir) else scaled(draw(seed, i & 0x7FFFFFFF), i + 1)
        if place < len(reservoir):
            reservoir[place] = i


def _binned(rows: F32) -> Bins:
    """Bins of float32[n, F]."""
    values = np.ascontiguousarray(rows.T)
    edges = np.sort(values, axis=1)[:, np.arange(1, BINS) * len(rows) // BINS]
    below = np.zeros(values.shape, np.uint8)
    _count_below(values, edges, below)
    varied = (below != below[:, :1]).any(axis=1)
    varied[0] = True
    columns = np.flatnonzero(varied)
    cells = below[columns].T + BINS * np.arange(len(columns), dtype=np.uint16)
    return Bins(columns, edges[columns], np.ascontiguousarray(cells))


@njit
def _count_below(values: F32, edges: F32, below: U8) -> None:
    """How many edges float32[F, k] lie below each of float32[F, n], written to uint8[F, n] of zeros."""
    for f in range(len(values)):
        column, found = values[f], below[f]
        for edge in edges[f]:
            for i in range(len(column)):
                found[i] += np.uint8(edge < column[i])


@njit
def _gather(cells: Cells, residuals: F64, some: I32, sums: F64) -> None:
    """Sum up some rows: the residuals and how many there are, float64[cells, 2]."""
    sums[:] = 0.0
    for i in some:
        own, rest = cells[i], residuals[i]
        for v in range(len(own)):
            cell = own[v]
            sums[cell, 0] += rest
            sums[cell, 1] += 1.0


@njit
def _pack(residuals: F64, packed: I64) -> tuple[int, float, float]:
    """Write residuals as whole numbers, and a count of 1 in the lowest bits, as many as a count of all takes.

    Returns:
        Those bits; what a residual of 1 is above them; by how much the gain of a split may be wrong: a sum of l rows by
        l roundings, and the float64 sum that it stands for by as many in the last place.
    """
    bits = int(math.log2(len(residuals))) + 1
    size, most = 0.0, 0.0
    for rest in residuals:
        size += abs(rest)
        most = max(most, abs(rest))
    one = 2.0 ** math.floor(62 - bits - math.log2(size + len(residuals) + 1))
    for i in range(len(residuals)):
        packed[i] = (math.floor(residuals[i] * one + 0.5) << bits) + 1
    return bits, one, 8 * (size + 1) * (1 / one + len(residuals) * (most + 1) * 2.0**-52)


@njit
def _pile(cells: Cells, packed: I64, some: I32, piles: I64) -> None:
    """Sum up some packed rows, int64[cells]."""
    piles[:] = 0
    for i in some:
        own, rest = cells[i], packed[i]
        for v in range(len(own)):
            piles[own[v]] += rest


@njit
def _best(sums: F64) -> tuple[int, int, float, float]:
    """The split that lowers the squared error most.

    Args:
        sums: float64[cells, 2] as `_gather` writes them.

    Returns:
        The place of the column and the last bin below the cut, (-1, 0) if none gains `LEAST_GAIN`; what it gains, and
        what the best of all other splits does.
    """
    all_rest, all_rows = 0.0, 0.0
    for k in range(BINS):
        all_rest += sums[k, 0]
        all_rows += sums[k, 1]
    best, most, second = (-1, 0), LEAST_GAIN, LEAST_GAIN
    whole = all_rest**2 / all_rows
    for v in range(len(sums) // BINS):
        below, low = 0.0, 0.0
        for k in range(BINS - 1):
            rows = sums[v * BINS + k, 1]
            below += sums[v * BINS + k, 0]
            low += rows
            if rows > 0 and low >= LEAST and all_rows - low >= LEAST:  # behind an empty bin nothing is new
                gain = below**2 / low + (all_rest - below) ** 2 / (all_rows - low) - whole
                if gain > most:
                    best, most, second = (v, k), gain, most
                elif gain > second:
                    second = gain
    return best[0], best[1], most, second


@njit
def _split(
    cells: Cells, residuals: F64, some: I32, piles: I64, packing: tuple[int, float, float], sums: F64
) -> tuple[int, int]:  # fmt: skip
    """The column and the last bin below the cut of a node, (-1, 0) if it is not split.

    The piles tell the best split, if not another is as good within what they may be wrong by; else float64 sums do, in
    the order of the rows.
    """
    bits, one, wrong = packing
    for cell in range(len(piles)):
        sums[cell, 0] = (piles[cell] >> bits) / one
        sums[cell, 1] = piles[cell] & (1 << bits) - 1
    v, k, most, second = _best(sums)
    if most - second <= 2 * wrong:
        _gather(cells, residuals, some, sums)
        v, k, most, second = _best(sums)
    return v, k


@njit
def _part(cells: Cells, order: I32, high: I32, last: int, column: int) -> int:
    """Those up to the cell `last` of a column to the front of `order`, each side in its order; how many.

    Each is written to both sides, as a processor would guess half of the jumps wrong.
    """
    low, above = 0, 0
    for i in order:
        goes_high = cells[i, column] > last
        order[low] = high[above] = i
        above += goes_high
        low += not goes_high
    order[low:] = high[:above]
    return low


@njit
def _grow(bins: Bins, residuals: F64, trees: Trees, t: int, room: Room) -> None:
    """Grow tree t and take its leaves from the residuals; rows lie by node, those of a node in their order."""
    cells, n, order, piles = bins.cells, len(residuals), room.order, room.piles
    packing = _pack(residuals, room.packed)
    starts, known = np.zeros(INNER + LEAVES + 1, np.int64), np.zeros(INNER + LEAVES, np.bool_)
    order[:] = np.arange(n)
    if n >= 2 * LEAST:
        _pile(cells, room.packed, order, piles[0])
        known[0] = True
    for node in range(INNER):
        start, stop = starts[node], starts[node + 1] if (node + 2) & (node + 1) else n
        some, v, k, low = order[start:stop], -1, 0, stop - start
        trees.inputs[t, node], trees.cuts[t, node] = 0, np.inf
        if known[node]:
            v, k = _split(cells, residuals, some, piles[node], packing, room.sums)
        left, right = 2 * node + 1, 2 * node + 2
        if v >= 0:
            trees.inputs[t, node], trees.cuts[t, node] = bins.columns[v], bins.edges[v, k]
            low = _part(cells, some, room.high, v * BINS + k, v)
            few, many = (left, right) if 2 * low <= len(some) else (right, left)
            if right < INNER and max(low, len(some) - low) >= 2 * LEAST:
                _pile(cells, room.packed, some[:low] if few == left else some[low:], piles[few])
                piles[many] = piles[node] - piles[few]
                known[left], known[right] = low >= 2 * LEAST, len(some) - low >= 2 * LEAST
        starts[left], starts[right] = start, start + low
    for leaf in range(LEAVES):
        node = INNER + leaf
        some = order[starts[node] : starts[node + 1] if leaf < LEAVES - 1 else n]
        total = 0.0
        for i in some:
            total += residuals[i]
        trees.leaves[t, leaf] = RATE * total / (len(some) + 1)
        for i in some:
            residuals[i] -= trees.leaves[t, leaf]


@njit
def _boost(bins: Bins, target: F32, trees: Trees) -> None:
    """Grow all trees, each on what those before it leave."""
    residuals = target.astype(np.float64)
    trees.base[0] = residuals.mean()
    residuals -= trees.base[0]
    n, cells = len(residuals), len(bins.columns) * BINS
    room = Room(
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64), np.empty((INNER, cells), np.int64),
        np.empty((cells, 2)),
    )  # fmt: skip
    for t in range(len(trees.leaves)):
        _grow(bins, residuals, trees, t, room)


def fit(rows: F32, target: F32, drawn: I64, trees: Trees) -> None:
    """Grow all trees anew.

    Args:
        rows: float32[m, F].
        target: float32[m].
        drawn: int64[n], the rows to learn from.
        trees: changed in place.
    """
    _boost(_binned(rows[drawn]), target[drawn], trees)


def predict(rows: F32, trees: Trees) -> F32:
    """Scores float32[n] of float32[n, F]."""
    branch = np.arange(trees.inputs.size)
    node, first = branch % INNER, branch // INNER
    low = 2 * node + 1

    def child(place: npt.NDArray[np.int64]) -> I32:
        found: I32 = np.where(place < INNER, first * INNER + place, ~(first * LEAVES + place - INNER)).astype(np.int32)
        return found

    flat = forest.Trees(
        branch[::INNER].astype(np.int32), trees.inputs.reshape(-1).astype(np.int32),
        trees.cuts.reshape(-1).astype(np.float64), child(low), child(low + 1), trees.leaves.reshape(-1),
    )  # fmt: skip
    return forest.score_forest(forest.prepared(flat, forest.AS_THEY_ARE), rows, trees.base[0]).astype(np.float32)


def foresee(
    rows: F32, target: F32, delay: int, capacity: int, trees: Trees, sample: int, seed: int, pace: int
) -> F32:  # fmt: skip
    """Predict each access by a forest of those that were settled before it.

    Args:
        rows: float32[m, F] inputs.
        target: float32[m]; that of an access is read when `delay` accesses have followed it, not before.
        delay: accesses.
        capacity: C, pages.
        trees: room for the forest.
        sample: rows that it is grown on, at most, the size of the reservoir.
        seed: of the draws.
        pace: rows by trees that an access grows, as `accesses_of` takes them.

    Returns:
        float32[m]; not a number before the first forest, or where there is room for no tree.
    """
    scores = np.full(len(rows), np.nan, np.float32)
    reservoir, kept = np.empty(sample, np.int64), 0

    def predicts_from(settled: int) -> int:
        return settled + delay + accesses_of(settled, min(sample, settled), len(trees.leaves), pace) - 1

    settled = max(2 * LEAST, math.ceil(FIRST * capacity))
    while predicts_from(settled) < len(rows) and len(trees.leaves):
        keep(reservoir, kept, settled, seed)
        kept = settled
        fit(rows, target, reservoir[: min(sample, settled)], trees)
        part = slice(predicts_from(settled), predicts_from(further(settled)))
        scores[part] = predict(rows[part], trees)
        settled = further(settled)
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
