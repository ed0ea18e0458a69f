"""What evictions that learn as they go share: what they remember of a page, rows to train on, a forest.

A page is a row of int32: its neighbours in the residents' LRU list, its slot among them, the columns `LAST` to `SAMPLE`
of its past, then the times between its latest accesses, newest first; and a row of exponentially decayed counters
(EDC). One row more is the list's sentinel. A page's features at a time are

    column              meaning
    0                   accesses since its last one
    1 … D               times between its latest accesses, newest first; `NEVER` where there was none
    D+1 … D+E           EDC: each access adds 1, and the sum halves every 2**(10 + 2k) accesses, k = 0 … E-1
    D+E+1               accesses remembered
    D+E+2               accesses of the stream since the first of them
    D+E+3               its bytes, where pages have sizes: an object is a page here

A training row is drawn by marking a page (`SAMPLE`); it is written when its label is known, and since nothing of the
page's past changes in between, its features are those of the moment of the mark.

What is called for each access, or for each page to predict, takes the arrays one by one: a record as an argument costs
more than what such a function does.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, F64, I32, I64, U32
from cachezoo.kernels.step import step

Nodes = npt.NDArray[np.void]

# Columns of a page's row. NUMBER is the kernel's own.
BEFORE, AFTER, SLOT, LAST, FIRST, COUNT, SAMPLE, NUMBER, DELTAS = range(9)
NEVER = 2**30
UNMARKED = -1
ABSENT = -1
# Places in `numbers`: rows written so far, draws so far plus the seed's start, trees in use, rows written when the
# forest was trained, times that it was, residents; from OWN on the kernel's own.
WRITTEN, DICE, TREES, TRAINED, TRAININGS, USED, OWN = range(7)
NUMBERS = 128
STEPS_A_HALVING = 16
HALVINGS = 32
SHORTEST = 10  # log2 of the shortest half-life, accesses
FADING = (0.5 ** (np.arange(HALVINGS * STEPS_A_HALVING) / STEPS_A_HALVING)).astype(np.float32)
MASK = 0xFFFFFFFF
# A forest's node. A row goes `low` if its feature is at most the threshold, else `high`; a leaf leads to itself. The
# indices are unsigned, so that numba compiles no case for those below 0.
NODE = np.dtype([("feature", "<u4"), ("threshold", "<f4"), ("low", "<u4"), ("high", "<u4"), ("value", "<f8")])


class Training(NamedTuple):
    """How the forest is trained.

    Attributes:
        rows: latest training rows kept.
        trees, leaves: of the forest, and of a tree at most.
        threads: of the training; the model is the same with any.
        seed: of the draws and the training.
        learning_rate: share of the rest that each tree takes.
    """

    rows: int
    trees: int
    leaves: int
    threads: int
    seed: int
    learning_rate: float


class Learner(NamedTuple):
    """What is remembered of the pages, what is learned, and room to predict.

    Attributes:
        pages: int32[n_pages + 1, DELTAS + deltas].
        decayed: float32[n_pages, counters].
        rows: float32[rows, features + 1], ring of training rows, the label last: natural logarithm of the accesses to
            the next one.
        forest: NODE[trees, 2 * leaves]; the first place of a tree is its depth, as `value`.
        numbers: int64[NUMBERS].
        inputs: float32[most, features], rows to predict.
        at, scores: uint32[most] and float64[most], where a prediction is, and what it comes to.
        training: how the forest is trained.
        sizes: float32[n_pages], bytes of each when it was last resident; empty where pages have no sizes.
        weights: int64[n_pages], by which the accesses to a page's next one count in who leaves; empty: all alike.
    """

    pages: I32
    decayed: F32
    rows: F32
    forest: Nodes
    numbers: I64
    inputs: F32
    at: U32
    scores: F64
    training: Training
    sizes: F32
    weights: I64


def make(n_pages: int, deltas: int, counters: int, most: int, training: Training) -> Learner:
    """Nothing is known yet.

    Args:
        n_pages: ids are in [0, n_pages).
        deltas: times between latest accesses that are features.
        counters: EDC that are features.
        most: pages predicted at once.
        training: how the forest is trained.
    """
    pages = np.zeros((n_pages + 1, DELTAS + deltas), np.int32)
    pages[:, SLOT] = ABSENT
    pages[n_pages, [BEFORE, AFTER]] = n_pages
    features = deltas + counters + 3
    return Learner(
        pages, np.zeros((n_pages, counters), np.float32),
        np.zeros((training.rows, features + 1), np.float32), blank_forest(training.trees, training.leaves),
        blank_numbers(training.seed), np.zeros((most, features), np.float32), np.zeros(most, np.uint32),
        np.zeros(most), training, np.zeros(0, np.float32), np.zeros(0, np.int64),
    )  # fmt: skip


def blank_numbers(seed: int) -> I64:
    """int64[NUMBERS]."""
    numbers = np.zeros(NUMBERS, np.int64)
    numbers[DICE] = seed << 20
    return numbers


def blank_forest(trees: int, leaves: int) -> Nodes:
    """Room for so many trees, NODE[trees, 2 * leaves]."""
    return np.zeros((trees, 2 * leaves), NODE)


@step
def draw(numbers: I64, below: int) -> int:
    """A number in [0, below), from a hash of the count of draws (PCG's output function, 32 bits)."""
    z = ((numbers[DICE] & MASK) * 747796405 + 2891336453) & MASK
    numbers[DICE] += 1
    z = (((z >> ((z >> 28) + 4)) ^ z) * 277803737) & MASK
    return int((((z >> 22) ^ z) * below) >> 32)


@step
def faded(age: int, counter: int) -> np.float32:
    """What is left of a counter after `age` accesses."""
    step = age >> (SHORTEST - 4 + 2 * counter)
    return FADING[step] if step < HALVINGS * STEPS_A_HALVING else np.float32(0.0)


@step
def remember(pages: I32, decayed: F32, page: int, i: int) -> None:
    """Access number i of a page."""
    width = pages.shape[1]
    if pages[page, COUNT] == 0:
        pages[page, FIRST] = i
        pages[page, SAMPLE] = UNMARKED
        for k in range(DELTAS, width):
            pages[page, k] = NEVER
        for k in range(decayed.shape[1]):
            decayed[page, k] = 1
    else:
        delta = i - pages[page, LAST]
        for k in range(width - 1, DELTAS, -1):
            pages[page, k] = pages[page, k - 1]
        if width > DELTAS:
            pages[page, DELTAS] = delta
        for k in range(decayed.shape[1]):
            decayed[page, k] = decayed[page, k] * faded(delta, k) + np.float32(1.0)
    pages[page, LAST] = i
    pages[page, COUNT] += 1


@step
def describe(pages: I32, decayed: F32, sizes: F32, page: int, i: int, rows: F32, r: int) -> None:
    """Write a page's features at time i into row r."""
    age = i - pages[page, LAST]
    deltas = pages.shape[1] - DELTAS
    counters = decayed.shape[1]
    rows[r, 0] = age
    for k in range(deltas):
        rows[r, 1 + k] = pages[page, DELTAS + k]
    for k in range(counters):
        rows[r, 1 + deltas + k] = decayed[page, k] * faded(age, k)
    rows[r, 1 + deltas + counters] = pages[page, COUNT]
    rows[r, 2 + deltas + counters] = i - pages[page, FIRST]
    if sizes.size > 0:
        rows[r, 3 + deltas + counters] = sizes[page]


@step
def label(learner: Learner, page: int, distance: int) -> None:
    """A marked page becomes the ring's next row, since its distance is known; the mark goes."""
    rows, pages, numbers = learner.rows, learner.pages, learner.numbers
    place = numbers[WRITTEN] % rows.shape[0]
    describe(pages, learner.decayed, learner.sizes, page, pages[page, SAMPLE], rows, place)
    rows[place, rows.shape[1] - 1] = np.log(distance)
    numbers[WRITTEN] += 1
    pages[page, SAMPLE] = UNMARKED


@step
def score(learner: Learner, count: int) -> None:
    """Write into `scores` the sums of the leaves that the first `count` rows of `inputs` reach in the trees in use."""
    at, scores = learner.at, learner.scores
    width = np.uint32(learner.inputs.shape[1])
    places = learner.forest.shape[1]
    nodes = learner.forest.reshape(-1)
    flat = learner.inputs.reshape(-1)
    for r in range(count):
        scores[r] = 0.0
    for tree in range(learner.numbers[TREES]):
        root = np.uint32(tree * places)
        depth = int(nodes[root]["value"])
        for r in range(count):
            at[r] = root + np.uint32(1)
        # All rows take a step, then all the next: the loads of different rows do not wait for one another.
        for _ in range(depth):
            row = np.uint32(0)
            for r in range(count):
                node = nodes[at[r]]
                above = flat[row + node["feature"]] > node["threshold"]
                at[r] = node["high"] if above else node["low"]
                row += width
        for r in range(count):
            scores[r] += nodes[at[r]]["value"]
