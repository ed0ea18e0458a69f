"""BySize: a miss enters if its object is small.

Source: the size threshold of web caches, as in Abrams et al., "Caching proxies: limitations and potentials", WWW 1995.
libCacheSim's SizeAdmissioner is the same.
"""

from typing import NamedTuple

from cachezoo.arrays import I64
from cachezoo.kernels.step import step


class State(NamedTuple):
    """`size` int64[n] bytes of each request's object; those of at most `largest` enter."""

    size: I64
    largest: int


@step
def admit(state: State, key: int, i: int) -> bool:
    """Is it small enough?"""
    return bool(state.size[i] <= state.largest)


@step
def saw(state: State, key: int, i: int) -> None:
    """Nothing to note."""
