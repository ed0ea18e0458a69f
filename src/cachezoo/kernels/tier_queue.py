"""LRU and FIFO that can remove a page at once: LRU's list, in which FIFO moves nothing.

Where every page found leaves, nothing is ever moved, so that both are the same: first in, first out of what is offered.

Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
"""

from cachezoo.kernels.evict.lru import State, has, insert, make, touch
from cachezoo.kernels.lists import unlink
from cachezoo.kernels.step import step

__all__ = ("State", "has", "insert", "make", "remove", "stay", "touch")


@step
def stay(state: State, page: int, k: int) -> None:
    """FIFO's touch: order of entry is all."""


@step
def remove(state: State, page: int) -> None:
    """Out of the list."""
    unlink(state.before, state.after, page)
    state.resident[page] = 0
    state.used[0] -= 1
