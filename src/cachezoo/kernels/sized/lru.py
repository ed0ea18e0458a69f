"""LRU of objects: the object used longest ago leaves.

Source: as `cachezoo.kernels.evict.lru`. libCacheSim's LRU is the same algorithm; misses are equal. All steps but
`touch` are `cachezoo.kernels.sized.fifo`'s.
"""

from cachezoo.kernels.lists import link_head, unlink
from cachezoo.kernels.sized.fifo import State
from cachezoo.kernels.step import step


@step
def touch(state: State, key: int, i: int) -> None:
    """To the head."""
    unlink(state.before, state.after, key)
    link_head(state.before, state.after, state.head, key)
