"""LRU of objects: the object used longest ago leaves.

Source: as `cachezoo.kernels.evict.lru`. libCacheSim's LRU is the same algorithm; misses are equal. All but `touch` is
`cachezoo.kernels.sized.fifo`'s.
"""

from cachezoo.kernels.sized.fifo import State, insert
from cachezoo.kernels.step import step


@step
def touch(state: State, key: int, i: int) -> None:
    """A later entry."""
    insert(state, key, i)
