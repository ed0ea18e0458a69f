"""AcceptAll: every miss enters."""

from typing import NamedTuple

from cachezoo.kernels.jit import njit


class State(NamedTuple):
    """Nothing to remember; numba wants one field."""

    nothing: int


@njit
def admit(state: State, page: int, i: int) -> bool:
    """Yes."""
    return True


@njit
def saw(state: State, page: int, i: int) -> None:
    """Nothing to note."""
