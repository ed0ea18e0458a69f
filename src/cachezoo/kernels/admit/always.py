"""AcceptAll: every miss enters."""

from typing import NamedTuple

from cachezoo.kernels.step import step


class State(NamedTuple):
    """Nothing to remember; numba wants one field."""

    nothing: int


@step
def admit(state: State, page: int, i: int) -> bool:
    """Yes."""
    return True


@step
def saw(state: State, page: int, i: int) -> None:
    """Nothing to note."""
