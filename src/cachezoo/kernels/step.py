"""Doors of `njit`: for steps of a policy, which allocate nothing, and for kernels that other threads work beside."""

from collections.abc import Callable
from typing import Any, TypeVar

from cachezoo.kernels.jit import njit

F = TypeVar("F", bound=Callable[..., Any])


def _with(function: F, option: str, value: bool) -> F:
    """A function of `njit`, not yet compiled, with an option of the compiler; a plain one as it is."""
    options = getattr(function, "targetoptions", None)
    if options is not None:
        options[option] = value
    return function


def uncounted(function: F) -> F:
    """A function of `njit` that counts no references."""
    return _with(function, "_nrt", False)


def unlocked(function: F) -> F:
    """A function of `njit` beside which other threads of Python run: they must not touch what it is given."""
    return _with(function, "nogil", True)


def step(function: F) -> F:
    """As `njit`, for a function that makes no array.

    Numba counts the references to each array of each tuple that a function is given; where it does not see that the
    counts cancel out, a step on a state of ten arrays takes ten times what its own work does.
    """
    return uncounted(njit(function))
