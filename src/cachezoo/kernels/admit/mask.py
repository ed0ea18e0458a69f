"""Decisions known beforehand, one for each access: how learned admissions and oracles enter."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.step import step


class State(NamedTuple):
    """`decided` uint8[m]: 0 where a miss of this access stays out."""

    decided: npt.NDArray[np.uint8]


@step
def admit(state: State, page: int, i: int) -> bool:
    """As decided."""
    return bool(state.decided[i] != 0)


@step
def saw(state: State, page: int, i: int) -> None:
    """Nothing to note."""
