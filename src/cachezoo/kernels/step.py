"""A door of `njit` for the steps of a policy, which allocate nothing: compiled without counting references."""

from collections.abc import Callable
from typing import Any, TypeVar

from cachezoo.kernels.jit import njit

F = TypeVar("F", bound=Callable[..., Any])


def uncounted(function: F) -> F:
    """A function of `njit`, not yet compiled, told to count no references; a plain one as it is."""
    options = getattr(function, "targetoptions", None)
    if options is not None:
        options["_nrt"] = False
    return function


def step(function: F) -> F:
    """As `njit`, for a function that makes no array.

    Numba counts the references to each array of each tuple that a function is given; where it does not see that the
    counts cancel out, a step on a state of ten arrays takes ten times what its own work does.
    """
    return uncounted(njit(function))
