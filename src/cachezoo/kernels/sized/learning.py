"""What evictions of objects that learn as they go share: a learner that knows sizes, and slots without gaps.

All else is the pages' kernels': an object is a page there. An eviction may take several objects before one enters. The
slot of who left last stays open for who enters, as with pages; when another leaves before, or the residents are drawn
from otherwise, the last of them takes it.
"""

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.kernels.learning import NUMBERS, SLOT, USED, Learner
from cachezoo.kernels.step import step

PAGE = 0  # column of a board: whose slot it is
HOLE = NUMBERS - 1  # place in the learner's numbers: the open slot, -1 none


def by_size(learner: Learner, weights: I64 | None) -> Learner:
    """A pages' learner that knows nothing yet, with room for the bytes among the features.

    Args:
        learner: its numbers are changed in place: no slot is open.
        weights: int64[n_objects], by which distances are weighed; None: all alike.
    """
    learner.numbers[HOLE] = -1
    (rows, columns), (most, features) = learner.rows.shape, learner.inputs.shape
    return learner._replace(
        rows=np.zeros((rows, columns + 1), np.float32), inputs=np.zeros((most, features + 1), np.float32),
        sizes=np.zeros(len(learner.decayed), np.float32), weights=learner.weights if weights is None else weights,
    )  # fmt: skip


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
def take_slot(learner: Learner, board: F64, key: int) -> None:
    """The open slot, or a new one, is the object's."""
    numbers = learner.numbers
    slot = numbers[HOLE]
    if slot < 0:
        slot = numbers[USED]
        numbers[USED] += 1
    numbers[HOLE] = -1
    learner.pages[key, SLOT] = slot
    board[slot, PAGE] = key
