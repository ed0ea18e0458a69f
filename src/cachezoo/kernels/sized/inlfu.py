"""LFU in the cache, of objects: the one used least since it entered leaves; among equals the one used longest ago.

Source: as `cachezoo.kernels.evict.inlfu`. libCacheSim's LFU is the same algorithm; misses are equal. The step `remove`
is `cachezoo.kernels.sized.ranked.drop`.
"""

from cachezoo.kernels.sized.ranked import Heap, enter, leave, rank_anew
from cachezoo.kernels.step import step


@step
def touch(state: Heap, key: int, i: int) -> None:
    """One use more."""
    rank_anew(state, key, state.own[key] + 1.0, i)


@step
def evict(state: Heap, i: int) -> int:
    """The least used."""
    return leave(state)


@step
def insert(state: Heap, key: int, i: int) -> None:
    """In with one use."""
    enter(state, key, 1.0, i)
