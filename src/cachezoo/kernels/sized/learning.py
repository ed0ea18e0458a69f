"""What evictions of objects that learn as they go share: bytes among the features, and slots without gaps.

All else is `cachezoo.kernels.learning`'s: an object is a page there. An eviction may take several objects before one
enters. The slot of who left last stays open for who enters, as with pages; when another leaves before, or the residents
are drawn from otherwise, the last of them takes it.
"""

import numpy as np

from cachezoo.arrays import F32, F64
from cachezoo.kernels import learning
from cachezoo.kernels.learning import NUMBERS, SLOT, USED, WRITTEN, Learner, Training, describe, label
from cachezoo.kernels.step import step

PAGE = 0  # column of a board: whose slot it is
HOLE = NUMBERS - 1  # place in the learner's numbers: the open slot, -1 none


def make_learner(n_objects: int, deltas: int, counters: int, most: int, training: Training) -> Learner:
    """The pages' learner, nothing known yet, with room for the bytes among the features.

    Args:
        n_objects: ids are in [0, n_objects).
        deltas: times between latest requests that are features.
        counters: decayed counters that are features.
        most: objects predicted at once.
        training: how the forest is trained.
    """
    learner = learning.make(n_objects, deltas, counters, most, training)
    features = learner.inputs.shape[1] + 1
    rows = np.zeros((training.rows, features + 1), np.float32)
    learner.numbers[HOLE] = -1
    return learner._replace(rows=rows, inputs=np.zeros((most, features), np.float32))


@step
def label_bytes(learner: Learner, sizes: F32, key: int, distance: int) -> None:
    """As `learning.label`, and the bytes beside the other features."""
    label(learner, key, distance)
    rows = learner.rows
    rows[(learner.numbers[WRITTEN] - 1) % rows.shape[0], rows.shape[1] - 2] = sizes[key]


@step
def describe_bytes(learner: Learner, sizes: F32, key: int, i: int, r: int) -> None:
    """An object's features at request i, its bytes the last of them, into a row of `inputs`."""
    describe(learner.pages, learner.decayed, key, i, learner.inputs, r)
    learner.inputs[r, learner.inputs.shape[1] - 1] = sizes[key]


@step
def fill(learner: Learner, board: F64) -> None:
    """The last of the residents takes the open slot, if there is one."""
    numbers = learner.numbers
    hole = numbers[HOLE]
    if hole < 0:
        return
    numbers[HOLE] = -1
    numbers[USED] -= 1
    last = numbers[USED]
    if hole != last:
        for k in range(board.shape[1]):
            board[hole, k] = board[last, k]
        learner.pages[int(board[hole, PAGE]), SLOT] = hole


@step
def take_slot(learner: Learner, board: F64, key: int) -> int:
    """The open slot, or a new one, is the object's; returns it."""
    numbers = learner.numbers
    slot = numbers[HOLE]
    if slot < 0:
        slot = numbers[USED]
        numbers[USED] += 1
    numbers[HOLE] = -1
    learner.pages[key, SLOT] = slot
    board[slot, PAGE] = key
    return int(slot)
