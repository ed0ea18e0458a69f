"""The evictions of objects by rules, in the order in which they are listed."""

from cachezoo.kernels.sized import fifo, lru
from cachezoo.sized.components import Eviction

FIFO = Eviction(
    "fifo", "first in, first out", lambda place, _: fifo.make(place.n_objects),
    fifo.touch, fifo.evict, fifo.insert, fifo.remove,
)  # fmt: skip
LRU = Eviction(
    "lru", "least recently used", lambda place, _: fifo.make(place.n_objects),
    lru.touch, fifo.evict, fifo.insert, fifo.remove,
)  # fmt: skip
EVICTIONS = (FIFO, LRU)
