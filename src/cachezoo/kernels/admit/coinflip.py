"""CoinFlip: a miss enters with probability p.

Each access has a draw of its own, which depends on its number and the seed alone: what was admitted before does not
change it, and raising p only ever adds to the accesses that would be admitted.

Source: the random admission of CacheLib (Berg et al., OSDI 2020, Sec. 4.2). Parameters: p = 0.5, seed = 0.
libCacheSim's ProbAdmissioner is the same in distribution; its draws come from one sequence.
"""

import math
from typing import NamedTuple

from cachezoo.kernels.admit.draws import draw
from cachezoo.kernels.step import step


class State(NamedTuple):
    """Draws below `below` admit; all draws are below 2**32."""

    seed: int
    below: int


def make(p: float, seed: int) -> State:
    """Admit with probability p."""
    return State(seed, math.ceil(p * 2**32))


@step
def admit(state: State, page: int, i: int) -> bool:
    """By the draw of this access."""
    return draw(state.seed, i) < state.below


@step
def saw(state: State, page: int, i: int) -> None:
    """Nothing to note."""
